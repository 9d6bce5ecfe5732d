// Simplify: less work, same meaning. To a fixed point: folds constants and algebraic identities in scalar expressions, merges
// equal nodes, forgets nodes that nothing needs, and shrinks nodes to the points their readers want.
//
//   %a[t] = %x[t] * 1.0      %b[t] = %x[t] + (2.0 * 3.0)     (a, b read by y)
// becomes
//   %b[t] = %x[t] + 6.0                                      (y reads x for a)
//
// Random draws are never merged: their streams differ. Required before every other pass; keeps every output and effect.
#pragma once

#include "index/solve.hpp"
#include "options.hpp"
#include "sdg/graph.hpp"

namespace tempo {

Graph simplify(Graph g, Solver& solver, const PassOptions& options);

/// Folds constants and identities at the root of `e`; children are taken as folded.
ExprPtr foldExpr(const ExprPtr& e);

/// Applies `f` to every expression of every live body and effect (bottom-up, see ex::rewrite).
void rewriteAll(Graph& g, const std::function<ExprPtr(const ExprPtr&)>& f);

/// Clears the pieces of nodes that no output or effect needs. Returns whether any died.
bool removeDead(Graph& g);

}  // namespace tempo
