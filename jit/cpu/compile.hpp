// Kernel IR to machine code: one LLVM module per program, its kernels and host function, linked into this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/kir.hpp"
#include "runtime/abi.hpp"

namespace tempo {

struct CpuOptions {
  std::string targetCpu = "native";
  int optLevel = 2;  // 0 to 3
  bool wantAsm = false;
  bool wantIr = false;
};

/// Compiled code. Pages are freed with the object; nothing may run in them then. Thread safe once made.
class CpuModule {
 public:
  struct Impl;
  explicit CpuModule(std::unique_ptr<Impl> impl);
  ~CpuModule();
  CpuModule(const CpuModule&) = delete;
  CpuModule& operator=(const CpuModule&) = delete;

  TempoHostFn host() const;
  TempoKernelFn kernel(int k) const;
  /// Optimised LLVM IR and assembly; empty unless asked for.
  const std::string& llvmIr() const;
  const std::string& assembly() const;
  /// The relocatable object, for `loadCpuObject` in another process on the same kind of machine.
  std::vector<char> object() const;

 private:
  std::unique_ptr<Impl> impl_;
};

/// Verifies and compiles. Throws InternalError on malformed programs and when LLVM refuses.
std::shared_ptr<CpuModule> compileCpu(const kir::Program&, const CpuOptions&);
/// Links an object made by `CpuModule::object` for the same program. Throws InternalError if it does not fit.
std::shared_ptr<CpuModule> loadCpuObject(const std::vector<char>& object, const kir::Program& program);
/// What code depends on besides the program: CPU name, features, LLVM version. Part of a cache key.
std::string cpuTargetId(const CpuOptions&);

}  // namespace tempo
