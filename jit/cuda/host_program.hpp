// The host statements of a program made ready to run without LLVM: names are resolved to slots and every expression is a
// closure, so a step costs some tens of nanoseconds where a kernel launch costs microseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel/kir.hpp"

namespace tempo::cuda {

/// What the host loop asks of whoever runs it.
class HostActions {
 public:
  virtual ~HostActions() = default;
  /// `params` in the order of the kernel's.
  virtual void launch(int kernel, const std::vector<int64_t>& params) = 0;
  virtual void effect(int effect, const std::vector<int64_t>& point) = 0;
  virtual void progress(int64_t done, int64_t total) = 0;
  /// Element of a buffer of the program, as a number: what all earlier launches left there.
  virtual double load(int buffer, int64_t index) = 0;
  /// Asked before every statement of a loop or branch and between iterations: true ends the run.
  virtual bool stopped() = 0;
};

class HostProgram {
 public:
  /// Throws InternalError on malformed programs.
  explicit HostProgram(const kir::Program& p);
  ~HostProgram();
  /// `sizes` in the program's order.
  void run(const std::vector<int64_t>& sizes, HostActions& actions) const;

  struct Impl;

 private:
  std::unique_ptr<const Impl> impl_;
};

/// Element `index` of an array in memory. bf16 and f16 are not read by host code.
double loadNumber(const void* data, DType t, int64_t index);

}  // namespace tempo::cuda
