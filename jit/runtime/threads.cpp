#include "runtime/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace tempo {

namespace {

constexpr int kSpins = 20'000;      // about 50 us: longer than the gap between two kernels, shorter than a time slice
constexpr int kSpinsCrowded = 100;  // more threads than cores: whoever is waited for needs the core

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::vector<int> allowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int c = 0; c < CPU_SETSIZE; ++c) {
    if (CPU_ISSET(c, &set)) out.push_back(c);
  }
  return out;
}

void pin(std::thread& t, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(t.native_handle(), sizeof set, &set);
}

}  // namespace

int ThreadPool::cores() { return std::max<int>(1, static_cast<int>(allowedCores().size())); }

ThreadPool::ThreadPool(int threads) {
  const auto cores = allowedCores();
  const bool room = threads <= static_cast<int>(cores.size());
  spins_ = room ? kSpins : kSpinsCrowded;
  for (int k = 1; k < threads; ++k) {
    workers_.emplace_back([this, k] { work(k); });
    if (room) pin(workers_.back(), cores[static_cast<size_t>(k)]);
  }
}

ThreadPool::~ThreadPool() {
  quit_ = true;
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (auto& t : workers_) t.join();
}

void ThreadPool::chunk(int index) const {
  const int64_t n = threads();
  const int64_t each = count_ / n, extra = count_ % n;
  const int64_t begin = each * index + std::min<int64_t>(index, extra);
  const int64_t end = begin + each + (index < extra ? 1 : 0);
  if (begin < end) (*job_)(index, begin, end);
}

void ThreadPool::work(int index) {
  uint32_t seen = 0;
  while (true) {
    for (int k = 0; k < spins_ && epoch_.load(std::memory_order_acquire) == seen; ++k) relax();
    while (epoch_.load(std::memory_order_acquire) == seen) epoch_.wait(seen, std::memory_order_acquire);
    seen = epoch_.load(std::memory_order_acquire);
    if (quit_) return;
    chunk(index);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
  }
}

void ThreadPool::run(int64_t n, const std::function<void(int, int64_t, int64_t)>& job) {
  if (n <= 0) return;
  if (workers_.empty() || n == 1) {
    job(0, 0, n);
    return;
  }
  const std::lock_guard lock(busy_);
  job_ = &job;
  count_ = n;
  left_.store(static_cast<int32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  chunk(0);
  for (int k = 0; k < spins_ && left_.load(std::memory_order_acquire) != 0; ++k) relax();
  for (int32_t v = left_.load(std::memory_order_acquire); v != 0; v = left_.load(std::memory_order_acquire)) {
    left_.wait(v, std::memory_order_acquire);
  }
}

}  // namespace tempo
