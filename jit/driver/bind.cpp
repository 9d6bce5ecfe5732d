#include "driver/bind.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "check.hpp"
#include "oracle/oracle.hpp"

namespace tempo {
namespace {

Failure usage(std::string place, std::string message, std::string help = "") {
  return {Failure::Kind::Usage, std::move(message), std::move(place), std::move(help)};
}

/// Extents of an input as the graph states them: its dims, then its axes.
std::vector<Ix> extents(const Graph& g, const Node& n) {
  std::vector<Ix> all;
  for (const Sym d : n.dims) all.emplace_back(g.sizeOf(d));
  for (const Axis& a : n.axes) all.push_back(a.length);
  return all;
}

std::vector<std::string> inputNames(const Graph& g) {
  std::vector<std::string> names;
  for (const auto& i : g.inputs) names.push_back(g.at(i.node).name);
  return names;
}

bool isInput(const Graph& g, const std::string& name) {
  const auto names = inputNames(g);
  return std::find(names.begin(), names.end(), name) != names.end();
}

Failure noSuchInput(const Graph& g, const std::string& name) {
  const auto names = inputNames(g);
  const std::string near = nearestName(name, names);
  std::string list;
  for (const auto& n : names) list += (list.empty() ? "`" : ", `") + n + "`";
  return usage("--in " + name, "the program has no input `" + name + "`",
               !near.empty() ? "did you mean `" + near + "`?" : list.empty() ? "it takes no inputs" : "it has " + list);
}

/// A column read alone and a table of one column are the same thing where the program wants the other rank.
bool dropUnitAxis(std::vector<int64_t>* shape, size_t rank) {
  if (shape->size() == rank + 1 && shape->back() == 1) {
    shape->pop_back();
    return true;
  }
  if (shape->size() + 1 == rank) {
    shape->push_back(1);
    return true;
  }
  return false;
}

bool isTable(const InputSource& s) { return !s.array && formatOf(s.file.path) == FileFormat::Csv; }

std::string describe(const InputSource& s) {
  if (s.array) return "the array given";
  return s.file.path + (s.file.member.empty() ? "" : ":" + s.file.member);
}

std::string extentText(const std::vector<Ix>& e) {
  std::string s;
  for (const Ix& x : e) s += (s.empty() ? "" : ", ") + x.str();
  return "[" + s + "]";
}

}  // namespace

Result<std::map<std::string, InputSource>> inputSources(const Graph& g, const std::map<std::string, FileRef>& files,
                                                        const std::map<std::string, Array>& arrays, const std::string& folder) {
  for (const auto& [name, unused] : files) {
    if (!isInput(g, name)) return noSuchInput(g, name);
  }
  for (const auto& [name, unused] : arrays) {
    if (!isInput(g, name)) return noSuchInput(g, name);
  }
  std::map<std::string, InputSource> sources;
  for (const InputDecl& decl : g.inputs) {
    const Node& node = g.at(decl.node);
    InputSource s;
    if (const auto it = arrays.find(node.name); it != arrays.end()) {
      s.array = it->second;
      s.header = {it->second.dtype, it->second.shape};
    } else {
      const auto file = files.find(node.name);
      if (file != files.end()) {
        s.file = file->second;
      } else if (!decl.path.empty()) {
        s.file = {(std::filesystem::path(folder) / decl.path).string(), decl.member};
      } else {
        continue;
      }
      try {
        s.header = readHeader(s.file);
      } catch (const FileError& e) {
        return Failure{Failure::Kind::Run, e.reason, e.path, "it is the input `" + node.name + "`"};
      }
    }
    if (isTable(s)) dropUnitAxis(&s.header.shape, node.dims.size() + node.axes.size());
    sources.emplace(node.name, std::move(s));
  }
  return sources;
}

Result<Env> resolveSizes(const Graph& g, const TypedSettings& settings, const std::map<std::string, InputSource>& sources,
                         const std::map<std::string, int64_t>& fromFiles) {
  Env env;
  for (const Size& s : g.sizes) {
    const auto it = settings.sizes.find(s.sym.name());
    if (it != settings.sizes.end() && !s.derived) env[s.sym] = it->second;
  }
  std::set<Sym> open;
  for (const Size& s : g.sizes) {
    if (!s.value && !env.count(s.sym)) open.insert(s.sym);
  }
  for (const auto& [name, source] : sources) {
    const Node* node = g.find(name);
    if (!node) continue;
    const std::vector<Ix> want = extents(g, *node);
    if (want.size() != source.header.shape.size()) continue;
    for (size_t k = 0; k < want.size(); ++k) {
      const auto v = want[k].asVar();
      if (v && open.count(*v) && !env.count(*v)) env[*v] = source.header.shape[k];
    }
  }
  for (const Size& s : g.sizes) {
    if (!env.count(s.sym) && s.value) {
      try {
        env[s.sym] = s.value->eval(env);
      } catch (const std::exception&) {
        return usage("size `" + s.sym.name() + "`", "its definition " + s.value->str() + " has no value with these sizes");
      }
    }
    const auto file = fromFiles.find(s.sym.name());
    if (!env.count(s.sym) && file != fromFiles.end()) env[s.sym] = file->second;
    if (!env.count(s.sym)) {
      return usage("size `" + s.sym.name() + "`", "it has no value", "give it one with -s " + s.sym.name() + "=N");
    }
    if (env[s.sym] < s.atLeast) {
      return usage("size `" + s.sym.name() + "`",
                   "its value is " + std::to_string(env[s.sym]) + "; the program declares at least " + std::to_string(s.atLeast));
    }
  }
  return env;
}

std::optional<Failure> checkFacts(const Graph& g, const Env& sizes) {
  for (size_t k = 0; k < g.facts.size(); ++k) {
    const Cond& fact = g.facts[k];
    if (fact.eval(sizes)) continue;
    if (k < g.reasons.size() && !g.reasons[k].empty()) {
      std::string values;
      for (const Sym s : fact.vars()) values += (values.empty() ? ": " : ", ") + s.name() + " is " + std::to_string(sizes.at(s));
      return usage("sizes", g.reasons[k] + values);
    }
    return usage("sizes", "the program declares " + fact.str() + ", which these sizes do not satisfy");
  }
  return std::nullopt;
}

std::vector<int64_t> inputShape(const Graph& g, const Node& n, const Env& sizes) {
  std::vector<int64_t> shape;
  for (const Ix& e : extents(g, n)) shape.push_back(e.eval(sizes));
  return shape;
}

namespace {

Result<Array> bindOne(const Graph& g, const Node& node, const InputSource& source, const Env& sizes) {
  const std::vector<int64_t> want = inputShape(g, node, sizes);
  const std::string place = "input `" + node.name + "`";
  Array array;
  try {
    array = source.array ? *source.array : readArray(source.file);
  } catch (const FileError& e) {
    return Failure{Failure::Kind::Run, e.reason, e.path, "it is the input `" + node.name + "`"};
  }
  if (isTable(source)) dropUnitAxis(&array.shape, want.size());
  if (array.shape != want) {
    std::string help;
    const std::vector<Ix> e = extents(g, node);
    for (size_t k = 0; k < e.size() && e.size() == array.shape.size(); ++k) {
      if (e[k].asVar() && array.shape[k] != want[k]) {
        help += (help.empty() ? "its shape would fit with -s " : " -s ") + e[k].str() + "=" + std::to_string(array.shape[k]);
      }
    }
    return Failure{Failure::Kind::Run, describe(source) + " has shape " + shapeString(array.shape) + "; the program wants " + extentText(e) +
                            " = " + shapeString(want), place, help};
  }
  Array converted;
  std::string reason;
  // Numbers of a csv are read as f64; an integer column is one whose values are all whole.
  if (isTable(source) && !isFloat(node.dtype)) {
    for (int64_t i = 0; i < array.count(); ++i) {
      if (roundTo(node.dtype, array.get(i)) != array.get(i)) {
        return Failure{Failure::Kind::Run,
                       describe(source) + " holds " + formatNumber(array.get(i)) + ", which is not " + name(node.dtype), place, ""};
      }
    }
    converted = allocateArray(node.dtype, array.shape);
    for (int64_t i = 0; i < array.count(); ++i) converted.set(i, array.get(i));
    return converted;
  }
  if (!convertArray(array, node.dtype, &converted, &reason)) {
    return Failure{Failure::Kind::Run, describe(source) + " does not fit: " + reason, place, ""};
  }
  return converted;
}

/// Numbers that differ from name to name and from place to place, the same in every run.
Array sample(const Node& node, std::vector<int64_t> shape) {
  Array a = Array::zeros(node.dtype, std::move(shape));
  if (!isFloat(node.dtype)) return a;
  const uint64_t key = streamKey(node.name);
  for (int64_t i = 0, n = a.count(); i < n; ++i) a.set(i, philox(0, key, &i, 1) * 0x1p-31 - 1);
  return a;
}

}  // namespace

Result<std::map<std::string, Array>> bindInputs(const Graph& g, const TypedSettings& settings, const Env& sizes,
                                                const std::map<std::string, InputSource>& sources, bool sampleInputs) {
  std::map<std::string, Array> bound;
  for (const InputDecl& decl : g.inputs) {
    const Node& node = g.at(decl.node);
    const auto it = sources.find(node.name);
    if (it != sources.end()) {
      auto array = bindOne(g, node, it->second, sizes);
      if (!array) return array.failure();
      bound[node.name] = *array;
    } else if (sampleInputs) {
      bound[node.name] = sample(node, inputShape(g, node, sizes));
    } else {
      return usage("input `" + node.name + "`", "it is bound to nothing", "give it a file with --in " + node.name + "=FILE");
    }
  }
  for (const Option& o : g.options) {
    const auto it = settings.options.find(o.name.name());
    Array value = Array::zeros(o.dtype, {});
    value.set(0, it != settings.options.end() ? it->second : o.value);
    bound[g.at(o.node).name] = value;
  }
  return bound;
}

std::string typeText(const Node& n) {
  std::string s = name(n.dtype);
  if (!n.axes.empty()) {
    s += "[";
    for (size_t i = 0; i < n.axes.size(); ++i) s += (i ? ", " : "") + n.axes[i].length.str();
    s += "]";
  }
  if (!n.dims.empty()) {
    s += " over (";
    for (size_t i = 0; i < n.dims.size(); ++i) s += (i ? ", " : "") + n.dims[i].name();
    s += ")";
  }
  return s;
}

}  // namespace tempo
