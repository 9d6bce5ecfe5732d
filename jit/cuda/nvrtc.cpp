#include "cuda/nvrtc.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "cuda/dynamic_library.hpp"

namespace tempo::cuda {

namespace {
using Handle = struct NvrtcProgram*;
}

struct Nvrtc::Api {
  DynamicLibrary library;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Handle*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*compile)(Handle, int, const char* const*) = nullptr;
  int (*logSize)(Handle, size_t*) = nullptr;
  int (*log)(Handle, char*) = nullptr;
  int (*ptxSize)(Handle, size_t*) = nullptr;
  int (*ptx)(Handle, char*) = nullptr;
  int (*cubinSize)(Handle, size_t*) = nullptr;
  int (*cubin)(Handle, char*) = nullptr;
  const char* (*errorString)(int) = nullptr;

  /// Empty, or what is missing.
  std::string load();
};

std::string Nvrtc::Api::load() {
  std::vector<std::string> paths;
  if (const char* own = std::getenv("TEMPO_NVRTC"); own && *own) paths.emplace_back(own);
  for (auto& p : cudaToolkitPaths({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})) paths.push_back(std::move(p));
  if (!library.open(paths)) {
    return "libnvrtc.so.13 or .12 not found: no CUDA toolkit (set CUDA_HOME to its folder or TEMPO_NVRTC to the library)";
  }
  const bool ok = library.find(version, {"nvrtcVersion"}) && library.find(create, {"nvrtcCreateProgram"}) &&
                  library.find(destroy, {"nvrtcDestroyProgram"}) && library.find(compile, {"nvrtcCompileProgram"}) &&
                  library.find(logSize, {"nvrtcGetProgramLogSize"}) && library.find(log, {"nvrtcGetProgramLog"}) &&
                  library.find(ptxSize, {"nvrtcGetPTXSize"}) && library.find(ptx, {"nvrtcGetPTX"}) &&
                  library.find(cubinSize, {"nvrtcGetCUBINSize"}) && library.find(cubin, {"nvrtcGetCUBIN"}) &&
                  library.find(errorString, {"nvrtcGetErrorString"});
  return ok ? "" : library.path() + " is not NVRTC 11.1 or newer";
}

const Nvrtc* Nvrtc::get(std::string* why) {
  struct Loaded {
    Api api;
    std::string missing;
    std::unique_ptr<Nvrtc> nvrtc;
    Loaded() {
      missing = api.load();
      if (!missing.empty()) return;
      nvrtc.reset(new Nvrtc(&api));
      api.version(&nvrtc->major_, &nvrtc->minor_);
    }
  };
  static Loaded loaded;
  if (!loaded.nvrtc && why) *why = loaded.missing;
  return loaded.nvrtc.get();
}

Compiled Nvrtc::compile(const std::string& source, int arch, Image image) const {
  Compiled result;
  Handle program = nullptr;
  int rc = api_->create(&program, source.c_str(), "tempo.cu", 0, nullptr, nullptr);
  if (rc != 0) {
    result.log = std::string("nvrtcCreateProgram: ") + api_->errorString(rc);
    return result;
  }
  const std::string target = std::string("--gpu-architecture=") + (image == Image::Cubin ? "sm_" : "compute_") + std::to_string(arch);
  std::vector<const char*> options = {target.c_str(), "--std=c++17", "--fmad=false",        "--ftz=false",
                                      "--prec-div=true", "--prec-sqrt=true", "--device-as-default-execution-space",
                                      "--disable-warnings"};
  if (image == Image::Cubin) options.push_back("--ptxas-options=-v");
  rc = api_->compile(program, static_cast<int>(options.size()), options.data());
  size_t n = 0;
  if (api_->logSize(program, &n) == 0 && n > 1) {
    result.log.resize(n);
    api_->log(program, result.log.data());
    result.log.resize(n - 1);
  }
  if (rc != 0) {
    result.log = std::string(api_->errorString(rc)) + "\n" + result.log;
  } else {
    const auto size = image == Image::Cubin ? api_->cubinSize : api_->ptxSize;
    const auto get = image == Image::Cubin ? api_->cubin : api_->ptx;
    result.ok = size(program, &n) == 0;
    if (result.ok) {
      result.image.resize(n);
      result.ok = get(program, result.image.data()) == 0;
    }
    result.resources = parseResources(result.log);
  }
  api_->destroy(&program);
  return result;
}

std::map<std::string, KernelResources> parseResources(const std::string& log) {
  std::map<std::string, KernelResources> out;
  std::istringstream in(log);
  std::string line, symbol;
  while (std::getline(in, line)) {
    const size_t entry = line.find("Compiling entry function '");
    if (entry != std::string::npos) {
      const size_t begin = entry + 26;
      symbol = line.substr(begin, line.find('\'', begin) - begin);
      out[symbol];
      continue;
    }
    if (symbol.empty()) continue;
    KernelResources& r = out[symbol];
    int value = 0, other = 0;
    if (const size_t at = line.find("Used "); at != std::string::npos && std::sscanf(&line[at], "Used %d registers", &value) == 1) {
      r.registers = value;
      const size_t smem = line.find(" bytes smem");
      if (smem != std::string::npos) r.sharedBytes = std::atoi(&line[line.rfind(' ', smem - 1) + 1]);
    }
    if (const size_t at = line.find("bytes stack frame, "); at != std::string::npos &&
        std::sscanf(&line[at], "bytes stack frame, %d bytes spill stores, %d bytes spill loads", &value, &other) == 2) {
      r.spillBytes = value + other;
    }
  }
  return out;
}

}  // namespace tempo::cuda
