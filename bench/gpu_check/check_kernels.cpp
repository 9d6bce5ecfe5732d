// Runs programs that cover every statement, op and reduction on a GPU and in the emulator, and compares every buffer.
// Exit status: 0 all agree, 1 some do not, 77 there is no GPU here.
#include <chrono>
#include <cmath>
#include <cstdio>

#include "cuda/module.hpp"
#include "cuda/ops_program.hpp"
#include "cuda/programs.hpp"

namespace {

using namespace tempo;  // NOLINT: a tool of one file
using cudatest::Bytes;

struct Work {
  const char* name;
  kir::Program program;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, Bytes> inputs;
};

std::vector<double> pattern(int64_t n, bool signedValues) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>((i * 37) % 101 - (signedValues ? 50 : 0)));
  return v;
}

std::vector<Work> works() {
  std::vector<Work> w;
  cudatest::Builder ops;
  cudatest::buildOps(ops);
  w.push_back({"ops", ops.program, {}, ops.inputs});
  const int64_t T = 50, D = 700;
  w.push_back({"statements", cudatest::parse(cudatest::kEverything), {{"T", T}, {"D", D}},
               {{"x", cudatest::pack(DType::F32, pattern(T * D, false))}}});
  const int64_t N = 10000;
  w.push_back({"reductions", cudatest::parse(cudatest::kReductions), {{"N", N}, {"M", 300}},
               {{"x", cudatest::pack(DType::F32, pattern(N, true))}, {"k", cudatest::pack(DType::I64, pattern(N, true))}}});
  w.push_back({"random", cudatest::parse(cudatest::kRandom), {{"N", 100000}}, {}});
  return w;
}

/// The libraries of the two sides differ by an ulp or two; everything that is not a function of libm agrees exactly.
bool close(DType t, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  if (!isFloat(t) || std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= (t == DType::F32 ? 1e-6 : 1e-14) * std::max(1.0, std::fabs(b));
}

bool compare(const Work& w, const kir::HostBuffer& b, const Bytes& got, const Bytes& want) {
  if (b.role == kir::HostBuffer::Role::Temp || b.dtype == DType::BF16 || b.dtype == DType::F16) return true;
  const auto x = cudatest::unpack(b.dtype, got), y = cudatest::unpack(b.dtype, want);
  int wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (close(b.dtype, x[i], y[i])) continue;
    if (wrong++ == 0) std::printf("  %s %s[%zu]: GPU %.17g, emulator %.17g\n", w.name, b.name.c_str(), i, x[i], y[i]);
  }
  if (wrong) std::printf("  %s %s: %d of %zu differ\n", w.name, b.name.c_str(), wrong, x.size());
  return wrong == 0;
}

bool check(const Work& w, const std::shared_ptr<const cuda::Device>& device) {
  using Clock = std::chrono::steady_clock;
  auto milliseconds = [](Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double, std::milli>(b - a).count();
  };
  const auto start = Clock::now();
  auto module = std::make_shared<cuda::CudaModule>(device, w.program);
  const auto compiled = Clock::now();
  std::vector<int64_t> sizes;
  for (const auto& s : w.program.sizes) sizes.push_back(w.sizes.at(s));
  std::atomic<int32_t> stop{0};
  cuda::CudaRun run(module, sizes, 1, &stop);
  for (size_t i = 0; i < w.program.buffers.size(); ++i) {
    auto it = w.inputs.find(w.program.buffers[i].name);
    if (it != w.inputs.end()) run.upload(static_cast<int>(i), it->second.data(), static_cast<int64_t>(it->second.size()));
  }
  const auto uploaded = Clock::now();
  bool ok = run.execute({});
  const auto done = Clock::now();
  if (!ok) std::printf("  %s: %s, fault site %lld\n", w.name, run.error().c_str(), static_cast<long long>(run.fault().site));
  cudatest::Emulator emulator;
  emulator.options.checkAccesses = false;
  emulator.compile(w.program);
  auto want = emulator.run(w.sizes, w.inputs, 1);
  for (size_t i = 0; ok && i < w.program.buffers.size(); ++i) {
    Bytes got(static_cast<size_t>(run.bytes(static_cast<int>(i))));
    run.download(static_cast<int>(i), got.data(), 0, static_cast<int64_t>(got.size()));
    ok = compare(w, w.program.buffers[i], got, want.buffers.at(w.program.buffers[i].name)) && ok;
  }
  std::printf("%s %s: compile %.1f ms, run %.3f ms, %lld launches\n", ok ? "ok  " : "FAIL", w.name,
              milliseconds(start, compiled), milliseconds(uploaded, done), static_cast<long long>(run.launches()));
  return ok;
}

}  // namespace

int main() {
  std::string why;
  if (!cuda::cudaAvailable(&why)) {
    std::printf("no GPU: %s\n", why.c_str());
    return 77;
  }
  try {
    auto device = std::make_shared<const cuda::Device>();
    std::printf("%s, sm_%d, %d multiprocessors, cuBLAS %d\n", device->name().c_str(), device->arch(), device->multiprocessors(),
                cuda::cublasVersion());
    bool ok = true;
    for (const auto& w : works()) ok = check(w, device) && ok;
    return ok ? 0 : 1;
  } catch (const std::exception& e) {
    std::printf("FAIL: %s\n", e.what());
    return 1;
  }
}
