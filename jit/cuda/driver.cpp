#include "cuda/driver.hpp"

#include <cstdlib>

#include "cuda/dynamic_library.hpp"
#include "cuda/nvrtc.hpp"

namespace tempo::cuda {
namespace {

constexpr int kNotReady = 600;
constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76;  // device attributes
constexpr unsigned kNonBlocking = 1, kPortableMapped = 1 | 2;

struct LoadedDriver {
  DynamicLibrary library;
  DriverApi api;
  std::string missing;
  LoadedDriver() { missing = load(); }
  std::string load();
  bool findAll();
};

std::string LoadedDriver::load() {
  const char* own = std::getenv("TEMPO_CUDA_DRIVER");
  const std::string path = own && *own ? own : "libcuda.so.1";
  if (!library.open({path})) return path + " not found: no NVIDIA driver";
  if (!findAll()) return library.path() + " is older than CUDA 11: no usable NVIDIA driver";
  int rc = api.init(0);
  const char* text = nullptr;
  if (rc != 0) {
    api.errorString(rc, &text);
    return "the NVIDIA driver does not start: " + std::string(text ? text : "error " + std::to_string(rc));
  }
  int count = 0;
  rc = api.deviceCount(&count);
  if (rc != 0 || count == 0) return "the NVIDIA driver finds no GPU";
  return "";
}

bool LoadedDriver::findAll() {
  const auto& l = library;
  return l.find(api.init, {"cuInit"}) && l.find(api.driverVersion, {"cuDriverGetVersion"}) &&
         l.find(api.deviceCount, {"cuDeviceGetCount"}) && l.find(api.deviceGet, {"cuDeviceGet"}) &&
         l.find(api.deviceName, {"cuDeviceGetName"}) && l.find(api.deviceAttribute, {"cuDeviceGetAttribute"}) &&
         l.find(api.primaryRetain, {"cuDevicePrimaryCtxRetain"}) &&
         l.find(api.primaryRelease, {"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"}) &&
         l.find(api.setCurrent, {"cuCtxSetCurrent"}) && l.find(api.moduleLoad, {"cuModuleLoadData"}) &&
         l.find(api.moduleUnload, {"cuModuleUnload"}) && l.find(api.moduleFunction, {"cuModuleGetFunction"}) &&
         l.find(api.memInfo, {"cuMemGetInfo_v2"}) && l.find(api.alloc, {"cuMemAlloc_v2"}) &&
         l.find(api.free, {"cuMemFree_v2"}) && l.find(api.hostAlloc, {"cuMemHostAlloc"}) &&
         l.find(api.hostFree, {"cuMemFreeHost"}) && l.find(api.toDevice, {"cuMemcpyHtoDAsync_v2"}) &&
         l.find(api.toHost, {"cuMemcpyDtoHAsync_v2"}) && l.find(api.fill, {"cuMemsetD8Async"}) &&
         l.find(api.streamCreate, {"cuStreamCreate"}) && l.find(api.streamDestroy, {"cuStreamDestroy_v2"}) &&
         l.find(api.streamSynchronize, {"cuStreamSynchronize"}) && l.find(api.streamQuery, {"cuStreamQuery"}) &&
         l.find(api.launch, {"cuLaunchKernel"}) && l.find(api.errorName, {"cuGetErrorName"}) &&
         l.find(api.errorString, {"cuGetErrorString"});
}

}  // namespace

const DriverApi* DriverApi::get(std::string* why) {
  static LoadedDriver loaded;
  if (loaded.missing.empty()) return &loaded.api;
  if (why) *why = loaded.missing;
  return nullptr;
}

void DriverApi::check(int rc, const char* call, const std::string& purpose) const {
  if (rc == 0) return;
  const char *n = nullptr, *s = nullptr;
  errorName(rc, &n);
  errorString(rc, &s);
  throw CudaError("CUDA: " + purpose + " failed: " + (s ? s : "unknown error") + " (" + call + ", " +
                  (n ? n : std::to_string(rc)) + ")");
}

bool cudaAvailable(std::string* why) { return DriverApi::get(why) != nullptr && Nvrtc::get(why) != nullptr; }

int cublasVersion() {
  static const int version = [] {
    DynamicLibrary library;
    int (*property)(int, int*) = nullptr;
    if (!library.open(cudaToolkitPaths({"libcublas.so.13", "libcublas.so.12", "libcublas.so"}))) return 0;
    if (!library.find(property, {"cublasGetProperty"})) return 0;
    int part[3] = {0, 0, 0};
    for (int i = 0; i < 3; ++i) property(i, &part[i]);
    return part[0] * 10000 + part[1] * 100 + part[2];
  }();
  return version;
}

Device::Device() : api_(nullptr) {
  std::string why;
  api_ = DriverApi::get(&why);
  if (!api_) throw CudaError("CUDA: " + why);
  api_->check(api_->deviceGet(&device_, 0), "cuDeviceGet", "finding the GPU");
  char text[256] = "";
  api_->check(api_->deviceName(text, sizeof text, device_), "cuDeviceGetName", "asking the GPU's name");
  name_ = text;
  int major = 0, minor = 0;
  api_->check(api_->deviceAttribute(&major, kMajor, device_), "cuDeviceGetAttribute", "asking the GPU's architecture");
  api_->check(api_->deviceAttribute(&minor, kMinor, device_), "cuDeviceGetAttribute", "asking the GPU's architecture");
  api_->check(api_->deviceAttribute(&multiprocessors_, kMultiprocessors, device_), "cuDeviceGetAttribute",
              "asking the GPU's size");
  arch_ = major * 10 + minor;
  api_->check(api_->primaryRetain(&context_, device_), "cuDevicePrimaryCtxRetain", "opening the GPU " + name_);
  makeCurrent();
}

Device::~Device() {
  if (context_) api_->primaryRelease(device_);
}

void Device::makeCurrent() const { api_->check(api_->setCurrent(context_), "cuCtxSetCurrent", "selecting the GPU"); }

int64_t Device::freeBytes() const {
  size_t free = 0, total = 0;
  api_->check(api_->memInfo(&free, &total), "cuMemGetInfo", "asking for free memory");
  return static_cast<int64_t>(free);
}

DeviceBuffer::DeviceBuffer(const Device& d, int64_t bytes, const std::string& purpose) : device_(&d), bytes_(bytes) {
  // A pointer even for nothing, so that no kernel argument is null.
  d.api().check(d.api().alloc(&p_, static_cast<size_t>(bytes > 0 ? bytes : 1)), "cuMemAlloc",
                "allocating " + std::to_string(bytes) + " bytes for " + purpose);
}

DeviceBuffer::~DeviceBuffer() {
  if (p_) device_->api().free(p_);
}

MappedBuffer::MappedBuffer(const Device& d, int64_t bytes, const std::string& purpose) : device_(&d), bytes_(bytes) {
  d.api().check(d.api().hostAlloc(&p_, static_cast<size_t>(bytes > 0 ? bytes : 1), kPortableMapped), "cuMemHostAlloc",
                "allocating " + std::to_string(bytes) + " bytes of host memory for " + purpose);
}

MappedBuffer::~MappedBuffer() {
  if (p_) device_->api().hostFree(p_);
}

Stream::Stream(const Device& d) : device_(d) {
  d.api().check(d.api().streamCreate(&s_, kNonBlocking), "cuStreamCreate", "creating a stream");
}
Stream::~Stream() { device_.api().streamDestroy(s_); }

void Stream::copyIn(DevicePtr to, const void* from, int64_t bytes) {
  if (bytes <= 0) return;
  device_.api().check(device_.api().toDevice(to, from, static_cast<size_t>(bytes), s_), "cuMemcpyHtoDAsync",
                      "copying to the GPU");
}
void Stream::copyOut(void* to, DevicePtr from, int64_t bytes) {
  if (bytes <= 0) return;
  device_.api().check(device_.api().toHost(to, from, static_cast<size_t>(bytes), s_), "cuMemcpyDtoHAsync",
                      "copying from the GPU");
}
void Stream::fill(DevicePtr to, unsigned char value, int64_t bytes) {
  if (bytes <= 0) return;
  device_.api().check(device_.api().fill(to, value, static_cast<size_t>(bytes), s_), "cuMemsetD8Async", "clearing memory");
}
bool Stream::idle() {
  const int rc = device_.api().streamQuery(s_);
  if (rc == kNotReady) return false;
  device_.api().check(rc, "cuStreamQuery", "running kernels");
  return true;
}
void Stream::synchronize(const std::string& purpose) {
  device_.api().check(device_.api().streamSynchronize(s_), "cuStreamSynchronize", purpose);
}

}  // namespace tempo::cuda
