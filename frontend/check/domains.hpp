// Proofs about which points exist: disjoint pieces, defined reads, axis indices in range, outputs without holes.
#pragma once

#include "check/prover.hpp"
#include "check/read_point.hpp"
#include "diag/diag.hpp"

namespace tempo::check {

/// Reports E0301, E0304, E0305, E0404 and E0390. With `bounds`, what Prover::boundsFor finds is assumed and collected
/// there, instead of a report.
void checkDomains(const Graph& g, Diagnostics& diags, Prover& prover, std::vector<Bound>* bounds = nullptr);

/// A change that makes `p` defined wherever it is read, proved again with the change made; "" if none is known. A further
/// piece is suggested only with `piecewise`: if the producer is defined piece by piece.
std::string fixFor(const Graph& g, const ReadPoint& p, const Answer& a, const std::vector<Sym>& readerDims, Prover& prover,
                   bool piecewise);

}  // namespace tempo::check
