#include "index/solve.hpp"

#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/val.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "index/isl.hpp"
#include "index/isl_util.hpp"
#include "index/ix_node.hpp"

namespace tempo {

using poly::Aff;
using poly::Map;
using poly::PwAff;
using poly::Set;
using poly::taken;
using poly::Val;

NotAffine::NotAffine(const Ix& w) : std::runtime_error("`" + w.str() + "` is not affine"), what(w) {}

struct Solver::Impl {
  isl_ctx* ctx = nullptr;
  double seconds = 0;
  int depth = 0;
  std::unordered_map<std::string, std::optional<Env>> found;
  std::unordered_map<std::string, bool> satisfiable;

  /// Sets the budget of one question and counts the time it takes.
  class Question {
   public:
    explicit Question(Impl& s) : s_(s), start_(std::chrono::steady_clock::now()) {
      if (s_.depth++ == 0) isl_ctx_reset_operations(s_.ctx);
    }
    ~Question() {
      if (--s_.depth > 0) return;
      s_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;

   private:
    Impl& s_;
    std::chrono::steady_clock::time_point start_;
  };

  bool isEmpty(const Set& s) const { return poly::isTrue(ctx, isl_set_is_empty(s.keep())); }

  Set bounded(const Set& s, int dim, bool below, int64_t bound) const {
    isl_val* v = isl_val_int_from_si(ctx, bound);
    auto* cut = below ? isl_set_lower_bound_val : isl_set_upper_bound_val;
    return taken<Set>(ctx, cut(s.copy(), isl_dim_set, unsigned(dim), v));
  }

  Val extremeOf(const Set& s, int dim, bool max) const {
    isl_local_space* ls = isl_local_space_from_space(isl_set_get_space(s.keep()));
    Aff x = taken<Aff>(ctx, isl_aff_var_on_domain(ls, isl_dim_set, unsigned(dim)));
    return taken<Val>(ctx, (max ? isl_set_max_val : isl_set_min_val)(s.keep(), x.keep()));
  }

  /// The value of `dim` a small example has: the least value not below 0, else the greatest.
  Val smallest(const Set& s, int dim) const {
    Val least = extremeOf(s, dim, false);
    if (isl_val_is_int(least.keep()) == isl_bool_true) return least;
    Set natural = bounded(s, dim, true, 0);
    if (!isEmpty(natural)) return extremeOf(natural, dim, false);
    return extremeOf(s, dim, true);
  }

  std::optional<Env> find(const Cond& c, const std::vector<Sym>& vars) {
    Set s = poly::toSet(ctx, "", vars, c);
    if (isEmpty(s)) return std::nullopt;
    Env env;
    for (size_t i = 0; i < vars.size(); ++i) {
      Val v = smallest(s, int(i));
      env[vars[i]] = isl_val_get_num_si(v.keep());
      s = taken<Set>(ctx, isl_set_fix_val(s.release(), isl_dim_set, unsigned(i), v.release()));
    }
    return env;
  }

  std::optional<Ix> extreme(const Ix& e, const std::vector<Sym>& over, const Cond& c, bool max) {
    Question timed(*this);
    Map m = poly::toMap(ctx, "", over, c, "", {e});
    Set values =
        taken<Set>(ctx, isl_map_range(m.release()));  // { [e] : c }, the variables not in `over` are parameters
    if (isEmpty(values)) return Ix(0);
    auto* hasBound = max ? isl_set_dim_has_upper_bound : isl_set_dim_has_lower_bound;
    if (!poly::isTrue(ctx, hasBound(values.keep(), isl_dim_set, 0))) return std::nullopt;
    PwAff best = taken<PwAff>(ctx, (max ? isl_set_dim_max : isl_set_dim_min)(values.release(), 0));
    return poly::fromPwAff(best.keep(), {});
  }
};

Solver::Solver(unsigned long maxOperations) : impl_(std::make_unique<Impl>()) {
  impl_->ctx = isl_ctx_alloc();
  isl_options_set_on_error(impl_->ctx, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(impl_->ctx, maxOperations);
}

Solver::~Solver() { isl_ctx_free(impl_->ctx); }

isl_ctx* Solver::ctx() { return impl_->ctx; }
double Solver::seconds() const { return impl_->seconds; }

namespace {

/// `prefer` (those that occur) first, the others by name.
std::vector<Sym> ordered(const std::set<Sym>& used, const std::vector<Sym>& prefer) {
  std::vector<Sym> out, rest;
  for (Sym s : prefer) {
    if (used.count(s) && std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
  }
  for (Sym s : used) {
    if (std::find(out.begin(), out.end(), s) == out.end()) rest.push_back(s);
  }
  std::sort(rest.begin(), rest.end(), [](Sym a, Sym b) { return a.name() < b.name(); });
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

size_t size(const Cond& c) {
  if (c.kind() == Cond::Kind::Ge0 || c.kind() == Cond::Kind::Eq0) return 1;
  size_t n = 0;
  for (const Cond& x : c.args()) n += size(x);
  return n;
}

}  // namespace

std::optional<Env> Solver::find(const Cond& c, const std::vector<Sym>& prefer) {
  if (c.isFalse()) return std::nullopt;
  if (c.isTrue()) return Env{};
  std::vector<Sym> vars = ordered(c.vars(), prefer);
  std::string key;
  for (Sym s : vars) key += s.name() + ",";
  key += c.str();
  if (auto it = impl_->found.find(key); it != impl_->found.end()) return it->second;
  Impl::Question timed(*impl_);
  return impl_->found[key] = impl_->find(c, vars);
}

bool Solver::satisfiable(const Cond& c) {
  if (c.isFalse() || c.isTrue()) return c.isTrue();
  std::string key = c.str();
  if (auto it = impl_->satisfiable.find(key); it != impl_->satisfiable.end()) return it->second;
  Impl::Question timed(*impl_);
  Set s = poly::toSet(impl_->ctx, "", ordered(c.vars(), {}), c);
  return impl_->satisfiable[key] = !impl_->isEmpty(s);
}

Cond Solver::project(const Cond& c, const std::vector<Sym>& gone) {
  std::vector<Sym> vars = ordered(c.vars(), gone);
  std::erase_if(vars, [&](Sym s) { return std::find(gone.begin(), gone.end(), s) == gone.end(); });
  if (vars.empty()) return c;
  Impl::Question timed(*impl_);
  Set s = poly::toSet(impl_->ctx, "", vars, c);
  Set params = taken<Set>(impl_->ctx, isl_set_params(s.release()));
  return poly::fromSet(params.keep(), {});
}

Cond Solver::simplify(const Cond& c, const Cond& given) {
  if (c.isTrue() || c.isFalse()) return c;
  if (!satisfiable(c && given)) return Cond::truth(false);
  if (implies(given, c)) return Cond();
  Impl::Question timed(*impl_);
  std::set<Sym> used = c.vars();
  given.collect(used);
  std::vector<Sym> vars = ordered(used, {});
  Set s = poly::toSet(impl_->ctx, "", vars, c);
  Set context = poly::toSet(impl_->ctx, "", vars, given);
  Set gist = taken<Set>(impl_->ctx, isl_set_gist(s.release(), context.release()));
  Cond out = poly::fromSet(gist.keep(), vars);
  return size(out) <= size(c) ? out : c;
}

std::optional<Ix> Solver::max(const Ix& e, const std::vector<Sym>& over, const Cond& c) {
  return impl_->extreme(e, over, c, true);
}

std::optional<Ix> Solver::min(const Ix& e, const std::vector<Sym>& over, const Cond& c) {
  return impl_->extreme(e, over, c, false);
}

}  // namespace tempo
