// The CUDA text of a program, run without a GPU: compiled as C++ behind the device header's host body, blocks one after the
// other, each thread of a block a fiber that runs until the next barrier. What a GPU would leave to chance is an error here:
// accesses that no barrier orders (of threads, and of blocks of one launch), barriers that not all threads reach, reads of
// undefined scratch, accesses outside buffers.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/emit.hpp"
#include "kernel/kir.hpp"
#include "runtime/abi.hpp"

namespace tempo::emulation {

/// Says the kernel, the block, and what happened.
struct EmulationError : std::runtime_error {
  using runtime_error::runtime_error;
};

enum class Order { Forward, Reversed, Shuffled };  // of the threads between two barriers

struct Options {
  Order order = Order::Forward;
  uint64_t orderSeed = 1;
  int64_t maxBlocks = 0;  // 0: as many as there are instances; fewer makes blocks stride
  bool checkAccesses = true;
};

using Bytes = std::vector<std::byte>;

template <class T>
Bytes toBytes(const std::vector<T>& v) {
  Bytes b(v.size() * sizeof(T));
  if (!v.empty()) std::memcpy(b.data(), v.data(), b.size());
  return b;
}
template <class T>
std::vector<T> fromBytes(const Bytes& b) {
  std::vector<T> v(b.size() / sizeof(T));
  if (!v.empty()) std::memcpy(v.data(), b.data(), v.size() * sizeof(T));
  return v;
}

struct Effect {
  int effect;
  std::vector<int64_t> point;
};

struct RunResult {
  std::map<std::string, Bytes> buffers;  // every buffer of the program, by name
  std::vector<Effect> effects;           // in order
  TempoFault fault{-1, 0, {}};
  int64_t launches = 0;
};

class Emulator {
 public:
  Emulator();
  ~Emulator();

  Options options;
  /// Called by `run` at each effect, with the buffers as they are then.
  std::function<void(const Effect&, const RunResult&)> onEffect;

  /// Emits and compiles; compiled objects are kept by content hash in the build folder. Throws EmulationError with the
  /// compiler's words.
  void compile(const kir::Program& p);
  /// As compile, of a given text (see device.inc) whose kernels are described by `e`: for tests of the emulator itself.
  void compile(const kir::Program& p, const cuda::Emitted& e);
  const cuda::Emitted& emitted() const;

  /// One launch. `buffers` are the kernel's, in its order; their bytes are read and written in place. A failed Check is
  /// noted in `fault`.
  void launch(int kernel, const std::vector<int64_t>& params, const std::vector<Bytes*>& buffers, int64_t instances,
              uint64_t seed = 0);
  /// One launch on memory that belongs to the caller: what a GPU would be given. `args` as cuda::packArgs makes it; `sizes`
  /// are the bytes of the kernel's buffers.
  void launchRaw(int kernel, int64_t grid, const void* args, const std::vector<int64_t>& sizes, int64_t scratchBytes);

  /// The whole program: buffers are allocated by their counts (what is not an input or zeroed is poisoned), `inputs` copied
  /// in, the host statements interpreted. Ends at the first fault.
  RunResult run(const std::map<std::string, int64_t>& sizes, const std::map<std::string, Bytes>& inputs, uint64_t seed = 0);

  TempoFault fault{-1, 0, {}};
  int32_t stop = 0;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo::emulation
