// Which CPUs can be compiled for, and which of them this machine can run code of.
#pragma once

#include <string>
#include <vector>

namespace tempo {

/// The names LLVM has for CPUs of this machine's architecture.
std::vector<std::string> knownCpus();
/// A feature that code for `cpu` may use and this machine lacks, "" if it can run such code.
std::string missingFeature(const std::string& cpu);

}  // namespace tempo
