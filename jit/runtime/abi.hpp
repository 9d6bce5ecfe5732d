// What JIT-compiled code and the runtime share. Layouts here are emitted by jit/cpu; change both together.
#pragma once

#include <atomic>
#include <cstdint>

extern "C" {

/// A run-time fault: which Check failed (site), where (values).
struct TempoFault {
  int64_t site;  // -1: none
  int64_t count;
  int64_t values[8];
};

/// Handed to every kernel and to the host function.
struct TempoContext {
  void** buffers;              // by index in kir::Program::buffers
  const int64_t* sizes;        // by index in kir::Program::sizes
  uint64_t seed;
  std::atomic<int32_t>* stop;  // non-zero: leave as soon as state is whole
  TempoFault* fault;           // first fault wins; sets *stop
  char* scratch;               // worker arenas, one after the other
  int64_t scratchBytes;        // of one worker
  void* runtime;               // tempo::Runtime
  int32_t serial = 0;          // non-zero: the host function calls kernels itself, on worker 0
};

/// A kernel: instances [begin, end) of the flattened grid, on worker `worker`.
typedef void (*TempoKernelFn)(TempoContext*, const int64_t* params, int64_t begin, int64_t end, int32_t worker);
/// The host loop. Returns when done, stopped or faulted.
typedef void (*TempoHostFn)(TempoContext*);

// Called by JIT code.
/// Runs a kernel over `instances`, split over the worker threads in contiguous chunks; returns when all are done.
void tempo_rt_launch(TempoContext*, TempoKernelFn, const int64_t* params, int64_t instances, int64_t work_per_instance);
void tempo_rt_effect(TempoContext*, int32_t effect, const int64_t* point);
void tempo_rt_progress(TempoContext*, int64_t done, int64_t total);
/// Makes every worker's arena at least `bytes` long; updates scratch and scratchBytes.
void tempo_rt_scratch(TempoContext*, int64_t bytes);
void tempo_rt_fault(TempoContext*, int64_t site, const int64_t* values, int32_t count);

}
