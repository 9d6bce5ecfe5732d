#include "split/split.hpp"

#include <algorithm>

#include "cycles.hpp"

namespace tempo {

namespace {

class Splitter {
 public:
  Splitter(Graph& g, Solver& solver, std::vector<Decision>& log) : g_(g), solver_(solver), log_(log), components_(g) {}

  void run() {
    for (const std::vector<NodeId>& c : components_.all) {
      if (c.size() < 2) continue;
      for (NodeId id : c) {
        if (g_.at(id).pieces.size() < 2) continue;
        for (size_t p = 0; p < g_.at(id).pieces.size(); ++p)
          if (splitAt(c, id, p)) return;  // one border per program: each further one doubles the statements again
      }
    }
  }

 private:
  bool inside(const std::vector<NodeId>& c, const Piece& p) const {
    bool found = false;
    auto look = [&](const ExprPtr& e) {
      if (e)
        ex::visit(e, [&](const Expr& x) {
          found = found || (x.kind == Expr::Kind::Read && std::find(c.begin(), c.end(), x.node) != c.end());
        });
    };
    look(p.body.value);
    look(p.body.init);
    return found;
  }

  /// Does the piece cover more than a fixed number of steps of `t`?
  bool wide(const Node& n, const Piece& p, Sym t) {
    Cond where = p.where && g_.context();
    auto lo = solver_.min(Ix(t), n.dims, where), hi = solver_.max(Ix(t), n.dims, where);
    if (!lo || !hi) return true;
    auto length = (*hi - *lo).asConst();
    return !length && solver_.satisfiable(where && Cond::ge(*hi - *lo, Ix(64)));
  }

  bool splitAt(const std::vector<NodeId>& c, NodeId id, size_t piece) {
    const Node n = g_.at(id);
    const Piece& p = n.pieces[piece];
    if (inside(c, p)) return false;
    for (Sym t : n.dims) {
      if (!wide(n, p, t)) continue;
      std::vector<Sym> others;
      for (Sym d : n.dims)
        if (d != t) others.push_back(d);
      Cond free = solver_.simplify(solver_.project(p.where, others), rangeOf(n, t));
      if (free.isTrue() || !free.vars().count(t)) continue;
      int count = 0;
      for (NodeId m : c) count += m != id && splitNode(m, t, free);
      if (!count) continue;
      log_.push_back({"split", n.name, "statements behind it are split where " + free.str()});
      return true;
    }
    return false;
  }

  Cond rangeOf(const Node& n, Sym t) {
    std::vector<Sym> others;
    for (Sym d : n.dims)
      if (d != t) others.push_back(d);
    Cond all = Cond::truth(false);
    for (const Piece& p : n.pieces) all = all || p.where;
    return solver_.project(all, others) && g_.context();
  }

  bool splitNode(NodeId id, Sym t, const Cond& c) {
    Node& n = g_.at(id);
    if (n.pieces.size() != 1 || std::find(n.dims.begin(), n.dims.end(), t) == n.dims.end()) return false;
    Cond facts = g_.context();
    Piece in = n.pieces[0], out = n.pieces[0];
    if (!solver_.satisfiable(in.where && c && facts) || !solver_.satisfiable(in.where && !c && facts)) return false;
    in.where = solver_.simplify(in.where && c, facts);
    out.where = solver_.simplify(out.where && !c, facts);
    n.pieces = {in, out};
    return true;
  }

  Graph& g_;
  Solver& solver_;
  std::vector<Decision>& log_;
  Components components_;
};

}  // namespace

Graph split(Graph g, Solver& solver, const PassOptions& options, std::vector<Decision>& log) {
  if (options.isOn("split")) Splitter(g, solver, log).run();
  return g;
}

}  // namespace tempo
