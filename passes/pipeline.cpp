#include "pipeline.hpp"

#include "place/place.hpp"
#include "recur/recur.hpp"
#include "remat/remat.hpp"
#include "schedule/schedule.hpp"
#include "simplify/simplify.hpp"
#include "split/split.hpp"
#include "store/store.hpp"
#include "stream/stream.hpp"

namespace tempo {

namespace {

Ix product(const std::vector<Ix>& xs) {
  Ix n(1);
  for (const Ix& x : xs) n = n * x;
  return n;
}

/// Staging room of an effect's values: the largest each axis can be.
std::vector<std::vector<Ix>> effectElements(const Graph& g, Solver& solver) {
  std::vector<std::vector<Ix>> out;
  for (const Effect& e : g.effects) {
    std::vector<Ix> counts;
    for (size_t v = 0; v < e.values.size(); ++v) {
      std::vector<Ix> extents;
      for (const Axis& a : v < e.axes.size() ? e.axes[v] : std::vector<Axis>()) {
        bool ragged = false;
        for (Sym d : e.dims) ragged = ragged || a.length.uses(d);
        auto most = ragged ? solver.max(a.length, e.dims, e.where && g.context()) : std::optional<Ix>(a.length);
        extents.push_back(most.value_or(a.length));
      }
      counts.push_back(product(extents));
    }
    out.push_back(std::move(counts));
  }
  return out;
}

}  // namespace

const std::vector<std::string>& passNames() {
  static const std::vector<std::string> names = {"simplify", "remat", "recur", "stream", "split", "group", "schedule", "place", "store"};
  return names;
}

Plan makePlan(Graph g, Solver& solver, const PassOptions& options, const StageHook& hook) {
  Plan plan;
  auto done = [&](const std::string& pass) {
    if (options.verifyEach) verify(plan.graph);
    if (hook) hook(pass);
  };
  plan.graph = simplify(std::move(g), solver, options);
  done("simplify");
  plan.graph = remat(std::move(plan.graph), solver, options, plan.log);
  done("remat");
  plan.graph = recur(std::move(plan.graph), solver, options, plan.log);
  removeDead(plan.graph);
  done("recur");
  plan.graph = stream(std::move(plan.graph), options, plan.log);
  done("stream");
  plan.graph = split(std::move(plan.graph), solver, options, plan.log);
  done("split");
  Tree tree = schedule(plan.graph, solver, options);
  done("schedule");
  plan.root = place(plan.graph, std::move(tree), options, plan.log);
  done("place");
  plan.stores = store(plan.graph, plan.root, solver, options, plan.log);
  plan.effectElements = effectElements(plan.graph, solver);
  done("store");
  return plan;
}

}  // namespace tempo
