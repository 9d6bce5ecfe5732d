// What tests ask of the fake CUDA driver beside the driver's own entry points; found by dlsym.
#pragma once

#include <cstdint>

namespace tempo::fake {

/// Runs a launched kernel on the fake's memory (plain host memory). Returns 0 or a CUDA error code.
using Runner = int (*)(const char* symbol, unsigned grid, unsigned block, const void* args, void* user);
/// Bytes of a kernel's argument block: the driver knows them from the image.
using ArgumentBytes = int64_t (*)(const char* symbol, void* user);
/// Size of the live allocation that starts at `address`; -1 if there is none.
using SizeOf = int64_t (*)(const void* address);

struct Controls {
  void (*setRunner)(Runner runner, ArgumentBytes argumentBytes, void* user);
  void (*setMemory)(int64_t bytes);   // of the device
  int64_t (*liveObjects)();           // allocations, modules, streams, contexts
  const char* (*lastProblem)();       // what the last failed call did wrong; "" if none failed
  SizeOf sizeOf;
};

}  // namespace tempo::fake

extern "C" const tempo::fake::Controls* tempo_fake_controls();
