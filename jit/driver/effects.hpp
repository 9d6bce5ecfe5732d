// Effects of a run: the values of a report, print or assert at a point, and where they go.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/driver.hpp"

namespace tempo {

/// Reads a computed value: node, then its indices (dims, axes).
using NodeReader = std::function<double(NodeId, const std::vector<int64_t>&)>;

/// The value of a scalar expression, in float64, rounded to its dtype op by op.
double evalExpr(const ExprPtr& e, const Env& env, const NodeReader& read);

class EffectSink {
 public:
  /// `listener` may be null.
  EffectSink(const Graph& g, const Sources& sources, const Env& sizes, RunListener* listener);

  /// Effect number `effect` happens at `point` (a value per dim); its values are read through `read`. Returns a failure
  /// when it is an assert that does not hold.
  std::optional<Failure> occur(size_t effect, const std::vector<int64_t>& point, const NodeReader& read);
  /// The same with values already known.
  std::optional<Failure> occur(size_t effect, const std::vector<int64_t>& point, std::vector<std::vector<double>> values);

 private:
  Env environment(const Effect& e, const std::vector<int64_t>& point) const;
  std::vector<int64_t> shape(const Effect& e, size_t value, const Env& env) const;
  void deliver(const Effect& e, const std::vector<int64_t>& point, std::vector<MetricValue> values);

  const Graph& graph_;
  const Sources& sources_;
  Env sizes_;
  RunListener* listener_;
};

/// `t = 3, i = 0`
std::string pointText(const std::vector<Sym>& dims, const std::vector<int64_t>& point);

}  // namespace tempo
