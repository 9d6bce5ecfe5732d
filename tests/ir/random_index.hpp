// Random index expressions and conditions beside their meaning: each is built together with a plain function of the
// variables' values that never touches the library's arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "index/ix.hpp"

namespace tempo::test {

using Point = std::vector<int64_t>;

struct Ints {
  Ix ix;
  std::function<int64_t(const Point&)> value;
};
struct Bools {
  Cond cond;
  std::function<bool(const Point&)> value;
};

/// floor(a / b) by the definition: the largest q with q * b <= a (b > 0) or q * b >= a (b < 0).
inline int64_t floorQuotient(int64_t a, int64_t b) {
  int64_t q = 0;
  if (b < 0) return floorQuotient(-a, -b);
  while (q * b > a) --q;
  while ((q + 1) * b <= a) ++q;
  return q;
}

class Generator {
 public:
  Generator(unsigned seed, std::vector<Sym> vars) : random_(seed), vars_(std::move(vars)) {}

  Ints ints(int depth) {
    if (depth == 0) return leaf();
    switch (pick(8)) {
      case 0: return leaf();
      case 1:
        return binary(
            depth, [](const Ix& a, const Ix& b) { return a + b; }, [](int64_t a, int64_t b) { return a + b; });
      case 2:
        return binary(
            depth, [](const Ix& a, const Ix& b) { return a - b; }, [](int64_t a, int64_t b) { return a - b; });
      case 3: return binary(depth, Ix::min, [](int64_t a, int64_t b) { return a < b ? a : b; });
      case 4: return binary(depth, Ix::max, [](int64_t a, int64_t b) { return a > b ? a : b; });
      case 5: {
        int64_t k = int64_t(pick(7)) - 3;
        Ints a = ints(depth - 1);
        return {a.ix * Ix(k), [=](const Point& p) { return a.value(p) * k; }};
      }
      case 6: {
        int64_t k = int64_t(pick(5)) + 1;
        if (pick(4) == 0) k = -k;
        Ints a = ints(depth - 1);
        if (pick(2)) return {Ix::floordiv(a.ix, Ix(k)), [=](const Point& p) { return floorQuotient(a.value(p), k); }};
        return {Ix::mod(a.ix, Ix(k)), [=](const Point& p) { return a.value(p) - k * floorQuotient(a.value(p), k); }};
      }
      default: {
        Bools c = bools(depth - 1);
        Ints a = ints(depth - 1), b = ints(depth - 1);
        return {Ix::select(c.cond, a.ix, b.ix), [=](const Point& p) { return c.value(p) ? a.value(p) : b.value(p); }};
      }
    }
  }

  Bools bools(int depth) {
    if (depth > 0) {
      switch (pick(4)) {
        case 0: {
          Bools a = bools(depth - 1), b = bools(depth - 1);
          return {a.cond && b.cond, [=](const Point& p) { return a.value(p) && b.value(p); }};
        }
        case 1: {
          Bools a = bools(depth - 1), b = bools(depth - 1);
          return {a.cond || b.cond, [=](const Point& p) { return a.value(p) || b.value(p); }};
        }
        case 2: {
          Bools a = bools(depth - 1);
          return {!a.cond, [=](const Point& p) { return !a.value(p); }};
        }
        default: break;
      }
    }
    Ints a = ints(depth > 0 ? depth - 1 : 0), b = ints(depth > 0 ? depth - 1 : 0);
    switch (pick(4)) {
      case 0: return {Cond::ge(a.ix, b.ix), [=](const Point& p) { return a.value(p) >= b.value(p); }};
      case 1: return {Cond::lt(a.ix, b.ix), [=](const Point& p) { return a.value(p) < b.value(p); }};
      case 2: return {Cond::eq(a.ix, b.ix), [=](const Point& p) { return a.value(p) == b.value(p); }};
      default: return {Cond::ne(a.ix, b.ix), [=](const Point& p) { return a.value(p) != b.value(p); }};
    }
  }

  /// v in lo .. hi-1 for every variable.
  Cond box(int64_t lo, int64_t hi) const {
    Cond c;
    for (Sym v : vars_) c = c && Cond::range(Ix(v), Ix(lo), Ix(hi));
    return c;
  }

  Env env(const Point& p) const {
    Env e;
    for (size_t i = 0; i < vars_.size(); ++i) e[vars_[i]] = p[i];
    return e;
  }

  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

 private:
  Ints leaf() {
    if (pick(3) == 0) {
      int64_t k = int64_t(pick(9)) - 4;
      return {Ix(k), [=](const Point&) { return k; }};
    }
    size_t v = pick(vars_.size());
    return {Ix(vars_[v]), [=](const Point& p) { return p[v]; }};
  }

  template <class F, class G>
  Ints binary(int depth, F build, G value) {
    Ints a = ints(depth - 1), b = ints(depth - 1);
    return {build(a.ix, b.ix), [=](const Point& p) { return value(a.value(p), b.value(p)); }};
  }

  std::mt19937 random_;
  std::vector<Sym> vars_;
};

/// Calls f for every point of [lo, hi)^rank.
template <class F>
void forBox(size_t rank, int64_t lo, int64_t hi, F f) {
  Point p(rank, lo);
  for (;;) {
    f(p);
    size_t k = rank;
    while (k > 0 && ++p[k - 1] == hi) p[--k] = lo;
    if (k == 0) return;
  }
}

}  // namespace tempo::test
