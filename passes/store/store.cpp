#include "store/store.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"

namespace tempo {

namespace {

/// A statement or effect with the way to it from the root.
struct Site {
  const Tree* leaf;
  std::vector<const Tree*> path;  // loops and kernels, outermost first
};

struct Access {
  const Site* site;
  ReadSite read;     // readers only
};

class Storer {
 public:
  Storer(const Graph& g, const Tree& root, Solver& solver, const PassOptions& o, std::vector<Decision>& log)
      : g_(g), solver_(solver), options_(o), log_(log), facts_(g.context()) {
    std::vector<const Tree*> path;
    walk(root, path);
    int k = 0;
    number(root, k);
  }

  std::vector<Store> run() {
    std::vector<Store> out(g_.nodes().size());
    writers_.resize(out.size());
    readers_.resize(out.size());
    for (const Site& s : sites_) {
      if (s.leaf->kind == Tree::Kind::Stmt) writers_[s.leaf->node.v].push_back(&s);
      auto reads = s.leaf->kind == Tree::Kind::Stmt
                       ? readSites(g_.at(s.leaf->node), g_.at(s.leaf->node).pieces[s.leaf->piece])
                       : readSites(g_.effects[s.leaf->effect]);
      for (ReadSite& r : reads) readers_[r.read->node.v].push_back({&s, r});
    }
    for (const Node& n : g_.nodes()) out[n.id.v] = one(n);
    return out;
  }

 private:
  void walk(const Tree& t, std::vector<const Tree*>& path) {
    order_[&t] = int(order_.size());
    if (t.kind == Tree::Kind::Stmt || t.kind == Tree::Kind::Effect) {
      sites_.push_back({&t, path});
      return;
    }
    bool onPath = t.kind == Tree::Kind::Loop || t.kind == Tree::Kind::Kernel;
    if (onPath) path.push_back(&t);
    for (const Tree& c : t.children) walk(c, path);
    if (onPath) path.pop_back();
  }

  void number(const Tree& t, int& k) {
    if (t.kind == Tree::Kind::Kernel) kernelIndex_[&t] = k++;
    for (const Tree& c : t.children) number(c, k);
  }

  bool isOutput(NodeId id) const {
    return std::any_of(g_.outputs.begin(), g_.outputs.end(), [&](const Output& o) { return o.node == id; });
  }

  Store one(const Node& n) {
    Store s;
    s.output = isOutput(n.id);
    bool input = !n.pieces.empty() && n.pieces[0].body.kind == Body::Kind::Input;
    if (n.pieces.empty() || (!input && writers_[n.id.v].empty())) return s;
    if (input && readers_[n.id.v].empty() && !s.output) return s;
    for (const Axis& a : n.axes) s.axes.push_back(capacity(a.length, n));
    s.order.resize(n.dims.size() + n.axes.size());
    std::iota(s.order.begin(), s.order.end(), 0);
    if (input) {
      s.cls = Store::Class::Input;
      for (Sym d : n.dims) s.dims.push_back({DimStore::Kind::Full, Ix(0), extent(n, d, Ix(0))});
      return s;
    }
    for (Sym d : n.dims) {
      Ix base = shortest(bound(Ix(d), n, false), n, {Ix(0), Ix(1), Ix(-1)});
      s.dims.push_back({DimStore::Kind::Full, base, extent(n, d, base)});
    }
    s.cls = Store::Class::Full;
    std::string forced = force("store." + n.name);
    if (!s.output && options_.isOn("store") && forced != "full") contract(n, s);
    if (!forced.empty() && forced != name(s.cls) && !(forced == "ring" && hasRing(s)))
      throw ForceError("--force store." + n.name + "=" + forced + ": `" + n.name + "` is stored " + name(s.cls) +
                       (s.output ? ", because it is an output" : ""));
    layout(n, s);
    log_.push_back({"store", n.name, std::string(name(s.cls)) + ", " + s.elements().str() + " elements"});
    return s;
  }

  void layout(const Node& n, Store& s) {
    std::string forced = force("layout." + n.name);
    if (forced.empty()) return;
    if (forced.rfind("pad", 0) == 0 && forced.size() > 3 && s.order.size() > 0 && !s.output) {
      s.pad = std::stoll(forced.substr(3));
    } else if (forced == "transposed" && s.order.size() > 1 && !s.output) {
      std::swap(s.order[s.order.size() - 1], s.order[s.order.size() - 2]);
    } else {
      throw ForceError("--force layout." + n.name + "=" + forced + ": choose padN or transposed, for a tensor that is not an output");
    }
    log_.push_back({"store", n.name, "layout " + forced});
  }

  std::string force(const std::string& key) const {
    auto f = options_.force.find(key);
    return f == options_.force.end() ? "" : f->second;
  }
  static bool hasRing(const Store& s) {
    return std::any_of(s.dims.begin(), s.dims.end(), [](const DimStore& d) { return d.kind == DimStore::Kind::Ring; });
  }

  Cond anywhere(const Node& n) const {
    Cond c = Cond::truth(false);
    for (const Piece& p : n.pieces) c = c || p.where;
    return c && facts_;
  }

  /// Largest (smallest) value of `e` where the node exists, over sizes only.
  Ix bound(const Ix& e, const Node& n, bool largest) {
    if (e.asConst()) return e;
    auto r = largest ? solver_.max(e, n.dims, anywhere(n)) : solver_.min(e, n.dims, anywhere(n));
    TEMPO_CHECK(r.has_value(), "`" + n.name + "` is not bounded by the program's sizes: " + e.str());
    return *r;
  }

  Ix extent(const Node& n, Sym d, const Ix& base) {
    Ix size(g_.sizeOf(d));
    Ix e = bound(Ix(d), n, true) - base + Ix(1);
    return atLeast0(shortest(e, n, {size, size + Ix(1), size - Ix(1)}));
  }

  /// One of the candidates, if it is equal to `e` whenever the node has points.
  Ix shortest(const Ix& e, const Node& n, const std::vector<Ix>& candidates) {
    if (e.asConst()) return e;
    Cond exists = anywhere(n);
    for (const Ix& c : candidates)
      if (c == e || solver_.equal(e, c, exists)) return c;
    return e;
  }

  Ix atLeast0(const Ix& e) { return solver_.implies(facts_, Cond::ge0(e)) ? e : Ix::max(Ix(0), e); }

  Ix capacity(const Ix& length, const Node& n) {
    bool ragged = std::any_of(n.dims.begin(), n.dims.end(), [&](Sym d) { return length.uses(d); });
    return ragged ? atLeast0(bound(length, n, true)) : length;
  }

  static size_t shared(const std::vector<const Tree*>& a, const std::vector<const Tree*>& b) {
    size_t k = 0;
    while (k < a.size() && k < b.size() && a[k] == b[k]) ++k;
    return k;
  }

  /// Loops and kernels that enclose every reader and the innermost writer, outermost first. A writer that leaves it early (the
  /// first step of a recurrence, say) is outside of the loops that follow.
  std::vector<const Tree*> lifePath(const Node& n) const {
    const Site* main = writers_[n.id.v][0];
    for (const Site* w : writers_[n.id.v])
      if (w->path.size() > main->path.size()) main = w;
    std::vector<const Tree*> common = main->path;
    for (const Access& r : readers_[n.id.v]) common.resize(shared(common, r.site->path));
    for (const Site* w : writers_[n.id.v])
      if (shared(common, w->path) < common.size() && order_.at(w->leaf) > order_.at(common[shared(common, w->path)]))
        common.resize(shared(common, w->path));  // it comes after: what it overwrites may still be read
    return common;
  }

  bool inside(const Site& w, const Tree& t) const { return std::find(w.path.begin(), w.path.end(), &t) != w.path.end(); }

  /// The dim or axis position that `loop` runs over at this writer: index = sign * var + offset. nullopt if none does so alone.
  struct Along {
    size_t position;
    int64_t sign;
    Ix offset;
  };
  std::optional<Along> along(const Node& n, const Site& w, Sym var) const {
    std::optional<Along> found;
    auto look = [&](size_t position, const Ix& e) {
      if (!e.uses(var)) return true;
      if (found) return false;
      for (int64_t sign : {1, -1}) {
        Ix rest = e - Ix(sign) * Ix(var);
        if (!rest.uses(var)) {
          for (const Tree* t : w.path)
            if (t->kind == Tree::Kind::Loop && rest.uses(t->var)) return false;
          found = Along{position, sign, rest};
          return true;
        }
      }
      return false;
    };
    for (size_t i = 0; i < n.dims.size(); ++i)
      if (!look(i, w.leaf->point.at(n.dims[i]))) return std::nullopt;
    for (size_t i = 0; i < w.leaf->axisBind.size(); ++i)
      if (w.leaf->axisBind[i].isPoint() && !look(n.dims.size() + i, w.leaf->axisBind[i].lo)) return std::nullopt;
    return found;
  }

  struct Distance {
    bool zero = false;        // always 0
    std::optional<Ix> most;   // else: upper bound over sizes, with 0 as the lower bound
  };

  /// How many iterations of `loop` after the write a read happens: over all its instances.
  Distance distance(const Along& a, const Tree& loop, const Access& r) {
    const Index& index = r.read.read->indices[a.position];
    if (index.data) return {};
    const Tree& leaf = *r.site->leaf;
    Subst point = leaf.point;
    Cond when = r.read.when;
    const std::vector<Axis>& axes = leaf.kind == Tree::Kind::Stmt ? g_.at(leaf.node).axes : noAxes_;
    for (size_t i = 0; i < leaf.axisBind.size(); ++i)
      if (leaf.axisBind[i].isPoint()) point[axes[i].var] = leaf.axisBind[i].lo;
    // index = sign * c + offset at the write, so c = sign * (index - offset)
    Ix written = Ix(a.sign) * (index.ix.subst(point) - a.offset);
    Ix d = Ix(loop.var) - written;
    if (d == Ix(0)) return {true, Ix(0)};
    when = when.subst(point) && facts_;
    for (const Tree* t : r.site->path)
      if (t->kind == Tree::Kind::Loop) when = when && Cond::range(Ix(t->var), t->lo, t->hi);
    std::vector<Sym> over;
    for (Sym v : (when && Cond::ge0(d)).vars())
      if (!isSize(v)) over.push_back(v);
    auto least = solver_.min(d, over, when);
    if (!least || solver_.satisfiable(when && Cond::lt(d, Ix(0)))) return {};
    auto most = solver_.max(d, over, when);
    if (!most) return {};
    Distance out;
    out.zero = !solver_.satisfiable(when && Cond::gt(d, Ix(0)));
    out.most = *most;
    return out;
  }

  bool isSize(Sym s) const {
    return std::any_of(g_.sizes.begin(), g_.sizes.end(), [&](const Size& z) { return z.sym == s; });
  }

  void contract(const Node& n, Store& s) {
    const Tree* kernel = nullptr;
    int gridLeft = 0;
    size_t beforeGrid = 0;
    bool ring = false;
    std::vector<std::pair<size_t, DimStore>> changes;
    for (const Tree* t : lifePath(n)) {
      bool all = std::all_of(writers_[n.id.v].begin(), writers_[n.id.v].end(), [&](const Site* w) { return inside(*w, *t); });
      if (t->kind == Tree::Kind::Kernel) {
        kernel = all ? t : nullptr;
        gridLeft = t->gridDepth;
        beforeGrid = changes.size();
        continue;
      }
      bool grid = gridLeft-- > 0;
      auto step = loopStep(n, *t);
      bool isRing = step && step->second.kind == DimStore::Kind::Ring;
      if (!all && !isRing) break;
      if (grid && (!step || isRing || !kernel)) {  // instances share it: nothing inside the kernel may be private or reused
        changes.resize(beforeGrid);
        return finish(n, s, changes, nullptr, ring);
      }
      if (!step || (isRing && t->parallel)) break;
      changes.push_back(*step);
      if (isRing) {
        ring = true;
        break;
      }
    }
    finish(n, s, changes, kernel, ring);
  }

  /// min(a, b) + 1 as min(a + 1, b + 1): sums of sizes read better without a tail.
  static Ix plusOne(const Ix& e) {
    if (e.kind() != Ix::Kind::Min && e.kind() != Ix::Kind::Max) return e + Ix(1);
    Ix r = plusOne(e.args()[0]);
    for (size_t i = 1; i < e.args().size(); ++i)
      r = e.kind() == Ix::Kind::Min ? Ix::min(r, plusOne(e.args()[i])) : Ix::max(r, plusOne(e.args()[i]));
    return r;
  }

  /// What the loop allows for the dim it runs over: Point (distance always 0) or Ring; nullopt: nothing.
  std::optional<std::pair<size_t, DimStore>> loopStep(const Node& n, const Tree& loop) {
    std::optional<size_t> position;
    std::optional<Ix> most;
    bool zero = true;
    std::optional<Along> way;
    for (const Site* w : writers_[n.id.v]) {
      if (!inside(*w, loop)) continue;
      auto a = along(n, *w, loop.var);
      if (!a || (position && *position != a->position)) return std::nullopt;
      if (way && !(way->sign == a->sign && way->offset == a->offset)) return std::nullopt;
      position = a->position;
      way = a;
      for (const Access& r : readers_[n.id.v]) {
        Distance d = distance(*a, loop, r);
        if (!d.most) return std::nullopt;
        zero = zero && d.zero;
        most = most ? Ix::max(*most, *d.most) : *d.most;
      }
    }
    if (!position) return std::nullopt;
    DimStore out;
    bool outside = false;
    for (const Site* w : writers_[n.id.v]) outside = outside || !inside(*w, loop);
    if (outside && (!most || !startsRing(n, loop, *way, *most))) return std::nullopt;
    if (!outside && (zero || !most)) {
      out = {DimStore::Kind::Point, Ix(0), Ix(1)};
    } else {
      out.kind = DimStore::Kind::Ring;
      Ix slots = plusOne(*most);
      bool some = solver_.implies(anywhere(n), Cond::ge(slots, Ix(1)));
      out.extent = some ? slots : Ix::max(Ix(1), slots);
    }
    return std::make_pair(*position, out);
  }

  void finish(const Node& n, Store& s, const std::vector<std::pair<size_t, DimStore>>& changes, const Tree* kernel, bool ring) {
    for (const auto& [position, d] : changes) {
      if (position >= n.dims.size()) continue;  // a bound axis: kept, one slot would need another layout
      Ix base = s.dims[position].base;
      s.dims[position] = d;
      s.dims[position].base = base;
    }
    bool point = !n.dims.empty() && std::all_of(s.dims.begin(), s.dims.end(),
                                                [](const DimStore& d) { return d.kind == DimStore::Kind::Point; });
    if (ring)
      s.cls = Store::Class::Ring;
    else if (point)
      s.cls = Store::Class::Point;
    if (kernel) {
      s.cls = Store::Class::Local;
      s.kernel = kernelIndex_.at(kernel);
    }
  }

  /// Writers before the loop: each fills the slot of an iteration just before the first one, no two the same slot.
  bool startsRing(const Node& n, const Tree& loop, const Along& way, const Ix& most) {
    if (way.position >= n.dims.size()) return false;
    std::vector<Ix> at;
    for (const Site* w : writers_[n.id.v]) {
      if (inside(*w, loop)) continue;
      Ix point = w->leaf->point.at(n.dims[way.position]);
      for (const Tree* t : w->path)
        if (t->kind == Tree::Kind::Loop && point.uses(t->var)) return false;
      at.push_back(Ix(way.sign) * (point - way.offset));
      for (const Site* in : writers_[n.id.v]) {
        if (!inside(*in, loop)) continue;
        Cond writes = facts_ && n.pieces[in->leaf->piece].where.subst(in->leaf->point);
        for (const Tree* t : in->path)
          if (t->kind == Tree::Kind::Loop) writes = writes && Cond::range(Ix(t->var), t->lo, t->hi);
        if (solver_.satisfiable(writes && Cond::ge(at.back(), Ix(loop.var)))) return false;
      }
    }
    for (const Ix& a : at)
      for (const Ix& b : at)
        if (!(a == b) && solver_.satisfiable(facts_ && Cond::gt(a - b, most))) return false;
    return true;
  }

  const Graph& g_;
  Solver& solver_;
  const PassOptions& options_;
  std::vector<Decision>& log_;
  Cond facts_;
  std::map<const Tree*, int> order_;
  std::vector<Site> sites_;
  std::vector<std::vector<const Site*>> writers_;
  std::vector<std::vector<Access>> readers_;
  std::map<const Tree*, int> kernelIndex_;
  std::vector<Axis> noAxes_;
};

}  // namespace

std::vector<Store> store(const Graph& g, const Tree& root, Solver& solver, const PassOptions& options,
                         std::vector<Decision>& log) {
  for (const auto& [key, value] : options.force) {
    bool mine = key.rfind("store.", 0) == 0 || key.rfind("layout.", 0) == 0;
    if (mine && !g.find(key.substr(key.find('.') + 1)))
      throw ForceError("--force " + key + "=" + value + ": the program has no tensor of that name");
  }
  return Storer(g, root, solver, options, log).run();
}

}  // namespace tempo
