#include "index/isl.hpp"

#include <isl/id.h>
#include <isl/val.h>

#include <algorithm>

#include "check.hpp"
#include "index/isl_util.hpp"
#include "index/ix_node.hpp"
#include "index/solve.hpp"

namespace tempo::poly {

void islFailed(isl_ctx* ctx) {
  isl_error error = isl_ctx_last_error(ctx);
  const char* text = isl_ctx_last_error_msg(ctx);
  std::string message = text ? text : "null result";
  isl_ctx_reset_error(ctx);
  if (error == isl_error_quota) throw SolveBudget("the budget of integer reasoning is spent");
  internalError(__FILE__, __LINE__, "internal error: isl: " + message);
}

namespace {

/// Builds isl objects over one space: `vars` as set dims, the rest as parameters. Building may throw NotAffine, so operands
/// are in handles before any release(): a leaked object would keep its isl context alive.
class Builder {
 public:
  Builder(isl_ctx* ctx, const std::string& tuple, const std::vector<Sym>& vars, const std::set<Sym>& used)
      : ctx_(ctx), vars_(vars) {
    for (Sym s : used) {
      if (std::find(vars.begin(), vars.end(), s) == vars.end()) params_.push_back(s);
    }
    // By name, not by when a name was first met: results must not depend on what the process did before.
    std::sort(params_.begin(), params_.end(), [](Sym a, Sym b) { return a.name() < b.name(); });
    isl_space* space = isl_space_set_alloc(ctx, unsigned(params_.size()), unsigned(vars.size()));
    for (size_t i = 0; i < params_.size(); ++i) {
      isl_id* id = isl_id_alloc(ctx, params_[i].name().c_str(), nullptr);
      space = isl_space_set_dim_id(space, isl_dim_param, unsigned(i), id);
    }
    if (!tuple.empty()) space = isl_space_set_tuple_name(space, isl_dim_set, tuple.c_str());
    space_ = taken<Space>(ctx, space);
  }

  Set set(const Cond& c) const {
    switch (c.kind()) {
      case Cond::Kind::True: return universe();
      case Cond::Kind::False: return checked<Set>(isl_set_empty(space_.copy()));
      case Cond::Kind::Not: return checked<Set>(isl_set_complement(set(c.args()[0]).release()));
      case Cond::Kind::Ge0:
      case Cond::Kind::Eq0: return comparison(c);
      case Cond::Kind::Or: {
        Set out = checked<Set>(isl_set_empty(space_.copy()));
        for (const Cond& x : c.args()) {
          Set one = set(x);
          out = checked<Set>(isl_set_union(out.release(), one.release()));
        }
        return out;
      }
      case Cond::Kind::And: return conjunction(c.args());
    }
    return universe();
  }

  PwAff pwAff(const Ix& x) const {
    if (isAffine(x)) return checked<PwAff>(isl_pw_aff_from_aff(aff(x).release()));
    switch (x.kind()) {
      case Ix::Kind::Linear: {
        PwAff out = pwAff(Ix(x.constant()));
        for (const auto& [c, atom] : x.terms()) {
          PwAff term = pwAff(atom);
          term = checked<PwAff>(isl_pw_aff_scale_val(term.release(), integer(c)));
          out = checked<PwAff>(isl_pw_aff_add(out.release(), term.release()));
        }
        return out;
      }
      case Ix::Kind::FloorDiv: {
        int64_t by = divisor(x);
        PwAff a = pwAff(x.args()[0]);
        return checked<PwAff>(isl_pw_aff_floor(isl_pw_aff_scale_down_val(a.release(), integer(by))));
      }
      case Ix::Kind::Mod: {
        int64_t by = divisor(x);
        PwAff a = pwAff(x.args()[0]);
        return checked<PwAff>(isl_pw_aff_mod_val(a.release(), integer(by)));
      }
      case Ix::Kind::Min:
      case Ix::Kind::Max: {
        PwAff out = pwAff(x.args()[0]);
        auto* join = x.kind() == Ix::Kind::Min ? isl_pw_aff_min : isl_pw_aff_max;
        for (size_t i = 1; i < x.args().size(); ++i) {
          PwAff next = pwAff(x.args()[i]);
          out = checked<PwAff>(join(out.release(), next.release()));
        }
        return out;
      }
      case Ix::Kind::Select: {
        Set when = set(x.cond());
        PwAff a = pwAff(x.args()[0]), b = pwAff(x.args()[1]);
        a = checked<PwAff>(isl_pw_aff_intersect_domain(a.release(), when.copy()));
        b = checked<PwAff>(isl_pw_aff_intersect_domain(b.release(), isl_set_complement(when.release())));
        return checked<PwAff>(isl_pw_aff_union_add(a.release(), b.release()));
      }
      case Ix::Kind::Var:
      case Ix::Kind::Product: break;
    }
    throw NotAffine(x);
  }

 private:
  template <class H, class T>
  H checked(T* p) const {
    return taken<H>(ctx_, p);
  }

  isl_val* integer(int64_t v) const { return isl_val_int_from_si(ctx_, v); }

  Set universe() const { return checked<Set>(isl_set_universe(space_.copy())); }

  /// One isl_aff suffices: no min, max or select.
  static bool isAffine(const Ix& x) {
    switch (x.kind()) {
      case Ix::Kind::Var: return true;
      case Ix::Kind::Linear: {
        const auto terms = x.terms();
        return std::all_of(terms.begin(), terms.end(), [](const auto& t) { return isAffine(t.second); });
      }
      case Ix::Kind::FloorDiv:
      case Ix::Kind::Mod: return isAffine(x.args()[0]);
      default: return false;
    }
  }

  static int64_t divisor(const Ix& x) {
    auto k = x.args()[1].asConst();
    if (!k) throw NotAffine(x);
    TEMPO_CHECK(*k > 0, "a divisor that is not positive: " + x.str());
    return *k;
  }

  Aff var(Sym s) const {
    isl_local_space* ls = isl_local_space_from_space(space_.copy());
    auto it = std::find(vars_.begin(), vars_.end(), s);
    if (it != vars_.end()) return checked<Aff>(isl_aff_var_on_domain(ls, isl_dim_set, unsigned(it - vars_.begin())));
    auto p = std::find(params_.begin(), params_.end(), s);
    return checked<Aff>(isl_aff_var_on_domain(ls, isl_dim_param, unsigned(p - params_.begin())));
  }

  Aff aff(const Ix& x) const {
    switch (x.kind()) {
      case Ix::Kind::Var: return var(*x.asVar());
      case Ix::Kind::FloorDiv: {
        int64_t by = divisor(x);
        Aff a = aff(x.args()[0]);
        return checked<Aff>(isl_aff_floor(isl_aff_scale_down_val(a.release(), integer(by))));
      }
      case Ix::Kind::Mod: {
        int64_t by = divisor(x);
        Aff a = aff(x.args()[0]);
        return checked<Aff>(isl_aff_mod_val(a.release(), integer(by)));
      }
      default: break;
    }
    isl_local_space* ls = isl_local_space_from_space(space_.copy());
    Aff out = checked<Aff>(isl_aff_val_on_domain(ls, integer(x.constant())));
    for (const auto& [c, atom] : x.terms()) {
      Aff term = aff(atom);
      term = checked<Aff>(isl_aff_scale_val(term.release(), integer(c)));
      out = checked<Aff>(isl_aff_add(out.release(), term.release()));
    }
    return out;
  }

  BSet basic(const Cond& c) const {
    Aff a = aff(c.ix());
    bool equality = c.kind() == Cond::Kind::Eq0;
    isl_constraint* one = (equality ? isl_equality_from_aff : isl_inequality_from_aff)(a.release());
    return checked<BSet>(isl_basic_set_from_constraint(one));
  }

  Set comparison(const Cond& c) const {
    if (isAffine(c.ix())) return checked<Set>(isl_set_from_basic_set(basic(c).release()));
    PwAff x = pwAff(c.ix());
    bool equality = c.kind() == Cond::Kind::Eq0;
    return checked<Set>(equality ? isl_pw_aff_zero_set(x.release()) : isl_pw_aff_nonneg_set(x.release()));
  }

  /// The affine comparisons become one basic set first: intersecting unions is the expensive part.
  Set conjunction(const std::vector<Cond>& args) const {
    BSet core = checked<BSet>(isl_basic_set_universe(space_.copy()));
    std::vector<const Cond*> rest;
    for (const Cond& c : args) {
      bool simple = (c.kind() == Cond::Kind::Ge0 || c.kind() == Cond::Kind::Eq0) && isAffine(c.ix());
      if (simple) {
        BSet one = basic(c);
        core = checked<BSet>(isl_basic_set_intersect(core.release(), one.release()));
      } else {
        rest.push_back(&c);
      }
    }
    Set out = checked<Set>(isl_set_from_basic_set(core.release()));
    for (const Cond* c : rest) {
      Set one = set(*c);
      out = checked<Set>(isl_set_intersect(out.release(), one.release()));
    }
    return out;
  }

  isl_ctx* ctx_;
  std::vector<Sym> vars_, params_;
  Space space_;
};

/// Reads isl expressions back; `vars` name the set dims, parameters name themselves.
class Reader {
 public:
  explicit Reader(const std::vector<Sym>& vars) : vars_(vars) {}

  /// The aff as (numerator, denominator).
  std::pair<Ix, int64_t> fraction(isl_aff* keep) const {
    isl_ctx* ctx = isl_aff_get_ctx(keep);
    int64_t den = number(ctx, isl_aff_get_denominator_val(keep));
    Aff a = taken<Aff>(ctx, isl_aff_scale_val(isl_aff_copy(keep), isl_val_int_from_si(ctx, den)));
    Ix out(number(ctx, isl_aff_get_constant_val(a.keep())));
    for (isl_dim_type type : {isl_dim_param, isl_dim_in, isl_dim_div}) {
      int n = isl_aff_dim(a.keep(), type);
      for (int i = 0; i < n; ++i) {
        int64_t c = number(ctx, isl_aff_get_coefficient_val(a.keep(), type, i));
        if (c != 0) out = out + Ix(c) * atom(a.keep(), type, i);
      }
    }
    return {out, den};
  }

  Ix value(isl_aff* keep) const {
    auto [numerator, denominator] = fraction(keep);
    return Ix::floordiv(numerator, Ix(denominator));
  }

  Cond set(isl_set* keep) const {
    isl_ctx* ctx = isl_set_get_ctx(keep);
    Set s = taken<Set>(ctx, isl_set_coalesce(isl_set_compute_divs(isl_set_copy(keep))));
    std::vector<BSet> parts;  // reading may throw, which must not pass through isl's frames: collect first
    auto collect = [](isl_basic_set* b, void* user) -> isl_stat {
      static_cast<std::vector<BSet>*>(user)->emplace_back(b);
      return isl_stat_ok;
    };
    if (isl_set_foreach_basic_set(s.keep(), collect, &parts) != isl_stat_ok) islFailed(ctx);
    Cond out = Cond::truth(false);
    for (BSet& b : parts) out = out || basic(taken<BSet>(ctx, isl_basic_set_remove_redundancies(b.release())));
    return out;
  }

 private:
  using Constraint = Handle<isl_constraint, isl_constraint_free, isl_constraint_copy>;

  Cond basic(const BSet& b) const {
    isl_ctx* ctx = isl_basic_set_get_ctx(b.keep());
    std::vector<Constraint> constraints;
    auto collect = [](isl_constraint* c, void* user) -> isl_stat {
      static_cast<std::vector<Constraint>*>(user)->emplace_back(c);
      return isl_stat_ok;
    };
    if (isl_basic_set_foreach_constraint(b.keep(), collect, &constraints) != isl_stat_ok) islFailed(ctx);
    Cond out;
    for (const Constraint& c : constraints) {
      // A div constraint says only what a floor division is.
      if (isTrue(ctx, isl_constraint_is_div_constraint(c.keep()))) continue;
      Aff a = taken<Aff>(ctx, isl_constraint_get_aff(c.keep()));
      Ix x = fraction(a.keep()).first;
      out = out && (isTrue(ctx, isl_constraint_is_equality(c.keep())) ? Cond::eq0(x) : Cond::ge0(x));
    }
    return out;
  }

  static int64_t number(isl_ctx* ctx, isl_val* take) {
    Val v = taken<Val>(ctx, take);
    TEMPO_CHECK(isl_val_is_int(v.keep()) == isl_bool_true && isl_val_n_abs_num_chunks(v.keep(), 8) <= 1,
                "isl: a coefficient that does not fit 64 bits");
    return isl_val_get_num_si(v.keep());
  }

  Ix atom(isl_aff* keep, isl_dim_type type, int i) const {
    isl_ctx* ctx = isl_aff_get_ctx(keep);
    if (type == isl_dim_div) {
      Aff div = taken<Aff>(ctx, isl_aff_get_div(keep, i));
      return value(div.keep());
    }
    if (type == isl_dim_in) {
      TEMPO_CHECK(size_t(i) < vars_.size(), "isl: more set dims than names");
      return Ix(vars_[size_t(i)]);
    }
    const char* name = isl_aff_get_dim_name(keep, isl_dim_param, unsigned(i));
    TEMPO_CHECK(name != nullptr, "isl: a parameter without a name");
    return Ix(Sym::get(name));
  }

  const std::vector<Sym>& vars_;
};

std::set<Sym> usedBy(const Cond& c, const std::vector<Ix>& more) {
  std::set<Sym> used = c.vars();
  for (const Ix& x : more) x.collect(used);
  return used;
}

struct Pieces {
  std::vector<Set> where;
  std::vector<Aff> what;
};

Pieces piecesOf(isl_pw_aff* keep) {
  Pieces out;
  auto collect = [](isl_set* s, isl_aff* a, void* user) -> isl_stat {
    auto* p = static_cast<Pieces*>(user);
    p->where.emplace_back(s);
    p->what.emplace_back(a);
    return isl_stat_ok;
  };
  if (isl_pw_aff_foreach_piece(keep, collect, &out) != isl_stat_ok) islFailed(isl_pw_aff_get_ctx(keep));
  return out;
}

/// min or max of all pieces' expressions, if that is what `p` is on its domain.
bool isExtreme(const PwAff& p, const Pieces& pieces, bool min) {
  isl_ctx* ctx = isl_pw_aff_get_ctx(p.keep());
  PwAff all = taken<PwAff>(ctx, isl_pw_aff_from_aff(pieces.what[0].copy()));
  for (size_t i = 1; i < pieces.what.size(); ++i) {
    PwAff next = taken<PwAff>(ctx, isl_pw_aff_from_aff(pieces.what[i].copy()));
    all = taken<PwAff>(ctx, (min ? isl_pw_aff_min : isl_pw_aff_max)(all.release(), next.release()));
  }
  all = taken<PwAff>(ctx, isl_pw_aff_intersect_domain(all.release(), isl_pw_aff_domain(p.copy())));
  return isTrue(ctx, isl_pw_aff_is_equal(p.keep(), all.keep()));
}

}  // namespace

Set toSet(isl_ctx* ctx, const std::string& tuple, const std::vector<Sym>& vars, const Cond& c) {
  return Builder(ctx, tuple, vars, c.vars()).set(c);
}

Map toMap(isl_ctx* ctx, const std::string& from, const std::vector<Sym>& fromVars, const Cond& c, const std::string& to,
          const std::vector<Ix>& toExprs) {
  Builder b(ctx, from, fromVars, usedBy(c, toExprs));
  Set domain = b.set(c);
  Map out = taken<Map>(ctx, isl_map_from_domain(domain.release()));
  for (const Ix& x : toExprs) {
    PwAff value = b.pwAff(x);
    out = taken<Map>(ctx, isl_map_flat_range_product(out.release(), isl_map_from_pw_aff(value.release())));
  }
  if (!to.empty()) out = taken<Map>(ctx, isl_map_set_tuple_name(out.release(), isl_dim_out, to.c_str()));
  return out;
}

PwAff toPwAff(isl_ctx* ctx, const std::string& tuple, const std::vector<Sym>& vars, const Cond& given, const Ix& x) {
  Builder b(ctx, tuple, vars, usedBy(given, {x}));
  PwAff value = b.pwAff(x);
  Set domain = b.set(given);
  return taken<PwAff>(ctx, isl_pw_aff_intersect_domain(value.release(), domain.release()));
}

Cond fromSet(isl_set* keep, const std::vector<Sym>& vars) { return Reader(vars).set(keep); }

Ix fromPwAff(isl_pw_aff* keep, const std::vector<Sym>& vars) {
  isl_ctx* ctx = isl_pw_aff_get_ctx(keep);
  PwAff p = taken<PwAff>(ctx, isl_pw_aff_coalesce(isl_pw_aff_copy(keep)));
  Pieces pieces = piecesOf(p.keep());
  Reader reader(vars);
  if (pieces.what.empty()) return Ix(0);
  std::vector<Ix> values;
  for (const Aff& a : pieces.what) values.push_back(reader.value(a.keep()));
  if (values.size() == 1) return values[0];
  for (bool min : {true, false}) {
    if (!isExtreme(p, pieces, min)) continue;
    Ix out = values[0];
    for (const Ix& v : values) out = min ? Ix::min(out, v) : Ix::max(out, v);
    return out;
  }
  Set domain = taken<Set>(ctx, isl_pw_aff_domain(p.copy()));
  Ix out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    Set when = taken<Set>(ctx, isl_set_gist(pieces.where[i].copy(), domain.copy()));
    out = Ix::select(reader.set(when.keep()), values[i], out);
  }
  return out;
}

}  // namespace tempo::poly
