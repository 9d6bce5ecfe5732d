// Disjoint, defined, in range, on graphs small enough to see the answer by eye.
#include "catch.hpp"
#include "frontend/check/check_util.hpp"

using tempo::checktest::check;

namespace {
const std::string kHead =
    "dim t : T\nsize T\nsize D = 4\nfact T >= 0\nfact D >= 0\n"
    "%x[t] : f32 =\n  where 0 <= t and t < T: input\n"
    "%v[t; a] : f32[D] =\n  where 0 <= t and t < T: input\n";
std::string in(const std::string& text) { return check(kHead + text, false); }
}  // namespace

TEST_CASE("check: reads that are defined") {
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: %x[t]\noutput %y[t in 0 : T] as \"y\"\n") == "");
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: sum[s in max(0, t - 3) : t + 1] %x[s]\n") == "");
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: sum[s in t : min(t + 4, T)] %x[s]\n") == "");
  CHECK(in("%y[t; b] : f32[D] =\n  where 0 <= t and t < T: %v[t; b] + %v[t; D - 1 - b]\n") == "");
  CHECK(in("%h[t] : f32 =\n  where t == -1: 0.0:f32\n  where 0 <= t and t < T: %h[t - 1] + %x[t]\n") == "");
  CHECK(in("%p[t] : f32 =\n  where 0 <= t and t < T and t % 2 == 0: 1.0:f32\n"
           "  where 0 <= t and t < T and t % 2 == 1: %p[t - 1]\n") == "");
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: guard(t >= 1, %x[t - 1], 0.0:f32)\n") == "");
}

TEST_CASE("check: the first step is not defined") {
  CHECK(in("%h[t] : f32 =\n  where 0 <= t and t < T: tanh(%x[t] + %h[t - 1])\n") ==
        "E0301 at t = 0 this reads h[-1]; h is defined for 0 <= t < T\n"
        "  help: define the step before the first: `h[-1] = zeros`");
}

TEST_CASE("check: the step after the last is not defined") {
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: %x[t + 1]\n") ==
        "E0301 at t = 0 this reads x[1]; x is defined for 0 <= t < T (T = 1)\n"
        "  help: stay inside: `min(t + 1, T - 1)` for the index");
}

TEST_CASE("check: sizes with defaults give the counterexample") {
  // A cache of 8 steps, and a ninth is asked for.
  CHECK(check("dim t : T\nsize T = 8\nfact T >= 0\n%k[t] : f32 =\n  where 0 <= t and t < T: input\n%y[] : f32 =\n  where true: %k[8]\n",
              false) == "E0301 this reads k[8]; k is defined for 0 <= t < T (T = 8)");
}

TEST_CASE("check: a window that begins before the first step") {
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: sum[s in 0 : 4] %x[t - 3 + s]\n") ==
        "E0301 at t = 0 this reads x[-3]; x is defined for 0 <= t < T\n"
        "  help: begin the range inside: `max(0, t - 3)`");
}

TEST_CASE("check: pieces that overlap") {
  CHECK(in("%z[t] : f32 =\n  where 0 <= t and t < T and t <= 5: 0.0:f32\n  where t >= 5 and t < T: 1.0:f32\n") ==
        "E0304 this defines z[5] again\n"
        "  note: one piece covers 0 <= t < T and t <= 5, the other 5 <= t < T");
}

TEST_CASE("check: a hole between pieces") {
  // 0 .. 3 and 5 .. T-1: the output misses 4.
  CHECK(in("%z[t] : f32 =\n  where 0 <= t and t < T and t <= 3: 0.0:f32\n  where t >= 5 and t < T: 1.0:f32\n"
           "output %z[t in 0 : T] as \"z\"\n")
            .substr(0, 26) == "E0305 this writes z[4]; z ");
}

TEST_CASE("check: axis indices") {
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: %v[t; D]\n") ==
        "E0404 at t = 0 this reads v[0; 4]; index 4 is outside axis 0 of length D = 4");
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: sum[d in 0 : D] %v[t; d - 1]\n") ==
        "E0404 at t = 0 this reads v[0; -1]; index -1 is outside axis 0 of length D = 4");
  CHECK(in("%y[t; c] : f32[D + 1] =\n  where 0 <= t and t < T: %v[t; c]\n") ==
        "E0404 at t = 0 this reads v[0; 4]; index 4 is outside axis 0 of length D = 4");
}

TEST_CASE("check: products of sizes") {
  const std::string flat = "size D = 4\nsize H = 2\n%w[; a] : f32[D*H] =\n  where true: input\n";
  CHECK(check(flat + "%y[; b] : f32[D*H] =\n  where true: %w[; b] * 2.0:f32\n", false) == "");
  CHECK(check(flat + "%y[; b] : f32[D*H + 1] =\n  where true: %w[; b] * 2.0:f32\n", false) ==
        "E0404 this reads w[; 8]; index 8 is outside axis 0 of length D*H = 8");
}

TEST_CASE("check: an empty dim that breaks a proof") {
  const std::string text = kHead + "%y[] : f32 =\n  where true: %x[T - 1]\n";
  CHECK(check(text, false) ==
        "E0301 this reads x[-1]; x is defined for 0 <= t < T (T = 0)\n"
        "  help: declare how many steps there are at least: `dim t : T >= 1`");
  // The front end's graph gets the bound instead, and only that one.
  CHECK(tempo::checktest::bounds(text) == "T >= 1");
  CHECK(tempo::checktest::bounds(kHead + "%y[] : f32 =\n  where true: sum[s in 0 : T] %x[s]\n") == "");
  // One step is not enough for the step before the last: that is an error.
  CHECK(tempo::checktest::bounds(kHead + "%y[] : f32 =\n  where true: %x[T - 2]\n") == "E0301");
  // Asked for with no steps, it is one too.
  CHECK(tempo::checktest::bounds("dim t : T\nsize T = 0\n%x[t] : f32 =\n  where 0 <= t and t < T: input\n"
                                 "%y[] : f32 =\n  where true: %x[T - 1]\n") == "E0301");
  // A default says how large a size usually is: 2 is inside an axis of 4, so D must be at least 3 when the program starts.
  CHECK(tempo::checktest::bounds(kHead + "%y[t] : f32 =\n  where 0 <= t and t < T: %v[t; 2]\n") == "D >= 3");
  CHECK(tempo::checktest::bounds(kHead + "%y[t] : f32 =\n  where 0 <= t and t < T: %v[t; 4]\n") == "E0404");
}
