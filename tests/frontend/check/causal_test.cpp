// An order exists, or a circle is shown.
#include "catch.hpp"
#include "frontend/check/check_util.hpp"

using tempo::checktest::check;
using tempo::checktest::seconds;

namespace {
const std::string kHead =
    "dim i : I\ndim t : T\nsize I\nsize T\nsize D = 4\nfact I >= 0\nfact T >= 0\nfact D >= 0\n"
    "%x[t] : f32 =\n  where 0 <= t and t < T: input\n";
std::string in(const std::string& text) { return check(kHead + text); }
const std::string kOne = ": 1.0:f32\n";
}  // namespace

TEST_CASE("check: recurrences along one dim") {
  CHECK(in("%h[t] : f32 =\n  where t == -1" + kOne + "  where 0 <= t and t < T: %h[t - 1] + %x[t]\n") == "");
  CHECK(in("%h[t] : f32 =\n  where t == T and T >= 0" + kOne + "  where 0 <= t and t < T: %h[t + 1] + %x[t]\n") == "");
  CHECK(in("%h[t] : f32 =\n  where t == 0" + kOne +
           "  where 1 <= t and t < T: sum[s in max(0, t - 3) : t] %h[s] * %x[t]\n") == "");
  CHECK(in("%h[t] : f32 =\n  where t == 0" + kOne + "  where 1 <= t and t < T: %h[t // 2]\n") == "");
  CHECK(in("%h[t] : f32 =\n  where t + 1 == T and T >= 1" + kOne +
           "  where 0 <= t and t + 1 < T: sum[s in t + 1 : min(t + 4, T)] %h[s]\n") == "");
}

TEST_CASE("check: two recurrences against one another, in sum backward") {
  // a[t] <- b[t+1] <- a[t-1]: two steps on, three back.
  CHECK(in("%a[t] : f32 =\n  where 0 <= t and t < T: guard(t + 1 < T, %b[t + 1], 0.0:f32)\n"
           "%b[t] : f32 =\n  where 0 <= t and t < T: guard(t >= 2, %a[t - 2], 0.0:f32)\n") == "");
}

TEST_CASE("check: recurrences along two dims") {
  const std::string box = "  where 1 <= i and i < I and 1 <= t and t < T: ";
  CHECK(in("%g[i, t] : f32 =\n  where 0 <= i and i < I and t == 0 and T >= 1" + kOne +
           "  where i == 0 and I >= 1 and 1 <= t and t < T" + kOne + box + "%g[i - 1, t] + %g[i, t - 1]\n") == "");
  // The next row starts from the end of the last one.
  CHECK(in("%s[i, t] : f32 =\n  where i == 0 and t == 0" + kOne +
           "  where 1 <= i and i <= I and t == 0: %s[i - 1, T]\n"
           "  where 0 <= i and i <= I and 1 <= t and t <= T: %s[i, t - 1]\n") == "");
  // Along t backward, along i forward.
  CHECK(in("%v[i, t] : f32 =\n  where 0 <= i and i < I and t == T" + kOne +
           "  where 0 <= i and i < I and 0 <= t and t < T: %v[i, t + 1] + guard(i >= 1, %v[i - 1, 0], 0.0:f32)\n") == "");
}

TEST_CASE("check: even steps first") {
  CHECK(in("%p[t] : f32 =\n  where 0 <= t and t < T and t % 2 == 0: %x[t]\n"
           "  where 0 <= t and t + 1 < T and t % 2 == 1: %p[t - 1] + %p[t + 1]\n") == "");
}

TEST_CASE("check: pieces that never meet are no circle") {
  CHECK(in("%a[t] : f32 =\n  where 0 <= t and t < T and t % 2 == 0" + kOne +
           "  where 0 <= t and t < T and t % 2 == 1: %b[t]\n"
           "%b[t] : f32 =\n  where 0 <= t and t < T and t % 2 == 1" + kOne +
           "  where 0 <= t and t < T and t % 2 == 0: %a[t]\n") == "");
}

TEST_CASE("check: a step that reads itself") {
  CHECK(in("%h[t] : f32 =\n  where 0 <= t and t < T: %h[t] + %x[t]\n") == "E0302 h[0] reads h[0]");
  CHECK(in("%h[t] : f32 =\n  where 0 <= t and t < T: sum[s in 0 : t + 1] %h[s]\n") == "E0302 h[0] reads h[0]");
  // Only step 3 does.
  CHECK(in("%h[t] : f32 =\n  where 0 <= t and t < T: %h[3] + %x[t]\n").find("E0302 h[3] reads h[3]") != std::string::npos);
}

TEST_CASE("check: a circle through two equations") {
  CHECK(in("%a[t] : f32 =\n  where 0 <= t and t < T: guard(t + 1 < T, %b[t + 1], 0.0:f32)\n"
           "%b[t] : f32 =\n  where 0 <= t and t < T: guard(t >= 1, %a[t - 1], 0.0:f32)\n") ==
        "E0302 a[0] reads b[1]\n  note: b[1] reads a[0]");
  // Through a node made for a part of the equation: its name is not shown.
  CHECK(in("%y[t] : f32 =\n  where 0 <= t and t < T: %y.sum[t] * 2.0:f32\n"
           "%y.sum[t] : f32 =\n  where 0 <= t and t < T: sum[s in t : T] %y[s]\n") == "E0302 y[0] reads y[0]");
}

TEST_CASE("check: circles that need many steps") {
  // The same with 7: a[0] and a[7] read one another as soon as there are 8 steps.
  CHECK(in("%a[t] : f32 =\n"
           "  where 0 <= t and t < T and t % 2 == 0: guard(t + 7 < T, %a[t + 7], 0.0:f32)\n"
           "  where 0 <= t and t < T and t % 2 == 1: guard(t >= 7, %a[t - 7], 0.0:f32)\n") ==
        "E0302 a[0] reads a[7]\n  note: a[7] reads a[0]");
  // An even step reads 37 on, an odd one 37 back: a circle needs more steps than the search has.
  std::string out = in(
      "%a[t] : f32 =\n"
      "  where 0 <= t and t < T and t % 2 == 0: guard(t + 37 < T, %a[t + 37], 0.0:f32)\n"
      "  where 0 <= t and t < T and t % 2 == 1: guard(t >= 37, %a[t - 37], 0.0:f32)\n");
  CHECK(out.substr(0, 5) == "E0303");
}

TEST_CASE("check: attention costs little") {
  const std::string len = "t + 1 - max(0, t - W + 1)";
  const std::string text =
      "dim t : T\nsize T = 16\nsize D = 4\nsize W = 3\nfact T >= 0\nfact D >= 0\nfact W >= 1\n"
      "%q[t; a0] : f32[D] =\n  where 0 <= t and t < T: input\n"
      "%k[t; a1] : f32[D] =\n  where 0 <= t and t < T: input\n"
      "%v[t; a2] : f32[D] =\n  where 0 <= t and t < T: input\n"
      "%s[t; j] : f32[" + len + "] =\n  where 0 <= t and t < T: sum[d in 0 : D] %k[max(0, t - W + 1) + j; d] * %q[t; d]\n"
      "%m[t] : f32 =\n  where 0 <= t and t < T: max[j2 in 0 : " + len + "] %s[t; j2]\n"
      "%e[t; j3] : f32[" + len + "] =\n  where 0 <= t and t < T: exp(%s[t; j3] - %m[t])\n"
      "%z[t] : f32 =\n  where 0 <= t and t < T: sum[j4 in 0 : " + len + "] %e[t; j4]\n"
      "%y[t; c] : f32[D] =\n  where 0 <= t and t < T: sum[j5 in 0 : " + len +
      "] %e[t; j5] / %z[t] * %v[max(0, t - W + 1) + j5; c]\noutput %y[t in 0 : T] as \"y\"\n";
  CHECK(check(text) == "");
#ifdef NDEBUG
  CHECK(seconds(text) < 0.05);
#else
  CHECK(seconds(text) < 0.5);  // unoptimised, perhaps with sanitizers
#endif
}
