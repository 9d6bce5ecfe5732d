#include "oracle/oracle.hpp"

#include "catch.hpp"

using namespace tempo;

namespace {

using Values = std::vector<double>;

OracleOptions sized(int64_t T) {
  OracleOptions o;
  o.sizes[Sym::get("T")] = T;
  return o;
}

OracleResult run(const std::string& text, const OracleOptions& o) {
  Graph g = parseGraph("dim t : T\nsize T\nfact 0 <= T\n" + text);
  verify(g);
  return interpret(g, o);
}

Values values(const Array& a) {
  Values out;
  for (int64_t i = 0; i < a.count(); ++i) out.push_back(a.get(i));
  return out;
}

Values output(const std::string& text, int64_t T) { return values(run(text, sized(T)).outputs.at("y")); }

std::string complaint(const std::string& text, const OracleOptions& o) {
  try {
    run(text, o);
  } catch (const OracleError& e) {
    return e.what();
  }
  return "";
}

const std::string kT = " where 0 <= t and t < T: ";
const std::string kCount = "%v[t] : f32 = where 0 <= t and t < T: ix(t):f32\n";
const std::string kOut = "output %y[t in 0 : T] as \"y\"\n";

}  // namespace

TEST_CASE("cumulative sum, as a reduction and as a recurrence", "[oracle]") {
  CHECK(output(kCount + "%y[t] : f32 =" + kT + "sum[s in 0 : t + 1] %v[s]\n" + kOut, 5) == Values{0, 1, 3, 6, 10});
  CHECK(output(kCount + "%y[t] : f32 = where t == -1: 0:f32" + kT + "%y[t - 1] + %v[t]\n" + kOut, 5) ==
        Values{0, 1, 3, 6, 10});
}

TEST_CASE("FC-17: the mean of a window", "[oracle]") {
  std::string mean = "%s[t] : f32 =" + kT + "sum[s in max(0, t - 3) : t + 1] %v[s]\n%y[t] : f32 =" + kT +
                     "%s[t] / ix(min(4, t + 1)):f32\n";
  CHECK(output(kCount + mean + kOut, 7) == Values{0, 0.5, 1, 1.5, 2.5, 3.5, 4.5});
  CHECK(output(kCount + "%y[t] : f32 =" + kT + "sum[i in 0 : min(4, t + 1)] ix(i):f32 * %v[max(0, t - 3) + i]\n" +
                   "output %y[t = 5] as \"y\"\n",
               7) == Values{26});
}

TEST_CASE("FC-19: attention over nothing is zero", "[oracle]") {
  std::string text = "%v[t] : f32 =" + kT + "ix(t + 1):f32\n%m[t] : f32 =" + kT +
                     "max[s in 0 : t] 0:f32 init -inf:f32\n%z[t] : f32 =" + kT +
                     "sum[s in 0 : t] exp(0:f32 - %m[t])\n%y[t] : f32 =" + kT +
                     "sum[s in 0 : t] exp(0:f32 - %m[t]) / %z[t] * %v[s]\n";
  CHECK(output(text + kOut, 3) == Values{0, 1, 1.5});
}

TEST_CASE("FC-41: a dimension of length zero", "[oracle]") {
  std::string text = kCount + "%h[t] : f32 = where t == -1: 3:f32" + kT + "0.5:f32 * %h[t - 1] + %v[t]\n" +
                     "%s[] : f32 = sum[s in 0 : T] %v[s]\n%p[] : f32 = prod[s in 0 : T] %v[s]\n%y[t] : f32 =" + kT +
                     "2:f32 * %v[t]\n" + kOut +
                     "output %s[] as \"s\"\noutput %p[] as \"p\"\noutput %h[t = T - 1] as \"h\"\n";
  OracleResult r = run(text, sized(0));
  CHECK(values(r.outputs.at("s")) == Values{0});
  CHECK(values(r.outputs.at("p")) == Values{1});
  CHECK(values(r.outputs.at("h")) == Values{3});
  CHECK(r.outputs.at("y").shape == std::vector<int64_t>{0});
  CHECK(complaint("%y[] : f32 = max[s in 0 : T] 1:f32\noutput %y[] as \"y\"\n", sized(0)) ==
        "`y` at [] is the max of an empty range");
}

TEST_CASE("FC-63: strict prefix sums start from nothing", "[oracle]") {
  CHECK(output(kCount + "%y[t] : f32 =" + kT + "sum[s in 0 : t] %v[s]\n" + kOut, 5) == Values{0, 0, 1, 3, 6});
}

TEST_CASE("FC-43: sums of bf16 are rounded once", "[oracle]") {
  std::string text = "%x[t] : bf16 =" + kT + "0.5:bf16\n%y[] : bf16 = sum[s in 0 : T] %x[s]\noutput %y[] as \"y\"\n";
  CHECK(output(text, 10000) == Values{4992});
  OracleOptions exact = sized(10000);
  exact.roundToDType = false;
  CHECK(values(run(text, exact).outputs.at("y")) == Values{5000});
}

TEST_CASE("a recurrence over a million steps needs no stack", "[oracle]") {
  std::string text = "%y[t] : f64 = where t == -1: 0:f64" + kT + "%y[t - 1] + 1:f64\noutput %y[t = T - 1] as \"y\"\n";
  OracleResult r = run(text, sized(1'000'000));
  CHECK(values(r.outputs.at("y")) == Values{1e6});
  CHECK(r.points == 1'000'001);
}

TEST_CASE("only what is needed is computed", "[oracle]") {
  std::string text = kCount +
                     "%d[t] : f32 = where t == 0: 1:f32 where 1 <= t and t < T: %d[t - 1] / 0:f32\n%y[t] : f32 =" + kT +
                     "select(when(t == 0), %d[t], %v[t])\noutput %y[t = 3] as \"y\"\n";
  CHECK(run(text, sized(10)).points == 2);
}

TEST_CASE("ragged axes, argmax, argsort, logic", "[oracle]") {
  CHECK(output("%r[t; a] : f32[t + 1] =" + kT + "ix(a * t):f32\n%y[t] : f32 =" + kT +
                   "sum[a' in 0 : t + 1] %r[t; a']\n" + kOut,
               4) == Values{0, 1, 6, 18});
  std::string x = "%x[] : f32 = 0:f32\n%k[; a] : f32[4] = ix(a * (3 - a) % 3):f32\n";
  CHECK(output("%k[; a] : f32[4] = ix((a + 1) * (a + 1) % 4):f32\n%y[; p] : i32[4] = argsort %k[; p]\noutput %y[] as "
               "\"y\"\n",
               1) == Values{1, 3, 0, 2});  // keys 1 0 1 0
  CHECK(output("%k[; a] : f32[4] = ix((a + 1) * (a + 1) % 4):f32\n%y[; p] : i32[4] = argsort descending %k[; p]\n"
               "output %y[] as \"y\"\n",
               1) == Values{0, 2, 1, 3});
  CHECK(output("%y[] : i32 = argmax[a in 2 : 7] select(when(a == 4 or a == 5), 1:f32, 0:f32)\noutput %y[] as \"y\"\n",
               1) == Values{2});
  CHECK(output("%y[] : bool = all[a in 0 : 0] false\noutput %y[] as \"y\"\n", 1) == Values{1});
  CHECK(output("%y[] : bool = any[a in 0 : 3] when(a == 2)\noutput %y[] as \"y\"\n", 1) == Values{1});
}

TEST_CASE("integers wrap, casts saturate", "[oracle]") {
  CHECK(output("%y[] : i8 = 100:i8 + 100:i8\noutput %y[] as \"y\"\n", 1) == Values{-56});
  CHECK(output("%y[] : i8 = cast<i8>(1000:f32)\noutput %y[] as \"y\"\n", 1) == Values{127});
  CHECK(output("%y[] : i8 = cast<i8>(300:i32)\noutput %y[] as \"y\"\n", 1) == Values{44});
}

TEST_CASE("inputs and options are bound by name", "[oracle]") {
  std::string text = "option lr : f32 = 0.5 in %lr\ninput %x\n%lr[] : f32 = input\n%x[t; a] : f32[2] =" + kT +
                     "input\n%y[t; a] : f32[2] =" + kT + "%lr[] * %x[t; 1 - a]\n" + kOut;
  OracleOptions o = sized(2);
  CHECK(complaint(text, o) == "no value for input `x`");
  Array x = Array::zeros(DType::F32, {2, 2});
  for (int i = 0; i < 4; ++i) x.set(i, i);
  o.inputs["x"] = x;
  CHECK(values(run(text, o).outputs.at("y")) == Values{0.5, 0, 1.5, 1});
  Array lr = Array::zeros(DType::F32, {});
  lr.set(0, 2);
  o.inputs["lr"] = lr;
  CHECK(values(run(text, o).outputs.at("y")) == Values{2, 0, 6, 4});
}

TEST_CASE("faults name equation and point", "[oracle]") {
  CHECK(complaint("%i[t] : i32 =" + kT + "ix(t * 2):i32\n" + kCount + "%y[t] : f32 =" + kT +
                      "%v[{%i[t] in 0 : T checked}]\n" + kOut,
                  sized(4)) == "`y` at [t = 2] reads `v` at index 4, outside 0 : 4");
  CHECK(complaint("%y[t] : f32 =" + kT + "%y[t - 1]\n" + kOut, sized(4)) ==
        "`y` at [t = 0] reads `y` at [t = -1], where nothing defines it");
  CHECK(complaint("%w[; a] : f32[2] = 1:f32\n%y[t] : f32 =" + kT + "%w[; t]\n" + kOut, sized(4)) ==
        "`y` at [t = 2] reads `w` at [; 2], where axis 0 has length 2");
  CHECK(complaint("%y[t] : f32 =" + kT + "%z[t]\n%z[t] : f32 =" + kT + "%y[t]\n" + kOut, sized(4)) ==
        "`y` at [t = 0] depends on itself, through `z` at [t = 0]");
  OracleOptions few = sized(100);
  few.maxPoints = 10;
  CHECK(complaint(kCount + "%y[t] : f32 =" + kT + "%v[t]\n" + kOut, few) == "more than 10 values are needed");
}

TEST_CASE("effects happen in order where they are asked for", "[oracle]") {
  std::string text = kCount +
                     "print[t] where 0 <= t and t < T and t % 2 == 0 if %v[t] > 0:f32: \"v\" %v[t], \"w\" [a : 2] "
                     "%v[t] + ix(a):f32\n";
  OracleResult r = run(text, sized(5));
  REQUIRE(r.effects.size() == 2);
  CHECK(r.effects[0].point == std::vector<int64_t>{2});
  CHECK(r.effects[1].values == std::vector<Values>{{4}, {4, 5}});
  CHECK(complaint(kCount + "assert[t] where 0 <= t and t < T that %v[t] < 2:f32: \"v < 2\" %v[t]\n", sized(5)) ==
        "assertion `v < 2` fails at [t = 2]");
}

TEST_CASE("philox gives the published vectors", "[random]") {
  struct Vector {
    uint32_t counter[4], key[2], result[4];
  };
  const Vector known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                          {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                          {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                           {0xa4093822, 0x299f31d0},
                           {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (Vector v : known) {
    philox4x32(v.counter, v.key[0], v.key[1]);
    for (int i = 0; i < 4; ++i) CHECK(v.counter[i] == v.result[i]);
  }
}

TEST_CASE("random words depend on seed, stream and every coordinate", "[random]") {
  CHECK(streamKey("") == 0xCBF29CE484222325u);
  CHECK(streamKey("a") == 0xAF63DC4C8601EC8Cu);  // published FNV-1a value
  const int64_t p[] = {1, 2, 3, 4, 5, 6};
  for (int rank = 1; rank <= 6; ++rank) {
    uint32_t word = philox(1, 2, p, rank);
    CHECK(word == philox(1, 2, p, rank));
    CHECK(word != philox(2, 2, p, rank));
    CHECK(word != philox(1, 3, p, rank));
    for (int i = 0; i < rank; ++i) {
      int64_t q[] = {1, 2, 3, 4, 5, 6};
      ++q[i];
      CHECK(word != philox(1, 2, q, rank));
    }
  }
  double sum = 0;
  for (int64_t i = 0; i < 10000; ++i) sum += philox(7, streamKey("u"), &i, 1) * 0x1p-32;
  CHECK(std::abs(sum / 10000 - 0.5) < 0.015);  // five standard errors
  CHECK(output("%y[] : i64 = random(\"s\", 3)\noutput %y[] as \"y\"\n", 1) == Values{double([] {
          int64_t at = 3;
          return philox(0, streamKey("s"), &at, 1);
        }())});
}
