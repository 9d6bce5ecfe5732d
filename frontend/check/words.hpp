// Points, domains and nodes in the words of the program.
#pragma once

#include <string>
#include <vector>

#include "check/prover.hpp"

namespace tempo::check {

/// The name the user knows: of the equation a node made for a part of it (`y.softmax.e`) belongs to.
std::string userName(const Graph& g, const Node& n);
/// `h[-1]`, `w[0; 8]`, `w[; 8]`; axes are shown only with `withAxes`.
std::string pointText(const std::string& name, const std::vector<int64_t>& at, size_t dims, bool withAxes);
/// `t = 0, i = 3`: those of `vars` that have a value.
std::string valuesText(const Env& env, const std::vector<Sym>& vars);
/// `0 <= t < T and t % 2 == 0`; "nowhere" for none.
std::string domainText(const Cond& where, const std::vector<Sym>& dims);
/// `h is defined for 0 <= t < T`.
std::string definedText(const Graph& g, const Node& n, Prover& prover);

}  // namespace tempo::check
