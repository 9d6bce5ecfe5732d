// NVIDIA's run-time compiler, loaded on first use.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tempo::cuda {

/// What the assembler said of one kernel.
struct KernelResources {
  int registers = 0;
  int sharedBytes = 0;
  int spillBytes = 0;
};

struct Compiled {
  bool ok = false;
  std::string image;                                 // cubin or PTX; PTX ends with a zero byte
  std::string log;                                   // of the compiler, also on success
  std::map<std::string, KernelResources> resources;  // by symbol; empty for PTX
};

enum class Image { Cubin, Ptx };

class Nvrtc {
 public:
  /// The loaded compiler; null with the reason in *why. The library is looked for at $TEMPO_NVRTC, then by its soname, then
  /// in the toolkit folders.
  static const Nvrtc* get(std::string* why);

  int major() const { return major_; }
  int minor() const { return minor_; }
  /// `arch` as 80 or 90. No fast math, no contraction, no flushing of subnormals.
  Compiled compile(const std::string& source, int arch, Image image) const;

 private:
  struct Api;
  explicit Nvrtc(const Api* api) : api_(api) {}
  const Api* api_;
  int major_ = 0, minor_ = 0;
};

/// Reads `ptxas -v` output.
std::map<std::string, KernelResources> parseResources(const std::string& log);

}  // namespace tempo::cuda
