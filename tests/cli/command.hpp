// Runs the built command, without a shell.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tempo::test {

struct Ran {
  int code = -1;            // exit code; 128 + n for signal n
  std::string out, err;
};

struct HowToRun {
  std::map<std::string, std::string> environment;
  int interruptAfterMs = 0;  // SIGINT after so long; 0: none
};

/// `tempo ARGS...` in `folder`. The compile cache is in the folder, too.
Ran runTempo(const std::string& folder, const std::vector<std::string>& args, const HowToRun& how = {});
/// The number of lines of a text, and the one that contains `part` ("" if none does).
std::string lineWith(const std::string& text, const std::string& part);

}  // namespace tempo::test
