#include <cstring>

#include "check.hpp"
#include "cuda/module.hpp"
#include "driver/layout.hpp"
#include "driver/memory.hpp"
#include "driver/stages.hpp"

namespace tempo {
namespace {

class CudaEngine : public Engine {
 public:
  CudaEngine(const Variant& v, const Sources& sources, std::shared_ptr<cuda::CudaModule> module)
      : graph_(v.runGraph()), loops_(v.loops), sources_(sources), lowered_(*v.lowered), module_(std::move(module)) {}

  EngineOutcome run(const EngineRun& request) override {
    EngineOutcome out;
    try {
      return runUnguarded(request);
    } catch (const cuda::CudaError& e) {
      out.failure = Failure{Failure::Kind::Run, e.what(), "--device cuda", ""};
    }
    return out;
  }

 private:
  EngineOutcome runUnguarded(const EngineRun& request) {
    const Env& sizes = request.bound.sizes;
    const BufferPlan plan = planBuffers(lowered_, graph_, sizes);
    cuda::CudaRun run(module_, plan.sizes, request.seed, request.stop);
    for (const ArrayMap& m : lowered_.inputs) upload(run, plan, m, request.bound);
    StagedEffects effects(lowered_, graph_, sizes, request.effects);
    std::vector<std::vector<char>> staging(plan.bytes.size());
    cuda::RunCallbacks callbacks;
    callbacks.onEffect = [&](int effect, const std::vector<int64_t>& point) {
      const bool goOn = effects.occur(effect, point.data(), [&](int b) -> const void* {
        staging[b].resize(static_cast<size_t>(alignedBytes(plan.bytes[b])));
        run.download(b, staging[b].data(), 0, plan.bytes[b]);
        return staging[b].data();
      });
      if (!goOn) request.stop->store(1);
    };
    ProgressTeller progress(loops_, sizes, request.listener);
    callbacks.onProgress = [&](int64_t done, int64_t total) { progress.step(done, total); };
    run.execute(callbacks);
    EngineOutcome out;
    out.plannedBytes = plan.plannedBytes;
    for (size_t b = 0; b < plan.bytes.size(); ++b) {
      if (lowered_.program.buffers[b].role != kir::HostBuffer::Role::Input) out.allocatedBytes += alignedBytes(run.bytes(b));
    }
    if (!run.error().empty()) {
      out.failure = Failure{Failure::Kind::Run, run.error(), "--device cuda", ""};
    } else if (run.fault().site >= 0) {
      out.failure = faultFailure(lowered_, sources_, run.fault().site, run.fault().values, run.fault().count);
    } else if (effects.failure()) {
      out.failure = effects.failure();
    }
    if (out.failure) {
      request.stop->store(0);
      return out;
    }
    for (const ArrayMap& m : lowered_.outputs) out.outputs.push_back({m.name, download(run, plan, m, sizes), m.path});
    if (request.stop->load()) {
      out.failure = Failure{Failure::Kind::Interrupted, "interrupted; the outputs hold what was computed until then", "", ""};
    }
    return out;
  }

  void upload(cuda::CudaRun& run, const BufferPlan& plan, const ArrayMap& m, const Bound& bound) const {
    const Array& array = bound.inputs.at(m.name);
    const ArrayPlace place = placeOf(m, bound.sizes);
    if (place.plain) return run.upload(m.buffer, array.data.get(), std::min(array.sizeBytes(), plan.bytes[m.buffer]));
    std::vector<char> packed(static_cast<size_t>(plan.bytes[m.buffer]));
    pack(place, m.dtype, array.data.get(), packed.data());
    run.upload(m.buffer, packed.data(), plan.bytes[m.buffer]);
  }

  Array download(cuda::CudaRun& run, const BufferPlan& plan, const ArrayMap& m, const Env& sizes) const {
    const ArrayPlace place = placeOf(m, sizes);
    Array a = allocateArray(m.dtype, place.shape);
    if (place.plain) {
      run.download(m.buffer, a.data.get(), 0, a.sizeBytes());
      return a;
    }
    std::vector<char> packed(static_cast<size_t>(plan.bytes[m.buffer]));
    run.download(m.buffer, packed.data(), 0, plan.bytes[m.buffer]);
    unpack(place, m.dtype, packed.data(), a.data.get());
    return a;
  }

  const Graph& graph_;
  const std::vector<OuterLoop>& loops_;
  const Sources& sources_;
  const Lowered& lowered_;
  std::shared_ptr<cuda::CudaModule> module_;
};

Failure noCuda(const std::string& why) {
  return {Failure::Kind::Compile, why, "--device cuda", "--device cpu runs everywhere"};
}

}  // namespace

std::optional<Failure> compileForCuda(const StageInput& in, Variant* v) {
  const kir::Program& program = v->lowered->program;
  const int kernels = static_cast<int>(program.kernels.size());
  std::string why;
  if (!cuda::cudaAvailable(&why)) return noCuda(why);
  try {
    const auto device = std::make_shared<const cuda::Device>();
    std::string version = "none";
    if (const cuda::Nvrtc* n = cuda::Nvrtc::get(&why)) version = std::to_string(n->major()) + "." + std::to_string(n->minor());
    const std::string key = cacheKey({"cuda image 1", compilerBuildId(), version, std::to_string(device->arch()), kir::print(program)});
    const auto sections = in.cache.get(key);
    std::shared_ptr<cuda::CudaModule> module;
    if (sections && sections->size() == 1) {
      module = in.phases.time("cache", [&] { return std::make_shared<cuda::CudaModule>(device, program, (*sections)[0]); });
      in.stats.kernelsCached += kernels;
    } else {
      module = in.phases.time("nvrtc", [&] { return std::make_shared<cuda::CudaModule>(device, program); });
      in.stats.kernelsCompiled += kernels;
      in.cache.put(key, {module->image()});
    }
    v->engine = std::make_unique<CudaEngine>(*v, in.diags.sources(), std::move(module));
  } catch (const cuda::CudaError& e) {
    return noCuda(e.what());
  }
  return std::nullopt;
}

Result<std::string> emitForCuda(const StageInput&, const Variant& v, bool ptx) {
  if (!ptx) return cuda::emitKernels(v.lowered->program);
  std::string why;
  const cuda::Nvrtc* nvrtc = cuda::Nvrtc::get(&why);
  if (!nvrtc) return Failure{Failure::Kind::Compile, why, "emit --ptx", "`tempo emit --cuda` needs no toolkit"};
  cuda::Compiled c = nvrtc->compile(cuda::emit(v.lowered->program).source, 80, cuda::Image::Ptx);
  if (!c.ok) return Failure{Failure::Kind::Compile, "the kernels do not compile:\n" + c.log, "emit --ptx", ""};
  while (!c.image.empty() && c.image.back() == '\0') c.image.pop_back();
  return c.image;
}

}  // namespace tempo
