// What one read touches: the point of its producer as expressions, and the condition under which it happens.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "sdg/graph.hpp"

namespace tempo::check {

struct ReadPoint {
  const Node* producer;
  std::vector<Ix> at;       // dims then axes; a gathered index is a variable of its own
  std::vector<Sym> gathers; // those variables
  Cond when;                // ranges of the gathers included

  /// The producer's dims at this point.
  Subst dims() const;
  /// `domain` of the producer holds at the point.
  Cond defined(const Cond& domain) const { return domain.subst(dims()); }
  /// Axis k's index is inside the axis.
  Cond inAxis(size_t k) const;
  std::vector<int64_t> eval(const Env& env) const;
};

ReadPoint readPoint(const Graph& g, const ReadSite& site);

}  // namespace tempo::check
