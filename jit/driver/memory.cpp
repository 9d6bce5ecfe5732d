#include "driver/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tempo {
namespace {

/// From here on pages come from the kernel, zeroed when first touched.
constexpr int64_t kMapFrom = 1 << 20, kHugeFrom = 64 << 20;

}  // namespace

std::shared_ptr<void> MemoryCounter::allocate(int64_t bytes) {
  const int64_t size = alignedBytes(bytes);
  void* p = nullptr;
  if (size >= kMapFrom) {
    p = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    if (size >= kHugeFrom) ::madvise(p, static_cast<size_t>(size), MADV_HUGEPAGE);
  } else {
    p = std::aligned_alloc(64, static_cast<size_t>(size));
    if (!p) throw std::bad_alloc();
    std::memset(p, 0, static_cast<size_t>(size));
  }
  held_ += size;
  peak_ = std::max(peak_, held_);
  return {p, [self = shared_from_this(), size](void* q) {
            self->held_ -= size;
            if (size >= kMapFrom) {
              ::munmap(q, static_cast<size_t>(size));
            } else {
              std::free(q);
            }
          }};
}

}  // namespace tempo
