#include "frontend/elab/elab_util.hpp"

namespace tempo::elabtest {

std::string Compiled::codes() const {
  std::string s;
  for (auto& d : diags->all()) s += (s.empty() ? "" : " ") + d->code;
  return s;
}

Compiled compile(const std::string& source, std::map<std::string, int64_t> sizes, Files files) {
  Compiled c;
  c.diags = std::make_unique<Diagnostics>(*c.sources);
  uint32_t id = c.sources->addFile("test.tempo", source);
  ast::File file = parseSource(id, *c.diags);
  if (c.diags->hasErrors()) return c;
  Solver solver;
  ElabOptions o;
  o.sizes = std::move(sizes);
  o.stdlib = [](const std::string& name) -> std::optional<std::string> {
    auto& table = stdlibModules();
    auto it = table.find(name);
    return it == table.end() ? std::nullopt : std::optional<std::string>(it->second);
  };
  o.inputShape = [files](const std::string& name, const std::string&, const std::string&) -> std::optional<FileShape> {
    auto it = files.find(name);
    return it == files.end() ? std::nullopt : std::optional<FileShape>(it->second);
  };
  c.program = elaborate(file, *c.diags, solver, o);
  return c;
}

Array array(std::vector<int64_t> shape, std::vector<double> values) {
  Array a = Array::zeros(DType::F64, std::move(shape));
  for (size_t k = 0; k < values.size(); ++k) a.set(static_cast<int64_t>(k), values[k]);
  return a;
}

Run run(const std::string& source, std::map<std::string, int64_t> sizes, std::map<std::string, Array> inputs, uint64_t seed) {
  Files files;
  for (auto& [name, a] : inputs) files[name] = {DType::F32, a.shape};
  Compiled c = compile(source, sizes, files);
  INFO(c.text());
  REQUIRE(c.program);
  const Graph& g = c.program->graph;
  INFO(print(g));
  REQUIRE_NOTHROW(verify(g, true));
  OracleOptions o;
  o.inputs = std::move(inputs);
  o.seed = seed;
  for (auto& z : g.sizes) {
    if (auto it = sizes.find(z.sym.name()); it != sizes.end()) {
      o.sizes[z.sym] = it->second;
    } else if (z.value) {
      o.sizes[z.sym] = z.value->eval(o.sizes);
    }
  }
  for (auto& option : g.options) {
    if (!o.inputs.count(option.name.name())) o.inputs[option.name.name()] = array({}, {option.value});
  }
  OracleResult r = interpret(g, o);
  Run result;
  for (auto& [name, a] : r.outputs) {
    result.shape[name] = a.shape;
    for (int64_t k = 0; k < a.count(); ++k) result.out[name].push_back(a.get(k));
  }
  result.effects = r.effects;
  return result;
}

std::string errorOf(const std::string& source, std::map<std::string, int64_t> sizes) {
  Compiled c = compile(source, std::move(sizes));
  if (!c.diags->hasErrors()) return "no error";
  auto& d = *c.diags->all()[0];
  return d.code + " at " + c.sources->text(d.primary.span);
}

void near(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    INFO("element " << k);
    CHECK(got[k] == Approx(want[k]).margin(tolerance));
  }
}

}  // namespace tempo::elabtest
