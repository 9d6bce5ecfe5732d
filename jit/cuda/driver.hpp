// The CUDA driver, loaded on first use, and what owns its handles. Every failure is a CudaError that names the call, what it
// was for and what the driver said.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tempo::cuda {

struct CudaError : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Can kernels be compiled and run here? If not, *why says what is missing.
bool cudaAvailable(std::string* why);
/// Version of cuBLAS as major * 10000 + minor * 100 + patch; 0 if the library is not there. Loaded on first call.
int cublasVersion();

using DevicePtr = uint64_t;

/// The driver's entry points. Numbers and layouts are those of cuda.h, which is not needed to build.
struct DriverApi {
  using Handle = void*;
  int (*init)(unsigned) = nullptr;
  int (*driverVersion)(int*) = nullptr;
  int (*deviceCount)(int*) = nullptr;
  int (*deviceGet)(int*, int) = nullptr;
  int (*deviceName)(char*, int, int) = nullptr;
  int (*deviceAttribute)(int*, int, int) = nullptr;
  int (*primaryRetain)(Handle*, int) = nullptr;
  int (*primaryRelease)(int) = nullptr;
  int (*setCurrent)(Handle) = nullptr;
  int (*moduleLoad)(Handle*, const void*) = nullptr;
  int (*moduleUnload)(Handle) = nullptr;
  int (*moduleFunction)(Handle*, Handle, const char*) = nullptr;
  int (*memInfo)(size_t*, size_t*) = nullptr;
  int (*alloc)(DevicePtr*, size_t) = nullptr;
  int (*free)(DevicePtr) = nullptr;
  int (*hostAlloc)(void**, size_t, unsigned) = nullptr;
  int (*hostFree)(void*) = nullptr;
  int (*toDevice)(DevicePtr, const void*, size_t, Handle) = nullptr;
  int (*toHost)(void*, DevicePtr, size_t, Handle) = nullptr;
  int (*fill)(DevicePtr, unsigned char, size_t, Handle) = nullptr;
  int (*streamCreate)(Handle*, unsigned) = nullptr;
  int (*streamDestroy)(Handle) = nullptr;
  int (*streamSynchronize)(Handle) = nullptr;
  int (*streamQuery)(Handle) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**) = nullptr;
  int (*errorName)(int, const char**) = nullptr;
  int (*errorString)(int, const char**) = nullptr;

  /// The driver at $TEMPO_CUDA_DRIVER or libcuda.so.1; null with the reason in *why.
  static const DriverApi* get(std::string* why);
  /// Throws CudaError unless `rc` is success.
  void check(int rc, const char* call, const std::string& purpose) const;
};

/// Device 0 and its primary context.
class Device {
 public:
  /// Throws CudaError.
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DriverApi& api() const { return *api_; }
  const std::string& name() const { return name_; }
  int arch() const { return arch_; }  // 90 for sm_90
  int multiprocessors() const { return multiprocessors_; }
  int64_t freeBytes() const;
  void makeCurrent() const;

 private:
  const DriverApi* api_;
  int device_ = 0, arch_ = 0, multiprocessors_ = 1;
  std::string name_;
  void* context_ = nullptr;
};

/// Memory of the device.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Device& d, int64_t bytes, const std::string& purpose);
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();
  void* get() const { return reinterpret_cast<void*>(p_); }
  DevicePtr address() const { return p_; }
  int64_t size() const { return bytes_; }

 private:
  void swap(DeviceBuffer& o) {
    std::swap(device_, o.device_);
    std::swap(p_, o.p_);
    std::swap(bytes_, o.bytes_);
  }
  const Device* device_ = nullptr;
  DevicePtr p_ = 0;
  int64_t bytes_ = 0;
};

/// Pinned host memory that the device reads and writes at the same address.
class MappedBuffer {
 public:
  MappedBuffer() = default;
  MappedBuffer(const Device& d, int64_t bytes, const std::string& purpose);
  MappedBuffer(MappedBuffer&& other) noexcept { swap(other); }
  MappedBuffer& operator=(MappedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedBuffer();
  void* get() const { return p_; }
  int64_t size() const { return bytes_; }

 private:
  void swap(MappedBuffer& o) {
    std::swap(device_, o.device_);
    std::swap(p_, o.p_);
    std::swap(bytes_, o.bytes_);
  }
  const Device* device_ = nullptr;
  void* p_ = nullptr;
  int64_t bytes_ = 0;
};

class Stream {
 public:
  explicit Stream(const Device& d);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void* get() const { return s_; }
  void copyIn(DevicePtr to, const void* from, int64_t bytes);
  void copyOut(void* to, DevicePtr from, int64_t bytes);
  void fill(DevicePtr to, unsigned char value, int64_t bytes);
  bool idle();
  void synchronize(const std::string& purpose);

 private:
  const Device& device_;
  void* s_ = nullptr;
};

}  // namespace tempo::cuda
