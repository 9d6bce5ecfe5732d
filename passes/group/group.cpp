#include "group/group.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "plan/plan.hpp"

namespace tempo {

namespace {

/// How a read's point lies to the reader's: equal, at a fixed distance to one side, or anything.
enum class Offset : uint8_t { Same, Before, After, Unknown };

Offset offsetOf(const std::vector<Sym>& dims, const Node& target, const Expr& read) {
  if (target.dims != dims) return Offset::Unknown;
  Offset o = Offset::Same;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Index& ix = read.indices[i];
    auto d = ix.data ? std::nullopt : (ix.ix - Ix(dims[i])).asConst();
    if (!d) return Offset::Unknown;
    if (*d == 0 || o != Offset::Same) continue;  // the first dim that differs decides
    o = *d < 0 ? Offset::Before : Offset::After;
  }
  return o;
}

struct Edge {
  size_t from, to;
  Offset offset;
};

class Grouper {
 public:
  Grouper(const Graph& g, const std::vector<bool>& live) : g_(g) {
    std::map<NodeId, std::vector<size_t>> writers;
    for (const Node& n : g.nodes()) {
      if (!live[n.id.v]) continue;
      for (size_t p = 0; p < n.pieces.size(); ++p) {
        if (n.pieces[p].body.kind == Body::Kind::Input) continue;
        writers[n.id].push_back(pieces_.size());
        pieces_.push_back({n.id, p});
      }
    }
    for (size_t r = 0; r < pieces_.size(); ++r) {
      const Node& n = g.at(pieces_[r].node);
      for (const ReadSite& s : readSites(n, n.pieces[pieces_[r].piece])) {
        auto w = writers.find(s.read->node);
        if (w == writers.end()) continue;
        Offset o = offsetOf(n.dims, g.at(s.read->node), *s.read);
        for (size_t from : w->second) edges_.push_back({from, r, o});
      }
    }
    parent_.resize(pieces_.size());
    std::iota(parent_.begin(), parent_.end(), size_t(0));
  }

  std::vector<std::vector<PieceRef>> run(bool on) {
    if (on)
      for (const Edge& e : edges_)
        if (e.offset == Offset::Same && sameDomain(e) && root(e.from) != root(e.to) && !returns(root(e.from), root(e.to)))
          parent_[root(e.to)] = root(e.from);
    std::map<size_t, std::vector<size_t>> members;
    for (size_t i : order()) members[root(i)].push_back(i);
    std::vector<std::vector<PieceRef>> out;
    for (auto& [r, list] : members) {
      out.emplace_back();
      for (size_t i : list) out.back().push_back(pieces_[i]);
    }
    return out;
  }

 private:
  size_t root(size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }

  bool sameDomain(const Edge& e) const {
    const Node &a = g_.at(pieces_[e.from].node), &b = g_.at(pieces_[e.to].node);
    return a.dims == b.dims && a.pieces[pieces_[e.from].piece].where == b.pieces[pieces_[e.to].piece].where;
  }

  /// Is there a way from group `a` to group `b` through others that may come back to the same point? Steps to one side only
  /// cannot; anything else may.
  bool returns(size_t a, size_t b) const {
    struct State {
      size_t at;
      Offset so;
      auto operator<=>(const State&) const = default;
    };
    std::set<State> seen;
    std::vector<State> work;
    auto step = [&](const Edge& e, Offset so) {
      Offset next = so;
      if (e.offset == Offset::Unknown || (so != Offset::Same && e.offset != Offset::Same && e.offset != so))
        next = Offset::Unknown;
      else if (so == Offset::Same)
        next = e.offset;
      State s{root(e.to), next};
      if (seen.insert(s).second) work.push_back(s);
    };
    for (const Edge& e : edges_)
      if (root(e.from) == a && root(e.to) != a && root(e.to) != b) step(e, Offset::Same);
    // A direct edge that is not at the same point also needs an order the merged group may not have.
    for (const Edge& e : edges_)
      if (root(e.from) == a && root(e.to) == b && e.offset == Offset::Unknown) return true;
    while (!work.empty()) {
      State s = work.back();
      work.pop_back();
      if (s.at == b) {
        if (s.so == Offset::Same || s.so == Offset::Unknown) return true;
        continue;
      }
      if (s.at == a) continue;
      for (const Edge& e : edges_)
        if (root(e.from) == s.at && root(e.to) != s.at) step(e, s.so);
    }
    return false;
  }

  /// Producers before consumers along same-point edges.
  std::vector<size_t> order() const {
    std::vector<std::vector<size_t>> out(pieces_.size());
    std::vector<int> degree(pieces_.size(), 0);
    for (const Edge& e : edges_)
      if (e.offset == Offset::Same && e.from != e.to) {
        out[e.from].push_back(e.to);
        ++degree[e.to];
      }
    std::set<size_t> ready;
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (!degree[i]) ready.insert(i);
    std::vector<size_t> result;
    std::vector<bool> done(pieces_.size(), false);
    while (!ready.empty()) {
      size_t i = *ready.begin();
      ready.erase(ready.begin());
      done[i] = true;
      result.push_back(i);
      for (size_t j : out[i])
        if (--degree[j] == 0) ready.insert(j);
    }
    for (size_t i = 0; i < pieces_.size(); ++i)  // pieces that read one another at points that do not meet
      if (!done[i]) result.push_back(i);
    return result;
  }

  const Graph& g_;
  std::vector<PieceRef> pieces_;
  std::vector<Edge> edges_;
  std::vector<size_t> parent_;
};

}  // namespace

std::vector<std::vector<PieceRef>> group(const Graph& g, const std::vector<bool>& live, const PassOptions& options) {
  return Grouper(g, live).run(options.isOn("group"));
}

}  // namespace tempo
