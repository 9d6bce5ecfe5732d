// The command line as data, and one function per verb.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "console.hpp"
#include "driver/driver.hpp"

namespace tempo::cli {

struct Command {
  std::string verb;
  std::string file;                  // or the code of `explain`, the action of `cache`
  std::vector<std::string> settings, inputs, outputs, forces;   // NAME=VALUE
  std::vector<std::string> passesOff;
  std::string device = "cpu", targetCpu, format = "human", log;
  uint64_t seed = 0;
  int threads = 0;
  bool timePhases = false, quiet = false, noCache = false, oracle = false, verify = false, help = false;
  std::map<std::string, bool> stages;   // emit

  Format diagnosticFormat() const { return format == "json" ? Format::Json : Format::Human; }
};

/// A loaded program with what its messages need.
struct Loaded {
  Sources sources;
  Diagnostics diags{sources};
  std::shared_ptr<Program> program;
};

/// Splits NAME=VALUE lists and loads the program. On failure it is told and `*code` set.
bool load(const Command& c, Loaded* out, int* code);
/// -s, --in, --force split at the first `=`; a usage failure for anything else, or a name given twice.
Result<std::map<std::string, std::string>> assignments(const std::string& flag, const std::vector<std::string>& list);
/// Options common to all verbs that compile.
Result<CompileOptions> compileOptions(const Command& c);

int runCommand(const Command& c);
int checkCommand(const Command& c);
int emitCommand(const Command& c);
int planCommand(const Command& c);
int testCommand(const Command& c);
int explainCommand(const Command& c);
int cacheCommand(const Command& c);
/// Flags for all programs, then what this one takes.
void printProgramHelp(const Signature& s, const std::string& file);
void printPhases(const Program& program);

}  // namespace tempo::cli
