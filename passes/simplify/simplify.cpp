#include "simplify/simplify.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "cycles.hpp"
#include "plan/plan.hpp"

namespace tempo {

namespace {

bool isInput(const Node& n) { return !n.pieces.empty() && n.pieces[0].body.kind == Body::Kind::Input; }

/// Text of a node with axes and reduction variables renamed by position: equal text, equal node.
std::string fingerprint(const Graph& g, const Node& n) {
  Subst rename;
  for (size_t i = 0; i < n.axes.size(); ++i) rename[n.axes[i].var] = Ix(Sym::get("'a" + std::to_string(i)));
  std::string s = name(n.dtype);
  for (Sym d : n.dims) s += " " + d.name();
  for (const Axis& a : n.axes) s += ";" + a.length.str();
  for (const Piece& p : n.pieces) {
    Subst r = rename;
    s += "|" + p.where.str() + "|" + std::to_string(int(p.body.kind)) + std::to_string(int(p.body.reduce)) +
         (p.body.descending ? "d" : "");
    for (size_t i = 0; i < p.body.rvars.size(); ++i) {
      const RVar& v = p.body.rvars[i];
      s += "{" + v.lo.subst(r).str() + ":" + v.hi.subst(r).str() + "}";
      r[v.var] = Ix(Sym::get("'r" + std::to_string(i)));
    }
    s += print(g, ex::subst(p.body.value, r));
    if (p.body.init) s += "/" + print(g, ex::subst(p.body.init, r));
  }
  return s;
}

ExprPtr redirect(const ExprPtr& e, const std::map<NodeId, NodeId>& to) {
  if (e->kind != Expr::Kind::Read) return e;
  auto f = to.find(e->node);
  return f == to.end() ? e : ex::read(f->second, e->dtype, e->indices, e->loc);
}

bool mergeEqual(Graph& g, const PassOptions& options) {
  std::map<std::string, NodeId> seen;
  std::map<NodeId, NodeId> to;
  std::set<NodeId> outputs;
  for (const Output& o : g.outputs) outputs.insert(o.node);
  for (const Node& n : g.nodes()) {
    if (n.pieces.empty() || isInput(n) || options.holds(n.name)) continue;
    auto [it, fresh] = seen.try_emplace(fingerprint(g, n), n.id);
    if (!fresh && !outputs.count(n.id)) to[n.id] = it->second;
  }
  if (to.empty()) return false;
  rewriteAll(g, [&](const ExprPtr& e) { return redirect(e, to); });
  return removeDead(g);
}

void rewriteBody(Body& b, const std::function<ExprPtr(const ExprPtr&)>& f) {
  if (b.value) b.value = ex::rewrite(b.value, f);
  if (b.init) b.init = ex::rewrite(b.init, f);
}

/// The points of `n` that a read wants, over n's dims.
Cond wanted(const Node& n, const std::vector<Sym>& outer, const ReadSite& site, Solver& solver) {
  std::vector<Sym> gone = outer;
  gone.insert(gone.end(), site.inner.begin(), site.inner.end());
  // The reader's dims may carry the same names as n's: rename them.
  Subst rename;
  for (Sym& s : gone) {
    Sym f = Sym::fresh(s.name());
    rename[s] = Ix(f);
    s = f;
  }
  Cond c = site.when.subst(rename);
  for (size_t i = 0; i < n.dims.size(); ++i) {
    const Index& ix = site.read->indices[i];
    c = c && (ix.data ? Cond::range(Ix(n.dims[i]), ix.lo.subst(rename), ix.hi.subst(rename))
                      : Cond::eq(Ix(n.dims[i]), ix.ix.subst(rename)));
  }
  return solver.project(c, gone);
}

/// A node without points is read under conditions that never hold only, and nothing stores it: any constant stands for it.
void removeEmpty(Graph& g, Solver& solver) {
  std::set<NodeId> empty;
  Cond facts = g.context();
  for (const Node& n : g.nodes()) {
    bool none = !isInput(n) && !n.pieces.empty();
    for (const Piece& p : n.pieces) none = none && !solver.satisfiable(p.where && facts);
    if (none) empty.insert(n.id);
  }
  if (empty.empty()) return;
  rewriteAll(g, [&](const ExprPtr& e) {
    return e->kind == Expr::Kind::Read && empty.count(e->node) ? ex::constant(e->dtype, 0, e->loc) : e;
  });
  removeDead(g);
}

/// Restricts nodes outside cycles to the points that are read.
bool removeDeadPoints(Graph& g, Solver& solver) {
  Components cycles(g);
  struct Reader {
    std::vector<Sym> dims;
    Cond where;
    ReadSite site;
  };
  std::vector<std::vector<Reader>> readers(g.nodes().size());
  for (const Node& n : g.nodes())
    for (const Piece& p : n.pieces)
      for (ReadSite& s : readSites(n, p)) readers[s.read->node.v].push_back({n.dims, p.where, s});
  for (const Effect& e : g.effects)
    for (ReadSite& s : readSites(e)) readers[s.read->node.v].push_back({e.dims, e.where, s});
  bool changed = false;
  for (Node& n : g.nodes()) {
    if (n.pieces.size() != 1 || isInput(n) || n.dims.empty() || cycles.cyclic[n.id.v]) continue;
    bool output = std::any_of(g.outputs.begin(), g.outputs.end(), [&](const Output& o) { return o.node == n.id; });
    if (output) continue;
    auto whole = [&](const Reader& r) {
      if (r.dims != n.dims || !(r.where == n.pieces[0].where)) return false;
      for (size_t i = 0; i < n.dims.size(); ++i)
        if (r.site.read->indices[i].data || r.site.read->indices[i].ix.asVar() != n.dims[i]) return false;
      return true;
    };
    if (std::any_of(readers[n.id.v].begin(), readers[n.id.v].end(), whole)) continue;
    Cond all = Cond::truth(false);
    for (const Reader& r : readers[n.id.v]) all = all || wanted(n, r.dims, r.site, solver);
    Cond facts = g.context();
    if (solver.implies(n.pieces[0].where && facts, all)) continue;
    n.pieces[0].where = solver.simplify(n.pieces[0].where && all, facts);
    changed = true;
  }
  return changed;
}

}  // namespace

void rewriteAll(Graph& g, const std::function<ExprPtr(const ExprPtr&)>& f) {
  for (Node& n : g.nodes())
    for (Piece& p : n.pieces) rewriteBody(p.body, f);
  for (Effect& e : g.effects) {
    if (e.condition) e.condition = ex::rewrite(e.condition, f);
    for (auto& [text, v] : e.values) v = ex::rewrite(v, f);
  }
}

bool removeDead(Graph& g) {
  const std::vector<bool> live = liveNodes(g);
  bool any = false;
  for (Node& n : g.nodes()) {
    if (live[n.id.v] || n.pieces.empty() || isInput(n)) continue;
    n.pieces.clear();
    any = true;
  }
  return any;
}

Graph simplify(Graph g, Solver& solver, const PassOptions& options) {
  removeDead(g);
  removeEmpty(g, solver);
  if (!options.isOn("simplify")) return g;
  for (int round = 0; round < 8; ++round) {
    rewriteAll(g, foldExpr);
    bool changed = mergeEqual(g, options);
    changed = removeDead(g) || changed;
    if (!changed) break;
  }
  if (removeDeadPoints(g, solver)) removeEmpty(g, solver);
  return g;
}

}  // namespace tempo
