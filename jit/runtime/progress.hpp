// How far a run is, told without the run's help: compiled code stores two counters, a watcher thread reads them. On a
// terminal one line is redrawn several times a second, from the start of the run on; elsewhere a plain line is printed
// about every ten seconds. What is shown never goes backwards.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace tempo {

struct ProgressOptions {
  bool enabled = true;
  bool terminal = false;       // redraw one line
  bool colour = false;
  std::FILE* out = stderr;
  std::string label;           // the outermost dim: `i`
  int64_t total = -1;          // its length, if known before the run
  double terminalPeriod = 0.2, plainPeriod = 10;  // seconds
};

class Progress {
 public:
  explicit Progress(ProgressOptions options);
  /// Stops the watcher and clears the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// From the run, any thread, any rate: two relaxed stores.
  void update(int64_t done, int64_t total);
  /// Text shown behind the counters: the latest metrics.
  void setNote(std::string note);
  /// Writes lines to `to` without tearing the progress line.
  void printLine(std::FILE* to, const std::string& line);
  bool drawsLine() const;

  /// `i 37/1000  12.4/s  1m17s left`, for tests and for the plain lines. `elapsed` in seconds.
  static std::string describe(const std::string& label, int64_t done, int64_t total, double elapsed);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Is the file a terminal that can redraw a line?
bool isTerminal(std::FILE* f);
/// NO_COLOR unset (or empty), TERM not dumb, and a terminal.
bool wantsColour(std::FILE* f);

}  // namespace tempo
