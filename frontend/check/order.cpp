#include <algorithm>
#include <map>

#include "check/causal.hpp"
#include "check/scc.hpp"

namespace tempo::check {

std::vector<Component> components(const Graph& g) {
  std::vector<std::pair<size_t, size_t>> edges;
  for (const Node& n : g.nodes()) {
    forEachRead(n, [&](const Piece&, const Expr& r) { edges.emplace_back(n.id.v, r.node.v); });
  }
  std::vector<size_t> of = stronglyConnected(g.nodes().size(), edges);
  std::map<size_t, Component> all;
  std::map<std::pair<uint32_t, size_t>, size_t> number;
  for (const Node& n : g.nodes()) {
    for (size_t k = 0; k < n.pieces.size(); ++k) {
      auto& statements = all[of[n.id.v]].statements;
      number[{n.id.v, k}] = statements.size();
      statements.push_back({&n, k});
    }
  }
  std::vector<Component> out;
  for (auto& [id, c] : all) {
    for (size_t r = 0; r < c.statements.size(); ++r) {
      const Node& n = *c.statements[r].node;
      for (const ReadSite& s : readSites(n, c.statements[r].where())) {
        if (of[s.read->node.v] != id) continue;
        ReadPoint p = readPoint(g, s);
        for (size_t k = 0; k < p.producer->pieces.size(); ++k) {
          ReadPoint q = p;
          q.when = p.when && p.producer->pieces[k].where.subst(p.dims());
          if (!q.when.isFalse()) c.dependences.push_back({r, number[{p.producer->id.v, k}], s, q});
        }
      }
    }
    if (!c.dependences.empty()) out.push_back(std::move(c));
  }
  return out;
}

namespace {

class DimOrder {
 public:
  DimOrder(const Graph& g, const Component& c, Prover& prover, bool cheaply)
      : g_(g), c_(c), prover_(prover), cheaply_(cheaply) {}

  bool exists() {
    std::vector<size_t> all;
    for (size_t i = 0; i < c_.dependences.size(); ++i) {
      const Dependence& d = c_.dependences[i];
      if (!cheaply_ && holds(d.point.when, Cond::truth(false))) continue;
      all.push_back(i);
    }
    return orders(all);
  }

 private:
  bool holds(const Cond& given, const Cond& goal) {
    return cheaply_ ? prover_.holdsCheaply(given, goal) : prover_.holds(given, goal);
  }

  /// How far before the reader, along `d` taken in direction `sign`, the point read lies.
  std::optional<Ix> distance(const Dependence& dep, Sym d, int sign) const {
    const auto& from = c_.statements[dep.reader].node->dims;
    const auto& to = dep.point.producer->dims;
    auto it = std::find(to.begin(), to.end(), d);
    if (it == to.end() || std::find(from.begin(), from.end(), d) == from.end()) return std::nullopt;
    Ix back = Ix(d) - dep.point.at[size_t(it - to.begin())];
    return sign > 0 ? back : Ix(0) - back;
  }

  bool atLeast(const Dependence& dep, const Ix& distance, int64_t bound) {
    if (auto k = distance.asConst()) return *k >= bound;
    return holds(dep.point.when, Cond::ge(distance, Ix(bound)));
  }

  bool orders(const std::vector<size_t>& deps) {
    std::vector<std::pair<size_t, size_t>> edges;
    for (size_t i : deps) edges.emplace_back(c_.dependences[i].reader, c_.dependences[i].producer);
    std::vector<size_t> of = stronglyConnected(c_.statements.size(), edges);
    std::map<size_t, std::vector<size_t>> inner;
    for (size_t i : deps) {
      const Dependence& d = c_.dependences[i];
      if (of[d.reader] == of[d.producer]) inner[of[d.reader]].push_back(i);
    }
    for (const auto& [id, circle] : inner) {
      if (!carries(circle)) return false;
    }
    return true;
  }

  bool carries(const std::vector<size_t>& deps) {
    for (const Dim& d : g_.dims) {
      for (int sign : {1, -1}) {
        auto left = leftBy(deps, d.var, sign);
        if (left && left->size() < deps.size()) return orders(*left);
      }
    }
    return false;
  }

  /// The dependences that stay within a step if `d` is walked in direction `sign`; nothing if one would be broken.
  std::optional<std::vector<size_t>> leftBy(const std::vector<size_t>& deps, Sym d, int sign) {
    std::vector<size_t> left;
    for (size_t i : deps) {
      const Dependence& dep = c_.dependences[i];
      auto back = distance(dep, d, sign);
      if (!back || !atLeast(dep, *back, 0)) return std::nullopt;
      if (!atLeast(dep, *back, 1)) left.push_back(i);
    }
    return left;
  }

  const Graph& g_;
  const Component& c_;
  Prover& prover_;
  bool cheaply_;
};

}  // namespace

bool ordersByDims(const Graph& g, const Component& c, Prover& prover, bool cheaply) {
  return DimOrder(g, c, prover, cheaply).exists();
}

}  // namespace tempo::check
