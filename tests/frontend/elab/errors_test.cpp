// What is wrong in a program, told by code and place.
#include "frontend/elab/elab_util.hpp"

using namespace tempo;
using namespace tempo::elabtest;

namespace {
const std::string kHead = "dim b : B, t : T\nsize D = 4\ninput x[b, t] : f32[D], y[t] : f32, z[b, t] : f32\n";
std::string error(const std::string& text) { return errorOf(kHead + text); }
}  // namespace

TEST_CASE("mistakes in names") {
  CHECK(error("o = yy + 1\noutput o") == "E0201 at yy");
  CHECK(error("o = y\noutput oo") == "E0201 at oo");
  CHECK(error("o = y\no = y + 1") == "E0202 at o");
  CHECK(error("o = y\no[0] = 1") == "E0217 at o");
  CHECK(error("fn f(a) = a\no = f(y, y)") == "E0203 at f(y, y)");
  CHECK(error("fn f(a) = a\no = f(b = y)").substr(0, 5) == "E0204");
  CHECK(error("a = c\nc = a").substr(0, 5) == "E0205");
  CHECK(error("use nothere").substr(0, 5) == "E0206");
  CHECK(error("use nn\no = nn.lineer(1, 2)").substr(0, 5) == "E0207");
  CHECK(error("o = grad(y, y)").substr(0, 5) == "E0208");
  CHECK(error("fn f(a) = f(a)\no = f(y)").substr(0, 5) == "E0211");
  CHECK(error("fn f[t](a) = a[t-1]\no = f(y)").substr(0, 5) == "E0213");
  CHECK(error("fn f(a) = (a, a)\n(o, p, q) = f(y)").substr(0, 5) == "E0215");
}

TEST_CASE("dtypes, ranks and lengths") {
  CHECK(error("o = x + (y > 0)") == "E0401 at x + (y > 0)");
  CHECK(error("o = x + x[; None, :]") == "E0402 at x + x[; None, :]");
  CHECK(error("o = x + x[; 0 : 2]") == "E0403 at x + x[; 0 : 2]");
  CHECK(error("o = y[0 : t+1] + y[0 : t]").substr(0, 5) == "E0403");
  CHECK(error("o = x @ x[; 0 : 2]").substr(0, 5) == "E0418");
  CHECK(error("o = if y then 1 else 0").substr(0, 5) == "E0414");
  CHECK(error("o = sum(x, axis = 3)").substr(0, 5) == "E0412");
  // A loss over a column against a vector does not become a matrix.
  CHECK(errorOf("size B = 3\ninput ret : f32[B, 1], v : f32[B]\nloss = mean((ret - v) ** 2)\noutput loss") == "E0402 at (ret - v)");
}

TEST_CASE("mistakes in indices") {
  CHECK(error("o = z[t, b]") == "E0405 at t");
  CHECK(error("o = z[t = 0, 1]").substr(0, 5) == "E0405");
  CHECK(error("o = y[b = 0]").substr(0, 5) == "E0410");
  CHECK(error("w = x[t = 0 : 1; 0, 0, 0]").substr(0, 5) == "E0411");
  CHECK(error("o = y[t / 2]").substr(0, 5) == "E0408");
  CHECK(error("o = y[t = i32(z)]").substr(0, 5) == "E0308");
  CHECK(error("r = y[0 : t+1]\no = r[0 : T]").substr(0, 5) == "E0407");
  CHECK(error("o[2 * t + b] = 1").substr(0, 5) == "E0220");
  CHECK(error("o = sum(y, over = b)").substr(0, 5) == "E0410");
}

TEST_CASE("by name and by position") {
  Compiled c = compile(kHead + "o = z[t-1]\np = z[b, t-1]\nq = y[0]\noutput p[t = 1 : T]");
  INFO(c.text());
  REQUIRE(c.program);
  CHECK(c.program->types[0].type == "f32 over (b, t)");
  CHECK(c.program->types[2].type == "f32");
}

TEST_CASE("sizes from the command line") {
  CHECK(compile("size D = 4\no = D", {{"E", 3}}).codes() == "E0506");
  CHECK(compile("size D = 4\no = D", {{"D", 3}}).codes() == "");
  CHECK(compile("dim t : T >= 2\no[t] = 1.0", {{"T", 1}}).codes() == "E0502");
  CHECK(errorOf("dim t : T\nsize W\ninput x[t] : f32\no[t] = x[t // W]").substr(0, 5) == "E0501");
}

TEST_CASE("a size that divides a dim is compiled per value, others stay open") {
  Compiled c = compile("dim t : T\nsize W = 4, D = 2\ninput x[t] : f32[D]\no[t] = x[t // W * W]\noutput o");
  REQUIRE(c.program);
  for (auto& z : c.program->graph.sizes) CHECK(z.specialised == (z.sym.name() == "W"));
}

TEST_CASE("a cycle of plain lefts") {
  CHECK(error("o = p[t-1]\np = o * 2").substr(0, 5) == "E0205");
}

TEST_CASE("a gather takes its dims away and brings those of its index") {
  Compiled c = compile(R"(
dim i : I = 3, b : B = 4, t : T = 5, m : M = 2
size N = B * T // M
q = mb(s + 1)
fn mb(x) = x[b = pick % B, t = pick // B]
pick = order[; m * N : (m + 1) * N]
order[i] = permutation(B * T)
s[0, b, 0] = 0.0
s[i+1, b, 0] = s[i, b, T]
s[i, b, t+1] = 0.9 * s
output q
)");
  INFO(c.text());
  REQUIRE(c.program);
  CHECK(c.program->types[0].type == "f32[10] over (i, m)");
  // The values of a permutation of B T things, divided by B, lie below T: nothing is left to test at run time.
  const Graph& g = c.program->graph;
  for (auto& n : g.nodes()) {
    forEachRead(n, [&](const Piece&, const Expr& r) {
      for (auto& x : r.indices) CHECK(!x.checked);
    });
  }
}

TEST_CASE("a mistake met in the library is told at the call") {
  CHECK(error("o = softmax(x > 0)") == "E0414 at softmax(x > 0)");
}
