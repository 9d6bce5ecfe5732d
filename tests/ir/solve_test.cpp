#include "index/solve.hpp"

#include "catch.hpp"
#include "index/isl.hpp"
#include "random_index.hpp"

using namespace tempo;
using namespace tempo::test;

namespace {

const Sym t = Sym::get("t"), s = Sym::get("s"), k = Sym::get("k"), T = Sym::get("T"), W = Sym::get("W");

constexpr int64_t kLo = -3, kHi = 4;

bool member(isl_ctx* ctx, const poly::Set& set, const Point& p) {
  isl_set* one = isl_set_copy(set.keep());
  for (size_t i = 0; i < p.size(); ++i) one = isl_set_fix_si(one, isl_dim_set, unsigned(i), int(p[i]));
  isl_bool empty = isl_set_is_empty(one);
  isl_set_free(one);
  REQUIRE(empty != isl_bool_error);
  return empty == isl_bool_false;
}

}  // namespace

TEST_CASE("sets have the members their condition says, and read back", "[solve]") {
  Solver solver;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Generator g(seed, {t, s});
    Bools c = g.bools(3);
    INFO("seed " << seed << ": " << c.cond.str());
    poly::Set set = poly::toSet(solver.ctx(), "S", {t, s}, c.cond);
    Cond back = poly::fromSet(set.keep(), {t, s});
    INFO("back: " << back.str());
    forBox(2, kLo, kHi, [&](const Point& p) {
      if (member(solver.ctx(), set, p) != c.value(p)) FAIL("member " << p[0] << ", " << p[1]);
      if (back.eval(g.env(p)) != c.value(p)) FAIL("read back at " << p[0] << ", " << p[1]);
    });
  }
}

TEST_CASE("find gives the smallest point in the preferred order", "[solve]") {
  Solver solver;
  for (unsigned seed = 0; seed < 80; ++seed) {
    Generator g(seed + 77, {t, s});
    Bools c = g.bools(3);
    Cond boxed = c.cond && g.box(kLo, kHi);
    INFO("seed " << seed << ": " << boxed.str());
    std::optional<Point> first;
    forBox(2, kLo, kHi, [&](const Point& p) {
      if (!first && c.value(p)) first = p;
    });
    auto found = solver.find(boxed, {t, s});
    REQUIRE(found.has_value() == first.has_value());
    CHECK(solver.satisfiable(boxed) == first.has_value());
    if (!first) continue;
    for (auto [v, n] : *found) CHECK(n == (v == t ? (*first)[0] : (*first)[1]));
  }
}

TEST_CASE("find prefers small numbers where nothing bounds them", "[solve]") {
  Solver solver;
  CHECK(solver.find(Cond::ne(t, 0)).value().at(t) == 1);
  CHECK(solver.find(Cond::lt(t, 0)).value().at(t) == -1);
  CHECK(solver.find(Cond::ge(t, 7)).value().at(t) == 7);
  CHECK(solver.find(Cond()).value().empty());
  Env e = solver.find(Cond::range(t, 0, T) && Cond::lt(Ix(t) - 1, 0), {t}).value();
  CHECK(e.at(t) == 0);
  CHECK(e.at(T) == 1);
}

TEST_CASE("implications and equalities over all integers", "[solve]") {
  Solver solver;
  CHECK(solver.implies(Cond::range(t, 0, T), Cond::ge(T, 1)));
  CHECK_FALSE(solver.implies(Cond::ge(T, 0), Cond::ge(T, 1)));
  CHECK(solver.equal(Ix(t), Ix::floordiv(t, 4) * 4 + Ix::mod(t, 4), Cond()));
  CHECK(solver.equal(Ix::max(0, Ix(t) - W + 1), 0, Cond::lt(t, W)));
  CHECK_FALSE(solver.equal(Ix::max(0, Ix(t) - W + 1), 0, Cond::le(t, W)));
}

TEST_CASE("projection, simplification, maximum and minimum agree with enumeration", "[solve]") {
  Solver solver;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Generator g(seed + 500, {t, k});
    Bools c = g.bools(2), given = g.bools(1);
    Ints x = g.ints(2);
    Cond box = g.box(kLo, kHi), boxed = c.cond && box;
    INFO("seed " << seed << ": " << boxed.str() << " ; given " << given.cond.str() << " ; of " << x.ix.str());
    Cond shadow = solver.project(boxed, {k}), small = solver.simplify(c.cond, given.cond && box);
    auto most = solver.max(x.ix, {k}, boxed), least = solver.min(x.ix, {k}, boxed);
    REQUIRE((most && least));
    INFO("shadow " << shadow.str() << " ; max " << most->str() << " ; min " << least->str());
    for (int64_t i = kLo - 1; i <= kHi; ++i) {
      std::optional<int64_t> hi, lo;
      for (int64_t j = kLo; j < kHi; ++j) {
        Point p{i, j};
        bool inside = i >= kLo && i < kHi;
        if (inside && given.value(p)) CHECK(small.eval(g.env(p)) == c.value(p));
        if (!inside || !c.value(p)) continue;
        int64_t v = x.value(p);
        hi = std::max(hi.value_or(v), v);
        lo = std::min(lo.value_or(v), v);
      }
      CHECK(shadow.eval({{t, i}}) == hi.has_value());
      if (hi) CHECK(most->eval({{t, i}}) == *hi);
      if (lo) CHECK(least->eval({{t, i}}) == *lo);
    }
  }
}

TEST_CASE("extremes come out in readable form", "[solve]") {
  Solver solver;
  Cond window = Cond::range(k, Ix::max(0, Ix(t) - W + 1), Ix(t) + 1);
  CHECK(solver.max(k, {k}, window) == Ix(t));
  CHECK(solver.min(k, {k}, window && Cond::ge(t, 0) && Cond::ge(W, 1)) == Ix::max(0, Ix(t) - W + 1));
  CHECK_FALSE(solver.max(t, {t}, Cond::ge(t, 0)).has_value());
  CHECK_FALSE(solver.min(t, {t}, Cond::le(t, 0)).has_value());
}

TEST_CASE("products are not affine, a spent budget says so", "[solve]") {
  Solver solver;
  CHECK_THROWS_AS(solver.find(Cond::ge(Ix(t) * T, 3)), NotAffine);
  CHECK_THROWS_AS(solver.find(Cond::ge(Ix::floordiv(t, T), 3)), NotAffine);
  Solver poor(10);
  Cond hard = Cond::range(t, 0, T) && Cond::eq(Ix::mod(Ix(t) * 7 + s, 11), 3) && Cond::range(s, 0, t);
  CHECK_THROWS_AS(poor.find(hard), SolveBudget);
  CHECK(solver.find(hard).has_value());
  CHECK(solver.seconds() > 0);
}

TEST_CASE("maps carry expressions of their domain", "[solve]") {
  Solver solver;
  poly::Map m = poly::toMap(solver.ctx(), "A", {t}, Cond::range(t, 0, T), "B", {Ix(t) - 1, Ix::mod(t, 4)});
  isl_map* expected = isl_map_read_from_str(solver.ctx(), "[T] -> { A[t] -> B[t - 1, t mod 4] : 0 <= t < T }");
  CHECK(isl_map_is_equal(m.keep(), expected) == isl_bool_true);
  isl_map_free(expected);
}
