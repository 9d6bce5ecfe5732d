#include <algorithm>
#include <map>
#include <mutex>

#include "check.hpp"
#include "cpu/compile.hpp"
#include "cpu/target.hpp"
#include "driver/layout.hpp"
#include "driver/memory.hpp"
#include "driver/stages.hpp"
#include "runtime/launch.hpp"

namespace tempo {
namespace {

/// One pool per number of threads, for all programs of the process.
ThreadPool* poolOf(int threads) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<ThreadPool>> pools;
  if (threads <= 1) return nullptr;
  const std::lock_guard lock(mutex);
  auto& pool = pools[threads];
  if (!pool) pool = std::make_unique<ThreadPool>(threads);
  return pool.get();
}

class CpuEngine : public Engine {
 public:
  CpuEngine(const Variant& v, const Sources& sources, std::shared_ptr<CpuModule> module)
      : graph_(v.runGraph()), loops_(v.loops), sources_(sources), lowered_(*v.lowered), module_(std::move(module)) {}

  EngineOutcome run(const EngineRun& run) override {
    const Env& sizes = run.bound.sizes;
    const BufferPlan plan = planBuffers(lowered_, graph_, sizes);
    Memory memory(*this, plan, run.bound);
    TempoFault fault{-1, 0, {}};
    Runtime runtime;
    StagedEffects effects(lowered_, graph_, sizes, run.effects);
    runtime.onEffect = [&](int32_t effect, const int64_t* point) {
      if (!effects.occur(effect, point, [&](int b) { return memory.pointers[b]; })) run.stop->store(1);
    };
    ProgressTeller progress(loops_, sizes, run.listener);
    runtime.onProgress = [&](int64_t done, int64_t total) { progress.step(done, total); };
    const int threads = run.threads > 0 ? run.threads : ThreadPool::cores();
    runtime.pool = poolOf(threads);
    TempoContext context{memory.pointers.data(), plan.sizes.data(), run.seed, run.stop, &fault, nullptr, 0, &runtime,
                         threads <= 1 ? 1 : 0};
    module_->host()(&context);
    if (runtime.error) std::rethrow_exception(runtime.error);
    return outcome(run, plan, memory, fault, effects);
  }

 private:
  /// The buffers of one run: inputs where they are, one block for all temporaries, outputs on their own.
  struct Memory {
    std::vector<void*> pointers;
    std::vector<std::shared_ptr<void>> owners;   // per buffer; null for temporaries
    std::shared_ptr<MemoryCounter> counter = std::make_shared<MemoryCounter>();
    std::shared_ptr<void> arena;

    Memory(const CpuEngine& engine, const BufferPlan& plan, const Bound& bound) {
      const auto& buffers = engine.lowered_.program.buffers;
      pointers.resize(buffers.size());
      owners.resize(buffers.size());
      int64_t total = 0;
      for (size_t b = 0; b < buffers.size(); ++b) {
        if (buffers[b].role == kir::HostBuffer::Role::Temp) total += alignedBytes(plan.bytes[b]);
      }
      if (total) arena = counter->allocate(total);
      int64_t at = 0;
      for (size_t b = 0; b < buffers.size(); ++b) {
        if (buffers[b].role == kir::HostBuffer::Role::Temp) {
          pointers[b] = static_cast<char*>(arena.get()) + at;
          at += alignedBytes(plan.bytes[b]);
        } else if (buffers[b].role == kir::HostBuffer::Role::Output) {
          own(b, counter->allocate(plan.bytes[b]));
        }
      }
      for (const ArrayMap& m : engine.lowered_.inputs) bindInput(m, plan, bound);
      for (size_t b = 0; b < buffers.size(); ++b) TEMPO_CHECK(pointers[b], "buffer " + buffers[b].name + " is bound to nothing");
    }

    void own(size_t b, std::shared_ptr<void> block) {
      pointers[b] = block.get();
      owners[b] = std::move(block);
    }

    void bindInput(const ArrayMap& m, const BufferPlan& plan, const Bound& bound) {
      const Array& array = bound.inputs.at(m.name);
      const ArrayPlace place = placeOf(m, bound.sizes);
      const bool aligned = reinterpret_cast<uintptr_t>(array.data.get()) % 64 == 0 && array.data;
      const bool whole = array.sizeBytes() >= plan.bytes[m.buffer];
      if (place.plain && aligned && whole && place.count > 0) return own(m.buffer, array.data);
      // Not counted: inputs are the caller's memory, this is a second copy in another layout.
      own(m.buffer, std::make_shared<MemoryCounter>()->allocate(plan.bytes[m.buffer]));
      pack(place, m.dtype, array.data.get(), pointers[m.buffer]);
    }
  };

  EngineOutcome outcome(const EngineRun& run, const BufferPlan& plan, const Memory& memory, const TempoFault& fault,
                        const StagedEffects& effects) const {
    EngineOutcome out;
    out.plannedBytes = plan.plannedBytes;
    out.allocatedBytes = memory.counter->peak();
    if (fault.site >= 0) {
      out.failure = faultFailure(lowered_, sources_, fault.site, fault.values, fault.count);
    } else if (effects.failure()) {
      out.failure = effects.failure();
    }
    if (out.failure) {
      run.stop->store(0);  // it was set by us, to end the run
      return out;
    }
    for (const ArrayMap& m : lowered_.outputs) out.outputs.push_back({m.name, outputArray(m, run.bound.sizes, memory), m.path});
    if (run.stop->load()) {
      out.failure = Failure{Failure::Kind::Interrupted, "interrupted; the outputs hold what was computed until then", "", ""};
    }
    return out;
  }

  Array outputArray(const ArrayMap& m, const Env& sizes, const Memory& memory) const {
    const ArrayPlace place = placeOf(m, sizes);
    const bool isOutput = lowered_.program.buffers[m.buffer].role == kir::HostBuffer::Role::Output;
    if (place.plain && isOutput) {
      Array a;
      a.dtype = m.dtype;
      a.shape = place.shape;
      a.data = memory.owners[m.buffer];
      return a;
    }
    Array a = allocateArray(m.dtype, place.shape);
    unpack(place, m.dtype, memory.pointers[m.buffer], a.data.get());
    return a;
  }

  const Graph& graph_;
  const std::vector<OuterLoop>& loops_;
  const Sources& sources_;
  const Lowered& lowered_;
  std::shared_ptr<CpuModule> module_;
};

CpuOptions cpuOptions(const CompileOptions& o) {
  CpuOptions c;
  if (!o.targetCpu.empty()) c.targetCpu = o.targetCpu;
  return c;
}

/// Is there such a CPU, and, to run, can this machine execute its code?
std::optional<Failure> checkTarget(const CompileOptions& o, bool toRun) {
  if (o.targetCpu.empty() || o.targetCpu == "native") return std::nullopt;
  const std::string place = "--target-cpu " + o.targetCpu;
  const std::vector<std::string> known = knownCpus();
  if (std::find(known.begin(), known.end(), o.targetCpu) == known.end()) {
    const std::string near = nearestName(o.targetCpu, known);
    return Failure{Failure::Kind::Usage, "there is no such CPU", place, near.empty() ? "" : "did you mean `" + near + "`?"};
  }
  const std::string missing = toRun ? missingFeature(o.targetCpu) : "";
  if (missing.empty()) return std::nullopt;
  return Failure{Failure::Kind::Usage, "this machine cannot run code for it: it has no " + missing, place,
                 "`tempo emit --asm` shows the code without running it"};
}

/// The module from the cache on disk, null if it has none that fits.
std::shared_ptr<CpuModule> fromCache(const DiskCache& cache, const std::string& key, const kir::Program& program) {
  const auto sections = cache.get(key);
  if (!sections || sections->size() != 1) return nullptr;
  try {
    const std::string& object = (*sections)[0];
    return loadCpuObject({object.begin(), object.end()}, program);
  } catch (const InternalError&) {
    return nullptr;  // replaced below
  }
}

}  // namespace

std::optional<Failure> compileForCpu(const StageInput& in, Variant* v) {
  if (auto wrong = checkTarget(in.options, true)) return wrong;
  const kir::Program& program = v->lowered->program;
  const CpuOptions options = cpuOptions(in.options);
  const int kernels = static_cast<int>(program.kernels.size());
  std::string key;
  std::shared_ptr<CpuModule> module;
  if (in.cache.enabled()) {
    in.phases.time("cache", [&] {
      key = cacheKey({"cpu object 1", compilerBuildId(), cpuTargetId(options), kir::print(program)});
      module = fromCache(in.cache, key, program);
    });
  }
  if (module) {
    in.stats.kernelsCached += kernels;
  } else {
    module = in.phases.time("llvm", [&] { return compileCpu(program, options); });
    in.stats.kernelsCompiled += kernels;
    if (in.cache.enabled()) {
      const std::vector<char> object = module->object();
      in.phases.time("cache", [&] { in.cache.put(key, {std::string(object.begin(), object.end())}); });
    }
  }
  v->engine = std::make_unique<CpuEngine>(*v, in.diags.sources(), std::move(module));
  return std::nullopt;
}

Result<std::string> emitForCpu(const StageInput& in, const Variant& v, bool assembly) {
  if (auto wrong = checkTarget(in.options, false)) return *wrong;
  CpuOptions options = cpuOptions(in.options);
  options.wantIr = !assembly;
  options.wantAsm = assembly;
  const auto module = compileCpu(v.lowered->program, options);
  return assembly ? module->assembly() : module->llvmIr();
}

}  // namespace tempo
