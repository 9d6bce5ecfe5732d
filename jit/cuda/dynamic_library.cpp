#include "cuda/dynamic_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace tempo::cuda {

bool DynamicLibrary::open(const std::vector<std::string>& paths) {
  for (const auto& p : paths) {
    handle_ = dlopen(p.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) continue;
    path_ = p;
    return true;
  }
  return false;
}

void* DynamicLibrary::symbol(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

std::vector<std::string> cudaToolkitPaths(const std::vector<std::string>& sonames) {
  std::vector<std::string> paths = sonames;
  std::vector<std::string> roots;
  for (const char* v : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(v);
    if (root && *root) roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  for (const auto& root : roots) {
    for (const char* folder : {"/lib64/", "/lib/", "/targets/x86_64-linux/lib/"}) {
      for (const auto& s : sonames) paths.push_back(root + folder + s);
    }
  }
  return paths;
}

}  // namespace tempo::cuda
