// Worker threads for kernel launches.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tempo {

/// A fixed set of workers. The calling thread is worker 0; the others are pinned one per core (if there are cores
/// enough), spin for a moment after each job and then sleep. One job at a time; a second caller waits.
class ThreadPool {
 public:
  /// `threads` counts the caller; at least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  /// Calls job(worker, begin, end) with [0, n) cut into one contiguous chunk per worker, a function of n and the number of
  /// threads alone. Empty chunks are not called. Returns when all are done. The job must not throw.
  void run(int64_t n, const std::function<void(int, int64_t, int64_t)>& job);

  /// Cores this process may use.
  static int cores();

 private:
  std::vector<std::thread> workers_;
  std::mutex busy_;
  const std::function<void(int, int64_t, int64_t)>* job_ = nullptr;
  int64_t count_ = 0;
  std::atomic<uint32_t> epoch_{0};
  std::atomic<int32_t> left_{0};
  std::atomic<bool> quit_{false};
  int spins_ = 0;

  void work(int index);
  void chunk(int index) const;
};

}  // namespace tempo
