#include "check/causal.hpp"

#include <algorithm>
#include <set>

#include "check/words.hpp"

namespace tempo::check {

namespace {

constexpr int64_t kLargeSize = 23;

/// One line of the told cycle; steps inside an equation are left out.
struct Line {
  std::string from, to;
  Loc loc;
};

bool isPart(const Graph& g, const Node& n) { return userName(g, n) != n.name; }

std::vector<Line> linesOf(const Graph& g, const Component& c, const Cycle& cycle) {
  auto reader = [&](const Hop& h) -> const Node& { return *c.statements[c.dependences[h.dependence].reader].node; };
  std::vector<Hop> hops = cycle.hops;
  auto first = std::find_if(hops.begin(), hops.end(), [&](const Hop& h) { return !isPart(g, reader(h)); });
  if (first != hops.end()) std::rotate(hops.begin(), first, hops.end());
  std::vector<Line> out;
  std::string from;
  Loc loc;
  for (size_t i = 0; i < hops.size(); ++i) {
    const Dependence& d = c.dependences[hops[i].dependence];
    if (from.empty()) from = pointText(userName(g, reader(hops[i])), hops[i].reader, hops[i].reader.size(), false);
    if (d.site.read->loc.id) loc = d.site.read->loc;
    if (isPart(g, *d.point.producer) && i + 1 < hops.size()) continue;
    std::string to = pointText(userName(g, *d.point.producer), hops[i].producer, hops[i].producer.size(), false);
    out.push_back({from, to, loc});
    from.clear();
    loc = {};
  }
  return out;
}

std::string namesOf(const Graph& g, const Component& c) {
  std::vector<std::string> names;
  for (const Statement& s : c.statements) {
    std::string n = "`" + userName(g, *s.node) + "`";
    if (std::find(names.begin(), names.end(), n) == names.end()) names.push_back(n);
  }
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

class Causal {
 public:
  Causal(const Graph& g, Diagnostics& diags, Prover& prover) : g_(g), diags_(diags), prover_(prover) {}

  void run() {
    for (const Component& c : components(g_)) check(c);
  }

 private:
  Span spanOf(Loc l) const { return diags_.sources().span(l); }

  void check(const Component& c) {
    if (ordersByDims(g_, c, prover_, true) || ordersByDims(g_, c, prover_, false)) return;
    std::string tried;
    Schedule s = scheduleByIsl(g_, c, prover_, tried);
    if (s == Schedule::Found) return;
    if (auto cycle = findCycle(g_, c, prover_)) return report(c, *cycle);
    const Statement& at = c.statements[c.dependences[0].reader];
    Loc loc = at.where().loc.id ? at.where().loc : at.node->loc;
    tried = "a lexicographic order of the dims; " + tried + "; no cycle at small sizes";
    if (s == Schedule::None) {
      Diagnostic& d = diags_.error("E0303", spanOf(loc), "no order of evaluation was found for " + namesOf(g_, c),
                                   "every order tried puts a step of this before one that it reads");
      d.notes.push_back("tried: " + tried);
    } else {
      diags_.error("E0390", spanOf(loc), "could not prove that " + namesOf(g_, c) + " can be computed in some order",
                   "tried: " + tried);
    }
  }

  void report(const Component& c, const Cycle& cycle) {
    std::vector<Line> lines = linesOf(g_, c, cycle);
    auto byPlace = [&](const Line& a, const Line& b) {
      Span x = spanOf(a.loc), y = spanOf(b.loc);
      return std::pair(x.file, x.begin) < std::pair(y.file, y.begin);
    };
    std::rotate(lines.begin(), std::min_element(lines.begin(), lines.end(), byPlace), lines.end());
    std::string sizes;
    auto larger = prover_.sizesAt(variables(g_, c), kLargeSize);
    if (!larger || !standsAt(c, cycle, *larger)) {
      std::vector<Sym> order;
      for (const Size& s : g_.sizes) order.push_back(s.sym);
      sizes = valuesText(cycle.sizes, order);
      if (!sizes.empty()) sizes = " (" + sizes + ")";
    }
    auto text = [](const Line& l) { return l.from + " reads " + l.to; };
    const Line& first = lines[0];
    Diagnostic& d = diags_.error("E0302", spanOf(first.loc), "`" + first.from + "` depends on itself" + sizes, text(first));
    for (size_t i = 1; i < lines.size(); ++i) {
      if (lines[i].loc.id) {
        d.secondary.push_back({spanOf(lines[i].loc), text(lines[i])});
      } else {
        d.notes.push_back(text(lines[i]));
      }
    }
  }

  const Graph& g_;
  Diagnostics& diags_;
  Prover& prover_;
};

}  // namespace

void checkCausal(const Graph& g, Diagnostics& diags, Prover& prover) { Causal(g, diags, prover).run(); }

}  // namespace tempo::check
