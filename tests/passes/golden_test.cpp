// Runs each file of tests/golden/passes/<pass>/: an SDG, a line `---`, and what the pass makes of it. The result must also mean
// the same as the input: both are interpreted at several sizes. TEMPO_BLESS=1 rewrites the expectations.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "group/group.hpp"
#include "oracle/oracle.hpp"
#include "pipeline.hpp"
#include "recur/recur.hpp"
#include "remat/remat.hpp"
#include "schedule/schedule.hpp"
#include "simplify/simplify.hpp"
#include "split/split.hpp"
#include "stream/stream.hpp"

using namespace tempo;
namespace fs = std::filesystem;

namespace {

const fs::path kGoldens = fs::path(TEMPO_SOURCE_DIR) / "tests/golden/passes";

Env sizesOf(const Graph& g, int64_t n) {
  Env env;
  int64_t k = n;
  for (const Size& s : g.sizes) env[s.sym] = s.value && (s.derived || s.specialised) ? s.value->eval(env) : k++;
  return env;
}

std::map<std::string, Array> inputsOf(const Graph& g, const Env& sizes) {
  std::map<std::string, Array> in;
  for (const Node& n : g.nodes()) {
    if (n.pieces.empty() || n.pieces[0].body.kind != Body::Kind::Input) continue;
    std::vector<int64_t> shape;
    for (Sym d : n.dims) shape.push_back(sizes.at(g.sizeOf(d)));
    for (const Axis& a : n.axes) shape.push_back(a.length.eval(sizes));
    Array x = Array::zeros(n.dtype, shape);
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, double((i * 37 + 11) % 19) / 8 - 1);
    in[n.name] = x;
  }
  return in;
}

void sameMeaning(const Graph& a, const Graph& b) {
  for (int64_t n : {0, 1, 2, 5, 7}) {
    OracleOptions o;
    o.sizes = sizesOf(a, n);
    o.inputs = inputsOf(a, o.sizes);
    OracleResult ra = interpret(a, o), rb = interpret(b, o);
    REQUIRE(ra.outputs.size() == rb.outputs.size());
    for (const auto& [name, x] : ra.outputs) {
      const Array& y = rb.outputs.at(name);
      INFO(name << " at size " << n);
      REQUIRE(x.shape == y.shape);
      for (int64_t i = 0; i < x.count(); ++i) {
        INFO("element " << i << ": " << x.get(i) << " and " << y.get(i));
        CHECK(std::abs(x.get(i) - y.get(i)) <= 1e-6 * (1 + std::abs(x.get(i))));
      }
    }
  }
}

std::string runPass(const std::string& pass, Graph g, Graph& out) {
  Solver solver;
  PassOptions options;
  std::vector<Decision> log;
  options.sizes = sizesOf(g, 7);
  if (pass == "simplify") g = simplify(std::move(g), solver, options);
  if (pass == "remat") {
    g = remat(std::move(g), solver, options, log);
    removeDead(g);
  }
  if (pass == "stream") g = stream(std::move(g), options, log);
  if (pass == "recur") g = recur(std::move(g), solver, options, log);
  if (pass == "split") g = split(std::move(g), solver, options, log);
  if (pass == "group") {
    out = g;
    std::string text;
    for (const auto& members : group(g, std::vector<bool>(g.nodes().size(), true), options)) {
      for (const PieceRef& m : members) text += (text.empty() || text.back() == '\n' ? "" : " ") + g.at(m.node).name + "#" + std::to_string(m.piece);
      text += "\n";
    }
    return text;
  }
  if (pass == "schedule") {
    out = g;
    return printTree(g, schedule(g, solver, options));
  }
  if (pass == "place" || pass == "store") {
    options.off = {"simplify", "remat", "recur"};
    Plan p = makePlan(g, solver, options);
    out = p.graph;
    return print(p);
  }
  out = g;
  return print(g);
}

/// Loop variables carry numbers that depend on what ran before: renumber them in order of appearance.
std::string stableNames(const std::string& s) {
  std::map<std::string, std::string> names;
  std::string out;
  for (size_t i = 0; i < s.size();) {
    size_t j = i;
    while (j < s.size() && (std::isalnum(static_cast<unsigned char>(s[j])) || s[j] == '_' || s[j] == '\'')) ++j;
    std::string word = s.substr(i, j - i);
    size_t tick = word.find('\'');
    if (tick != std::string::npos && tick + 1 < word.size() && std::isdigit(static_cast<unsigned char>(word[tick + 1]))) {
      std::string base = word.substr(0, tick);
      auto [it, fresh] = names.try_emplace(word, "");
      if (fresh) it->second = base + "'" + std::to_string(names.size() - 1);
      word = it->second;
    }
    out += word;
    if (j == i) out += s[j++];
    i = j;
  }
  return out;
}

}  // namespace

TEST_CASE("pass goldens", "[golden]") {
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kGoldens)) {
    if (entry.path().extension() != ".txt") continue;
    ++files;
    std::string pass = entry.path().parent_path().filename();
    DYNAMIC_SECTION(pass << "/" << entry.path().stem().string()) {
      std::ifstream f(entry.path());
      std::string text((std::istreambuf_iterator<char>(f)), {}), expected;
      size_t cut = text.find("---\n");
      if (cut != std::string::npos) {
        expected = text.substr(cut + 4);
        text = text.substr(0, cut);
      }
      Graph before = parseGraph(text), after;
      verify(before, true);
      std::string got = stableNames(runPass(pass, before, after));
      verify(after, true);
      sameMeaning(before, after);
      if (std::getenv("TEMPO_BLESS") && got != expected) {
        std::ofstream(entry.path()) << text << "---\n" << got;
      } else {
        CHECK(got == expected);
      }
    }
  }
  CHECK(files > 0);
}
