#include "catch.hpp"
#include "check.hpp"
#include "sdg/graph.hpp"

using namespace tempo;

namespace {
const Sym t = Sym::get("t"), s = Sym::get("s");
ExprPtr num(double v) { return ex::constant(DType::F32, v); }
}  // namespace

TEST_CASE("constructors refuse what has no type", "[expr]") {
  CHECK_THROWS_AS(ex::op(Op::Add, {num(1)}), InternalError);
  CHECK_THROWS_AS(ex::op(Op::Add, {num(1), ex::constant(DType::I32, 1)}), InternalError);
  CHECK_THROWS_AS(ex::op(Op::Exp, {ex::constant(DType::I32, 1)}), InternalError);
  CHECK_THROWS_AS(ex::select(num(1), num(1), num(1)), InternalError);
  CHECK_THROWS_AS(ex::read(NodeId{0}, DType::F32, {Index{.data = num(1)}}), InternalError);
}

TEST_CASE("substitution reaches every index and condition", "[expr]") {
  ExprPtr idx = ex::read(NodeId{1}, DType::I32, {Index{.ix = t}});
  ExprPtr e =
      ex::guard(Cond::ge(t, 1),
                ex::read(NodeId{0}, DType::F32, {Index{.ix = Ix(t) - 1}, Index{.data = idx, .lo = t, .hi = Ix(t) + 4}}),
                ex::op(Op::Mul, {ex::index(t, DType::F32), ex::cast(DType::F32, ex::random("r", {t}))}));
  ExprPtr f = ex::subst(e, {{t, Ix(s) + 1}});
  ex::visit(f, [&](const Expr& x) {
    CHECK_FALSE(x.ix.uses(t));
    CHECK(x.cond.vars().count(t) == 0);
    for (const Index& i : x.indices) CHECK_FALSE((i.ix.uses(t) || i.lo.uses(t) || i.hi.uses(t)));
  });
  CHECK(f->cond == Cond::ge(s, 0));
  CHECK(ex::equal(ex::subst(f, {{s, Ix(t) - 1}}), e));
  CHECK(ex::hash(ex::subst(f, {{s, Ix(t) - 1}})) == ex::hash(e));
  CHECK_FALSE(ex::equal(f, e));
}

TEST_CASE("rewriting goes bottom-up and keeps what it does not touch", "[expr]") {
  ExprPtr a = num(1), b = num(2);
  ExprPtr e = ex::op(Op::Add, {ex::op(Op::Mul, {a, b}), a});
  CHECK(ex::rewrite(e, [](const ExprPtr& x) { return x; }) == e);
  ExprPtr folded = ex::rewrite(e, [](const ExprPtr& x) -> ExprPtr {
    if (x->kind != Expr::Kind::Op) return x;
    double args[2] = {x->args[0]->value, x->args[1]->value};
    return ex::constant(x->dtype, evalOp(x->op, x->dtype, args));
  });
  CHECK(folded->value == 3);
  CHECK(ex::cost(e) == 2);
  CHECK(ex::children(*e).size() == 2);
  CHECK_THROWS_AS(ex::withChildren(*e, {a}), InternalError);
}

TEST_CASE("graphs find nodes and reads", "[graph]") {
  Graph g = parseGraph(
      "dim t : T\n%x[t] : f32 = input\n%y[t] : f32 =\n  where t == 0: 1:f32\n  where 1 <= t: %y[t - 1] * %x[t]\n");
  CHECK(g.find("y")->id == NodeId{1});
  CHECK(g.find("z") == nullptr);
  CHECK(g.sizeOf(t).name() == "T");
  std::vector<uint32_t> reads;
  forEachRead(*g.find("y"), [&](const Piece&, const Expr& e) { reads.push_back(e.node.v); });
  CHECK(reads == std::vector<uint32_t>{1, 0});
  CHECK_THROWS_AS(g.at(NodeId{7}), InternalError);
}
