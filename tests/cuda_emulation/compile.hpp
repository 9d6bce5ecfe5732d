// Compiles emitted text as C++ into a shared library, once per content, and loads it.
#pragma once

#include <memory>
#include <string>

namespace tempo::emulation {

class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void* symbol(const char* name) const;

 private:
  void* handle_;
};

/// Null on failure, with the compiler's output in *problem.
std::shared_ptr<Library> compileLibrary(const std::string& source, std::string* problem);

}  // namespace tempo::emulation
