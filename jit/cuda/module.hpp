// A program on the GPU: its kernels (CudaModule, shared by runs) and one run of it (CudaRun: buffers, stream, launches).
//
// The host loop is run by CudaRun::execute, or by JIT code as on the CPU. JIT code is given kernel handles in place of
// functions, and tempo_rt_launch passes them to CudaRun::launch:
//   module.handle(i)          what the host code must see as the address of kernel i (define it as an absolute symbol)
//   run.launch(ctx, fn, ...)  enqueues; never throws, an error is kept (error()) and sets the stop flag
//   run.hostPointer(b)        for TempoContext::buffers: buffers that host statements read; null for the others
//   run.download(b, ..)       before effects and at the end
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver.hpp"
#include "cuda/emit.hpp"
#include "cuda/host_program.hpp"
#include "cuda/nvrtc.hpp"
#include "kernel/kir.hpp"
#include "runtime/abi.hpp"

namespace tempo::cuda {

class CudaModule {
 public:
  /// Emits, compiles for the device and loads. Throws CudaError.
  CudaModule(std::shared_ptr<const Device> device, const kir::Program& p);
  /// Loads an image kept from `image()` of an equal program on an equal device.
  CudaModule(std::shared_ptr<const Device> device, const kir::Program& p, std::string image);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  const std::shared_ptr<const Device>& device() const { return device_; }
  const kir::Program& program() const { return program_; }
  const Emitted& emitted() const { return emitted_; }
  const std::string& image() const { return image_; }
  const std::map<std::string, KernelResources>& resources() const { return resources_; }

  /// Stands for kernel `i` in the host code. Not callable.
  TempoKernelFn handle(int i) const;
  /// The kernel of a handle; -1 if it is not one of this module.
  int kernelOf(TempoKernelFn handle) const;
  void* function(int i) const { return functions_.at(static_cast<size_t>(i)); }
  const HostProgram& host() const { return host_; }

 private:
  void load();

  std::shared_ptr<const Device> device_;
  kir::Program program_;
  Emitted emitted_;
  HostProgram host_;
  std::string image_;
  std::map<std::string, KernelResources> resources_;
  void* module_ = nullptr;
  std::vector<void*> functions_;
  std::vector<char> handles_;
};

struct RunCallbacks {
  std::function<void(int effect, const std::vector<int64_t>& point)> onEffect;  // may download
  std::function<void(int64_t done, int64_t total)> onProgress;
};

class CudaRun {
 public:
  /// Allocates every buffer of the program and clears those that start as zeros. `sizes` in the program's order. `stop` is
  /// the host's flag; it is passed on to running kernels, and set by faults. Throws CudaError, also when memory is short.
  CudaRun(std::shared_ptr<const CudaModule> module, std::vector<int64_t> sizes, uint64_t seed, std::atomic<int32_t>* stop);
  ~CudaRun();
  CudaRun(const CudaRun&) = delete;
  CudaRun& operator=(const CudaRun&) = delete;

  int64_t bytes(int buffer) const;
  void* hostPointer(int buffer) const;
  void upload(int buffer, const void* data, int64_t bytes);
  /// Waits for what is enqueued, then copies bytes [offset, offset + bytes) of the buffer.
  void download(int buffer, void* data, int64_t offset, int64_t bytes);

  /// Runs the program's host statements to their end, a stop, an error or a fault, and waits. False as synchronize. What
  /// callbacks throw passes through.
  bool execute(const RunCallbacks& callbacks);
  void launch(TempoKernelFn handle, const int64_t* params, int64_t instances) noexcept;
  /// Waits for all launches. False if there was an error or a fault, which sets the stop flag.
  bool synchronize() noexcept;

  /// Of the first call that failed; empty if none did.
  const std::string& error() const { return error_; }
  /// Valid after synchronize; site -1: none.
  const TempoFault& fault() const { return fault_; }
  int64_t launches() const { return launches_; }

 private:
  struct Actions;
  struct Control {  // in device memory
    TempoFault fault;
    int32_t stop;
    int32_t unused;
  };
  struct Place {
    DeviceBuffer device;
    MappedBuffer mapped;
    void* get() const { return mapped.get() ? mapped.get() : device.get(); }
  };

  void allocate();
  void enqueue(int kernel, const int64_t* params, int64_t instances);
  void* scratch(int64_t bytes);
  void launchKernel(int kernel, const int64_t* params, int64_t instances) noexcept;
  void forwardStop();
  void wait();
  void fail(const std::string& what) noexcept;

  std::shared_ptr<const CudaModule> module_;
  std::vector<int64_t> sizes_;
  uint64_t seed_;
  std::atomic<int32_t>* stop_;
  std::vector<bool> hostReads_;
  std::vector<Place> buffers_;
  DeviceBuffer control_, scratch_;
  Stream stream_, stopStream_;
  bool stopForwarded_ = false;
  TempoFault fault_{-1, 0, {}};
  std::string error_;
  int64_t launches_ = 0;
};

}  // namespace tempo::cuda
