// Memory of a run, 64-byte aligned, counted.
#pragma once

#include <cstdint>
#include <memory>

namespace tempo {

/// Bytes held and the most ever held by blocks allocated through it. The blocks keep it alive.
class MemoryCounter : public std::enable_shared_from_this<MemoryCounter> {
 public:
  /// Zeroed; at least one cache line, so that no pointer is null. Throws std::bad_alloc.
  std::shared_ptr<void> allocate(int64_t bytes);
  int64_t held() const { return held_; }
  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0, peak_ = 0;
};

/// Rounded up to a cache line.
inline int64_t alignedBytes(int64_t bytes) { return bytes < 1 ? 64 : (bytes + 63) / 64 * 64; }

}  // namespace tempo
