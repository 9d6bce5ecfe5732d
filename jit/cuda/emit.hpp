// Kernel IR to CUDA C++: one translation unit per program, for NVRTC and, as the same text, for the emulator.
//
// MAPPING. A kernel with Par nests, scratch, or large reductions runs one block per instance; blocks stride over the
// instances when the grid is smaller. Directly nested Par loops whose bounds do not depend on one another are flattened and
// strided over the threads; the rest of a nest is a loop of one thread. A kernel with none of these runs one thread per
// instance. Code outside Par nests is executed by all threads with the same values, stores there by thread 0.
// BARRIERS. Outside Par nests code sees what all earlier code wrote: where a statement touches a buffer or scratch that
// threads may still be writing, or writes one that they may still be reading, a barrier comes first. Loops that write end
// their iterations with one.
// REDUCTIONS. Strided partial results per thread in order, then a tree over the block: the shape depends on the block size,
// which is a function of the kernel alone. So the bits do not depend on the device or the grid.
// NOT OPTIMAL YET: f32 reductions use shared memory without warp shuffles and one tree per accumulator; contractions are
// not tiled and use no tensor cores; triangular nests spread only their outer loops; block sizes come from literal extents
// alone; there are no vector loads, no CUDA graphs and no cooperation between blocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernel/kir.hpp"

namespace tempo::cuda {

struct EmittedKernel {
  std::string name;             // of the kir::Kernel
  std::string symbol;           // of the extern "C" function
  int threads = 32;             // block size, a power of two
  bool threadPerInstance = false;
  int64_t sharedBytes = 0;      // static
  std::vector<int> buffers;     // indices into Program::buffers, in the order of the argument block
  size_t params = 0;
  bool scratchInGlobal = false;

  /// Blocks that cover `instances` without striding.
  int64_t blocks(int64_t instances) const { return threadPerInstance ? (instances + threads - 1) / threads : instances; }
};

struct Emitted {
  std::string source;  // device header and kernels
  std::vector<EmittedKernel> kernels;
};

/// Throws InternalError where the program is not valid Kernel IR or uses what CUDA does not support (library calls).
Emitted emit(const kir::Program& p);
/// The kernels alone, without the device header: what `tempo emit --cuda` shows.
std::string emitKernels(const kir::Program& p);
const char* deviceHeader();

using Values = std::map<std::string, int64_t>;
/// Value of an integer or bool expression over parameters. Throws InternalError on floats and loads.
int64_t evaluate(const kir::ExprPtr& e, const Values& values);
/// Meaning of an integer or logic op on i64; `b` is ignored by ops of one operand.
int64_t integerOp(Op op, int64_t a, int64_t b);
/// Which of the program's buffers the host statements load from: they must be readable by the host after every launch.
std::vector<bool> hostReads(const kir::Program& p);
/// Instances of the kernel's grid.
int64_t instances(const kir::Kernel& k, const Values& params);
/// Bytes of global scratch one block needs; 0 when the kernel's scratch is in shared memory.
int64_t scratchBytesPerBlock(const kir::Kernel& k, const Values& params);

/// Everything of an argument block but parameters and buffers. Layout: TempoArgs in the device header.
struct ArgHeader {
  int64_t instances = 0;
  uint64_t seed = 0;
  void* stop = nullptr;
  void* fault = nullptr;
  void* scratch = nullptr;
  int64_t scratchStride = 0;
};
/// The bytes of a kernel's argument block, as 8-byte words.
std::vector<uint64_t> packArgs(const ArgHeader& h, const int64_t* params, size_t paramCount,
                               const std::vector<void*>& buffers);

}  // namespace tempo::cuda
