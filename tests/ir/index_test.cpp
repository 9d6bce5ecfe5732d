#include "catch.hpp"
#include "index/ix.hpp"
#include "random_index.hpp"

using namespace tempo;
using namespace tempo::test;

namespace {
const Sym t = Sym::get("t"), s = Sym::get("s"), T = Sym::get("T"), W = Sym::get("W");
}

TEST_CASE("equal names are one symbol, fresh names are new", "[index]") {
  CHECK(Sym::get("t") == t);
  CHECK(t != s);
  CHECK(t.name() == "t");
  CHECK_FALSE(Sym());
  Sym a = Sym::fresh("t"), b = Sym::fresh("t");
  CHECK(a != b);
  CHECK(a != t);
  CHECK(Sym::get(a.name()) == a);
}

TEST_CASE("sums have one form", "[index]") {
  CHECK(Ix(t) + 1 - 1 == Ix(t));
  CHECK(Ix(t) + s == Ix(s) + t);
  CHECK(Ix(t) - t == Ix(0));
  CHECK((Ix(t) + 1) * 2 == Ix(t) * 2 + 2);
  CHECK((Ix(t) + 1) * T == Ix(T) * t + T);
  CHECK((Ix(t) * 0).asConst() == 0);
  CHECK(Ix(t).asVar() == t);
  CHECK_FALSE((Ix(t) * 2).asVar());
}

TEST_CASE("floor division and remainder simplify where it is exact", "[index]") {
  CHECK(Ix::floordiv(Ix(t) * 4 + 3, 4) == Ix(t));
  CHECK(Ix::floordiv(Ix(t) * 4 + 4, 4) == Ix(t) + 1);
  CHECK(Ix::floordiv(Ix(t) * 4 - 1, 4) == Ix(t) - 1);
  CHECK(Ix::mod(Ix(t) * 4 - 1, 4) == Ix(3));
  CHECK(Ix::floordiv(Ix(t) * T + T, T) == Ix(t) + 1);
  CHECK(Ix::mod(Ix(t) * T, T) == Ix(0));
  CHECK(Ix::floordiv(Ix(t) * 2, 4) == Ix::floordiv(t, 2));
  CHECK(Ix::floordiv(Ix::floordiv(t, 2), 3) == Ix::floordiv(t, 6));
  CHECK(Ix::mod(Ix::mod(t, 12), 4) == Ix::mod(t, 4));
  CHECK(Ix::floordiv(Ix::mod(t, 4), 4) == Ix(0));
}

TEST_CASE("FC-47: division floors and the remainder has the divisor's sign", "[index]") {
  const int64_t mods[] = {1, 2, 3, 0, 1}, quotients[] = {-2, -1, -1, 0, 0};
  for (int64_t i = 0; i < 5; ++i) {
    CHECK(Ix::mod(Ix(t) - 3, 4).eval({{t, i}}) == mods[i]);
    CHECK(Ix::floordiv(Ix(t) - 3, 2).eval({{t, i}}) == quotients[i]);
    CHECK(Ix::mod(Ix(t) - 3, Ix(W)).eval({{t, i}, {W, 4}}) == mods[i]);
    CHECK(Ix::mod(Ix(i) - 3, 4).asConst() == mods[i]);
  }
  CHECK(Ix::mod(7, -4).asConst() == -1);
  CHECK(Ix::floordiv(7, -4).asConst() == -2);
}

TEST_CASE("min and max flatten, deduplicate and fold", "[index]") {
  CHECK(Ix::min(Ix::min(t, s), Ix::min(s, t)) == Ix::min(s, t));
  CHECK(Ix::max(3, Ix::max(t, 5)) == Ix::max(t, 5));
  CHECK(Ix::min(Ix(t) + 1, t) == Ix(t));
  CHECK(Ix::max(Ix(t) + 1, t) == Ix(t) + 1);
  CHECK(Ix::abs(Ix(-3)) == Ix(3));
  CHECK(Ix::select(Cond::ge(t, 0), s, s) == Ix(s));
}

TEST_CASE("conditions have one form", "[index]") {
  CHECK(Cond::ge0(Ix(t) * 2 - 1) == Cond::ge(t, 1));
  CHECK(Cond::eq0(Ix(t) * 2 - 1).isFalse());
  CHECK((!Cond::ge(t, 0)) == Cond::lt(t, 0));
  CHECK((Cond::ge(t, 0) && Cond::lt(t, 0)).isFalse());
  CHECK((Cond::ge(t, 0) || Cond::lt(t, 0)).isTrue());
  CHECK((Cond::ge(t, 0) && Cond::ge(t, 3)) == Cond::ge(t, 3));
  CHECK((Cond::ge(t, s) && Cond::le(t, s)) == Cond::eq(t, s));
  CHECK((!(Cond::ge(t, 0) && Cond::ge(s, 0))) == (Cond::lt(t, 0) || Cond::lt(s, 0)));
  CHECK((!!Cond::eq(t, s)) == Cond::eq(s, t));
  CHECK((Cond::range(t, 0, T) && Cond::range(t, 0, T)) == Cond::range(t, 0, T));
}

TEST_CASE("index expressions read naturally", "[index]") {
  CHECK((Ix(t) - W + 1).str() == "t - W + 1");
  CHECK((Ix(3) - t).str() == "3 - t");
  CHECK((Ix(t) * -2).str() == "-2*t");
  CHECK(Ix::floordiv(Ix(t) + 1, 4).str() == "(t + 1) // 4");
  CHECK(Ix::mod(t, 4).str() == "t % 4");
  CHECK((Ix::floordiv(t, 4) * 2).str() == "2*(t // 4)");
  CHECK((Ix(t) * T).str() == "t*T");
  CHECK(Ix::max(0, Ix(t) - W + 1).str() == "max(0, t - W + 1)");
  CHECK(Ix::select(Cond::ge(t, 0), 1, t).str() == "select(0 <= t, 1, t)");
  CHECK(Cond::range(t, 0, T).str() == "0 <= t and t < T");
  CHECK(Cond::ge(s, Ix(t) - W + 1).str() == "t < s + W");
  CHECK(Cond::eq(t, 3).str() == "t == 3");
  CHECK(Cond::ne(Ix(t), Ix(T) - 1).str() == "t + 1 != T");
  CHECK((Cond::ge(t, 5) && (Cond::ge(s, 1) || Cond::eq(s, -4))).str() == "5 <= t and (1 <= s or s == -4)");
}

TEST_CASE("evaluation reports what it lacks", "[index]") {
  CHECK_THROWS_AS(Ix(t).eval({}), std::out_of_range);
  CHECK_THROWS_AS(Ix::mod(t, T).eval({{t, 1}, {T, 0}}), std::domain_error);
  CHECK_THROWS_AS(Ix(t) * INT64_MAX + Ix(t) * INT64_MAX, std::overflow_error);
}

TEST_CASE("canonical forms keep every value", "[index]") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Generator g(seed, {t, s, T});
    Ints x = g.ints(4);
    Bools c = g.bools(3);
    INFO("seed " << seed << ": " << x.ix.str() << " ; " << c.cond.str());
    forBox(3, -4, 5, [&](const Point& p) {
      Env env = g.env(p);
      if (x.ix.eval(env) != x.value(p)) FAIL("value at " << p[0] << ", " << p[1] << ", " << p[2]);
      if (c.cond.eval(env) != c.value(p)) FAIL("truth at " << p[0] << ", " << p[1] << ", " << p[2]);
    });
  }
}

TEST_CASE("substitution is evaluation of the replacement", "[index]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Generator g(seed + 1000, {t, s});
    Ints x = g.ints(3), forT = g.ints(2), forS = g.ints(2);
    Bools c = g.bools(2);
    Subst both{{t, forT.ix}, {s, forS.ix}};
    Ix y = x.ix.subst(both);
    Cond d = c.cond.subst(both);
    INFO("seed " << seed << ": " << x.ix.str() << " -> " << y.str());
    forBox(2, -4, 5, [&](const Point& p) {
      Point q{forT.value(p), forS.value(p)};
      if (y.eval(g.env(p)) != x.value(q)) FAIL("value at " << p[0] << ", " << p[1]);
      if (d.eval(g.env(p)) != c.value(q)) FAIL("truth at " << p[0] << ", " << p[1]);
    });
  }
}
