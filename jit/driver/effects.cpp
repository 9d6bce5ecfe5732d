#include "driver/effects.hpp"

#include "check.hpp"

namespace tempo {

double evalExpr(const ExprPtr& e, const Env& env, const NodeReader& read) {
  using Kind = Expr::Kind;
  switch (e->kind) {
    case Kind::Const: return e->value;
    case Kind::Index: return static_cast<double>(e->ix.eval(env));
    case Kind::Cond: return e->cond.eval(env);
    case Kind::Op: {
      std::vector<double> args;
      for (const auto& a : e->args) args.push_back(evalExpr(a, env, read));
      return evalOp(e->op, e->args[0]->dtype, args.data());
    }
    case Kind::Select: return evalExpr(evalExpr(e->args[0], env, read) != 0 ? e->args[1] : e->args[2], env, read);
    case Kind::Guard: return evalExpr(e->cond.eval(env) ? e->args[0] : e->args[1], env, read);
    case Kind::Cast: return roundTo(e->dtype, evalExpr(e->args[0], env, read));
    case Kind::Read: {
      std::vector<int64_t> at;
      for (const Index& i : e->indices) {
        at.push_back(i.data ? static_cast<int64_t>(evalExpr(i.data, env, read)) : i.ix.eval(env));
      }
      return read(e->node, at);
    }
    case Kind::Random: break;
  }
  TEMPO_CHECK(false, "an effect draws random numbers");
  return 0;
}

std::string pointText(const std::vector<Sym>& dims, const std::vector<int64_t>& point) {
  std::string s;
  for (size_t i = 0; i < dims.size(); ++i) {
    s += (i ? ", " : "") + dims[i].name() + " = " + std::to_string(point[i]);
  }
  return s;
}

EffectSink::EffectSink(const Graph& g, const Sources& sources, const Env& sizes, RunListener* listener)
    : graph_(g), sources_(sources), sizes_(sizes), listener_(listener) {}

Env EffectSink::environment(const Effect& e, const std::vector<int64_t>& point) const {
  Env env = sizes_;
  for (size_t i = 0; i < e.dims.size(); ++i) env[e.dims[i]] = point[i];
  return env;
}

std::vector<int64_t> EffectSink::shape(const Effect& e, size_t value, const Env& env) const {
  std::vector<int64_t> shape;
  if (value < e.axes.size()) {
    for (const Axis& a : e.axes[value]) shape.push_back(a.length.eval(env));
  }
  return shape;
}

std::optional<Failure> EffectSink::occur(size_t effect, const std::vector<int64_t>& point, const NodeReader& read) {
  const Effect& e = graph_.effects[effect];
  Env env = environment(e, point);
  const bool holds = !e.condition || evalExpr(e.condition, env, read) != 0;
  if (e.kind == Effect::Kind::Assert) {
    if (holds) return std::nullopt;
  } else if (!holds) {
    return std::nullopt;
  }
  std::vector<std::vector<double>> values(e.values.size());
  for (size_t k = 0; k < e.values.size(); ++k) {
    const std::vector<int64_t> extent = shape(e, k, env);
    int64_t count = 1;
    for (const int64_t n : extent) count *= n;
    std::vector<int64_t> at(extent.size(), 0);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      for (size_t a = extent.size(); a-- > 0;) {
        env[e.axes[k][a].var] = rest % extent[a];
        rest /= extent[a];
      }
      values[k].push_back(evalExpr(e.values[k].second, env, read));
    }
  }
  return occur(effect, point, std::move(values));
}

std::optional<Failure> EffectSink::occur(size_t effect, const std::vector<int64_t>& point,
                                         std::vector<std::vector<double>> values) {
  const Effect& e = graph_.effects[effect];
  const Env env = environment(e, point);
  std::vector<MetricValue> metrics;
  for (size_t k = 0; k < e.values.size() && k < values.size(); ++k) {
    const ExprPtr& expr = e.values[k].second;
    metrics.push_back({shape(e, k, env), std::move(values[k]), expr && !isFloat(expr->dtype)});
  }
  if (e.kind == Effect::Kind::Assert) {
    std::string message = "`" + sources_.text(sources_.span(e.loc)) + "` does not hold";
    if (!e.text.empty()) message = e.text + ": " + message;
    if (!e.dims.empty()) message += " at " + pointText(e.dims, point);
    for (size_t k = 0; k < e.values.size(); ++k) {
      if (!e.values[k].first.empty()) message += (k ? ", " : ": ") + e.values[k].first;
    }
    return Failure{Failure::Kind::Run, message, sources_.place(e.loc), ""};
  }
  deliver(e, point, std::move(metrics));
  return std::nullopt;
}

void EffectSink::deliver(const Effect& e, const std::vector<int64_t>& point, std::vector<MetricValue> values) {
  if (!listener_) return;
  MetricRecord record;
  for (size_t i = 0; i < e.dims.size(); ++i) record.point.emplace_back(e.dims[i].name(), point[i]);
  for (size_t k = 0; k < values.size(); ++k) record.values.emplace_back(e.values[k].first, std::move(values[k]));
  if (e.kind == Effect::Kind::Report) {
    listener_->report(record);
  } else {
    listener_->print(record);
  }
}

}  // namespace tempo
