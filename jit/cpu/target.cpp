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
    if (!feature.second && info->checkFeatures("+" + name)) return name;
  }
  return "";
}

}  // namespace tempo
