#include <limits>

#include "catch.hpp"
#include "random_index.hpp"
#include "sdg/graph.hpp"

using namespace tempo;

namespace {

const char* kEverything = R"(dim b : B
dim t : T
size B
size T = 4096 at least 1
size D = 64 specialised
size H = D // 2 derived
fact 0 <= B
fact 1 <= T
option lr : f32 = 3e-04 in %lr "the \"learning\" rate\nin steps"
input %x from "x.npz" member "x"
%lr[] : f32 = input
%x[b, t; a] : f32[D] =
  where 0 <= b and b < B and 0 <= t and t < T: input
%h'.1[b, t; c] : f32[D] =
  where 0 <= b and b < B and t == -1: -0.5:f32
  where 0 <= b and b < B and 0 <= t and t < T: 0.5:f32 * %h'.1[b, t - 1; c] + -%x[b, t; c] ** 2:f32
%p[b, t] : f32 =
  where 0 <= b and b < B and 0 <= t and t < T: sum[s in max(0, t - 3) : t + 1, d in 0 : D] %x[b, s; d] * %lr[]
%m[b, t] : f32 =
  where 0 <= b and b < B and 0 <= t and t < T: max[s in 0 : t] %p[b, s] init -inf:f32
%i[t] : i32 =
  where 0 <= t and t < T: cast<i32>(random("noise \\ 1", t, 2*t + 1) % 7:i64)
%g[t] : f32 =
  where 0 <= t and t < T: %p[{cast<i64>(%i[t]) in 0 : B}, {%i[t] in max(0, t - 7) : t + 1 checked}]
%u[b; e] : i32[D] =
  where 0 <= b and b < B: argsort descending %x[b, 0; e]
%f[t] : f32 =
  where 0 <= t and t < T: select(not (%i[t] < 3:i32 or when(t % 2 == 0)), guard(1 <= t, %f[t - 1], 0:f32), ix(t - T):f32)
%k[] : f64 = (-2:f64) ** 3:f64 - (1:f64 - -(4:f64)) / (2:f64 * atan2(1e-05:f64, inf:f64))
output %g[t in 0 : T] as "g" to "g.npy"
output %p[b = 0, t in 0 : T] as "p"
report[b, t] where 0 <= b and b < B and 0 <= t and t < T and t % 10 == 0: "p" %p[b, t], "x" [a : D] %x[b, t; a]
print[] if %k[] > 0:f64: "k" %k[]
assert[t] where 0 <= t and t < T that isfinite(%g[t])
)";

std::string messageOf(const std::string& text) {
  try {
    parseGraph(text);
  } catch (const GraphError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the text form reads back as it was printed", "[text]") {
  Graph g = parseGraph(kEverything);
  CHECK(print(g) == kEverything);
  CHECK_NOTHROW(verify(g));
  const Node& f = *g.find("f");
  CHECK(f.pieces[0].body.value->kind == Expr::Kind::Select);
  CHECK(g.at(g.outputs[1].node).name == "p");
  CHECK(g.outputs[1].fixed == std::vector<bool>{true, false});
  CHECK(g.sizes[2].specialised);
  CHECK(g.options[0].help == "the \"learning\" rate\nin steps");
  CHECK(print(g, *g.find("lr")) == "%lr[] : f32 = input\n");
}

TEST_CASE("operator structure survives", "[text]") {
  auto f = [](double v) { return ex::constant(DType::F32, v); };
  auto op = [](Op o, std::vector<ExprPtr> args) { return ex::op(o, std::move(args)); };
  std::vector<ExprPtr> cases{
      op(Op::Sub, {f(1), op(Op::Sub, {f(2), f(3)})}),
      op(Op::Mul, {op(Op::Add, {f(1), f(2)}), op(Op::Neg, {op(Op::Neg, {f(3)})})}),
      op(Op::Pow, {op(Op::Pow, {f(1), f(2)}), op(Op::Pow, {f(-3), f(4)})}),
      op(Op::Neg, {op(Op::Pow, {op(Op::Neg, {f(-0.0)}), f(2)})}),
      op(Op::Div, {op(Op::Mod, {f(1), f(2)}), op(Op::FloorDiv, {f(3), f(4)})}),
      op(Op::Eq, {op(Op::Lt, {f(1), f(2)}),
                  op(Op::Not, {op(Op::And, {op(Op::Or, {op(Op::IsNan, {f(1)}), op(Op::Ge, {f(1), f(2)})}),
                                            op(Op::Not, {op(Op::Ne, {f(1), f(2)})})})})}),
      op(Op::Max, {f(std::numeric_limits<double>::infinity()), f(0.1)}),
      ex::select(ex::cond(Cond::ge(Ix(3), Ix(2))), f(1), ex::cast(DType::F32, ex::constant(DType::I64, -7)))};
  for (const ExprPtr& e : cases) {
    Graph g;
    Node n;
    n.name = "y";
    n.dtype = e->dtype;
    n.pieces.push_back({Cond(), Body{.value = e}, {}});
    g.add(n);
    std::string text = print(g);
    INFO(text);
    CHECK(ex::equal(parseGraph(text).nodes()[0].pieces[0].body.value, e));
  }
}

TEST_CASE("index expressions and conditions read back equal", "[text]") {
  const Sym t = Sym::get("t"), s = Sym::get("s");
  for (unsigned seed = 0; seed < 300; ++seed) {
    test::Generator gen(seed + 9000, {t, s});
    Ix x = gen.ints(4).ix;
    Cond c = gen.bools(3).cond;
    Graph g;
    Node n;
    n.name = "y";
    n.dtype = DType::I64;
    n.pieces.push_back({c, Body{.value = ex::index(x, DType::I64)}, {}});
    g.add(n);
    std::string text = print(g);
    INFO("seed " << seed << ": " << text);
    Graph back = parseGraph(text);
    CHECK(back.nodes()[0].pieces[0].where == c);
    CHECK(back.nodes()[0].pieces[0].body.value->ix == x);
  }
}

TEST_CASE("names that are no names are quoted, equal names told apart", "[text]") {
  Graph g;
  for (const char* name : {"y", "odd name", "y", "y.max"}) {
    Node n;
    n.name = name;
    n.pieces.push_back({Cond(), Body{.value = ex::constant(DType::F32, 1)}, {}});
    g.add(n);
  }
  g.nodes()[0].pieces[0].body.value = ex::read(NodeId{2}, DType::F32, {});
  std::string text = print(g);
  CHECK(text == "%y[] : f32 = %y~2[]\n%\"odd name\"[] : f32 = 1:f32\n%y~2[] : f32 = 1:f32\n%y.max[] : f32 = 1:f32\n");
  CHECK(print(parseGraph(text)) == text);
}

TEST_CASE("what cannot be read is told with its place", "[text]") {
  CHECK(messageOf("dim t") == "1:6: expected `:`, found ``");
  CHECK(messageOf("%y[] : f32 =\n  %z[]") == "2:3: no node `%z`");
  CHECK(messageOf("%y[] : f32 = 1:f32 + 2:i32").find("f32 and i32") != std::string::npos);
  CHECK(messageOf("%y[] : f32 = 1:f32\n%y[] : f32 = 1:f32").find("twice") != std::string::npos);
  CHECK(messageOf("%y[] : q8 = 1:f32") != "");
  CHECK(messageOf("output %y[] as \"y") == "1:16: a string that does not end");
  CHECK(messageOf("%y[t] : f32 = 1:f32\n%x[] : f32 = %y[]").find("1 dims") != std::string::npos);
  CHECK(messageOf("fact t // 0 == 1").find("division by 0") != std::string::npos);
  CHECK(messageOf("fact 99999999999999999999 < t").find("64 bits") != std::string::npos);
  CHECK(messageOf("fact " + std::string(100000, '(')).find("deeply") != std::string::npos);
  CHECK(messageOf("@") == "1:1: unexpected character `@`");
}
