// Runs the proofs on a graph in text form.
#pragma once

#include <string>

namespace tempo::checktest {

/// "" if everything is proved; otherwise per diagnostic a line `CODE label`, with notes and fixes behind it, one a line.
std::string check(const std::string& graph, bool causal = true);
/// The bounds the proofs add to the graph, or the code of the first error.
std::string bounds(const std::string& graph);
/// Processor seconds the proofs take.
double seconds(const std::string& graph);

}  // namespace tempo::checktest
