#include "cycles.hpp"

#include <algorithm>
#include <functional>

#include "plan/plan.hpp"

namespace tempo {

Components::Components(const Graph& g) {
  size_t count = g.nodes().size();
  of.resize(count);
  cyclic.resize(count);
  std::vector<int> index(count, -1), low(count);
  std::vector<bool> open(count);
  std::vector<NodeId> stack;
  int next = 0;
  std::function<void(NodeId)> visit = [&](NodeId id) {
    index[id.v] = low[id.v] = next++;
    stack.push_back(id);
    open[id.v] = true;
    forEachRead(g.at(id), [&](const Piece&, const Expr& r) {
      if (r.node == id) cyclic[id.v] = true;
      if (index[r.node.v] < 0) visit(r.node);
      if (open[r.node.v]) low[id.v] = std::min(low[id.v], low[r.node.v]);
    });
    if (low[id.v] != index[id.v]) return;
    std::vector<NodeId> members;
    do {
      members.push_back(stack.back());
      stack.pop_back();
      open[members.back().v] = false;
    } while (members.back() != id);
    for (NodeId m : members) {
      of[m.v] = all.size();
      if (members.size() > 1) cyclic[m.v] = true;
    }
    all.push_back(std::move(members));
  };
  for (const Node& n : g.nodes())
    if (index[n.id.v] < 0) visit(n.id);
}

std::vector<bool> liveNodes(const Graph& g) {
  std::vector<bool> live(g.nodes().size(), false);
  std::vector<NodeId> work;
  auto need = [&](NodeId id) {
    if (!live[id.v]) {
      live[id.v] = true;
      work.push_back(id);
    }
  };
  for (const Output& o : g.outputs) need(o.node);
  for (const Effect& e : g.effects)
    for (const ReadSite& s : readSites(e)) need(s.read->node);
  while (!work.empty()) {
    const Node& n = g.at(work.back());
    work.pop_back();
    forEachRead(n, [&](const Piece&, const Expr& r) { need(r.node); });
  }
  return live;
}

}  // namespace tempo
