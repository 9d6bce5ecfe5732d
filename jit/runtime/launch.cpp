#include "runtime/launch.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

tempo::Runtime* runtimeOf(TempoContext* ctx) { return static_cast<tempo::Runtime*>(ctx->runtime); }

// Runs a callback; what it throws must not unwind through compiled code.
template <class F>
void guarded(TempoContext* ctx, const F& f) {
  try {
    f();
  } catch (...) {
    auto* rt = runtimeOf(ctx);
    if (!rt->error) rt->error = std::current_exception();
    ctx->stop->store(1, std::memory_order_relaxed);
  }
}

}  // namespace

extern "C" {

void tempo_rt_launch(TempoContext* ctx, TempoKernelFn kernel, const int64_t* params, int64_t instances, int64_t) {
  auto* rt = runtimeOf(ctx);
  if (!rt || !rt->pool) {
    kernel(ctx, params, 0, instances, 0);
    return;
  }
  rt->pool->run(instances, [=](int worker, int64_t begin, int64_t end) { kernel(ctx, params, begin, end, worker); });
}

void tempo_rt_effect(TempoContext* ctx, int32_t effect, const int64_t* point) {
  auto* rt = runtimeOf(ctx);
  if (rt && rt->onEffect) guarded(ctx, [&] { rt->onEffect(effect, point); });
}

void tempo_rt_progress(TempoContext* ctx, int64_t done, int64_t total) {
  auto* rt = runtimeOf(ctx);
  if (rt && rt->onProgress) guarded(ctx, [&] { rt->onProgress(done, total); });
}

void tempo_rt_fault(TempoContext* ctx, int64_t site, const int64_t* values, int32_t count) {
  auto* rt = runtimeOf(ctx);
  const bool first = rt ? !rt->faulted.test_and_set() : ctx->fault->site < 0;
  if (first) {
    ctx->fault->count = std::min<int64_t>(count, 8);
    std::copy_n(values, ctx->fault->count, ctx->fault->values);
    ctx->fault->site = site;
  }
  ctx->stop->store(1, std::memory_order_release);
}

void tempo_rt_scratch(TempoContext* ctx, int64_t bytes) {
  auto* rt = runtimeOf(ctx);
  guarded(ctx, [&] {
    const int64_t each = (bytes + 63) / 64 * 64;
    const auto total = static_cast<size_t>(each) * static_cast<size_t>(rt->threads());
    void* p = std::aligned_alloc(64, total);
    if (!p) throw std::bad_alloc();
    rt->scratch = {static_cast<char*>(p), [](char* q) { std::free(q); }};
    ctx->scratch = static_cast<char*>(p);
    ctx->scratchBytes = each;
  });
}

}  // extern "C"
