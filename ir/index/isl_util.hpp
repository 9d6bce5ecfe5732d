// Checked results of isl calls, for isl.cpp and solve.cpp.
#pragma once

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include <isl/val.h>

#include "index/isl.hpp"

namespace tempo::poly {

using Aff = Handle<isl_aff, isl_aff_free, isl_aff_copy>;
using Val = Handle<isl_val, isl_val_free, isl_val_copy>;
using Space = Handle<isl_space, isl_space_free, isl_space_copy>;
using BSet = Handle<isl_basic_set, isl_basic_set_free, isl_basic_set_copy>;

/// Throws SolveBudget if the context's budget is spent, InternalError otherwise. Clears the context's error.
[[noreturn]] void islFailed(isl_ctx* ctx);

/// Takes the result of an isl call; throws as islFailed if it is null.
template <class H, class T>
H taken(isl_ctx* ctx, T* p) {
  if (!p) islFailed(ctx);
  return H(p);
}

inline bool isTrue(isl_ctx* ctx, isl_bool b) {
  if (b == isl_bool_error) islFailed(ctx);
  return b == isl_bool_true;
}

}  // namespace tempo::poly
