// Nodes that are not equations of the program: reductions, shared values, matrix products.
#include <algorithm>

#include "check.hpp"
#include "elab/elaborator.hpp"

namespace tempo::elab {

namespace {

void collectExpr(const ExprPtr& e, std::set<Sym>& out) {
  if (!e) return;
  ex::visit(e, [&](const Expr& x) {
    if (x.kind == Expr::Kind::Index) x.ix.collect(out);
    if (x.kind == Expr::Kind::Cond || x.kind == Expr::Kind::Guard) x.cond.collect(out);
    for (auto& i : x.indices) {
      if (i.data) {
        i.lo.collect(out);
        i.hi.collect(out);
      } else {
        i.ix.collect(out);
      }
    }
  });
}

std::set<Sym> freeVars(const Body& b, const std::vector<Ix>& shape) {
  std::set<Sym> out;
  collectExpr(b.value, out);
  collectExpr(b.init, out);
  for (auto& r : b.rvars) {
    r.lo.collect(out);
    r.hi.collect(out);
  }
  for (auto& r : b.rvars) out.erase(r.var);
  for (auto& n : shape) n.collect(out);
  return out;
}

void substBody(Body& b, const Subst& s) {
  if (b.value) b.value = ex::subst(b.value, s);
  if (b.init) b.init = ex::subst(b.init, s);
  for (auto& r : b.rvars) {
    r.lo = r.lo.subst(s);
    r.hi = r.hi.subst(s);
  }
}

}  // namespace

std::string Elaborator::uniqueName(const std::string& base) {
  int n = ++nameCounts_[base];
  return n == 1 ? base : uniqueName(base + "." + std::to_string(n));
}

Sym Elaborator::uniqueVar(const std::string& base) {
  std::string s;
  for (char c : base) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::string name = s;
  for (int n = 2; !usedVars_.insert(name).second; ++n) name = s + "_" + std::to_string(n);
  return Sym::get(name);
}

/// A node of its own. `body` gets the axis variables. Bound variables of enclosing comprehensions that the value depends on
/// become its leading axes, or, where the variable stands for a dim, that dim.
Arr Elaborator::makeNode(const std::string& suffix, const std::vector<Ix>& shape0, DType t, std::set<Sym> dims,
                         const std::function<Body(const std::vector<Ix>&)>& body, Loc l) {
  std::string base = cx_.path.empty() ? suffix : cx_.path + "." + suffix;
  if (!emit_) {
    // Nothing is emitted yet: a read of no node stands for it.
    std::vector<Sym> holes;
    for (size_t k = 0; k < shape0.size(); ++k) holes.push_back(hole());
    return accessArray({}, holes, t, dims, shape0, l);
  }
  Node n;
  n.name = uniqueName(base);
  n.dtype = t;
  n.loc = l;
  std::vector<Ix> shape = shape0, vars;
  std::vector<Axis> axes;
  for (size_t k = 0; k < shape.size(); ++k) {
    axes.push_back({uniqueVar(n.name + "_" + std::to_string(k)), shape[k]});
    vars.push_back(axes.back().var);
  }
  Body b = body(vars);
  std::set<Sym> free = freeVars(b, shape);
  for (auto& a : axes) free.erase(a.var);
  std::vector<Sym> bound;
  for (Sym v : free) {
    if (boundVars_.count(v)) bound.push_back(v);
  }
  std::vector<Index> lead;
  Subst back;
  std::vector<Axis> leadAxes;
  if (bound.size() == 1 && boundVars_[bound[0]].standsFor && !free.count(boundVars_[bound[0]].standsFor)) {
    Sym d = boundVars_[bound[0]].standsFor;
    Subst s{{bound[0], Ix(d)}};
    substBody(b, s);
    for (auto& a : axes) a.length = a.length.subst(s);
    free.erase(bound[0]);
    free.insert(d);
    back[d] = Ix(bound[0]);
  } else {
    Subst s;
    for (Sym v : bound) {
      Ix lo = boundVars_[v].lo, hi = boundVars_[v].hi;
      std::vector<Sym> outer;
      Cond ranges = sizeFacts();
      for (const Ix& e : {lo, hi}) {
        for (Sym o : e.vars()) {
          if (!boundVars_.count(o)) continue;
          outer.push_back(o);
          ranges = ranges && Cond::range(o, boundVars_[o].lo, boundVars_[o].hi);
        }
      }
      if (!outer.empty()) {
        lo = solver_.min(lo, outer, ranges).value_or(lo);
        hi = solver_.max(hi, outer, ranges).value_or(hi);
      }
      Sym ax = uniqueVar(n.name + "_" + v.name());
      leadAxes.push_back({ax, rangeLength(lo, hi, 1)});
      s[v] = lo + Ix(ax);
      free.erase(v);
      lo.collect(free);
      hi.collect(free);
      Index i;
      i.ix = Ix(v) - lo;
      lead.push_back(i);
    }
    substBody(b, s);
    for (auto& a : axes) {
      for (auto& [v, e] : s) {
        if (a.length.uses(v)) fail("E0407", spanOf(l), "a length depends on a bound variable of a comprehension", "`" + a.length.str() + "`");
      }
    }
  }
  n.axes = leadAxes;
  n.axes.insert(n.axes.end(), axes.begin(), axes.end());
  n.dims = dimsInOrder(free);
  Piece p;
  p.body = std::move(b);
  p.loc = l;
  n.pieces.push_back(std::move(p));
  Access acc;
  for (Sym d : n.dims) {
    Index i;
    i.ix = back.count(d) ? back[d] : Ix(d);
    acc.at.push_back(i);
  }
  for (auto& i : lead) acc.at.push_back(i);
  std::vector<Sym> holes;
  for (size_t k = 0; k < shape0.size(); ++k) {
    holes.push_back(hole());
    Index i;
    i.ix = Ix(holes.back());
    acc.at.push_back(i);
  }
  acc.node = graph_.add(std::move(n));
  roles_.push_back(NodeRole::Aux);
  return accessArray(acc, holes, t, dims, shape0, l);
}

/// The array as a node of its own, unless it already reads one.
Arr Elaborator::materialise(const Arr& a0, const std::string& suffix) {
  if (a0->unknown || a0->access) return a0;
  Arr a = strong(a0);
  Arr out = makeNode(suffix, a->shape, a->dtype, a->dims,
                     [&](const std::vector<Ix>& pos) {
                       Body b;
                       b.value = at(a, pos, a->dtype);
                       return b;
                     },
                     a->loc);
  return bounded(out, a->lo, a->hi);
}

Arr Elaborator::reduceVars(Reduce r, const Arr& a0, const std::vector<RVar>& vars, const Arr& init, const std::string& name,
                           Span where) {
  std::set<Sym> dims = a0->dims;
  for (auto& v : vars) dims.erase(v.var);
  for (auto& v : vars) {
    for (const Ix& e : {v.lo, v.hi}) {
      for (Sym d : e.vars()) {
        if (isDim(d) || boundVars_.count(d)) dims.insert(d);
      }
    }
  }
  for (auto& v : vars) dims.erase(v.var);
  if (a0->unknown) return unknownArray(dims);
  Arr a = strong(a0);
  bool logic = r == Reduce::All || r == Reduce::Any;
  if (logic != (a->dtype == DType::Bool)) {
    if (!logic && r == Reduce::Sum) {
      a = cast(a, DType::I32);
    } else {
      fail("E0414", where, std::string("`") + info(r).text + "` does not take " + tempo::name(a->dtype));
    }
  }
  DType t = resultType(r, a->dtype);
  for (auto& n : a->shape) {
    for (auto& v : vars) {
      if (n.uses(v.var)) fail("E0407", where, "the values reduced have different lengths", "length `" + n.str() + "`");
    }
  }
  Loc l = loc(where);
  Arr out = makeNode(name, a->shape, t, dims,
                     [&](const std::vector<Ix>& pos) {
                       Body b;
                       b.kind = Body::Kind::Reduce;
                       b.reduce = r;
                       b.rvars = vars;
                       b.value = at(a, pos, a->dtype);
                       if (init) b.init = at(init, {}, t);
                       return b;
                     },
                     l);
  if (vars.size() == 1 && (r == Reduce::ArgMax || r == Reduce::ArgMin)) {
    return bounded(out, Ix(0), rangeLength(vars[0].lo, vars[0].hi, 1));
  }
  if ((r == Reduce::Max || r == Reduce::Min) && a->lo && a->hi) {
    auto free = [&](const Ix& e) {
      for (auto& v : vars) {
        if (e.uses(v.var)) return false;
      }
      return true;
    };
    if (free(*a->lo) && free(*a->hi)) return bounded(out, a->lo, a->hi);
  }
  return out;
}

Arr Elaborator::reduceAxes(Reduce r, const Arr& a, const std::vector<size_t>& axes, bool keep, const Arr& init,
                           const std::string& name, Span where) {
  if (a->unknown) return a;
  std::vector<RVar> vars;
  std::vector<Ix> rest;
  std::vector<std::optional<Ix>> fixed(a->rank());
  for (size_t k : axes) {
    Sym v = uniqueVar("r");
    vars.push_back({v, Ix(0), a->shape[k]});
    fixed[k] = Ix(v);
  }
  for (size_t k = 0; k < a->rank(); ++k) {
    if (!fixed[k]) rest.push_back(a->shape[k]);
  }
  if (axes.empty()) return strong(a);
  Arr inner = mapAxes(strong(a), rest, [fixed](const std::vector<Ix>& pos) {
    std::vector<Ix> p;
    size_t next = 0;
    for (auto& f : fixed) p.push_back(f ? *f : pos[next++]);
    return p;
  });
  // The reduction variable is no bound variable of a comprehension: it must not count as a dependence.
  Arr out = reduceVars(r, inner, vars, init, name, where);
  if (!keep) return out;
  std::vector<Ix> shape = a->shape;
  for (size_t k : axes) shape[k] = 1;
  std::vector<size_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return mapAxes(out, shape, [sorted](std::vector<Ix> p) {
    for (auto it = sorted.rbegin(); it != sorted.rend(); ++it) p.erase(p.begin() + static_cast<long>(*it));
    return p;
  });
}

/// `@`: contracts the last axis of `a` with the last but one (or only) axis of `b`; other leading axes must agree.
Arr Elaborator::matmul(const Arr& a, const Arr& b, Span where) {
  std::set<Sym> dims = a->dims;
  dims.insert(b->dims.begin(), b->dims.end());
  if (a->unknown || b->unknown) return unknownArray(dims);
  size_t ra = a->rank(), rb = b->rank();
  auto both = [&] { return shapeText(*a) + " @ " + shapeText(*b); };
  if (ra == 0 || rb == 0) fail("E0418", where, "`@` needs at least one axis on both sides", both(), "`*` multiplies by a scalar");
  if (ra > 2 && rb > 2 && ra != rb) fail("E0402", where, "batched `@` needs equal ranks", both());
  const Ix& ka = a->shape[ra - 1];
  const Ix& kb = b->shape[rb == 1 ? 0 : rb - 2];
  if (!sameLength(ka, kb)) {
    fail("E0418", where, "`@` contracts axes of lengths `" + ka.str() + "` and `" + kb.str() + "`", both());
  }
  size_t batchA = ra >= 2 ? ra - 2 : 0, batchB = rb >= 2 ? rb - 2 : 0, batch = std::max(batchA, batchB);
  std::vector<Ix> shape;
  for (size_t k = 0; k < batch; ++k) {
    if (k < batchA && k < batchB && !sameLength(a->shape[k], b->shape[k])) {
      fail("E0418", where, "the leading axes of `@` differ: `" + a->shape[k].str() + "` and `" + b->shape[k].str() + "`", both());
    }
    shape.push_back(k < batchA ? a->shape[k] : b->shape[k]);
  }
  if (ra >= 2) shape.push_back(a->shape[ra - 2]);
  if (rb >= 2) shape.push_back(b->shape[rb - 1]);
  auto [t, weak] = joinTypes({a, b}, where, "@");
  if (weak == Weak::Float) t = DType::F32;
  if (t == DType::Bool) fail("E0414", where, "`@` does not take bool", both());
  Sym r = uniqueVar("k");
  Loc l = loc(where);
  return makeNode("dot", shape, t, dims,
                  [&, t = t](const std::vector<Ix>& pos) {
                    std::vector<Ix> pa(pos.begin(), pos.begin() + static_cast<long>(batchA));
                    std::vector<Ix> pb(pos.begin(), pos.begin() + static_cast<long>(batchB));
                    if (ra >= 2) pa.push_back(pos[batch]);
                    pa.push_back(Ix(r));
                    pb.push_back(Ix(r));
                    if (rb >= 2) pb.push_back(pos.back());
                    Body body;
                    body.kind = Body::Kind::Reduce;
                    body.reduce = Reduce::Sum;
                    body.rvars = {{r, Ix(0), ka}};
                    body.value = ex::op(Op::Mul, {at(a, pa, t), at(b, pb, t)}, l);
                    return body;
                  },
                  l);
}

}  // namespace tempo::elab
