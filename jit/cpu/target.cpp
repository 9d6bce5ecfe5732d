#include "cpu/target.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <memory>

namespace tempo {
namespace {

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string& cpu) {
  llvm::InitializeNativeTarget();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  return std::unique_ptr<llvm::MCSubtargetInfo>(target ? target->createMCSubtargetInfo(triple, cpu, "") : nullptr);
}

/// Features that show in compiled code without being asked for; others (keys, tracing, virtualisation) do not.
bool usedByCode(const std::string& feature) {
  for (const char* family : {"sse", "ssse", "avx", "bmi", "fma", "f16c", "lzcnt", "popcnt", "movbe", "cx16", "gfni", "xop", "neon", "sve"}) {
    if (feature.rfind(family, 0) == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> knownCpus() {
  std::vector<std::string> names;
  if (const auto generic = subtarget("")) {
    for (const llvm::SubtargetSubTypeKV& cpu : generic->getAllProcessorDescriptions()) names.emplace_back(cpu.Key);
  }
  return names;
}

std::string missingFeature(const std::string& cpu) {
  const auto info = subtarget(cpu);
  if (!info) return cpu;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    const std::string name = feature.first().str();
    if (!feature.second && usedByCode(name) && info->checkFeatures("+" + name)) return name;
  }
  return "";
}

}  // namespace tempo
