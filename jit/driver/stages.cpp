#include "driver/stages.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "check.hpp"
#include "driver/image.hpp"
#include "stdlib.hpp"

namespace tempo {
namespace {

Failure cannotCompile(std::string message, std::string help = "") {
  return {Failure::Kind::Compile, std::move(message), "", std::move(help)};
}

void keepOnly(Graph* g, const CompileOptions& options) {
  if (!options.onlyOutputs.empty()) {
    std::erase_if(g->outputs, [&](const Output& o) { return !options.onlyOutputs.count(o.name); });
  }
  if (!options.keepEffects) {
    std::erase_if(g->effects, [](const Effect& e) { return e.kind != Effect::Kind::Assert; });
  }
}

int64_t cacheBytes(int name, int64_t fallback) {
  const long v = ::sysconf(name);
  return v > 0 ? v : fallback;
}

}  // namespace

void Phases::add(const std::string& name, double seconds) {
  for (PhaseTime& p : all_) {
    if (p.name == name) {
      p.seconds += seconds;
      return;
    }
  }
  all_.push_back({name, seconds});
}

Machine describeMachine(const CompileOptions& options) {
  Machine m;
  m.threads = std::max(1u, std::thread::hardware_concurrency());
#if defined(__x86_64__)
  m.vectorBytes = __builtin_cpu_supports("avx512f") ? 64 : __builtin_cpu_supports("avx2") ? 32 : 16;
#else
  m.vectorBytes = 16;
#endif
  m.l1Bytes = cacheBytes(_SC_LEVEL1_DCACHE_SIZE, m.l1Bytes);
  m.l2Bytes = cacheBytes(_SC_LEVEL2_CACHE_SIZE, m.l2Bytes);
  m.gpu = options.device == Device::Cuda;
  return m;
}

std::optional<std::string> moduleText(const StageInput& in, const std::string& name) {
  const auto it = stdlibModules().find(name);
  if (it != stdlibModules().end()) return it->second;
  if (std::filesystem::path(name).extension() != ".tempo") return std::nullopt;
  try {
    return readWholeFile((std::filesystem::path(in.folder) / name).string());
  } catch (const FileError&) {
    return std::nullopt;
  }
}

std::optional<FileShape> shapeOfInput(const StageInput& in, const std::map<std::string, FileRef>& files,
                                      const std::map<std::string, ArrayHeader>& shapes, const std::string& name,
                                      const std::string& path, const std::string& member) {
  if (const auto it = shapes.find(name); it != shapes.end()) return FileShape{it->second.dtype, it->second.shape};
  FileRef file;
  if (const auto it = files.find(name); it != files.end()) {
    file = it->second;
  } else if (!path.empty()) {
    file = {(std::filesystem::path(in.folder) / path).string(), member};
  } else {
    return std::nullopt;
  }
  try {
    const ArrayHeader h = readHeader(file);
    return FileShape{h.dtype, h.shape};
  } catch (const FileError&) {
    return std::nullopt;  // told with its reason when the input is bound
  }
}

Result<std::unique_ptr<Variant>> elaborateStage(const StageInput& in, const TypedSettings& settings,
                                                const std::map<std::string, FileRef>& files,
                                                const std::map<std::string, ArrayHeader>& shapes) {
  ElabOptions options;
  options.sizes = settings.sizes;
  options.optionValues = settings.options;
  options.stdlib = [&](const std::string& name) {
    auto text = moduleText(in, name);
    if (text && in.probes) in.probes->modules.push_back({name, *text});
    return text;
  };
  options.inputShape = [&](const std::string& name, const std::string& path, const std::string& member) {
    auto shape = shapeOfInput(in, files, shapes, name, path, member);
    if (in.probes) in.probes->inputs.push_back({name, path, member, shape});
    return shape;
  };
  auto v = std::make_unique<Variant>();
  const bool ok = in.phases.time("elaborate", [&] {
    Solver solver;
    auto result = elaborate(in.file, in.diags, solver, options);
    if (result) v->program = std::move(*result);
    return result.has_value();
  });
  if (!ok || in.diags.hasErrors()) return cannotCompile("the program has errors");
  keepOnly(&v->program.graph, in.options);
  return v;
}

std::vector<std::pair<Sym, int64_t>> specialisedSizes(const Graph& g, const Env& sizes) {
  std::vector<std::pair<Sym, int64_t>> all;
  for (const Size& s : g.sizes) {
    const auto it = sizes.find(s.sym);
    if (s.specialised && it != sizes.end()) all.emplace_back(s.sym, it->second);
  }
  return all;
}

std::optional<Failure> planStage(const StageInput& in, Variant* v) {
  PassOptions options;
  options.off = in.options.passesOff;
  options.force = in.options.force;
  options.machine = describeMachine(in.options);
  options.verifyEach = in.options.verify;
  options.sizes = v->sizes;
  Solver solver;
  auto last = std::chrono::steady_clock::now();
  const StageHook hook = [&](const std::string& pass) {
    const auto now = std::chrono::steady_clock::now();
    in.phases.add(pass, std::chrono::duration<double>(now - last).count());
    last = now;
  };
  try {
    v->plan = makePlan(v->program.graph, solver, options, hook);
    v->specialised = specialisedSizes(v->plan->graph, v->sizes);
  } catch (const ForceError& e) {
    return Failure{Failure::Kind::Usage, e.what(), "", ""};
  } catch (const SolveBudget&) {
    return cannotCompile("no order of evaluation was found within the budget of integer reasoning",
                         "--no-schedule orders the equations one after the other");
  } catch (const NotAffine& e) {
    return cannotCompile("the index expression " + e.what.str() + " multiplies two sizes or dims, which no pass can order",
                         "give one of them as a number");
  }
  return std::nullopt;
}

std::optional<Failure> lowerStage(const StageInput& in, Variant* v) {
  v->lowered = in.phases.time("lower", [&] {
    Lowered l = lower(*v->plan);
    if (in.options.verify) kir::verify(l.program);
    return l;
  });
  v->loops = outerLoops(*v->plan);
  return std::nullopt;
}

std::optional<Failure> compileStage(const StageInput& in, Variant* v) {
  return in.options.device == Device::Cuda ? compileForCuda(in, v) : compileForCpu(in, v);
}

Result<std::string> emitTarget(const StageInput& in, const Variant& v, EmitStage stage) {
  switch (stage) {
    case EmitStage::Llvm: return emitForCpu(in, v, false);
    case EmitStage::Asm: return emitForCpu(in, v, true);
    case EmitStage::Cuda: return emitForCuda(in, v, false);
    case EmitStage::Ptx: return emitForCuda(in, v, true);
    default: break;
  }
  internalError(__FILE__, __LINE__, "not a stage of a target");
}

}  // namespace tempo
