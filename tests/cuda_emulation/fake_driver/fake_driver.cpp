// A CUDA driver without a GPU. It owns plain memory, runs stream work only when the host waits for it (so that a missing
// wait shows), checks every argument, and at exit ends the process with an error if anything is still alive.
#include "fake_driver.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using tempo::fake::Controls;

namespace {

enum Result { Success = 0, InvalidValue = 1, OutOfMemory = 2, InvalidImage = 200, InvalidContext = 201, InvalidHandle = 400,
              NotFound = 500, NotReady = 600, IllegalAddress = 700 };

struct Stream {
  std::vector<std::function<int()>> work;
  bool asked = false;
};
struct Module {
  std::string image;
};
struct Function {
  Module* module;
  std::string name;
};

struct Machine {
  std::recursive_mutex mutex;
  bool initialised = false;
  int contextUsers = 0;
  bool current = false;
  std::map<char*, size_t> device, host;
  std::set<Stream*> streams;
  std::map<Module*, std::vector<Function*>> modules;
  int64_t memory = int64_t{1} << 30, used = 0;
  int stickyError = Success;
  std::string problem;
  tempo::fake::Runner runner = nullptr;
  tempo::fake::ArgumentBytes argumentBytes = nullptr;
  void* user = nullptr;

  int fail(int rc, const std::string& what) {
    problem = what;
    return rc;
  }
  int64_t live() const {
    return static_cast<int64_t>(device.size() + host.size() + streams.size() + modules.size()) + contextUsers;
  }
};

Machine& machine() {
  static auto* m = new Machine;
  return *m;
}

bool inside(const std::map<char*, size_t>& areas, const void* p, size_t n) {
  auto* c = static_cast<char*>(const_cast<void*>(p));
  auto it = areas.upper_bound(c);
  if (it == areas.begin()) return false;
  --it;
  return c + n <= it->first + it->second;
}

int checkContext() {
  Machine& m = machine();
  if (!m.initialised || m.contextUsers <= 0 || !m.current) return m.fail(InvalidContext, "no current context");
  return m.stickyError;
}

int enqueue(void* stream, std::function<int()> f) {
  Machine& m = machine();
  auto* s = static_cast<Stream*>(stream);
  if (!m.streams.count(s)) return m.fail(InvalidHandle, "work on a stream that does not exist");
  s->work.push_back(std::move(f));
  return Success;
}

int drain(Stream* s) {
  Machine& m = machine();
  auto work = std::move(s->work);
  s->work.clear();
  for (auto& f : work) {
    const int rc = f();
    if (rc != Success) return m.stickyError = rc;
  }
  return Success;
}

__attribute__((destructor)) void checkLeaks() {
  const int64_t n = machine().live();
  if (n == 0) return;
  std::fprintf(stderr, "fake CUDA driver: %lld objects are still alive at exit\n", static_cast<long long>(n));
  _exit(97);
}

const Controls kControls = {
    [](tempo::fake::Runner r, tempo::fake::ArgumentBytes bytes, void* user) {
      machine().runner = r;
      machine().argumentBytes = bytes;
      machine().user = user;
    },
    [](int64_t bytes) { machine().memory = bytes; },
    []() { return machine().live(); },
    []() -> const char* { return machine().problem.c_str(); },
    [](const void* p) -> int64_t {
      for (const auto* areas : {&machine().device, &machine().host}) {
        auto it = areas->find(static_cast<char*>(const_cast<void*>(p)));
        if (it != areas->end()) return static_cast<int64_t>(it->second);
      }
      return -1;
    }};

}  // namespace

#define LOCKED                                                      \
  Machine& m = machine();                                           \
  std::lock_guard<std::recursive_mutex> lock(m.mutex);

#define IN_CONTEXT \
  LOCKED           \
  if (int rc = checkContext()) return rc

extern "C" {

const Controls* tempo_fake_controls() { return &kControls; }

int cuInit(unsigned flags) {
  LOCKED
  if (flags != 0) return m.fail(InvalidValue, "cuInit flags");
  m.initialised = true;
  return Success;
}
int cuDriverGetVersion(int* v) { return *v = 13000, Success; }
int cuDeviceGetCount(int* n) { return *n = 1, Success; }
int cuDeviceGet(int* d, int ordinal) {
  LOCKED
  if (!m.initialised) return m.fail(3, "cuDeviceGet before cuInit");
  if (ordinal != 0) return m.fail(101, "there is one device");
  return *d = 0, Success;
}
int cuDeviceGetName(char* name, int n, int) { return std::snprintf(name, static_cast<size_t>(n), "Fake GPU"), Success; }
int cuDeviceGetAttribute(int* v, int attribute, int) {
  switch (attribute) {
    case 16: return *v = 4, Success;
    case 75: return *v = 9, Success;
    case 76: return *v = 0, Success;
    default: return machine().fail(InvalidValue, "unknown device attribute");
  }
}
int cuDevicePrimaryCtxRetain(void** c, int) {
  LOCKED
  ++m.contextUsers;
  return *c = &m, Success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  LOCKED
  if (m.contextUsers <= 0) return m.fail(InvalidContext, "context released twice");
  if (--m.contextUsers == 0) m.current = false;
  return Success;
}
int cuCtxSetCurrent(void* c) {
  LOCKED
  if (c != &m || m.contextUsers <= 0) return m.fail(InvalidContext, "cuCtxSetCurrent of no live context");
  m.current = true;
  return Success;
}

int cuModuleLoadData(void** out, const void* image) {
  IN_CONTEXT;
  const char* text = static_cast<const char*>(image);
  const bool elf = std::memcmp(text, "\177ELF", 4) == 0;
  if (!elf && std::strstr(text, ".version") == nullptr) return m.fail(InvalidImage, "neither cubin nor PTX");
  auto* module = new Module{elf ? "" : text};
  m.modules[module];
  return *out = module, Success;
}
int cuModuleUnload(void* module) {
  LOCKED
  auto it = m.modules.find(static_cast<Module*>(module));
  if (it == m.modules.end()) return m.fail(InvalidHandle, "module unloaded twice");
  for (Function* f : it->second) delete f;
  delete it->first;
  m.modules.erase(it);
  return Success;
}
int cuModuleGetFunction(void** out, void* module, const char* name) {
  IN_CONTEXT;
  auto it = m.modules.find(static_cast<Module*>(module));
  if (it == m.modules.end()) return m.fail(InvalidHandle, "function of no live module");
  if (!it->first->image.empty() && it->first->image.find(name) == std::string::npos) {
    return m.fail(NotFound, std::string("no function ") + name);
  }
  it->second.push_back(new Function{it->first, name});
  return *out = it->second.back(), Success;
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  IN_CONTEXT;
  *total = static_cast<size_t>(m.memory);
  *free = static_cast<size_t>(m.memory > m.used ? m.memory - m.used : 0);
  return Success;
}
int cuMemAlloc_v2(unsigned long long* p, size_t n) {
  IN_CONTEXT;
  if (n == 0) return m.fail(InvalidValue, "allocation of nothing");
  if (m.used + static_cast<int64_t>(n) > m.memory) return m.fail(OutOfMemory, "out of memory");
  char* a = static_cast<char*>(std::aligned_alloc(256, (n + 255) / 256 * 256));
  std::memset(a, 0xff, n);
  m.device[a] = n;
  m.used += static_cast<int64_t>(n);
  return *p = reinterpret_cast<unsigned long long>(a), Success;
}
int cuMemFree_v2(unsigned long long p) {
  IN_CONTEXT;
  auto it = m.device.find(reinterpret_cast<char*>(p));
  if (it == m.device.end()) return m.fail(InvalidValue, "free of what is not allocated");
  m.used -= static_cast<int64_t>(it->second);
  std::free(it->first);
  m.device.erase(it);
  return Success;
}
int cuMemHostAlloc(void** p, size_t n, unsigned flags) {
  IN_CONTEXT;
  if (n == 0 || flags > 7) return m.fail(InvalidValue, "cuMemHostAlloc arguments");
  char* a = static_cast<char*>(std::aligned_alloc(256, (n + 255) / 256 * 256));
  std::memset(a, 0xff, n);
  m.host[a] = n;
  return *p = a, Success;
}
int cuMemFreeHost(void* p) {
  IN_CONTEXT;
  auto it = m.host.find(static_cast<char*>(p));
  if (it == m.host.end()) return m.fail(InvalidValue, "host memory freed twice");
  std::free(it->first);
  m.host.erase(it);
  return Success;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t n, void* stream) {
  IN_CONTEXT;
  std::string staged(static_cast<const char*>(from), n);
  return enqueue(stream, [to, staged] {
    if (!inside(machine().device, reinterpret_cast<void*>(to), staged.size())) {
      return machine().fail(InvalidValue, "copy to memory that is not allocated");
    }
    std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
    return int{Success};
  });
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t n, void* stream) {
  IN_CONTEXT;
  return enqueue(stream, [=] {
    if (!inside(machine().device, reinterpret_cast<void*>(from), n)) {
      return machine().fail(InvalidValue, "copy from memory that is not allocated");
    }
    std::memcpy(to, reinterpret_cast<void*>(from), n);
    return int{Success};
  });
}
int cuMemsetD8Async(unsigned long long to, unsigned char v, size_t n, void* stream) {
  IN_CONTEXT;
  return enqueue(stream, [=] {
    if (!inside(machine().device, reinterpret_cast<void*>(to), n)) {
      return machine().fail(InvalidValue, "memset of memory that is not allocated");
    }
    std::memset(reinterpret_cast<void*>(to), v, n);
    return int{Success};
  });
}

int cuStreamCreate(void** s, unsigned flags) {
  IN_CONTEXT;
  if (flags > 1) return m.fail(InvalidValue, "stream flags");
  auto* stream = new Stream;
  m.streams.insert(stream);
  return *s = stream, Success;
}
int cuStreamDestroy_v2(void* s) {
  IN_CONTEXT;
  auto* stream = static_cast<Stream*>(s);
  if (!m.streams.erase(stream)) return m.fail(InvalidHandle, "stream destroyed twice");
  const int rc = drain(stream);
  delete stream;
  return rc;
}
int cuStreamSynchronize(void* s) {
  IN_CONTEXT;
  auto* stream = static_cast<Stream*>(s);
  if (!m.streams.count(stream)) return m.fail(InvalidHandle, "wait for no live stream");
  return drain(stream);
}
int cuStreamQuery(void* s) {
  IN_CONTEXT;
  auto* stream = static_cast<Stream*>(s);
  if (!m.streams.count(stream)) return m.fail(InvalidHandle, "query of no live stream");
  stream->asked = !stream->asked && !stream->work.empty();
  return stream->asked ? int{NotReady} : drain(stream);
}

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** params, void** extra) {
  IN_CONTEXT;
  Function* f = nullptr;
  for (auto& [module, functions] : m.modules) {
    for (Function* known : functions) f = known == function ? known : f;
  }
  if (!f) return m.fail(InvalidHandle, "launch of no live function");
  if (gx < 1 || gx > 2147483647u || gy < 1 || gy > 65535 || gz < 1 || gz > 65535) return m.fail(InvalidValue, "grid");
  if (bx < 1 || by < 1 || bz < 1 || uint64_t{bx} * by * bz > 1024) return m.fail(InvalidValue, "block");
  if (shared > 48 * 1024 || extra != nullptr || params == nullptr) return m.fail(InvalidValue, "launch arguments");
  if (!m.runner) return enqueue(stream, [] { return int{Success}; });
  // As the driver does, the arguments are copied before the call returns.
  const std::string name = f->name;
  std::vector<uint64_t> args(static_cast<size_t>(m.argumentBytes(name.c_str(), m.user) + 7) / 8);
  std::memcpy(args.data(), params[0], args.size() * 8);
  return enqueue(stream, [=] { return machine().runner(name.c_str(), gx, bx, args.data(), machine().user); });
}

int cuGetErrorName(int rc, const char** s) { return *s = rc == OutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR", Success; }
int cuGetErrorString(int rc, const char** s) {
  *s = rc == OutOfMemory ? "out of memory" : machine().problem.c_str();
  return Success;
}
}
