#include "frontend/check/check_util.hpp"

#include <ctime>
#include <utility>

#include "check/check.hpp"

namespace tempo::checktest {

std::string check(const std::string& graph, bool causal) {
  Sources sources;
  sources.addFile("test.sdg", graph);
  Diagnostics diags(sources);
  Solver solver;
  Graph g = parseGraph(graph);
  verify(g);
  bool ok = checkGraph(std::as_const(g), diags, solver, causal);
  std::string out;
  for (const auto& d : diags.all()) {
    out += (out.empty() ? "" : "\n") + d->code + " " + (d->primary.text.empty() ? d->message : d->primary.text);
    for (const Label& l : d->secondary) out += "\n  " + l.text;
    for (const std::string& n : d->notes) out += "\n  note: " + n;
    for (const Fix& f : d->fixes) out += "\n  help: " + f.help;
  }
  if (ok != out.empty()) return "the result and the diagnostics disagree";
  return out;
}

std::string bounds(const std::string& graph) {
  Sources sources;
  sources.addFile("test.sdg", graph);
  Diagnostics diags(sources);
  Solver solver;
  Graph g = parseGraph(graph);
  if (!checkGraph(g, diags, solver)) return diags.all()[0]->code;
  std::string out;
  for (const Size& s : g.sizes) {
    if (s.atLeast > 0) out += (out.empty() ? "" : ", ") + s.sym.name() + " >= " + std::to_string(s.atLeast);
  }
  return out;
}

double seconds(const std::string& graph) {
  Sources sources;
  sources.addFile("test.sdg", graph);
  Diagnostics diags(sources);
  Solver solver;
  Graph g = parseGraph(graph);
  std::clock_t start = std::clock();
  checkGraph(g, diags, solver);
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace tempo::checktest
