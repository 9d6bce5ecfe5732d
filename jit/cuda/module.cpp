#include "cuda/module.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "check.hpp"

namespace tempo::cuda {
namespace {

constexpr int64_t kMaxGrid = 2147483647;
constexpr int64_t kScratchBudget = int64_t{512} << 20;
constexpr int kScratchBlocksPerMultiprocessor = 16;
constexpr size_t kMaxArgumentBytes = 4096;
constexpr auto kProgressInterval = std::chrono::milliseconds(100);

}  // namespace

CudaModule::CudaModule(std::shared_ptr<const Device> device, const kir::Program& p)
    : device_(std::move(device)), program_(p), emitted_(emit(p)), host_(p) {
  std::string why;
  const Nvrtc* nvrtc = Nvrtc::get(&why);
  if (!nvrtc) throw CudaError("CUDA: " + why);
  Compiled c = nvrtc->compile(emitted_.source, device_->arch(), Image::Cubin);
  // A GPU newer than the toolkit: the driver compiles PTX of the newest known architecture.
  if (!c.ok && c.log.find("invalid value for --gpu-architecture") != std::string::npos) {
    c = nvrtc->compile(emitted_.source, 90, Image::Ptx);
  }
  if (!c.ok) throw CudaError("CUDA: the kernels do not compile for " + device_->name() + ":\n" + c.log);
  image_ = std::move(c.image);
  resources_ = std::move(c.resources);
  load();
}

CudaModule::CudaModule(std::shared_ptr<const Device> device, const kir::Program& p, std::string image)
    : device_(std::move(device)), program_(p), emitted_(emit(p)), host_(p), image_(std::move(image)) {
  load();
}

void CudaModule::load() {
  const DriverApi& api = device_->api();
  device_->makeCurrent();
  api.check(api.moduleLoad(&module_, image_.c_str()), "cuModuleLoadData", "loading the kernels");
  for (const auto& k : emitted_.kernels) {
    void* f = nullptr;
    const int rc = api.moduleFunction(&f, module_, k.symbol.c_str());
    if (rc != 0) api.moduleUnload(module_);
    api.check(rc, "cuModuleGetFunction", "finding kernel `" + k.name + "`");
    functions_.push_back(f);
  }
  handles_.resize(std::max<size_t>(1, emitted_.kernels.size()));
}

CudaModule::~CudaModule() {
  if (module_) device_->api().moduleUnload(module_);
}

TempoKernelFn CudaModule::handle(int i) const {
  return reinterpret_cast<TempoKernelFn>(const_cast<char*>(&handles_.at(static_cast<size_t>(i))));
}

int CudaModule::kernelOf(TempoKernelFn handle) const {
  const auto at = reinterpret_cast<uintptr_t>(handle), base = reinterpret_cast<uintptr_t>(handles_.data());
  return at >= base && at < base + emitted_.kernels.size() ? static_cast<int>(at - base) : -1;
}

CudaRun::CudaRun(std::shared_ptr<const CudaModule> module, std::vector<int64_t> sizes, uint64_t seed,
                 std::atomic<int32_t>* stop)
    : module_(std::move(module)),
      sizes_(std::move(sizes)),
      seed_(seed),
      stop_(stop),
      hostReads_(hostReads(module_->program())),
      stream_(*module_->device()),
      stopStream_(*module_->device()) {
  module_->device()->makeCurrent();
  allocate();
  Control c{};
  c.fault.site = -1;
  control_ = DeviceBuffer(*module_->device(), sizeof c, "the fault record");
  stream_.copyIn(control_.address(), &c, sizeof c);
  stream_.synchronize("preparing the run");
}

CudaRun::~CudaRun() {
  synchronize();  // nothing may run on memory that is about to be freed
}

void CudaRun::allocate() {
  const auto& p = module_->program();
  TEMPO_CHECK(sizes_.size() == p.sizes.size(), "a CUDA run needs every size of the program");
  Values values;
  for (size_t i = 0; i < sizes_.size(); ++i) values[p.sizes[i]] = sizes_[i];
  std::vector<int64_t> need;
  int64_t total = 0;
  for (const auto& b : p.buffers) {
    need.push_back(evaluate(b.count, values) * tempo::bytes(b.dtype));
    total += need.back();
  }
  const Device& d = *module_->device();
  if (total > d.freeBytes()) {
    const auto largest = static_cast<size_t>(std::max_element(need.begin(), need.end()) - need.begin());
    throw CudaError("CUDA: the program needs " + std::to_string(total) + " bytes on " + d.name() + ", which has " +
                    std::to_string(d.freeBytes()) + " free; the largest is `" + p.buffers[largest].name + "` with " +
                    std::to_string(need[largest]));
  }
  for (size_t i = 0; i < need.size(); ++i) {
    const auto& b = p.buffers[i];
    Place place;
    if (hostReads_[i]) {
      place.mapped = MappedBuffer(d, need[i], "`" + b.name + "`");
      if (b.zeroed) std::memset(place.mapped.get(), 0, static_cast<size_t>(need[i]));
    } else {
      place.device = DeviceBuffer(d, need[i], "`" + b.name + "`");
      if (b.zeroed) stream_.fill(place.device.address(), 0, need[i]);
    }
    buffers_.push_back(std::move(place));
  }
}

int64_t CudaRun::bytes(int buffer) const {
  const Place& p = buffers_.at(static_cast<size_t>(buffer));
  return p.mapped.get() ? p.mapped.size() : p.device.size();
}

void* CudaRun::hostPointer(int buffer) const { return buffers_.at(static_cast<size_t>(buffer)).mapped.get(); }

void CudaRun::upload(int buffer, const void* data, int64_t n) {
  TEMPO_CHECK(n <= bytes(buffer), "upload past the end of a buffer");
  module_->device()->makeCurrent();
  Place& p = buffers_.at(static_cast<size_t>(buffer));
  if (p.mapped.get()) {
    std::memcpy(p.mapped.get(), data, static_cast<size_t>(n));
    return;
  }
  stream_.copyIn(p.device.address(), data, n);
  stream_.synchronize("copying inputs to the GPU");
}

void CudaRun::download(int buffer, void* data, int64_t offset, int64_t n) {
  TEMPO_CHECK(offset >= 0 && offset + n <= bytes(buffer), "download past the end of a buffer");
  module_->device()->makeCurrent();
  wait();
  const Place& p = buffers_.at(static_cast<size_t>(buffer));
  if (p.mapped.get()) {
    std::memcpy(data, static_cast<const char*>(p.mapped.get()) + offset, static_cast<size_t>(n));
    return;
  }
  stream_.copyOut(data, p.device.address() + static_cast<DevicePtr>(offset), n);
  stream_.synchronize("copying results from the GPU");
}

void CudaRun::launch(TempoKernelFn handle, const int64_t* params, int64_t instances) noexcept {
  launchKernel(module_->kernelOf(handle), params, instances);
}

void CudaRun::launchKernel(int kernel, const int64_t* params, int64_t instances) noexcept {
  try {
    TEMPO_CHECK(kernel >= 0, "the host code launches what is not a kernel of this program");
    if (!error_.empty() || instances <= 0) return;
    if (stop_->load(std::memory_order_relaxed) != 0) forwardStop();
    enqueue(kernel, params, instances);
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

struct CudaRun::Actions : HostActions {
  CudaRun& run;
  const RunCallbacks& callbacks;
  std::chrono::steady_clock::time_point synchronized = std::chrono::steady_clock::now();

  Actions(CudaRun& r, const RunCallbacks& c) : run(r), callbacks(c) {}

  void launch(int kernel, const std::vector<int64_t>& params) override {
    const auto& k = run.module_->program().kernels.at(static_cast<size_t>(kernel));
    Values values;
    for (size_t i = 0; i < params.size(); ++i) values[k.params[i]] = params[i];
    run.launchKernel(kernel, params.data(), instances(k, values));
  }
  void effect(int effect, const std::vector<int64_t>& point) override {
    // An effect must not show what a fault has spoilt.
    if (callbacks.onEffect && run.synchronize()) callbacks.onEffect(effect, point);
  }
  void progress(int64_t done, int64_t total) override {
    // Keeps the host from running far ahead of the device, and finds faults while there is time to save.
    if (std::chrono::steady_clock::now() - synchronized > kProgressInterval) {
      run.synchronize();
      synchronized = std::chrono::steady_clock::now();
    }
    if (callbacks.onProgress) callbacks.onProgress(done, total);
  }
  double load(int buffer, int64_t index) override {
    const DType t = run.module_->program().buffers.at(static_cast<size_t>(buffer)).dtype;
    TEMPO_CHECK(index >= 0 && (index + 1) * tempo::bytes(t) <= run.bytes(buffer), "the host loop reads outside a buffer");
    return loadNumber(run.hostPointer(buffer), t, index);
  }
  bool stopped() override { return run.stop_->load(std::memory_order_relaxed) != 0; }
};

bool CudaRun::execute(const RunCallbacks& callbacks) {
  Actions actions(*this, callbacks);
  module_->host().run(sizes_, actions);
  return synchronize();
}

void CudaRun::enqueue(int kernel, const int64_t* params, int64_t instances) {
  const auto& k = module_->emitted().kernels.at(static_cast<size_t>(kernel));
  const auto& source = module_->program().kernels.at(static_cast<size_t>(kernel));
  const Device& d = *module_->device();
  d.makeCurrent();
  Values values;
  for (size_t i = 0; i < k.params; ++i) values[source.params[i]] = params[i];
  ArgHeader h;
  h.instances = instances;
  h.seed = seed_;
  h.fault = control_.get();
  h.stop = static_cast<char*>(control_.get()) + offsetof(Control, stop);
  int64_t grid = std::min(k.blocks(instances), kMaxGrid);
  if (k.scratchInGlobal) {
    h.scratchStride = scratchBytesPerBlock(source, values);
    grid = std::min<int64_t>(grid, d.multiprocessors() * kScratchBlocksPerMultiprocessor);
    grid = std::max<int64_t>(1, std::min(grid, kScratchBudget / std::max<int64_t>(1, h.scratchStride)));
    h.scratch = scratch(grid * h.scratchStride);
  }
  std::vector<void*> pointers;
  bool hostReads = false;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const auto b = static_cast<size_t>(k.buffers[i]);
    pointers.push_back(buffers_[b].get());
    hostReads = hostReads || (hostReads_[b] && source.buffers[i].written);
  }
  auto args = packArgs(h, params, k.params, pointers);
  TEMPO_CHECK(args.size() * 8 <= kMaxArgumentBytes, "kernel `" + k.name + "` has too many arguments");
  void* arguments[] = {args.data()};
  d.api().check(d.api().launch(module_->function(kernel), static_cast<unsigned>(grid), 1, 1, static_cast<unsigned>(k.threads),
                               1, 1, 0, stream_.get(), arguments, nullptr),
                "cuLaunchKernel", "launching kernel `" + k.name + "`");
  ++launches_;
  if (hostReads) wait();
}

/// One scratch area serves all kernels: launches on a stream do not overlap. Growing waits for those that use the old one.
void* CudaRun::scratch(int64_t n) {
  if (n > scratch_.size() || !scratch_.get()) {
    wait();
    scratch_ = DeviceBuffer();
    scratch_ = DeviceBuffer(*module_->device(), n, "kernel scratch");
  }
  return scratch_.get();
}

void CudaRun::forwardStop() {
  if (stopForwarded_) return;
  const int32_t one = 1;
  stopStream_.copyIn(control_.address() + offsetof(Control, stop), &one, sizeof one);
  stopStream_.synchronize("stopping the run");
  stopForwarded_ = true;
}

/// Waits for the stream, passing on a stop that arrives meanwhile.
void CudaRun::wait() {
  const auto start = std::chrono::steady_clock::now();
  while (!stream_.idle()) {
    if (stop_->load(std::memory_order_relaxed) != 0) forwardStop();
    const bool soon = std::chrono::steady_clock::now() - start < std::chrono::microseconds(200);
    if (!soon) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

bool CudaRun::synchronize() noexcept {
  try {
    module_->device()->makeCurrent();
    wait();
    Control c{};
    if (!control_.get()) return error_.empty();
    stream_.copyOut(&c, control_.address(), sizeof c);
    stream_.synchronize("reading the fault record");
    fault_ = c.fault;
    if (fault_.site != -1) stop_->store(1);
  } catch (const std::exception& e) {
    fail(e.what());
  }
  return error_.empty() && fault_.site == -1;
}

void CudaRun::fail(const std::string& what) noexcept {
  if (error_.empty()) error_ = what;
  stop_->store(1);
}

}  // namespace tempo::cuda
