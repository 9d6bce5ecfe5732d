// Libraries found when the program runs, so that one binary serves machines with and without CUDA. Internal to jit/cuda.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace tempo::cuda {

class DynamicLibrary {
 public:
  /// Tries the paths in order. Never unloaded: CUDA libraries keep threads and exit handlers.
  bool open(const std::vector<std::string>& paths);
  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& path() const { return path_; }
  void* symbol(const char* name) const;
  /// Fills `f` with the first of `names` the library has; false if it has none.
  template <class F>
  bool find(F*& f, std::initializer_list<const char*> names) const {
    for (const char* n : names) {
      if (void* s = symbol(n)) {
        f = reinterpret_cast<F*>(s);
        return true;
      }
    }
    return false;
  }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// `sonames` by themselves, then in the library folders of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda.
std::vector<std::string> cudaToolkitPaths(const std::vector<std::string>& sonames);

}  // namespace tempo::cuda
