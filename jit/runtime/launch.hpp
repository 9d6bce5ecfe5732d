// What stands behind TempoContext::runtime.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "runtime/abi.hpp"
#include "runtime/threads.hpp"

namespace tempo {

/// Callbacks and threads of one run. Callbacks run on the thread that called the host function; what they throw is kept in
/// `error` and stops the run. Must outlive the run.
struct Runtime {
  std::function<void(int32_t effect, const int64_t* point)> onEffect;
  std::function<void(int64_t done, int64_t total)> onProgress;
  ThreadPool* pool = nullptr;      // null: everything on the calling thread
  std::exception_ptr error;
  std::atomic_flag faulted;        // the first fault is the one told
  std::unique_ptr<char, void (*)(char*)> scratch{nullptr, nullptr};

  int threads() const { return pool ? pool->threads() : 1; }
};

}  // namespace tempo
