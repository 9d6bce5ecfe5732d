// What the command prints and where: results on stdout, everything about the run on stderr.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diag/diag.hpp"
#include "driver/driver.hpp"
#include "runtime/metrics.hpp"
#include "runtime/progress.hpp"

namespace tempo::cli {

enum class Format : uint8_t { Human, Json };

constexpr int kDone = 0, kFailed = 1, kWrongCommand = 2, kInterrupted = 130;

/// `error: x.npy: is not an npy file` and a help line, or one JSON object. Diagnostics, if the failure stands for them.
/// Returns the exit code.
int tell(const Failure& f, const Diagnostics* diags, Format format);
/// A mistake on the command line.
int wrongCommand(const std::string& place, const std::string& message, const std::string& help, Format format);
/// Warnings of a program that is otherwise right.
void tellWarnings(const Diagnostics& diags, Format format);

/// `y : f32[4] = [1, 2, 3, 4]`, or min, mean and max of a large array.
std::string summary(const std::string& name, const Array& array);

struct LogRequest {
  std::string kind, path;   // "csv" or "jsonl"
};

/// Shows a run: a progress line on a terminal, plain lines elsewhere, log files.
class Console : public RunListener {
 public:
  struct Options {
    bool quiet = false;
    std::vector<LogRequest> logs;
  };
  /// Throws FileError if a log file cannot be made.
  Console(const Options& options, const Graph& g);
  ~Console() override;
  void report(const MetricRecord& record) override;
  void print(const MetricRecord& record) override;
  void started(const std::string& dim, int64_t total) override;
  void progress(int64_t done, int64_t total) override;
  /// Ends the progress line and the log files. Throws FileError.
  void finish();

 private:
  double seconds() const;
  bool quiet_, terminal_;
  std::unique_ptr<Progress> progress_;
  std::vector<std::unique_ptr<LogFile>> logs_;
  std::string last_;
  double start_;
};

}  // namespace tempo::cli
