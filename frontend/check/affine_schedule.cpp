#include <isl/schedule.h>

#include "check/causal.hpp"
#include "index/isl.hpp"

namespace tempo::check {

namespace {

using poly::Handle;
using poly::Map;
using poly::Set;
using poly::UMap;
using poly::USet;
using ScheduleTree = Handle<isl_schedule, isl_schedule_free, isl_schedule_copy>;

std::string tuple(size_t statement) { return "S" + std::to_string(statement); }

/// { producer[at] -> reader[dims] : when }, with all but the dims projected out.
Map flow(isl_ctx* ctx, const Component& c, const Dependence& d, const Cond& facts) {
  std::vector<Sym> from = c.statements[d.reader].node->dims;
  size_t keep = from.size();
  from.insert(from.end(), d.site.inner.begin(), d.site.inner.end());
  from.insert(from.end(), d.point.gathers.begin(), d.point.gathers.end());
  std::vector<Ix> to(d.point.at.begin(), d.point.at.begin() + std::ptrdiff_t(d.point.producer->dims.size()));
  Map m = poly::toMap(ctx, tuple(d.reader), from, d.point.when && facts, tuple(d.producer), to);
  isl_map* reads = isl_map_project_out(m.release(), isl_dim_in, unsigned(keep), unsigned(from.size() - keep));
  reads = isl_map_set_tuple_name(reads, isl_dim_in, tuple(d.reader).c_str());
  return Map(isl_map_coalesce(isl_map_reverse(reads)));
}

bool hasFixedPoint(const Map& m) {
  isl_map* id = isl_map_identity(isl_space_map_from_set(isl_space_domain(isl_map_get_space(m.keep()))));
  Map same(isl_map_intersect(m.copy(), id));
  return isl_map_is_empty(same.keep()) == isl_bool_false;
}

Schedule compute(const Component& c, const std::set<Sym>& about, Prover& prover, std::string& why) {
  isl_ctx* ctx = prover.solver().ctx();
  Cond facts = prover.contextOf(about);
  isl_ctx_reset_operations(ctx);
  USet domain(isl_union_set_empty(isl_space_params_alloc(ctx, 0)));
  for (size_t k = 0; k < c.statements.size(); ++k) {
    const Statement& s = c.statements[k];
    Set one = poly::toSet(ctx, tuple(k), s.node->dims, s.where().where && facts);
    domain = USet(isl_union_set_add_set(domain.release(), one.release()));
  }
  UMap flows(isl_union_map_empty(isl_space_params_alloc(ctx, 0)));
  for (const Dependence& d : c.dependences) {
    Map m = flow(ctx, c, d, facts);
    if (d.reader == d.producer && hasFixedPoint(m)) {
      why = "a step reads itself";
      return Schedule::None;
    }
    flows = UMap(isl_union_map_add_map(flows.release(), m.release()));
  }
  isl_schedule_constraints* sc = isl_schedule_constraints_on_domain(domain.release());
  sc = isl_schedule_constraints_set_validity(sc, flows.release());
  ScheduleTree found(isl_schedule_constraints_compute_schedule(sc));
  isl_error error = isl_ctx_last_error(ctx);
  isl_ctx_reset_error(ctx);
  if (found) return Schedule::Found;
  if (error == isl_error_quota) {
    why = "an affine schedule; the budget of integer reasoning was spent";
    return Schedule::Unknown;
  }
  why = "an affine schedule; there is none";
  return Schedule::None;
}

}  // namespace

Schedule scheduleByIsl(const Graph& g, const Component& c, Prover& prover, std::string& why) {
  try {
    return compute(c, variables(g, c), prover, why);
  } catch (const NotAffine& e) {
    why = "an affine schedule; `" + e.what.str() + "` is not affine";
  } catch (const SolveBudget&) {
    why = "an affine schedule; the budget of integer reasoning was spent";
  }
  return Schedule::Unknown;
}

}  // namespace tempo::check
