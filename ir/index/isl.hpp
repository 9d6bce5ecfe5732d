// Raw isl bridges, for the scheduler and the solver alone: RAII handles that mirror give/take/keep, and the translation
// between Ix/Cond and isl sets. In a set, `vars` are the set dims in order (tuple id `tuple` when given); every other
// variable is an isl parameter. A null result of isl throws SolveBudget (quota) or InternalError; what is not affine throws
// NotAffine.
#pragma once

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <string>
#include <vector>

#include "index/ix.hpp"

namespace tempo::poly {

template <class T, T* (*Free)(T*), T* (*Copy)(T*)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T* p) : p_(p) {}  // takes
  Handle(const Handle& o) : p_(o.p_ ? Copy(o.p_) : nullptr) {}
  Handle(Handle&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  Handle& operator=(Handle o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Handle() {
    if (p_) Free(p_);
  }
  T* keep() const { return p_; }
  T* copy() const { return Copy(p_); }
  T* release() {
    T* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};

using Set = Handle<isl_set, isl_set_free, isl_set_copy>;
using Map = Handle<isl_map, isl_map_free, isl_map_copy>;
using USet = Handle<isl_union_set, isl_union_set_free, isl_union_set_copy>;
using UMap = Handle<isl_union_map, isl_union_map_free, isl_union_map_copy>;
using PwAff = Handle<isl_pw_aff, isl_pw_aff_free, isl_pw_aff_copy>;

/// { tuple[vars] : c }
Set toSet(isl_ctx* ctx, const std::string& tuple, const std::vector<Sym>& vars, const Cond& c);
/// { from[fromVars] -> to[toExprs] : c }
Map toMap(isl_ctx* ctx, const std::string& from, const std::vector<Sym>& fromVars, const Cond& c, const std::string& to,
          const std::vector<Ix>& toExprs);
/// { tuple[vars] -> x : given }
PwAff toPwAff(isl_ctx* ctx, const std::string& tuple, const std::vector<Sym>& vars, const Cond& given, const Ix& x);
/// Inverse of toSet; `vars` name the set dims.
Cond fromSet(isl_set* keep, const std::vector<Sym>& vars);
/// Inverse of a piecewise affine expression on the space of `vars`.
Ix fromPwAff(isl_pw_aff* keep, const std::vector<Sym>& vars);

}  // namespace tempo::poly
