#include "samples/cases.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tempo::test {
namespace {

std::string expectedFolder() { return std::string(TEMPO_SOURCE_DIR) + "/tests/reference/expected"; }

Case parseLine(const std::string& line) {
  std::istringstream words(line);
  Case c;
  if (!(words >> c.name >> c.sample >> c.rtol >> c.atol)) throw std::runtime_error("manifest line: " + line);
  c.file = expectedFolder() + "/" + c.name + ".npz";
  for (std::string w; words >> w;) {
    if (w.rfind("in.", 0) == 0) {
      c.inputs[w.substr(3)] = FileRef{c.file, w};
      continue;
    }
    if (w.rfind("out.", 0) == 0) {
      c.outputs.push_back(w.substr(4));
      continue;
    }
    const size_t equals = w.find('=');
    if (equals == std::string::npos) throw std::runtime_error("manifest line: " + line);
    c.settings[w.substr(0, equals)] = w.substr(equals + 1);
  }
  return c;
}

const NamedArray* find(const RunResult& r, const std::string& name) {
  for (const auto& o : r.outputs) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

}  // namespace

std::vector<Case> readCases() {
  std::ifstream in(expectedFolder() + "/manifest.txt");
  if (!in) throw std::runtime_error("no manifest in " + expectedFolder());
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') cases.push_back(parseLine(line));
  }
  return cases;
}

CompileOptions optionsOf(const Case& c) {
  CompileOptions o;
  o.settings = c.settings;
  o.inputs = c.inputs;
  o.cache = false;
  o.verify = true;
  return o;
}

std::string samplePath(const Case& c) { return std::string(TEMPO_SOURCE_DIR) + "/samples/" + c.sample; }

std::string compareWithFormula(const Case& c, const RunResult& r) {
  for (const auto& name : c.outputs) {
    const NamedArray* got = find(r, name);
    if (!got) return "no output `" + name + "`";
    const Array want = readArray({c.file, "out." + name});
    if (got->array.shape != want.shape) {
      return "`" + name + "` is " + shapeString(got->array.shape) + ", should be " + shapeString(want.shape);
    }
    for (int64_t i = 0; i < want.count(); ++i) {
      const double a = got->array.get(i), b = want.get(i);
      const bool same = std::isnan(b) ? std::isnan(a) : std::abs(a - b) <= c.rtol * std::abs(b) + c.atol;
      if (same) continue;
      std::ostringstream text;
      text.precision(9);
      text << "`" << name << "` " << shapeString(want.shape) << " at flat position " << i << " is " << a << ", should be " << b;
      return text.str();
    }
  }
  return "";
}

std::string compareBytes(const RunResult& a, const RunResult& b) {
  if (a.outputs.size() != b.outputs.size()) return "not the same number of outputs";
  for (size_t k = 0; k < a.outputs.size(); ++k) {
    const Array &x = a.outputs[k].array, &y = b.outputs[k].array;
    if (a.outputs[k].name != b.outputs[k].name || x.dtype != y.dtype || x.shape != y.shape) {
      return "outputs differ in name, dtype or shape";
    }
    if (x.sizeBytes() > 0 && std::memcmp(x.data.get(), y.data.get(), x.sizeBytes()) != 0) {
      return "`" + a.outputs[k].name + "` has other bits";
    }
  }
  return "";
}

std::string describe(const Failure& f, const Diagnostics& d) {
  return f.message + (f.place.empty() ? "" : " at " + f.place) + (f.help.empty() ? "" : " (" + f.help + ")") + "\n" +
         renderHuman(d, false);
}

}  // namespace tempo::test
