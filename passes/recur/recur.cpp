#include "recur/recur.hpp"

#include <algorithm>

#include "simplify/simplify.hpp"
#include "specialise.hpp"

namespace tempo {

namespace {

/// Blocks shorter than this are as cheap to reduce directly.
constexpr int64_t kShortWindow = 4;

/// How a reduction's range moves with a dim.
struct Motion {
  enum class Kind { Growing, Shrinking, Sliding } kind;
  size_t dim;        // of the node
  size_t rvar;
  Ix newest;         // growing, sliding: the last element at t; shrinking: the first
  Ix fixed;          // the end that does not move (sliding: the lower clamp, or nothing)
  Ix width;          // sliding
  ExprPtr factor;    // discounted: multiplies the carried value
  ExprPtr term;      // the value without what the recurrence takes over, at `newest`
};

bool usesVar(const ExprPtr& e, Sym v) {
  bool found = false;
  ex::visit(e, [&](const Expr& x) {
    found = found || x.ix.uses(v) || x.cond.vars().count(v);
    for (const Index& i : x.indices) found = found || (i.data ? i.lo.uses(v) || i.hi.uses(v) : i.ix.uses(v));
  });
  return found;
}

/// e == v + constant of sizes, sign 1
bool moves(const Ix& e, Sym v) { return e.uses(v) && !(e - Ix(v)).uses(v); }

const Ix* exponentOf(const ExprPtr& e) {
  const Expr* x = e.get();
  while (x->kind == Expr::Kind::Cast) x = x->args[0].get();
  return x->kind == Expr::Kind::Index ? &x->ix : nullptr;
}

/// value = base ** (distance along the range) * rest, with base free of both variables.
std::optional<ExprPtr> discount(const ExprPtr& value, Sym t, Sym r, bool growing) {
  if (value->kind != Expr::Kind::Op || value->op != Op::Mul) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const ExprPtr &p = value->args[size_t(side)], &rest = value->args[size_t(1 - side)];
    if (p->kind != Expr::Kind::Op || p->op != Op::Pow || usesVar(rest, t)) continue;
    const Ix* exponent = exponentOf(p->args[1]);
    if (!exponent || usesVar(p->args[0], t) || usesVar(p->args[0], r)) continue;
    Ix distance = growing ? *exponent + Ix(r) - Ix(t) : *exponent - Ix(r) + Ix(t);
    if (!distance.uses(r) && !distance.uses(t)) return p->args[0];
  }
  return std::nullopt;
}

/// A reduction over `r in 0 : hi - lo` that uses `lo + r` only is one over `r in lo : hi`: the form in which motion is seen.
void rebase(Piece& p) {
  if (p.body.kind != Body::Kind::Reduce) return;
  for (RVar& r : p.body.rvars) {
    std::optional<Ix> shift;
    bool same = true;
    auto use = [&](const Ix& e) {
      if (!e.uses(r.var)) return;
      Ix rest = e - Ix(r.var);
      same = same && !rest.uses(r.var) && (!shift || *shift == rest);
      shift = rest;
    };
    ex::visit(p.body.value, [&](const Expr& x) {
      use(x.ix);
      same = same && !x.cond.vars().count(r.var);
      for (const Index& i : x.indices) {
        if (i.data) {
          same = same && !i.lo.uses(r.var) && !i.hi.uses(r.var);
        } else {
          use(i.ix);
        }
      }
    });
    for (const RVar& q : p.body.rvars) same = same && !q.lo.uses(r.var) && !q.hi.uses(r.var) && !(shift && shift->uses(q.var));
    if (!same || !shift || shift->asConst()) continue;
    p.body.value = ex::subst(p.body.value, {{r.var, Ix(r.var) - *shift}});
    r.lo = r.lo + *shift;
    r.hi = r.hi + *shift;
  }
}

std::optional<Motion> findMotion(const Node& n, const Piece& p) {
  if (p.body.kind != Body::Kind::Reduce) return std::nullopt;
  Reduce op = p.body.reduce;
  if (!info(op).combine) return std::nullopt;
  for (size_t k = 0; k < p.body.rvars.size(); ++k) {
    const RVar& r = p.body.rvars[k];
    for (size_t d = 0; d < n.dims.size(); ++d) {
      Sym t = n.dims[d];
      bool elsewhere = false;
      for (size_t q = 0; q < p.body.rvars.size(); ++q)
        if (q != k)
          elsewhere = elsewhere || p.body.rvars[q].lo.uses(t) || p.body.rvars[q].hi.uses(t) ||
                      p.body.rvars[q].lo.uses(r.var) || p.body.rvars[q].hi.uses(r.var);
      for (const Axis& a : n.axes) elsewhere = elsewhere || r.lo.uses(a.var) || r.hi.uses(a.var) || a.length.uses(t);
      if (elsewhere) continue;
      Motion m{};
      m.dim = d;
      m.rvar = k;
      bool free = !usesVar(p.body.value, t);
      if (moves(r.hi, t) && !r.lo.uses(t)) {
        m.kind = Motion::Kind::Growing;
        m.newest = r.hi - Ix(1);
        m.fixed = r.lo;
      } else if (moves(r.lo, t) && !r.hi.uses(t)) {
        m.kind = Motion::Kind::Shrinking;
        m.newest = r.lo;
        m.fixed = r.hi;
      } else if (free && r.hi == Ix(t) + Ix(1) && r.lo.kind() == Ix::Kind::Max && r.lo.args().size() == 2) {
        for (size_t side = 0; side < 2; ++side) {
          const Ix &low = r.lo.args()[side], &clamp = r.lo.args()[1 - side];
          if (moves(low, t) && clamp == Ix(0)) {
            m.kind = Motion::Kind::Sliding;
            m.newest = Ix(t);
            m.width = Ix(t) + Ix(1) - low;
            m.term = p.body.value;
            return m;
          }
        }
        continue;
      } else {
        continue;
      }
      if (!free) {
        if (op != Reduce::Sum || !isFloat(p.body.value->dtype)) continue;
        auto g = discount(p.body.value, t, r.var, m.kind == Motion::Kind::Growing);
        if (!g) continue;
        m.factor = *g;
      }
      m.term = p.body.value;
      return m;
    }
  }
  return std::nullopt;
}

class Recur {
 public:
  Recur(Graph& g, Solver& solver, const PassOptions& o, std::vector<Decision>& log)
      : g_(g), solver_(solver), options_(o), log_(log) {}

  void run() {
    size_t count = g_.nodes().size();
    for (size_t i = 0; i < count; ++i) {
      Node& n = g_.nodes()[i];
      if (n.pieces.size() != 1 || !solver_.satisfiable(n.pieces[0].where && g_.context())) continue;
      Piece rebased = n.pieces[0];
      rebase(rebased);
      auto m = findMotion(n, rebased);
      if (!m || !neverEmpty(rebased, *m)) continue;
      rebased.body.init = nullptr;
      n.pieces[0] = rebased;
      if (m->kind == Motion::Kind::Sliding)
        sliding(NodeId{uint32_t(i)}, *m);
      else
        running(NodeId{uint32_t(i)}, *m);
    }
  }

 private:
  /// An `init` is for empty ranges; without them it says nothing.
  bool neverEmpty(const Piece& p, const Motion& m) {
    if (!p.body.init) return true;
    if (p.body.rvars.size() != 1) return false;
    Subst known;
    if (m.kind == Motion::Kind::Sliding)  // its width will be specialised
      for (Sym s : m.width.vars())
        if (options_.sizes.count(s)) known[s] = Ix(options_.sizes.at(s));
    const RVar& r = p.body.rvars[0];
    return solver_.implies((p.where && g_.context()).subst(known), Cond::lt(r.lo, r.hi).subst(known));
  }

  static DType carried(const Body& b) {
    DType t = b.value->dtype;
    return b.reduce == Reduce::Sum || b.reduce == Reduce::Prod ? accumulator(t) : t;
  }
  static ExprPtr as(DType t, ExprPtr e) { return e->dtype == t ? e : ex::cast(t, std::move(e)); }

  static std::vector<Index> at(const Node& n, size_t dim, const Ix& where) {
    std::vector<Index> out;
    for (size_t i = 0; i < n.dims.size(); ++i) out.push_back({i == dim ? where : Ix(n.dims[i]), nullptr, {}, {}, false});
    for (const Axis& a : n.axes) out.push_back({Ix(a.var), nullptr, {}, {}, false});
    return out;
  }

  /// A node like `n` with other axis variables and the carried dtype, without pieces.
  NodeId sibling(NodeId id, const std::string& suffix, DType t, Subst& axes) {
    Node s;
    const Node& n = g_.at(id);
    s.name = n.name + suffix;
    s.dims = n.dims;
    s.dtype = t;
    s.loc = n.loc;
    for (const Axis& a : n.axes) {
      Sym v = Sym::fresh(a.var.name());
      axes[a.var] = Ix(v);
      s.axes.push_back({v, a.length});
    }
    return g_.add(std::move(s));
  }

  /// The reduction over the remaining variables at one position of the moving one; a plain expression if none remain.
  ExprPtr element(NodeId id, const Body& b, size_t rvar, const Ix& position, const Cond& where) {
    ExprPtr v = ex::subst(b.value, {{b.rvars[rvar].var, position}});
    if (b.rvars.size() == 1) return v;
    Subst axes;
    NodeId e = sibling(id, ".step", resultType(b.reduce, v->dtype), axes);
    Piece p;
    p.where = where;
    p.loc = g_.at(id).loc;
    p.body = b;
    p.body.rvars.erase(p.body.rvars.begin() + long(rvar));
    Subst rename = axes;
    for (RVar& r : p.body.rvars) {
      Sym f = Sym::fresh(r.var.name());
      rename[r.var] = Ix(f);
      r = {f, r.lo.subst(rename), r.hi.subst(rename)};
    }
    p.body.value = ex::subst(v, rename);
    g_.at(e).pieces = {p};
    const Node& n = g_.at(id);
    return ex::read(e, g_.at(e).dtype, at(n, n.dims.size(), Ix(0)), n.loc);
  }

  void running(NodeId id, const Motion& m) {
    Piece piece = g_.at(id).pieces[0];
    Sym t = g_.at(id).dims[m.dim];
    bool growing = m.kind == Motion::Kind::Growing;
    Ix previous = growing ? Ix(t) - Ix(1) : Ix(t) + Ix(1);
    DType wide = carried(piece.body);
    NodeId target = id;
    Subst axes;
    if (wide != g_.at(id).dtype) target = sibling(id, ".sum", wide, axes);
    // The previous point exists and its range is not empty.
    Ix oldNewest = m.newest.subst({{t, previous}});
    Cond carries = piece.where.subst({{t, previous}}) &&
                   (growing ? Cond::ge(oldNewest, m.fixed) : Cond::lt(oldNewest, m.fixed));
    Piece first = piece, next = piece;
    next.body = Body{};
    next.body.kind = Body::Kind::Map;
    const Node& like = g_.at(target);
    Node shape = like;
    ExprPtr carry = ex::read(target, wide, at(shape, m.dim, previous), piece.loc);
    if (m.factor) carry = ex::op(Op::Mul, {as(wide, m.factor), carry}, piece.loc);
    ExprPtr fresh = ex::subst(as(wide, element(id, piece.body, m.rvar, m.newest, solver_.simplify(piece.where && carries, g_.context()))), axes);
    next.body.value = ex::op(*info(piece.body.reduce).combine, growing ? std::vector<ExprPtr>{carry, fresh}
                                                                       : std::vector<ExprPtr>{fresh, carry}, piece.loc);
    if (target != id) rename(first.body, axes, wide);
    g_.at(target).pieces = split(std::move(next), std::move(first), carries, piece.where);
    if (target != id) readFrom(id, target, piece);
    log_.push_back({"recur", g_.at(id).name, growing ? "growing range: one step from t - 1" : "shrinking range: one step from t + 1"});
  }

  /// The reduction with other axis variables, its operand widened so that the result is the wide type.
  static void rename(Body& b, const Subst& axes, DType wide) {
    Subst s = axes;
    for (RVar& r : b.rvars) {
      Sym f = Sym::fresh(r.var.name());
      r.lo = r.lo.subst(s);
      r.hi = r.hi.subst(s);
      s[r.var] = Ix(f);
      r.var = f;
    }
    b.value = as(wide, ex::subst(b.value, s));
  }

  void readFrom(NodeId id, NodeId source, const Piece& piece) {
    Node& n = g_.at(id);
    Piece p;
    p.where = piece.where;
    p.loc = piece.loc;
    p.body.value = as(n.dtype, ex::read(source, g_.at(source).dtype, at(n, n.dims.size(), Ix(0)), piece.loc));
    n.pieces = {p};
  }

  void sliding(NodeId id, const Motion& m) {
    Ix widthIx = m.width;
    for (Sym s : widthIx.vars())
      if (!options_.sizes.count(s)) return;
    int64_t width = widthIx.eval(options_.sizes);
    if (width <= kShortWindow) return;
    Piece piece = g_.at(id).pieces[0];
    if (piece.body.rvars.size() != 1) return;
    for (Sym s : widthIx.vars()) specialise(g_, s, options_.sizes.at(s));
    piece = g_.at(id).pieces[0];
    Node shape = g_.at(id);
    Sym t = shape.dims[m.dim];
    Sym r = piece.body.rvars[0].var;
    DType wide = carried(piece.body);
    Op combine = *info(piece.body.reduce).combine;
    Ix w(width), block = Ix::mod(Ix(t), w);
    auto termAt = [&](const Subst& axes) {
      Subst s = axes;
      s[r] = Ix(t);
      return as(wide, ex::subst(piece.body.value, s));
    };
    auto node = [&](const std::string& suffix, const Ix& from, const Cond& starts, const Cond& where) {
      Subst axes;
      NodeId p = sibling(id, suffix, wide, axes);
      Piece first, next;
      first.loc = next.loc = piece.loc;
      first.body.value = termAt(axes);
      ExprPtr carry = ex::read(p, wide, at(Node(g_.at(p)), m.dim, from), piece.loc);
      next.body.value = ex::op(combine, {carry, termAt(axes)}, piece.loc);
      g_.at(p).pieces = split(std::move(first), std::move(next), starts, where);
      return p;
    };
    Ix low = Ix(t) - w + Ix(1);
    Cond needsSuffix = Cond::gt(low, Ix(0)) && !Cond::eq0(Ix::mod(low, w));
    // Prefixes run forwards from the start of the reader's block, suffixes backwards from the end of the block before. They
    // exist wherever a run passes, also where the reader itself does not.
    Sym reader = Sym::fresh(t.name());
    auto passedBy = [&](const Cond& readers, const Ix& from, const Ix& to) {
      Subst at{{t, Ix(reader)}};
      return solver_.project((readers && g_.context()).subst(at) && Cond::range(Ix(t), from.subst(at), to.subst(at)), {reader});
    };
    NodeId prefix = node(".prefix", Ix(t) - Ix(1), Cond::eq0(block), passedBy(piece.where, Ix(t) - block, Ix(t) + Ix(1)));
    NodeId suffix = node(".suffix", Ix(t) + Ix(1), Cond::eq(block, w - Ix(1)),
                         passedBy(piece.where && needsSuffix, low, low - Ix::mod(low, w) + w));
    Piece whole = piece, both = piece;
    whole.body = both.body = Body{};
    ExprPtr p = ex::read(prefix, wide, at(shape, m.dim, Ix(t)), piece.loc);
    whole.body.value = as(shape.dtype, p);
    both.body.value = as(shape.dtype, ex::op(combine, {ex::read(suffix, wide, at(shape, m.dim, low), piece.loc), p}, piece.loc));
    g_.at(id).pieces = split(std::move(both), std::move(whole), needsSuffix, piece.where);
    log_.push_back({"recur", g_.at(id).name, "sliding range of " + std::to_string(width) + ": prefixes and suffixes of blocks"});
  }

  /// Splits what holds of a piece into two pieces, with short conditions; an empty one is left out.
  std::vector<Piece> split(Piece when, Piece unless, const Cond& c, const Cond& where) {
    Cond facts = g_.context();
    when.where = solver_.simplify(where && c, facts);
    unless.where = solver_.simplify(where && !c, facts);
    std::vector<Piece> out;
    if (solver_.satisfiable(when.where && facts)) out.push_back(std::move(when));
    if (solver_.satisfiable(unless.where && facts)) out.push_back(std::move(unless));
    return out;
  }

  Graph& g_;
  Solver& solver_;
  const PassOptions& options_;
  std::vector<Decision>& log_;
};

}  // namespace

Graph recur(Graph g, Solver& solver, const PassOptions& options, std::vector<Decision>& log) {
  if (!options.isOn("recur")) return g;
  Recur(g, solver, options, log).run();
  rewriteAll(g, foldExpr);
  return g;
}

}  // namespace tempo
