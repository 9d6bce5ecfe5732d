// The real launch path on the fake driver: NVRTC compiles, the fake loads, checks every call and runs the kernels through the
// emulator on its own memory.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "catch.hpp"
#include "check.hpp"
#include "cuda/common.hpp"
#include "cuda/dynamic_library.hpp"
#include "cuda/module.hpp"
#include "cuda_emulation/fake_driver/fake_driver.hpp"

namespace tempo::cudatest {
namespace {

const fake::Controls& controls() {
  static const fake::Controls* c = [] {
    setenv("TEMPO_CUDA_DRIVER", TEMPO_FAKE_CUDA, 1);
    void* library = dlopen(TEMPO_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    return reinterpret_cast<const fake::Controls* (*)()>(dlsym(library, "tempo_fake_controls"))();
  }();
  return *c;
}

/// Executes what the fake driver is told to launch.
struct DeviceSimulator {
  Emulator emulator;
  int launches = 0;
  unsigned largestGrid = 0;
  std::string error;

  explicit DeviceSimulator(const kir::Program& p) {
    emulator.compile(p);
    controls().setRunner(&run, &argumentBytes, this);
  }
  ~DeviceSimulator() { controls().setRunner(nullptr, nullptr, nullptr); }

  int kernel(const std::string& symbol) const {
    for (size_t i = 0; i < emulator.emitted().kernels.size(); ++i) {
      if (emulator.emitted().kernels[i].symbol == symbol) return static_cast<int>(i);
    }
    return -1;
  }

  static int64_t argumentBytes(const char* symbol, void* user) {
    auto& self = *static_cast<DeviceSimulator*>(user);
    const auto& k = self.emulator.emitted().kernels.at(static_cast<size_t>(self.kernel(symbol)));
    return static_cast<int64_t>(8 * (6 + std::max<size_t>(1, k.params) + std::max<size_t>(1, k.buffers.size())));
  }

  static int run(const char* symbol, unsigned grid, unsigned block, const void* args, void* user) {
    auto& self = *static_cast<DeviceSimulator*>(user);
    const int i = self.kernel(symbol);
    const auto& k = self.emulator.emitted().kernels.at(static_cast<size_t>(i));
    if (block != static_cast<unsigned>(k.threads)) return 1;
    const auto* words = static_cast<const uint64_t*>(args);
    std::vector<int64_t> sizes;
    for (size_t b = 0; b < k.buffers.size(); ++b) {
      sizes.push_back(controls().sizeOf(reinterpret_cast<const void*>(words[6 + std::max<size_t>(1, k.params) + b])));
      if (sizes.back() < 0) return 700;
    }
    if (controls().sizeOf(reinterpret_cast<const void*>(words[3])) < 0) return 700;
    const auto stride = static_cast<int64_t>(words[5]);
    if (stride > 0 && controls().sizeOf(reinterpret_cast<const void*>(words[4])) < stride * grid) return 700;
    self.largestGrid = std::max(self.largestGrid, grid);
    ++self.launches;
    try {
      self.emulator.launchRaw(i, grid, args, sizes, stride * grid);
    } catch (const std::exception& e) {
      self.error = e.what();
      return 700;
    }
    return 0;
  }
};

std::shared_ptr<const cuda::CudaModule> load(const kir::Program& p) {
  return std::make_shared<cuda::CudaModule>(std::make_shared<cuda::Device>(), p);
}

bool ready() {
  controls();
  std::string why;
  if (cuda::cudaAvailable(&why)) return true;
  WARN("skipped: " << why);
  return false;
}

// A loop whose length depends on what the device computes; scratch in global memory; many instances.
const char* kLoop = R"(sizes T, N
buffer x: f32[N] input
buffer y: f32[N] output zeroed
buffer total: f32[1] temp zeroed
buffer unused: i64[0] temp
kernel step(t, N) {
  buffer x: f32
  buffer y: f32 written
  scratch s: f32[N]
  grid(i in 0 .. N) {
    par k in 0 .. N {
      s[k] = x[k] * f32(t + 1)
    }
    par one in 0 .. 1 {
      y[i] = y[i] + s[(N - 1) - i]
    }
  }
}
kernel sum(N) {
  buffer y: f32
  buffer total: f32 written
  grid() {
    reduce i in 0 .. N {
      sum s: f32 = y[i]
    }
    total[0] = s
  }
}
host {
  for t in 0 .. T {
    if total[0] < 1000:f32 {
      launch step(t, N)
      launch sum(N)
      effect 4(t)
    }
    progress(t + 1, T)
  }
}
)";

}  // namespace

TEST_CASE("a program runs on the driver from upload to download") {
  if (!ready()) return;
  const auto p = parse(kLoop);
  {
    DeviceSimulator simulator(p);
    std::atomic<int32_t> stop{0};
    const int64_t N = 100;
    cuda::CudaRun run(load(p), {10, N}, 1, &stop);
    std::vector<float> x(static_cast<size_t>(N)), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 4);  // sums to 150
    run.upload(0, x.data(), run.bytes(0));
    std::vector<int64_t> effects;
    std::vector<float> totals;
    int64_t progress = 0;
    const bool ok = run.execute({[&](int effect, const std::vector<int64_t>& point) {
                                   CHECK(effect == 4);
                                   effects.push_back(point.at(0));
                                   float total = 0;
                                   run.download(2, &total, 0, 4);
                                   totals.push_back(total);
                                 },
                                 [&](int64_t done, int64_t total) {
                                   CHECK(total == 10);
                                   progress = done;
                                 }});
    INFO(run.error() << simulator.error);
    REQUIRE(ok);
    // 150, then 450, 900, 1500.
    CHECK(effects == std::vector<int64_t>{0, 1, 2, 3});
    CHECK(totals == std::vector<float>{150, 450, 900, 1500});
    CHECK(progress == 10);
    CHECK(simulator.launches == 8);
    CHECK(simulator.largestGrid <= 64);  // scratch: 16 blocks on each of 4 multiprocessors
    run.download(1, y.data(), 0, run.bytes(1));
    for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 10 * x[x.size() - 1 - i]);
    float last = 0;
    run.download(1, &last, run.bytes(1) - 4, 4);
    CHECK(last == y.back());
  }
  CHECK(controls().liveObjects() == 0);
}

TEST_CASE("host code launches kernels by their handles") {
  if (!ready()) return;
  const auto p = parse(kLoop);
  DeviceSimulator simulator(p);
  std::atomic<int32_t> stop{0};
  auto module = load(p);
  CHECK(module->kernelOf(module->handle(0)) == 0);
  CHECK(module->kernelOf(module->handle(1)) == 1);
  CHECK(module->kernelOf(nullptr) == -1);
  cuda::CudaRun run(module, {1, 5}, 1, &stop);
  const std::vector<float> x = {1, 2, 3, 4, 5};
  run.upload(0, x.data(), run.bytes(0));
  const int64_t params[] = {2, 5};
  run.launch(module->handle(0), params, 5);
  run.launch(module->handle(0), params, 0);  // nothing to do
  CHECK(run.synchronize());
  CHECK(run.launches() == 1);
  std::vector<float> y(5);
  run.download(1, y.data(), 0, 20);
  CHECK(y == std::vector<float>{15, 12, 9, 6, 3});
  CHECK(run.hostPointer(0) == nullptr);
  CHECK(run.hostPointer(2) != nullptr);  // the host loop reads it
  run.launch(nullptr, params, 1);
  CHECK(!run.error().empty());
  CHECK(stop == 1);
}

TEST_CASE("faults of kernels reach the host") {
  if (!ready()) return;
  const auto p = parse(R"(sizes N
buffer x: i64[N] input
buffer y: i64[N] output zeroed
kernel k(N) {
  buffer x: i64
  buffer y: i64 written
  grid() {
    par i in 0 .. N {
      check x[i] >= 0 site 3(i, x[i])
      y[i] = x[i]
    }
  }
}
host {
  launch k(N)
  progress(1, 2)
  launch k(N)
}
)");
  DeviceSimulator simulator(p);
  std::atomic<int32_t> stop{0};
  cuda::CudaRun run(load(p), {4}, 1, &stop);
  const std::vector<int64_t> x = {5, 6, -7, 8};
  run.upload(0, x.data(), run.bytes(0));
  CHECK(!run.execute({}));
  CHECK(run.error().empty());
  CHECK(run.fault().site == 3);
  CHECK(run.fault().count == 2);
  CHECK(run.fault().values[0] == 2);
  CHECK(run.fault().values[1] == -7);
  CHECK(stop == 1);
}

TEST_CASE("a stop by the user ends the host loop and reaches kernels") {
  if (!ready()) return;
  const auto p = parse(kLoop);
  DeviceSimulator simulator(p);
  std::atomic<int32_t> stop{0};
  cuda::CudaRun run(load(p), {1000, 4}, 1, &stop);
  const std::vector<float> x(4, 0.0f);
  run.upload(0, x.data(), run.bytes(0));
  int64_t seen = 0;
  CHECK(run.execute({nullptr, [&](int64_t done, int64_t) {
                       seen = done;
                       if (done == 3) stop = 1;
                     }}));
  CHECK(seen == 3);
}

TEST_CASE("what the driver refuses is told in words") {
  if (!ready()) return;
  const auto p = parse(kLoop);
  std::atomic<int32_t> stop{0};
  auto module = load(p);
  controls().setMemory(1000);
  std::string message;
  try {
    cuda::CudaRun run(module, {1, 400}, 1, &stop);
  } catch (const cuda::CudaError& e) {
    message = e.what();
  }
  controls().setMemory(int64_t{1} << 30);
  CHECK(message.find("needs 3204 bytes on Fake GPU, which has 1000 free") != std::string::npos);
  CHECK(message.find("the largest is `x`") != std::string::npos);
  CHECK_THROWS_AS(cuda::CudaModule(module->device(), p, "not an image"), cuda::CudaError);
  CHECK_THROWS_AS(cuda::CudaRun(module, {1}, 1, &stop), InternalError);
}

TEST_CASE("the compiler's image can be kept and loaded again") {
  if (!ready()) return;
  const auto p = parse(kLoop);
  auto module = load(p);
  CHECK(module->resources().at("k_step").registers > 0);
  auto again = std::make_shared<cuda::CudaModule>(module->device(), p, module->image());
  CHECK(again->image() == module->image());
  CHECK(again->function(1) != nullptr);
}

TEST_CASE("missing libraries are named") {
  cuda::DynamicLibrary none;
  CHECK(!none.open({"libtempo-is-not-here.so.1"}));
  CHECK(none.symbol("x") == nullptr);
  const auto paths = cuda::cudaToolkitPaths({"libnvrtc.so.13"});
  CHECK(paths.front() == "libnvrtc.so.13");
  CHECK(std::find(paths.begin(), paths.end(), "/usr/local/cuda/lib64/libnvrtc.so.13") != paths.end());
}

}  // namespace tempo::cudatest
