#include "specialise.hpp"

#include "simplify/simplify.hpp"

namespace tempo {

namespace {

void substNode(Node& n, const Subst& s) {
  for (Axis& a : n.axes) a.length = a.length.subst(s);
  for (Piece& p : n.pieces) {
    p.where = p.where.subst(s);
    for (RVar& r : p.body.rvars) r.lo = r.lo.subst(s), r.hi = r.hi.subst(s);
    if (p.body.value) p.body.value = ex::subst(p.body.value, s);
    if (p.body.init) p.body.init = ex::subst(p.body.init, s);
  }
}

}  // namespace

void specialise(Graph& g, Sym size, int64_t value) {
  Subst s{{size, Ix(value)}};
  for (Node& n : g.nodes()) substNode(n, s);
  for (Output& o : g.outputs)
    for (RVar& r : o.box) r.lo = r.lo.subst(s), r.hi = r.hi.subst(s);
  for (Effect& e : g.effects) {
    e.where = e.where.subst(s);
    if (e.condition) e.condition = ex::subst(e.condition, s);
    for (auto& [text, v] : e.values) v = ex::subst(v, s);
    for (auto& axes : e.axes)
      for (Axis& a : axes) a.length = a.length.subst(s);
  }
  for (Cond& f : g.facts) f = f.subst(s);
  for (Size& z : g.sizes) {
    if (z.sym == size) z.specialised = true;
    if (z.value) z.value = z.value->subst(s);
  }
}

}  // namespace tempo
