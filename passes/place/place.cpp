#include "place/place.hpp"

#include <algorithm>
#include <cctype>

#include "check.hpp"

namespace tempo {

namespace {

/// Elements of one axis that one instance computes, where it is the only axis: enough for vectors, few enough to share.
constexpr int64_t kTile = 64;

AxisRange axisTile(const Ix& var, int64_t tile, const Ix& length) {
  if (tile == 1) return {var, var + Ix(1)};
  return {Ix(tile) * var, Ix::min(Ix(tile) * var + Ix(tile), length)};
}

class Placer {
 public:
  Placer(const Graph& g, const PassOptions& o, std::vector<Decision>& log)
      : g_(g), options_(o), log_(log), on_(o.isOn("place")) {}

  Tree run(Tree root) {
    tile(root);
    root.children = block(std::move(root.children));
    nameKernels(root);
    return root;
  }

 private:
  void nameKernels(Tree& t) {
    if (t.kind == Tree::Kind::Kernel) t.name = kernelName(t);
    for (Tree& c : t.children) nameKernels(c);
  }

  std::vector<Tree> block(std::vector<Tree> in) {
    std::vector<Tree> out;
    for (Tree& t : in) {
      Tree placed = one(std::move(t));
      if (on_ && !out.empty() && fusable(out.back(), placed))
        fuse(out.back(), std::move(placed));
      else
        out.push_back(std::move(placed));
    }
    return out;
  }

  Tree one(Tree t) {
    switch (t.kind) {
      case Tree::Kind::Stmt: return statementKernel(std::move(t));
      case Tree::Kind::Effect: return t;
      case Tree::Kind::Loop: return loop(std::move(t));
      default: t.children = block(std::move(t.children)); return t;
    }
  }

  Tree loop(Tree t) {
    if (!contains(t, Tree::Kind::Effect)) {
      std::string forced = forcedPlace(t);
      if (forced != "host") {
        bool inside = forced == "kernel" || (on_ && (t.parallel || scalarOnly(t)));
        if (inside) return loopKernel(std::move(t));
      }
    }
    t.parallel = false;  // the host loop is sequential
    t.children = block(std::move(t.children));
    return t;
  }

  Tree loopKernel(Tree t) {
    Tree k;
    k.kind = Tree::Kind::Kernel;
    const Tree* at = &t;
    std::vector<Sym> outer;
    while (at->kind == Tree::Kind::Loop && at->parallel && !dependsOn(*at, outer)) {
      ++k.gridDepth;
      outer.push_back(at->var);
      if (at->children.size() != 1) break;
      at = &at->children[0];
    }
    k.children.push_back(std::move(t));
    return k;
  }

  /// One statement in the host loop: its outermost axis is the grid.
  Tree statementKernel(Tree s) {
    const Node& n = g_.at(s.node);
    Tree k;
    k.kind = Tree::Kind::Kernel;
    if (on_ && !n.axes.empty() && n.pieces[s.piece].body.kind != Body::Kind::ArgSort) {
      Ix length = n.axes[0].length.subst(s.point);
      int64_t tile = n.axes.size() > 1 ? 1 : kTile;
      Tree axis;
      axis.kind = Tree::Kind::Loop;
      axis.var = Sym::fresh("a");
      axis.lo = Ix(0);
      axis.hi = tile == 1 ? length : Ix::floordiv(length + Ix(tile - 1), Ix(tile));
      axis.parallel = true;
      s.axisBind = {axisTile(Ix(axis.var), tile, length)};
      axis.children.push_back(std::move(s));
      k.gridDepth = 1;
      k.children.push_back(std::move(axis));
    } else {
      k.children.push_back(std::move(s));
    }
    return k;
  }

  /// Two kernels may become one when instance i of the second reads of the first only what instance i of it wrote.
  bool fusable(const Tree& a, const Tree& b) const {
    if (a.kind != Tree::Kind::Kernel || b.kind != Tree::Kind::Kernel) return false;
    if (a.gridDepth != b.gridDepth || a.gridDepth > 1) return false;
    if (a.gridDepth == 0) return isStatements(a) && isStatements(b);
    const Tree &la = a.children[0], &lb = b.children[0];
    if (!(la.lo == lb.lo && la.hi == lb.hi)) return false;
    bool axisA = hasBoundAxis(la), axisB = hasBoundAxis(lb);
    if (!axisA || !axisB || !isStatements(la) || !isStatements(lb)) return false;
    if (la.children[0].axisBind[0].isPoint() != lb.children[0].axisBind[0].isPoint()) return false;
    for (const Tree& s : lb.children)
      for (const Tree& w : la.children)
        if (!readsOwnInstance(s, w)) return false;
    return true;
  }

  static void fuse(Tree& a, Tree b) {
    if (a.gridDepth == 0) {
      for (Tree& c : b.children) a.children.push_back(std::move(c));
      return;
    }
    Tree &la = a.children[0], &lb = b.children[0];
    for (Tree& s : lb.children) {
      for (AxisRange& r : s.axisBind) r = {r.lo.subst({{lb.var, Ix(la.var)}}), r.hi.subst({{lb.var, Ix(la.var)}})};
      la.children.push_back(std::move(s));
    }
  }

  bool readsOwnInstance(const Tree& reader, const Tree& writer) const {
    const Node& r = g_.at(reader.node);
    for (const ReadSite& site : readSites(r, r.pieces[reader.piece])) {
      if (site.read->node != writer.node) continue;
      const Index& first = site.read->indices[g_.at(writer.node).dims.size()];
      if (first.data || first.ix.asVar() != r.axes[0].var) return false;
    }
    return true;
  }

  static bool isStatements(const Tree& t) {
    return std::all_of(t.children.begin(), t.children.end(), [](const Tree& c) { return c.kind == Tree::Kind::Stmt; });
  }
  static bool hasBoundAxis(const Tree& loop) {
    return !loop.children.empty() && loop.children[0].kind == Tree::Kind::Stmt && !loop.children[0].axisBind.empty();
  }

  static bool contains(const Tree& t, Tree::Kind k) {
    if (t.kind == k) return true;
    return std::any_of(t.children.begin(), t.children.end(), [&](const Tree& c) { return contains(c, k); });
  }
  static bool dependsOn(const Tree& loop, const std::vector<Sym>& outer) {
    return std::any_of(outer.begin(), outer.end(), [&](Sym s) { return loop.lo.uses(s) || loop.hi.uses(s); });
  }

  /// Only scalars (or tensors of a few elements) are computed below, and no loop inside is worth a grid.
  bool scalarOnly(const Tree& t) const {
    if (t.kind == Tree::Kind::Stmt) {
      const Node& n = g_.at(t.node);
      int64_t volume = 1;
      for (const Axis& a : n.axes) {
        auto c = a.length.asConst();
        if (!c) return false;
        volume *= *c;
      }
      return volume <= 64;
    }
    return std::all_of(t.children.begin(), t.children.end(), [&](const Tree& c) { return scalarOnly(c); });
  }

  /// for c in lo : hi  becomes  for b in 0 : ceil((hi - lo) / n) { for c in lo + n b : min(lo + n b + n, hi) }
  void tile(Tree& t) {
    for (Tree& c : t.children) tile(c);
    if (t.kind != Tree::Kind::Loop) return;
    for (const auto& [key, value] : options_.force) {
      bool mine = key.rfind("tile.", 0) == 0 || key.rfind("chunk.", 0) == 0;
      if (!mine || !carries(t, Sym::get(key.substr(key.find('.') + 1)), t.var)) continue;
      Ix n(positive(key, value));
      Tree outer = t;
      outer.var = Sym::fresh("b");
      outer.lo = Ix(0);
      outer.hi = Ix::floordiv(t.hi - t.lo + n - Ix(1), n);
      Ix start = t.lo + n * Ix(outer.var);
      t.hi = Ix::min(start + n, t.hi);
      t.lo = start;
      outer.children.clear();
      outer.children.push_back(std::move(t));
      t = std::move(outer);
      log_.push_back({"place", key, "loops cut into runs of " + value});
      return;
    }
  }
  static int64_t positive(const std::string& key, const std::string& value) {
    int64_t n = 0;
    for (char c : value) n = c >= '0' && c <= '9' && n < 1'000'000'000 ? n * 10 + (c - '0') : -1'000'000'000'000;
    if (n < 1) throw ForceError("--force " + key + "=" + value + ": a tile is a positive whole number");
    return n;
  }

  std::string forcedPlace(const Tree& loop) const {
    for (const auto& [key, value] : options_.force) {
      if (key.rfind("place.", 0) != 0) continue;
      if (carries(loop, Sym::get(key.substr(6)), loop.var)) return value;
    }
    return "";
  }
  static bool carries(const Tree& t, Sym dim, Sym var) {
    auto p = t.point.find(dim);
    if (p != t.point.end() && p->second.uses(var)) return true;
    return std::any_of(t.children.begin(), t.children.end(), [&](const Tree& c) { return carries(c, dim, var); });
  }

  std::string kernelName(const Tree& k) {
    std::vector<NodeId> nodes;
    collect(k, nodes);
    std::string base;
    for (NodeId n : nodes) {
      std::string part = g_.at(n).name;
      part = part.substr(0, part.find('.'));
      if (base.empty())
        base = part;
      else if (base.size() < 24 && base.find(part) == std::string::npos)
        base += "_" + part;
    }
    for (char& c : base)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    std::string unique = "k" + std::to_string(count_++) + "_" + base;
    log_.push_back({"place", unique, k.gridDepth ? "grid of depth " + std::to_string(k.gridDepth) : "one instance"});
    return unique;
  }
  static void collect(const Tree& t, std::vector<NodeId>& out) {
    if (t.kind == Tree::Kind::Stmt) out.push_back(t.node);
    for (const Tree& c : t.children) collect(c, out);
  }

  const Graph& g_;
  const PassOptions& options_;
  std::vector<Decision>& log_;
  bool on_;
  int count_ = 0;
};

}  // namespace

Tree place(const Graph& g, Tree root, const PassOptions& options, std::vector<Decision>& log) {
  for (const auto& [key, value] : options.force)
    if (key.rfind("place.", 0) == 0 && value != "host" && value != "kernel")
      throw ForceError("--force " + key + "=" + value + ": a loop runs in the `host` loop or in a `kernel`");
  for (const auto& [key, value] : options.force) {
    std::string kind = key.substr(0, key.find('.'));
    if (kind != "place" && kind != "tile" && kind != "chunk") continue;
    bool known = std::any_of(g.dims.begin(), g.dims.end(), [&](const Dim& d) { return kind + "." + d.var.name() == key; });
    if (!known) throw ForceError("--force " + key + "=" + value + ": the program has no dim of that name");
  }
  return Placer(g, options, log).run(std::move(root));
}

}  // namespace tempo
