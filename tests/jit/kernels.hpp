// Running kernels given as text on arrays given by name.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cpu/compile.hpp"
#include "kernel/kir.hpp"
#include "runtime/launch.hpp"
#include "sdg/dtype.hpp"

namespace tempo::test {

/// Bytes on a 64-byte boundary.
struct Bytes {
  explicit Bytes(size_t n) : size(n), data(static_cast<char*>(std::aligned_alloc(64, (n + 127) / 64 * 64)), std::free) {
    std::memset(data.get(), 0, n);
  }
  size_t size;
  std::unique_ptr<char, void (*)(void*)> data;
};

/// A program compiled once, with its buffers, ready to be run with chosen sizes.
class Run {
 public:
  explicit Run(const std::string& text, CpuOptions options = {}) : Run(kir::parseProgram(text), options) {}
  explicit Run(kir::Program p, CpuOptions options = {}) : program(std::move(p)), module(compileCpu(program, options)) {
    for (const auto& b : program.buffers) index_[b.name] = index_.size();
    bytes_.resize(program.buffers.size());
  }

  template <class T>
  T* alloc(const std::string& name, size_t n, size_t offset = 0) {
    auto& slot = bytes_.at(index_.at(name));
    slot = std::make_unique<Bytes>((n + offset) * sizeof(T) + 64);
    offsets_[name] = offset * sizeof(T);
    return get<T>(name);
  }
  template <class T>
  T* get(const std::string& name) {
    return reinterpret_cast<T*>(bytes_.at(index_.at(name))->data.get() + offsets_[name]);
  }
  template <class T>
  void set(const std::string& name, const std::vector<T>& v, size_t offset = 0) {
    T* p = alloc<T>(name, v.size(), offset);
    for (size_t i = 0; i < v.size(); ++i) p[i] = v[i];
  }
  template <class T>
  std::vector<T> values(const std::string& name, size_t n) {
    return std::vector<T>(get<T>(name), get<T>(name) + n);
  }

  /// Calls the host function. `threads` 0: serial flag set.
  void operator()(const std::vector<int64_t>& sizes, int threads = 0) {
    prepare(sizes, threads);
    module->host()(&context);
  }

  void prepare(const std::vector<int64_t>& sizes, int threads = 0) {
    sizes_ = sizes;
    pointers_.clear();
    for (const auto& b : program.buffers) {
      const auto& s = bytes_[index_[b.name]];
      pointers_.push_back(s ? s->data.get() + offsets_[b.name] : nullptr);
    }
    pool_ = threads > 1 ? std::make_unique<ThreadPool>(threads) : nullptr;
    runtime.pool = pool_.get();
    runtime.faulted.clear();
    stop = 0;
    fault = {.site = -1, .count = 0, .values = {}};
    context = {};
    context.buffers = pointers_.data();
    context.sizes = sizes_.data();
    context.seed = seed;
    context.stop = &stop;
    context.fault = &fault;
    context.runtime = &runtime;
    context.serial = threads == 0;
  }

  kir::Program program;
  std::shared_ptr<CpuModule> module;
  Runtime runtime;
  TempoContext context{};
  TempoFault fault{};
  std::atomic<int32_t> stop{0};
  uint64_t seed = 0;

 private:
  std::map<std::string, size_t> index_;
  std::map<std::string, size_t> offsets_;
  std::vector<std::unique_ptr<Bytes>> bytes_;
  std::vector<void*> pointers_;
  std::vector<int64_t> sizes_;
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace tempo::test
