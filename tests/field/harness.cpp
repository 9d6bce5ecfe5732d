#include "field/harness.hpp"

#include <cmath>

#include "catch.hpp"
#include "emulated.hpp"
#include "pipeline.hpp"

namespace tempo::test {

Array array(DType t, std::vector<int64_t> shape, const Values& v) {
  Array a = Array::zeros(t, std::move(shape));
  REQUIRE(a.count() == int64_t(v.size()));
  for (size_t i = 0; i < v.size(); ++i) a.set(int64_t(i), v[i]);
  return a;
}
Array f32(std::vector<int64_t> shape, const Values& v) { return array(DType::F32, std::move(shape), v); }

std::vector<std::string> ways() {
  std::vector<std::string> out{"oracle", "cpu", "cpu without all", "emulated CUDA"};
  for (const std::string& p : passNames()) out.push_back("cpu without " + p);
  return out;
}

namespace {

CompileOptions optionsFor(const FieldProgram& p) {
  CompileOptions o;
  o.settings = p.settings;
  o.force = p.force;
  o.cache = false;
  o.verify = true;
  for (const auto& [name, a] : p.arrays) o.shapes[name] = {a.dtype, a.shape};
  return o;
}

void take(Outputs& out, const std::string& name, const Array& a) {
  Values v;
  for (int64_t i = 0; i < a.count(); ++i) v.push_back(a.get(i));
  out.values[name] = std::move(v);
  out.shapes[name] = a.shape;
}

std::string describe(const Failure& f, const Diagnostics& diags) {
  return renderHuman(diags, false) + (f.place.empty() ? "" : f.place + ": ") + f.message + (f.help.empty() ? "" : "; " + f.help);
}

}  // namespace

std::unique_ptr<Loaded> load(const FieldProgram& p, CompileOptions options) {
  auto l = std::make_unique<Loaded>();
  CompileOptions o = optionsFor(p);
  o.passesOff = options.passesOff;
  auto r = Program::load({"field.tempo", p.text}, o, l->diags);
  INFO((r ? "" : describe(r.failure(), l->diags)));
  REQUIRE(r);
  l->program = *r;
  return l;
}

Outputs runWay(const FieldProgram& p, const std::string& way) {
  Sources sources;
  Diagnostics diags(sources);
  CompileOptions o = optionsFor(p);
  if (way.rfind("cpu without ", 0) == 0) o.passesOff = {way.substr(12)};
  if (way == "oracle") o.device = Device::Oracle;
  Outputs out;
  auto program = Program::load({"field.tempo", p.text}, o, diags);
  if (!program) {
    out.problem = describe(program.failure(), diags);
    return out;
  }
  RunOptions run;
  run.arrays = p.arrays;
  run.threads = 1;
  emulation::Options shuffled;
  shuffled.order = emulation::Order::Shuffled;
  RunResult r = way == "emulated CUDA" ? runEmulated(**program, run, shuffled)
                : way == "oracle"      ? (*program)->oracle(run)
                                       : (*program)->run(run);
  if (r.failure) out.problem = describe(*r.failure, diags);
  for (const NamedArray& a : r.outputs) take(out, a.name, a.array);
  return out;
}

void gives(const FieldProgram& p, const std::string& name, const Values& expected, double rtol) {
  for (const std::string& way : ways()) {
    if (!p.force.empty() && way.rfind("cpu without ", 0) == 0) continue;  // a forced decision may need the pass that is off
    INFO(way);
    Outputs o = runWay(p, way);
    CHECK(o.problem == "");
    REQUIRE(o.values.count(name));
    const Values& got = o.values[name];
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      INFO(name << "[" << i << "] is " << got[i] << ", expected " << expected[i]);
      if (std::isnan(expected[i]) || std::isinf(expected[i]) || rtol == 0)
        CHECK((got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))));
      else
        CHECK(std::abs(got[i] - expected[i]) <= rtol * std::max(1.0, std::abs(expected[i])));
    }
  }
}

Refusal refuses(const FieldProgram& p) {
  Sources sources;
  Diagnostics diags(sources);
  auto program = Program::load({"field.tempo", p.text}, optionsFor(p), diags);
  Refusal r;
  for (const auto& d : diags.all()) r.codes.push_back(d->code);
  r.text = renderHuman(diags, false);
  CHECK(!program);
  return r;
}

}  // namespace tempo::test
