// Facts about kernels that decide how they are mapped to blocks and threads. Internal to jit/cuda.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/kir.hpp"

namespace tempo::cuda {

/// hi - lo, if both are literals.
std::optional<int64_t> literalExtent(const kir::Loop& l);
/// Iterations of a nest whose bounds are all literals.
std::optional<int64_t> literalExtent(const std::vector<kir::Loop>& loops);
/// How many leading loops form a box: their bounds use none of their variables.
size_t boxPrefix(const std::vector<kir::Loop>& loops);
/// Loops of directly nested Par statements, outermost first, and the innermost body.
struct ParNest {
  std::vector<kir::Loop> loops;
  const kir::Block* body;
};
ParNest parNest(const kir::Stmt& par);

/// Adds the buffers `e` loads from.
void collectLoads(const kir::ExprPtr& e, std::set<std::string>& out);
/// Buffers and scratch by name.
struct Accesses {
  std::set<std::string> reads, writes;
  bool empty() const { return reads.empty() && writes.empty(); }
  void add(const Accesses& o) {
    reads.insert(o.reads.begin(), o.reads.end());
    writes.insert(o.writes.begin(), o.writes.end());
  }
};
/// Adds everything a statement and those inside it load and store.
void collectAccesses(const kir::Stmt& s, Accesses& out);
bool contains(const kir::Block& b, kir::Stmt::Kind kind);

/// A reduction so short that every thread may as well do all of it.
bool isShort(const kir::Stmt& reduce);
bool isArg(tempo::Reduce r);

/// One thread per instance: nothing in the kernel would occupy a block.
bool threadPerInstance(const kir::Kernel& k);
/// Threads of a block: a power of two from 32 to 256, of the literal extents in the kernel.
int blockSize(const kir::Kernel& k);
/// Bytes of shared memory that block-wide reductions need per thread; 0 if there are none.
int reduceSlotBytes(const kir::Kernel& k);

struct ScratchPlace {
  bool shared;
  int64_t offset;  // in shared memory; global offsets depend on the parameters
};
/// For each scratch of the kernel. `sharedBytes` starts at what is taken and is advanced.
std::vector<ScratchPlace> placeScratch(const kir::Kernel& k, int64_t& sharedBytes);

inline int64_t align16(int64_t n) { return (n + 15) / 16 * 16; }

}  // namespace tempo::cuda
