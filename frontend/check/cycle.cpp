// The search for a concrete cycle: all points at small sizes, and a shortest circle among them.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "check/causal.hpp"
#include "check/scc.hpp"

namespace tempo::check {

namespace {

using Point = std::vector<int64_t>;

constexpr size_t kSizeTries = 48;
constexpr size_t kMaxPoints = 3000;
constexpr size_t kMaxHops = 60'000;
constexpr int64_t kMargin = 2;  // a dim is searched this far outside 0 .. size

/// The variables of a read other than the reader's dims: those that decide which point is read come first.
std::vector<RVar> innerRanges(const Component& c, const Dependence& d) {
  const Statement& s = c.statements[d.reader];
  std::vector<RVar> all;
  for (const Axis& a : s.node->axes) all.push_back({a.var, Ix(0), a.length});
  for (const RVar& r : s.where().body.rvars) {
    if (std::find(d.site.inner.begin(), d.site.inner.end(), r.var) != d.site.inner.end()) all.push_back(r);
  }
  size_t gather = 0;
  for (const Index& i : d.site.read->indices) {
    if (i.data) all.push_back({d.point.gathers[gather++], i.lo, i.hi});
  }
  std::set<Sym> deciding;
  for (size_t k = 0; k < d.point.producer->dims.size(); ++k) d.point.at[k].collect(deciding);
  for (auto r = all.rbegin(); r != all.rend(); ++r) {
    if (!deciding.count(r->var)) continue;
    r->lo.collect(deciding);
    r->hi.collect(deciding);
  }
  std::stable_partition(all.begin(), all.end(), [&](const RVar& r) { return deciding.count(r.var) != 0; });
  return all;
}

/// Calls `f` with each point that `d` reads from `env`, which holds the sizes and the reader's dims.
class Targets {
 public:
  Targets(const Component& c, const Dependence& d) : d_(d), ranges_(innerRanges(c, d)) {
    std::set<Sym> used;
    for (size_t k = 0; k < d.point.producer->dims.size(); ++k) d.point.at[k].collect(used);
    while (deciding_ < ranges_.size() && isDeciding(ranges_[deciding_].var, used)) ++deciding_;
  }

  std::set<Point> at(Env env) const {
    std::set<Point> out;
    try {
      walk(0, env, out);
    } catch (const std::exception&) {
      // A division by a size that is 0 here: no point is read.
    }
    return out;
  }

 private:
  bool isDeciding(Sym v, const std::set<Sym>& used) const {
    if (used.count(v)) return true;
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const RVar& r) { return r.lo.uses(v) || r.hi.uses(v); });
  }

  /// True if a point was found below: behind the deciding variables one suffices.
  bool walk(size_t k, Env& env, std::set<Point>& out) const {
    if (out.size() > kMaxPoints) return true;
    if (k == ranges_.size()) {
      if (!d_.point.when.eval(env)) return false;
      Point p;
      for (size_t i = 0; i < d_.point.producer->dims.size(); ++i) p.push_back(d_.point.at[i].eval(env));
      out.insert(std::move(p));
      return true;
    }
    int64_t lo = ranges_[k].lo.eval(env), hi = ranges_[k].hi.eval(env);
    bool found = false;
    for (int64_t v = lo; v < hi; ++v) {
      env[ranges_[k].var] = v;
      found = walk(k + 1, env, out) || found;
      if (found && k >= deciding_) return true;
    }
    return found;
  }

  const Dependence& d_;
  std::vector<RVar> ranges_;
  size_t deciding_ = 0;
};

Env withDims(Env env, const Node& n, const Point& p) {
  for (size_t i = 0; i < p.size(); ++i) env[n.dims[i]] = p[i];
  return env;
}

/// All points of a component at given sizes, with what each reads.
class Instances {
 public:
  Instances(const Graph& g, const Component& c, const Env& sizes) : g_(g), c_(c), sizes_(sizes) {
    for (size_t s = 0; s < c.statements.size(); ++s) enumerate(s);
    if (vertices_.size() > kMaxPoints) return;
    for (size_t d = 0; d < c.dependences.size() && edges_.size() < kMaxHops; ++d) connect(d);
  }

  std::optional<Cycle> shortest() const {
    if (vertices_.size() > kMaxPoints) return std::nullopt;
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const Edge& e : edges_) pairs.emplace_back(e.from, e.to);
    std::vector<size_t> of = stronglyConnected(vertices_.size(), pairs);
    std::vector<std::vector<size_t>> out(vertices_.size());
    for (size_t i = 0; i < edges_.size(); ++i) {
      if (of[edges_[i].from] == of[edges_[i].to]) out[edges_[i].from].push_back(i);
    }
    std::vector<size_t> best;
    for (size_t v = 0; v < vertices_.size(); ++v) {
      if (out[v].empty()) continue;
      std::vector<size_t> path = circleFrom(v, out);
      if (!path.empty() && (best.empty() || path.size() < best.size())) best = path;
      if (best.size() == 1) break;
    }
    if (best.empty()) return std::nullopt;
    Cycle cycle{{}, sizes_};
    for (size_t e : best) cycle.hops.push_back({edges_[e].dependence, vertices_[edges_[e].from].point, vertices_[edges_[e].to].point});
    return cycle;
  }

 private:
  struct Vertex {
    size_t statement;
    Point point;
  };
  struct Edge {
    size_t from, to, dependence;
  };

  void enumerate(size_t s) {
    const Statement& st = c_.statements[s];
    Point p;
    Env env = sizes_;
    std::function<void()> walk = [&] {
      if (vertices_.size() > kMaxPoints) return;
      if (p.size() == st.node->dims.size()) {
        if (!st.where().where.eval(env)) return;
        number_[{s, p}] = vertices_.size();
        vertices_.push_back({s, p});
        return;
      }
      Sym d = st.node->dims[p.size()];
      auto size = sizes_.find(g_.sizeOf(d));
      int64_t end = size == sizes_.end() ? kMargin : size->second + kMargin;
      for (int64_t v = -kMargin; v <= end; ++v) {
        env[d] = v;
        p.push_back(v);
        walk();
        p.pop_back();
      }
    };
    walk();
  }

  void connect(size_t dependence) {
    const Dependence& d = c_.dependences[dependence];
    Targets targets(c_, d);
    for (size_t v = 0; v < vertices_.size() && edges_.size() < kMaxHops; ++v) {
      if (vertices_[v].statement != d.reader) continue;
      for (const Point& p : targets.at(withDims(sizes_, *c_.statements[d.reader].node, vertices_[v].point))) {
        auto to = number_.find({d.producer, p});
        if (to != number_.end()) edges_.push_back({v, to->second, dependence});
      }
    }
  }

  /// A shortest path of edges from `start` back to it.
  std::vector<size_t> circleFrom(size_t start, const std::vector<std::vector<size_t>>& out) const {
    std::map<size_t, size_t> reachedBy;  // vertex -> edge
    std::deque<size_t> queue{start};
    while (!queue.empty()) {
      size_t v = queue.front();
      queue.pop_front();
      for (size_t e : out[v]) {
        size_t w = edges_[e].to;
        if (w == start) {
          std::vector<size_t> path{e};
          for (size_t u = v; u != start; u = edges_[path.back()].from) path.push_back(reachedBy.at(u));
          std::reverse(path.begin(), path.end());
          return path;
        }
        if (reachedBy.emplace(w, e).second) queue.push_back(w);
      }
    }
    return {};
  }

  const Graph& g_;
  const Component& c_;
  const Env& sizes_;
  std::vector<Vertex> vertices_;
  std::vector<Edge> edges_;
  std::map<std::pair<size_t, Point>, size_t> number_;
};

}  // namespace

std::set<Sym> variables(const Graph& g, const Component& c) {
  std::set<Sym> out;
  for (const Statement& s : c.statements) {
    s.where().where.collect(out);
    for (Sym d : s.node->dims) out.insert(g.sizeOf(d));
  }
  for (const Dependence& d : c.dependences) {
    d.point.when.collect(out);
    for (const Ix& x : d.point.at) x.collect(out);
  }
  return out;
}

std::optional<Cycle> findCycle(const Graph& g, const Component& c, Prover& prover) {
  std::set<Sym> about = variables(g, c);
  std::vector<Env> tries = prover.smallSizes(about, kSizeTries);
  for (int64_t larger : {8, 16}) {
    if (auto sizes = prover.sizesAt(about, larger)) tries.push_back(*sizes);
  }
  const Env& usual = prover.defaults();
  bool known = std::all_of(about.begin(), about.end(), [&](Sym s) { return !prover.isSize(s) || usual.count(s); });
  if (known) tries.push_back(usual);
  for (const Env& sizes : tries) {
    if (auto cycle = Instances(g, c, sizes).shortest()) return cycle;
  }
  return std::nullopt;
}

bool standsAt(const Component& c, const Cycle& cycle, const Env& sizes) {
  return std::all_of(cycle.hops.begin(), cycle.hops.end(), [&](const Hop& h) {
    const Dependence& d = c.dependences[h.dependence];
    return Targets(c, d).at(withDims(sizes, *c.statements[d.reader].node, h.reader)).count(h.producer) != 0;
  });
}

}  // namespace tempo::check
