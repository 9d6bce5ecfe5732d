#include "catch.hpp"
#include "frontend/parse/support.hpp"

using tempo::Parsed;
using tempo::value;

TEST_CASE("precedence, low to high", "[parse]") {
  CHECK(value("a or b and not c == d") == "(or a (and b (not (== c d))))");
  CHECK(value("not a == b") == "(not (== a b))");
  CHECK(value("a + b * c - d") == "(- (+ a (* b c)) d)");
  CHECK(value("a @ b * c / d // e % f") == "(% (// (/ (* (@ a b) c) d) e) f)");
  CHECK(value("-a * b") == "(* (- a) b)");
  CHECK(value("-a ** 2") == "(- (** a 2))");
  CHECK(value("a ** -b ** c") == "(** a (- (** b c)))");
  CHECK(value("a ** b ** c") == "(** a (** b c))");
  CHECK(value("-x[0].m(1) ** 2") == "(- (** (call x[0].m 1) 2))");
  CHECK(value("a < b + 1") == "(< a (+ b 1))");
  CHECK(value("(a + b) * c") == "(* (+ a b) c)");
  CHECK(value("if a or b then c + 1 else d + 1") == "(if (or a b) (+ c 1) (+ d 1))");
  CHECK(value("if a then b else if c then d else e") == "(if a b (if c d e))");
  CHECK(value("sum[s in 0 : t] p[s] * v[s] + 1") == "(sum[s in 0:t] (+ (* p[s] v[s]) 1))");
}

TEST_CASE("if and comprehensions need parentheses as operands", "[parse]") {
  CHECK(Parsed("y = 1 + if a then b else c").codes() == "E0116 1:9");
  CHECK(Parsed("y = 2 * sum[s in 0 : T] x[s] + 1").codes() == "E0116 1:9");
  CHECK(Parsed("y = -if a then b else c").codes() == "E0116 1:6");
  CHECK(value("1 + (if a then b else c)") == "(+ 1 (if a b c))");
  CHECK(value("f(if a then b else c, sum[s in 0 : 2] s)") == "(call f (if a b c) (sum[s in 0:2] s))");
}

TEST_CASE("indices", "[parse]") {
  CHECK(value("x[t-1; 0:8, -1]") == "x[(- t 1); 0:8, (- 1)]");
  CHECK(value("w[; 0, :]") == "w[; 0, :]");
  CHECK(value("w[t;]") == "w[t; ]");
  CHECK(value("x[; None, ..., 1:, :2, ::3, a:b:c]") == "x[; None, ..., 1:, :2, ::3, a:b:c]");
  CHECK(value("r[t = 0, b = i % 3]") == "r[t=0, b=(% i 3)]");
  CHECK(value("o[i - 1 within max(0, i - N) : i]") == "o[(- i 1) within (call max 0 (- i N)):i]");
  CHECK(value("o[t = j within 0 : 4]") == "o[t=j within 0:4]");
  CHECK(value("nn.linear[l](4, 8)(x)") == "(call (call nn.linear[l] 4 8) x)");
  CHECK(Parsed("y = x[]").codes() == "E0101 1:5");
}

TEST_CASE("calls and over", "[parse]") {
  CHECK(value("f()") == "(call f)");
  CHECK(value("f(x, n = 4,)") == "(call f x n=4)");
  CHECK(value("sum(x, over = t)") == "(call sum x over=t)");
  CHECK(value("mean(x, over = (b, t), axis = 0)") == "(call mean x axis=0 over=b over=t)");
  CHECK(value("mean(x, over = t in 0 : T-1)") == "(call mean x over=t in 0:(- T 1))");
  CHECK(value("mean(x, over = (b in 0 : 2, t))") == "(call mean x over=b in 0:2 over=t)");
  CHECK(value("sum(x, over = t in win)") == "(call sum x over=t in win)");
  CHECK(value("steps(lo : t + 1)") == "(call steps (lo:(+ t 1)))");
  CHECK(Parsed("y = f(a = 1, b)").codes() == "E0115 1:14");
  CHECK(Parsed("y = f(axis = t in 0 : 3)").codes() == "E0101 1:14");
  CHECK(Parsed("y = (t in 0 : 3)").codes() == "E0101 1:6");
}

TEST_CASE("comprehensions, lists, tuples", "[parse]") {
  CHECK(value("max[s in 0 : t, k in 0 : 3 : 2] x[s; k]") == "(max[s in 0:t, k in 0:3:2] x[s; k])");
  CHECK(value("[1, 2.5, \"a\"]") == "(list 1 2.5 \"a\")");
  CHECK(value("[]") == "(list)");
  CHECK(value("[2 * k for k in [1, 2]]") == "(list[k in (list 1 2)] (* 2 k))");
  CHECK(value("(a, b)") == "(tuple a b)");
  CHECK(value("(a,)") == "(tuple a)");
  CHECK(value("(a)") == "a");
  CHECK(Parsed("y = frob[s in 0 : 3] s").codes() == "E0201 1:5");
}

TEST_CASE("literals", "[parse]") {
  auto number = [](const std::string& text) { return *Parsed("y = " + text).file.stmts.at(0)->value; };
  CHECK(number("1_000").integer == 1000);
  CHECK_FALSE(number("1_000").isFloat);
  CHECK(number("1_000").number == 1000.0);
  CHECK(number("1e-3").isFloat);
  CHECK(number("1e-3").number == 0.001);
  CHECK(number("2.5").number == 2.5);
  CHECK(number("9223372036854775807").integer == INT64_MAX);
  CHECK(Parsed("y = 9223372036854775808").codes() == "E0107 1:5");
  CHECK(Parsed("y = 1e400").codes() == "E0107 1:5");
  for (const char* bad : {"0x10", "2x", "1_", "1__0", "1.", "1e"})
    CHECK(Parsed(std::string("y = ") + bad).codes() == "E0107 1:5");
  CHECK(Parsed("y = \"a\\n\\t\\\"\\\\\"").file.stmts.at(0)->value->text == "a\n\t\"\\");
  CHECK(Parsed("y = \"a\\q\"").codes() == "E0104 1:7");
  CHECK(number("true").integer == 1);
  CHECK(value("s' + pi''") == "(+ s' pi'')");
}
