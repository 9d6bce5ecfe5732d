#include "catch.hpp"
#include "sdg/graph.hpp"

using namespace tempo;

namespace {

std::string complaint(const Graph& g, bool deep = false) {
  try {
    verify(g, deep);
  } catch (const GraphError& e) {
    return e.what();
  }
  return "";
}

std::string complaint(const std::string& text, bool deep = false) {
  return complaint(parseGraph("dim b : B\ndim t : T\nsize B\nsize T\nsize D\n" + text), deep);
}

}  // namespace

TEST_CASE("the verifier names the rule and the node", "[verify]") {
  CHECK(complaint("%y[t] : f32 = ix(t + T):f32") == "");
  CHECK(complaint("%y[t] : f32 = ix(s):f32") == "scope: `y` uses `s`, which is not in scope");
  CHECK(complaint("%y[t] : f32 =\n  where q == 0: 1:f32") ==
        "scope: a condition of `y` uses `q`, which is not in scope");
  CHECK(complaint("%y[q] : f32 = 1:f32") == "dim-known: `y` has the dim `q`, which no one declares");
  CHECK(complaint("%y[t, b] : f32 = 1:f32") == "dim-order: `y` has its dims out of the program's order");
  CHECK(complaint("%y[t; t] : f32[D] = 1:f32") == "axis-unique: `y` uses `t` for two things");
  CHECK(complaint("%y[t; a, c] : f32[D, a] = 1:f32") ==
        "scope: the length of an axis of `y` uses `a`, which is not in scope");
  CHECK(complaint("%y[] : f32 = 1:i32") == "type: `y` is f32 and its value is i32");
  CHECK(complaint("%y[] : f32 = sum[i in 0 : i] 1:f32") == "scope: a range of `y` uses `i`, which is not in scope");
  CHECK(complaint("%y[] : f32 = sum[i in 0 : D] true") == "type: `y` is the sum of bool");
  CHECK(complaint("%y[] : i32 = argmax[i in 0 : D, j in 0 : i] 1:f32") ==
        "reduce-range: `y` takes a position over more than one variable");
  CHECK(complaint("%y[] : f32 = max[i in 0 : D] 1:f32 init 1:i32") == "type: `y` is f32 and its initial value is i32");
  CHECK(complaint("%y[] : i32 = argsort 1:f32") == "argsort-axis: `y` sorts and has no axis");
  CHECK(complaint("%y[t] : f32 = 1:f32\noutput %y[] as \"y\"") ==
        "output-rank: output `y` has 0 ranges, its node has 1 dims");
  CHECK(complaint("%y[t] : f32 = 1:f32\ninput %y") == "input-body: `y` is declared an input and has a body");
  CHECK(complaint("print[t] if 1:f32: \"x\" 1:f32") == "type: an effect's condition is f32");
}

TEST_CASE("the verifier sees broken reads", "[verify]") {
  Graph g = parseGraph("dim t : T\n%x[t] : f32 = 1:f32\n%y[t] : f32 = %x[t]\n");
  Graph rank = g, type = g, dead = g;
  Body& r = rank.nodes()[1].pieces[0].body;
  r.value = ex::read(NodeId{0}, DType::F32, {});
  CHECK(complaint(rank) == "read-rank: `y` reads `x` at 0 indices, it has 1 dims and 0 axes");
  type.nodes()[0].dtype = DType::I32;
  type.nodes()[0].pieces[0].body.value = ex::constant(DType::I32, 1);
  CHECK(complaint(type) == "type: `y` reads `x` as f32, it is i32");
  dead.nodes()[0].pieces.clear();
  CHECK(complaint(dead) == "node-alive: `y` refers to the dead node `x`");
}

TEST_CASE("deep verification finds overlaps, holes and ranges with a counterexample", "[verify]") {
  const std::string x = "%x[t; a] : f32[D] =\n  where 0 <= t and t < T: 1:f32\n";
  CHECK(complaint("%y[t] : f32 =\n  where 0 <= t and t < T: 1:f32\n  where t == 3: 1:f32", true) ==
        "pieces-disjoint: pieces 0 and 1 of `y` both define it at T = 4, t = 3");
  CHECK(complaint(x + "%y[t] : f32 =\n  where 0 <= t and t < T: sum[i in 0 : D] %x[t; i]", true) == "");
  CHECK(complaint(x + "%y[t] : f32 =\n  where 0 <= t and t < T: sum[i in 0 : D] %x[t - 1; i]", true)
            .find("read-defined: `y` reads `x`, which nothing defines, at ") == 0);
  CHECK(complaint(x + "%y[t] : f32 =\n  where 0 <= t and t < T: sum[i in 0 : D + 1] %x[t; i]", true)
            .find("read-in-range: `y` reads `x` outside axis 0 at ") == 0);
  CHECK(complaint(x + "%y[t] : f32 =\n  where 0 <= t and t < T: guard(1 <= t and 0 < D, %x[t - 1; 0], 0:f32)", true) ==
        "");
  CHECK(
      complaint(
          x + "%i[] : i32 = 0:i32\n%y[t] : f32 =\n  where 0 <= t and t < T: guard(1 <= D, %x[{%i[] in 0 : t + 1}; 0], "
              "0:f32)",
          true) == "");
  CHECK(
      complaint(
          x + "%i[] : i32 = 0:i32\n%y[t] : f32 =\n  where 0 <= t and t < T: guard(1 <= D, %x[{%i[] in 0 : t + 2}; 0], "
              "0:f32)",
          true)
          .find("read-defined") == 0);
}
