#include "cpu/compile.hpp"

#include <cstring>
#include <mutex>

#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include "check.hpp"
#include "cpu/emit.hpp"
#include "cpu/vmath.hpp"

namespace tempo {

namespace {

template <class T>
T must(llvm::Expected<T> v, const char* what) {
  if (!v) internalError(__FILE__, __LINE__, std::string(what) + ": " + llvm::toString(v.takeError()));
  return std::move(*v);
}

void must(llvm::Error e, const char* what) {
  if (e) internalError(__FILE__, __LINE__, std::string(what) + ": " + llvm::toString(std::move(e)));
}

/// One JIT for the process; each module has a dylib of its own in it.
class Session {
 public:
  static Session& get() {
    // Never destroyed: modules held by statics may outlive any order of destruction we could choose.
    static auto* s = new Session;
    return *s;
  }

  llvm::orc::LLJIT& jit() { return *jit_; }
  std::string freshName() {
    const std::lock_guard lock(mutex_);
    return "program" + std::to_string(next_++);
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::mutex mutex_;
  uint64_t next_ = 0;

  Session() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::orc::LLJITBuilder builder;
    builder.setObjectLinkingLayerCreator(
        [](llvm::orc::ExecutionSession& es, const llvm::Triple&) -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
          return std::make_unique<llvm::orc::ObjectLinkingLayer>(es);
        });
    jit_ = must(builder.create(), "LLVM ORC");
  }
};

std::pair<std::string, std::string> hostCpu() {
  std::string features;
  for (const auto& f : llvm::sys::getHostCPUFeatures()) {
    features += (features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
  }
  return {llvm::sys::getHostCPUName().str(), features};
}

std::pair<std::string, std::string> cpuAndFeatures(const std::string& wanted) {
  static const auto host = hostCpu();
  return wanted == "native" ? host : std::pair<std::string, std::string>(wanted, "");
}

std::unique_ptr<llvm::TargetMachine> makeTarget(const CpuOptions& o) {
  Session::get();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TEMPO_CHECK(target != nullptr, "LLVM target: " + error);
  auto [cpu, features] = cpuAndFeatures(o.targetCpu);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const auto level = o.optLevel == 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_,
                                                                          llvm::CodeModel::Small, level, true));
}

void optimise(llvm::Module& m, llvm::TargetMachine& tm, int optLevel) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = optLevel > 1;
  llvm::PassBuilder pb(&tm, tuning);
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  pb.registerModuleAnalyses(mam);
  pb.registerCGSCCAnalyses(cgam);
  pb.registerFunctionAnalyses(fam);
  pb.registerLoopAnalyses(lam);
  pb.crossRegisterProxies(lam, fam, cgam, mam);
  const auto level = optLevel == 0   ? llvm::OptimizationLevel::O0
                     : optLevel == 1 ? llvm::OptimizationLevel::O1
                     : optLevel == 2 ? llvm::OptimizationLevel::O2
                                     : llvm::OptimizationLevel::O3;
  auto passes = optLevel == 0 ? pb.buildO0DefaultPipeline(level) : pb.buildPerModuleDefaultPipeline(level);
  passes.run(m, mam);
}

std::unique_ptr<llvm::MemoryBuffer> codegen(llvm::Module& m, llvm::TargetMachine& tm, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager pm;
  TEMPO_CHECK(!tm.addPassesToEmitFile(pm, out, nullptr, type), "LLVM cannot write code for this target");
  pm.run(m);
  return llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes.data(), bytes.size()), "tempo");
}

llvm::orc::SymbolMap runtimeSymbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap map;
  auto add = [&](const char* name, void* address) {
    map[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  add("tempo_rt_launch", reinterpret_cast<void*>(&tempo_rt_launch));
  add("tempo_rt_effect", reinterpret_cast<void*>(&tempo_rt_effect));
  add("tempo_rt_progress", reinterpret_cast<void*>(&tempo_rt_progress));
  add("tempo_rt_fault", reinterpret_cast<void*>(&tempo_rt_fault));
  add("tempo_rt_scratch", reinterpret_cast<void*>(&tempo_rt_scratch));
  add("memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, size_t)>(&memset)));
  add("memcpy", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(&memcpy)));
  add("memmove", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(&memmove)));
  int n = 0;
  const auto* table = cpu::libraryFunctions(n);
  for (int i = 0; i < n; ++i) add(table[i].name, table[i].address);
  return map;
}

}  // namespace

struct CpuModule::Impl {
  llvm::orc::JITDylib* dylib = nullptr;
  TempoHostFn host = nullptr;
  std::vector<TempoKernelFn> kernels;
  std::string ir, assembly;
  std::vector<char> object;

  ~Impl() {
    if (dylib) llvm::consumeError(Session::get().jit().getExecutionSession().removeJITDylib(*dylib));
  }

  void link(const kir::Program& p) {
    auto& jit = Session::get().jit();
    auto made = jit.getExecutionSession().createJITDylib(Session::get().freshName());
    if (!made) internalError(__FILE__, __LINE__, llvm::toString(made.takeError()));
    dylib = &*made;
    must(dylib->define(llvm::orc::absoluteSymbols(runtimeSymbols(jit))), "runtime symbols");
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "tempo");
    must(jit.addObjectFile(*dylib, std::move(buffer)), "object");
    host = must(jit.lookup(*dylib, cpu::kHostSymbol), "host function").toPtr<TempoHostFn>();
    for (size_t k = 0; k < p.kernels.size(); ++k) {
      kernels.push_back(must(jit.lookup(*dylib, cpu::kernelSymbol(p, k)), "kernel").toPtr<TempoKernelFn>());
    }
  }
};

CpuModule::CpuModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CpuModule::~CpuModule() = default;
TempoHostFn CpuModule::host() const { return impl_->host; }
TempoKernelFn CpuModule::kernel(int k) const { return impl_->kernels.at(static_cast<size_t>(k)); }
const std::string& CpuModule::llvmIr() const { return impl_->ir; }
const std::string& CpuModule::assembly() const { return impl_->assembly; }
std::vector<char> CpuModule::object() const { return impl_->object; }

std::shared_ptr<CpuModule> compileCpu(const kir::Program& p, const CpuOptions& o) {
  kir::verify(p);
  auto tm = makeTarget(o);
  llvm::LLVMContext ctx;
  llvm::Module m("tempo", ctx);
  m.setDataLayout(tm->createDataLayout());
  m.setTargetTriple(tm->getTargetTriple().str());
  cpu::Machine machine;
  const auto* features = tm->getMCSubtargetInfo();
  machine.vectorBytes = features->checkFeatures("+avx512f") ? 64 : features->checkFeatures("+avx") ? 32 : 16;
  cpu::emitProgram(m, p, machine);
  const auto [cpuName, featureList] = cpuAndFeatures(o.targetCpu);
  for (auto& f : m) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", cpuName);
    if (!featureList.empty()) f.addFnAttr("target-features", featureList);
    if (machine.vectorBytes == 64) f.addFnAttr("prefer-vector-width", "512");
  }
  std::string problem;
  llvm::raw_string_ostream os(problem);
  TEMPO_CHECK(!llvm::verifyModule(m, &os), "LLVM IR: " + os.str());
  optimise(m, *tm, o.optLevel);
  auto impl = std::make_unique<CpuModule::Impl>();
  if (o.wantIr) {
    llvm::raw_string_ostream text(impl->ir);
    m.print(text, nullptr);
  }
  if (o.wantAsm) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(m);
    impl->assembly = codegen(*copy, *tm, llvm::CodeGenFileType::AssemblyFile)->getBuffer().str();
  }
  auto object = codegen(m, *tm, llvm::CodeGenFileType::ObjectFile);
  impl->object.assign(object->getBufferStart(), object->getBufferEnd());
  impl->link(p);
  return std::make_shared<CpuModule>(std::move(impl));
}

std::shared_ptr<CpuModule> loadCpuObject(const std::vector<char>& object, const kir::Program& program) {
  auto impl = std::make_unique<CpuModule::Impl>();
  impl->object = object;
  impl->link(program);
  return std::make_shared<CpuModule>(std::move(impl));
}

std::string cpuTargetId(const CpuOptions& o) {
  auto [cpu, features] = cpuAndFeatures(o.targetCpu);
  return "llvm" + std::string(LLVM_VERSION_STRING) + ";" + cpu + ";" + features + ";O" + std::to_string(o.optLevel);
}

}  // namespace tempo
