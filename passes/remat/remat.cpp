#include "remat/remat.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "simplify/simplify.hpp"

namespace tempo {

namespace {

/// Work, in additions, that is cheaper than a store and a load of the result.
constexpr int kCheap = 3;

struct Use {
  const Node* reader;   // null: an effect
  ReadSite site;
  std::vector<Sym> iterates;  // all variables the reader's instances run over
};

class Remat {
 public:
  Remat(Graph& g, const PassOptions& options, std::vector<Decision>& log) : g_(g), log_(log) {
    for (const Node& n : g.nodes())
      if (options.holds(n.name)) kept_.insert(n.id);
    for (const Output& o : g.outputs) kept_.insert(o.node);
  }

  bool round() {
    collectUses();
    bool changed = false;
    for (Node& n : g_.nodes()) {
      if (!candidate(n)) continue;
      if (!worthIt(n) || !possible(n)) continue;
      log_.push_back({"remat", n.name, "computed where it is read"});
      inlineNode(n);
      removeDead(g_);
      changed = true;
      collectUses();
    }
    return changed;
  }

 private:
  void collectUses() {
    uses_.assign(g_.nodes().size(), {});
    for (const Node& n : g_.nodes())
      for (const Piece& p : n.pieces)
        for (ReadSite& s : readSites(n, p)) {
          std::vector<Sym> it = n.dims;
          it.insert(it.end(), s.inner.begin(), s.inner.end());
          uses_[s.read->node.v].push_back({&n, s, std::move(it)});
        }
    for (const Effect& e : g_.effects)
      for (ReadSite& s : readSites(e)) {
        std::vector<Sym> it = e.dims;
        it.insert(it.end(), s.inner.begin(), s.inner.end());
        uses_[s.read->node.v].push_back({nullptr, s, std::move(it)});
      }
  }

  bool candidate(const Node& n) const {
    if (n.pieces.size() != 1 || n.pieces[0].body.kind != Body::Kind::Map || kept_.count(n.id)) return false;
    for (const Use& u : uses_[n.id.v])
      if (!u.reader || u.reader->id == n.id) return false;
    return !uses_[n.id.v].empty() && !reaches(n.id, n.id);
  }

  /// Does `from` read `to`, directly or through others?
  bool reaches(NodeId from, NodeId to) const {
    std::set<NodeId> seen;
    std::vector<NodeId> work{from};
    while (!work.empty()) {
      NodeId id = work.back();
      work.pop_back();
      bool found = false;
      forEachRead(g_.at(id), [&](const Piece&, const Expr& r) {
        if (r.node == to) found = true;
        if (seen.insert(r.node).second) work.push_back(r.node);
      });
      if (found) return true;
    }
    return false;
  }

  bool worthIt(const Node& n) const {
    const ExprPtr& v = n.pieces[0].body.value;
    bool narrow = n.dtype == DType::BF16 || n.dtype == DType::F16;
    if (narrow && v->kind != Expr::Kind::Read && v->kind != Expr::Kind::Const) return false;  // rounding is part of its meaning
    int reads = 0;
    ex::visit(v, [&](const Expr& e) { reads += e.kind == Expr::Kind::Read; });
    if (v->kind == Expr::Kind::Read || (reads == 0 && ex::cost(v) <= kCheap)) return true;
    const std::vector<Use>& uses = uses_[n.id.v];
    if (uses.size() == 1 && visitsOnce(n, uses[0])) return true;
    return reads <= 1 && ex::cost(v) <= kCheap && uses.size() <= 4;
  }

  /// Does every instance of the reader read another point? Each variable it runs over must be told by an index.
  static bool visitsOnce(const Node& n, const Use& u) {
    std::set<Sym> open(u.iterates.begin(), u.iterates.end());
    bool progress = true;
    while (progress && !open.empty()) {
      progress = false;
      for (const Index& ix : u.site.read->indices) {
        if (ix.data) continue;
        std::vector<Sym> mine;
        for (Sym s : ix.ix.vars())
          if (open.count(s)) mine.push_back(s);
        if (mine.size() != 1) continue;
        Ix rest = ix.ix - Ix(mine[0]);
        Ix flipped = ix.ix + Ix(mine[0]);
        if (rest.uses(mine[0]) && flipped.uses(mine[0])) continue;
        open.erase(mine[0]);
        progress = true;
      }
    }
    return open.empty();
  }

  /// A gathered position can be substituted only where the body uses it as a whole index.
  bool possible(const Node& n) const {
    for (const Use& u : uses_[n.id.v]) {
      for (size_t i = 0; i < u.site.read->indices.size(); ++i) {
        if (!u.site.read->indices[i].data) continue;
        Sym v = i < n.dims.size() ? n.dims[i] : n.axes[i - n.dims.size()].var;
        if (!onlyWholeIndex(n.pieces[0].body.value, v)) return false;
      }
    }
    return true;
  }
  static bool onlyWholeIndex(const ExprPtr& e, Sym v) {
    bool ok = true;
    ex::visit(e, [&](const Expr& x) {
      if (x.kind == Expr::Kind::Index) ok = ok && !x.ix.uses(v);
      if (x.kind == Expr::Kind::Cond || x.kind == Expr::Kind::Guard) ok = ok && !x.cond.vars().count(v);
      if (x.kind == Expr::Kind::Random)
        for (const Index& i : x.indices) ok = ok && !i.ix.uses(v);
      if (x.kind == Expr::Kind::Read)
        for (const Index& i : x.indices) {
          if (i.data)
            ok = ok && !i.lo.uses(v) && !i.hi.uses(v);
          else
            ok = ok && (!i.ix.uses(v) || i.ix.asVar() == v);
        }
    });
    return ok;
  }

  void inlineNode(const Node& n) {
    const ExprPtr body = n.pieces[0].body.value;
    const NodeId id = n.id;
    std::vector<Sym> vars = n.dims;
    for (const Axis& a : n.axes) vars.push_back(a.var);
    rewriteAll(g_, [&](const ExprPtr& e) {
      if (e->kind != Expr::Kind::Read || e->node != id) return e;
      return substituted(body, vars, e->indices);
    });
  }

  static ExprPtr substituted(const ExprPtr& body, const std::vector<Sym>& vars, const std::vector<Index>& at) {
    Subst affine;
    std::map<Sym, Index> data;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (!at[i].data) {
        affine[vars[i]] = at[i].ix;
        continue;
      }
      Sym hole = Sym::fresh(vars[i].name());
      affine[vars[i]] = Ix(hole);
      data[hole] = at[i];
    }
    ExprPtr e = ex::subst(body, affine);
    if (data.empty()) return e;
    return ex::rewrite(e, [&](const ExprPtr& x) {
      if (x->kind != Expr::Kind::Read) return x;
      std::vector<Index> indices = x->indices;
      for (Index& i : indices) {
        auto v = i.data ? std::nullopt : i.ix.asVar();
        if (v && data.count(*v)) i = data.at(*v);
      }
      return ex::read(x->node, x->dtype, indices, x->loc);
    });
  }

  Graph& g_;
  std::vector<Decision>& log_;
  std::set<NodeId> kept_;
  std::vector<std::vector<Use>> uses_;
};

}  // namespace

Graph remat(Graph g, Solver&, const PassOptions& options, std::vector<Decision>& log) {
  if (!options.isOn("remat")) return g;
  Remat pass(g, options, log);
  for (int round = 0; round < 8 && pass.round(); ++round) rewriteAll(g, foldExpr);
  return g;
}

}  // namespace tempo
