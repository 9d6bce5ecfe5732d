#include "driver/engine.hpp"
#include "oracle/oracle.hpp"

namespace tempo {
namespace {

class OracleEngine : public Engine {
 public:
  OracleEngine(const Graph& g, bool exact) : graph_(g), exact_(exact) {}

  EngineOutcome run(const EngineRun& run) override {
    OracleOptions options;
    options.sizes = run.bound.sizes;
    options.inputs = run.bound.inputs;
    options.seed = run.seed;
    EngineOutcome out;
    OracleResult result;
    try {
      result = interpret(graph_, options);
    } catch (const OracleError& e) {
      out.failure = Failure{Failure::Kind::Run, e.what(), "", ""};
      return out;
    }
    for (EffectRecord& record : result.effects) {
      if (graph_.effects[record.effect].kind == Effect::Kind::Assert) continue;
      run.effects.occur(record.effect, record.point, std::move(record.values));
    }
    for (const Output& o : graph_.outputs) {
      const auto it = result.outputs.find(o.name);
      if (it != result.outputs.end()) out.outputs.push_back({o.name, narrowed(o, it->second), o.path});
    }
    return out;
  }

 private:
  Array narrowed(const Output& o, const Array& wide) const {
    const DType dtype = graph_.at(o.node).dtype;
    if (exact_ || dtype == wide.dtype) return wide;
    Array a = allocateArray(dtype, wide.shape);
    for (int64_t i = 0, n = wide.count(); i < n; ++i) a.set(i, wide.get(i));
    return a;
  }

  const Graph& graph_;
  bool exact_;
};

}  // namespace

std::unique_ptr<Engine> makeOracleEngine(const Graph& g, bool exact) { return std::make_unique<OracleEngine>(g, exact); }

std::vector<int64_t> outputShape(const Graph& g, const Output& o, const Env& sizes) {
  std::vector<int64_t> shape;
  for (size_t k = 0; k < o.box.size(); ++k) {
    if (!o.fixed[k]) shape.push_back(std::max<int64_t>(0, o.box[k].hi.eval(sizes) - o.box[k].lo.eval(sizes)));
  }
  for (const Axis& a : g.at(o.node).axes) shape.push_back(a.length.eval(sizes));
  return shape;
}

}  // namespace tempo
