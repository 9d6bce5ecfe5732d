// Programs from text, timed runs, interleaved medians.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/driver.hpp"

namespace tempo::bench {

double now();  // seconds
double median(std::vector<double> v);

/// Times the two alternately, once each to warm up and then `pairs` times; the medians and the median of a / b.
struct Pair {
  double a = 0, b = 0, ratio = 0;
};
Pair interleave(const std::function<double()>& a, const std::function<double()>& b, int pairs = 9);

/// A program that is compiled and bound once and run often. Failures end the process with their text.
class Bench {
 public:
  Bench(const std::string& text, std::map<std::string, std::string> settings,
        std::map<std::string, std::string> force = {});
  /// Seconds of one run, binding of arrays left out.
  double run(int threads);
  /// Seconds from one step of the outermost dim to the next.
  std::vector<double> steps(int threads);
  Program& program() { return *program_; }
  const RunResult& last() const { return last_; }

 private:
  std::unique_ptr<Sources> sources_;
  std::unique_ptr<Diagnostics> diags_;
  std::shared_ptr<Program> program_;
  RunOptions options_;
  RunResult last_;
};

/// Runs `work(worker)` on `threads` pinned threads; seconds until all are done.
double onThreads(int threads, const std::function<void(int)>& work);

/// One line: what, the figure, the peer's figure, the ratio, the goal and whether it is met.
void line(const std::string& what, const std::string& figure, const std::string& peer, double ratio, bool atLeast, double goal);
std::string number(double v, const char* unit);

}  // namespace tempo::bench
