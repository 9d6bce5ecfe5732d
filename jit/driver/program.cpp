#include <algorithm>
#include <cmath>
#include <filesystem>

#include "check.hpp"
#include "driver/driver.hpp"
#include "driver/image.hpp"
#include "driver/image_codec.hpp"
#include "driver/plan_report.hpp"
#include "driver/stages.hpp"
#include "oracle/oracle.hpp"
#include "parse/parse.hpp"

namespace tempo {
namespace {

/// Variants kept: programs that cycle through specialised sizes stay within bounded memory.
constexpr size_t kMaxVariants = 16;

Failure bug(const std::exception& e) {
  return {Failure::Kind::Compile, std::string("this is a bug in Tempo: ") + e.what(), "", ""};
}

/// The API's promise that nothing is thrown.
template <class T, class F>
T guarded(F&& f, const std::function<T(Failure)>& fail) {
  try {
    return f();
  } catch (const FileError& e) {
    return fail({Failure::Kind::Run, e.reason, e.path, ""});
  } catch (const std::bad_alloc&) {
    return fail({Failure::Kind::Run, "out of memory", "", "smaller sizes need less; `tempo plan` tells how much"});
  } catch (const std::exception& e) {
    return fail(bug(e));
  }
}

/// Relative difference that counts as agreement, by dtype.
double tolerance(DType t) {
  switch (t) {
    case DType::F64: return 1e-9;
    case DType::F32: return 1e-4;
    case DType::F16: return 1e-2;
    case DType::BF16: return 5e-2;
    default: return 0;
  }
}

Comparison compare(const std::string& name, const Array& got, const Array& want) {
  Comparison c;
  c.output = name;
  c.agrees = got.shape == want.shape;
  if (!c.agrees) return c;
  int64_t worstAt = -1;
  for (int64_t i = 0, n = got.count(); i < n; ++i) {
    const double a = got.get(i), b = want.get(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    const double d = same ? 0 : std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / (std::abs(b) + 1) : INFINITY;
    if (worstAt < 0 || d > c.worst) c.worst = d, worstAt = i;
  }
  c.agrees = c.worst <= tolerance(got.dtype);
  if (worstAt < 0) return c;
  c.value = got.get(worstAt);
  c.expected = want.get(worstAt);
  c.at.resize(got.shape.size());
  for (size_t k = got.shape.size(); k-- > 0; worstAt /= got.shape[k]) c.at[k] = worstAt % got.shape[k];
  return c;
}

template <class M>
M merged(const M& base, const M& over) {
  M all = over;
  all.insert(base.begin(), base.end());
  return all;
}

}  // namespace

struct Program::Impl {
  ProgramSource source;
  CompileOptions options;
  Sources& sources;
  Diagnostics& diags;
  ast::File file;
  std::string folder;
  Phases phases;
  DiskCache cache;
  RunStats stats;
  std::string imageKey;                            // "" if this program has no image
  Probes probes;                                   // of the base's elaboration
  std::unique_ptr<Variant> base;                   // as loaded: its graph has the program's own defaults
  std::vector<std::unique_ptr<Variant>> variants;  // for other values of specialised sizes, most recently used last

  Impl(Diagnostics& d) : sources(d.sources()), diags(d) {}

  StageInput stage() { return {options, file, folder, diags, phases, cache, stats}; }
  Variant& first() { return *base; }

  /// Elaborates the program as loaded.
  Result<std::unique_ptr<Variant>> elaborateBase(const TypedSettings& typed) {
    StageInput in = stage();
    probes = {};
    in.probes = &probes;
    auto made = elaborateStage(in, typed, options.inputs, options.shapes);
    if (!made) return made.failure();
    Variant& v = **made;
    const Graph& g = v.program.graph;
    auto inputs = inputSources(g, options.inputs, {}, folder);
    if (!inputs && inputs.failure().kind == Failure::Kind::Usage) return inputs.failure();
    // Sizes may still be open here; a run will tell. Specialised ones have a value, or elaboration would have failed.
    if (inputs) {
      auto resolved = resolveSizes(g, typed, *inputs, v.program.sizesFromFiles);
      if (resolved) v.sizes = *resolved;
    }
    for (const Size& s : g.sizes) {
      const auto value = s.specialised && s.value ? s.value->asConst() : std::nullopt;
      if (value) v.sizes.emplace(s.sym, *value);
    }
    v.specialised = specialisedSizes(g, v.sizes);
    return made;
  }

  /// The base from the cache, if all that its elaboration looked at is as it was.
  bool loadImage() {
    const auto sections = cache.get(imageKey);
    if (!sections || sections->size() != 1) return false;
    try {
      const Probes old = imageProbes((*sections)[0]);
      const StageInput in = stage();
      for (const auto& m : old.modules) {
        if (moduleText(in, m.name) != m.text) return false;
      }
      for (const auto& i : old.inputs) {
        const auto now = shapeOfInput(in, options.inputs, options.shapes, i.name, i.path, i.member);
        const bool same = now.has_value() == i.shape.has_value() && (!now || (now->dtype == i.shape->dtype && now->shape == i.shape->shape));
        if (!same) return false;
      }
      for (const auto& m : old.modules) sources.addFile("<" + m.name + ">", m.text);
      base = decodeImage((*sections)[0], sources);
      return true;
    } catch (const ImageError&) {
      return false;
    }
  }

  /// Replaces a base that came from an image by one with equations.
  std::optional<Failure> materialise() {
    if (!base->fromImage) return std::nullopt;
    auto typed = typeSettings(file, options.settings);
    if (!typed) return typed.failure();
    auto made = elaborateBase(*typed);
    if (!made) return made.failure();
    base = std::move(*made);
    return std::nullopt;
  }

  void saveImage(const Variant& v) {
    if (imageKey.empty() || &v != base.get() || v.fromImage || !diags.all().empty()) return;
    cache.put(imageKey, {encodeImage(v, probes, sources)});
  }

  std::map<std::string, std::string> settings(const RunOptions& run) const {
    return merged(options.settings, run.settings);
  }

  /// What one run needs, worked out before anything is compiled or read.
  struct Prepared {
    TypedSettings settings;
    std::map<std::string, InputSource> sources;
    Env sizes;
    Variant* variant = nullptr;
  };

  Result<Prepared> prepare(const RunOptions& run) {
    Prepared p;
    auto typed = typeSettings(file, settings(run));
    if (!typed) return typed.failure();
    p.settings = *typed;
    const auto files = merged(options.inputs, run.inputs);
    p.variant = base.get();
    if (auto failed = resolve(&p, files, run)) return *failed;
    if (!fits(*p.variant, p.sizes)) {
      auto other = variantFor(p, files);
      if (!other) return other.failure();
      p.variant = *other;
      if (auto failed = resolve(&p, files, run)) return *failed;
    }
    if (auto broken = checkFacts(p.variant->program.graph, p.sizes)) return *broken;
    if (!p.variant->lowered) p.variant->sizes = p.sizes;
    return p;
  }

  /// Fills in the sources of inputs and the sizes, by the variant's graph.
  std::optional<Failure> resolve(Prepared* p, const std::map<std::string, FileRef>& files, const RunOptions& run) {
    const Graph& g = p->variant->program.graph;
    auto found = inputSources(g, files, run.arrays, folder);
    if (!found) return found.failure();
    p->sources = *found;
    auto sizes = resolveSizes(g, p->settings, p->sources, p->variant->program.sizesFromFiles);
    if (!sizes) return sizes.failure();
    p->sizes = *sizes;
    return std::nullopt;
  }

  static bool fits(const Variant& v, const Env& sizes) {
    return std::all_of(v.specialised.begin(), v.specialised.end(), [&](const auto& s) {
      const auto it = sizes.find(s.first);
      return it == sizes.end() || it->second == s.second;
    });
  }

  /// A variant for other values of specialised sizes: one made before, or a new one.
  Result<Variant*> variantFor(const Prepared& p, const std::map<std::string, FileRef>& files) {
    for (size_t i = 0; i < variants.size(); ++i) {
      if (!fits(*variants[i], p.sizes)) continue;
      std::rotate(variants.begin() + i, variants.begin() + i + 1, variants.end());
      return variants.back().get();
    }
    TypedSettings settings = p.settings;
    for (const Size& s : p.variant->program.graph.sizes) {
      if (!s.derived && p.sizes.count(s.sym)) settings.sizes[s.sym.name()] = p.sizes.at(s.sym);
    }
    std::map<std::string, ArrayHeader> shapes;
    for (const auto& [name, source] : p.sources) shapes[name] = source.header;
    auto made = elaborateStage(stage(), settings, files, shapes);
    if (!made) return made.failure();
    (*made)->specialised = specialisedSizes((*made)->program.graph, p.sizes);
    if (variants.size() >= kMaxVariants) variants.erase(variants.begin());
    variants.push_back(std::move(*made));
    return variants.back().get();
  }

  std::optional<Failure> toPlan(Variant* v) { return v->plan ? std::nullopt : planStage(stage(), v); }
  std::optional<Failure> toKernels(Variant* v) {
    if (v->lowered) return std::nullopt;
    if (auto failed = toPlan(v)) return failed;
    return lowerStage(stage(), v);
  }
  std::optional<Failure> toEngine(Variant* v) {
    if (v->engine) return std::nullopt;
    if (options.device == Device::Oracle) {
      v->engine = makeOracleEngine(v->program.graph, false);
      return std::nullopt;
    }
    if (auto failed = toKernels(v)) return failed;
    const auto before = std::chrono::steady_clock::now();
    auto failed = compileStage(stage(), v);
    stats.compileSeconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    if (failed) return failed;
    ++stats.compilations;
    saveImage(*v);
    return std::nullopt;
  }

  RunResult runOn(Engine* engine, const Prepared& p, const RunOptions& run) {
    RunResult result;
    const Graph& g = p.variant->program.graph;
    auto inputs = phases.time("bind", [&] { return bindInputs(g, p.settings, p.sizes, p.sources, run.sampleInputs); });
    if (!inputs) {
      result.failure = inputs.failure();
      return result;
    }
    const Bound bound{p.sizes, std::move(*inputs)};
    EffectSink sink(g, sources, p.sizes, run.listener);
    std::atomic<int32_t> own{0};
    const auto start = std::chrono::steady_clock::now();
    EngineOutcome out =
        phases.time("run", [&] { return engine->run({bound, run.seed, run.threads, run.stop ? run.stop : &own, sink, run.listener}); });
    stats.runSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    stats.plannedBytes = out.plannedBytes;
    stats.allocatedBytes = out.allocatedBytes;
    result.failure = std::move(out.failure);
    result.outputs = std::move(out.outputs);
    result.stats = stats;
    return result;
  }

  /// What the planner decided, as text or as JSON.
  Result<std::string> planReport(bool json) {
    using R = Result<std::string>;
    return guarded<R>(
        [&]() -> R {
          if (auto failed = materialise()) return *failed;
          Variant& v = first();
          if (auto failed = toKernels(&v)) return *failed;
          return reportPlan(*v.plan, *v.lowered, sources, json);
        },
        [](Failure f) -> R { return f; });
  }
};

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::~Program() = default;

Result<std::shared_ptr<Program>> Program::load(const ProgramSource& source, const CompileOptions& options,
                                               Diagnostics& diags) {
  using R = Result<std::shared_ptr<Program>>;
  return guarded<R>(
      [&]() -> R {
        auto impl = std::make_unique<Impl>(diags);
        impl->source = source;
        impl->options = options;
        impl->folder = std::filesystem::path(source.path).parent_path().string();
        if (options.cache) impl->cache = DiskCache::fromEnvironment();
        std::string text;
        try {
          text = source.text ? *source.text : readWholeFile(source.path);
        } catch (const FileError& e) {
          return Failure{Failure::Kind::Usage, e.reason, e.path, ""};
        }
        const uint32_t id = diags.sources().addFile(source.path, text);
        impl->file = impl->phases.time("parse", [&] { return parseSource(id, diags); });
        if (diags.hasErrors()) return Failure{Failure::Kind::Compile, "the program has errors", "", ""};
        auto typed = typeSettings(impl->file, options.settings);
        if (!typed) return typed.failure();
        if (options.runOnly && impl->cache.enabled() && options.device != Device::Oracle) {
          impl->imageKey = imageKey(options, source.path, text);
        }
        const bool found = !impl->imageKey.empty() && impl->phases.time("cache", [&] { return impl->loadImage(); });
        if (!found) {
          auto v = impl->elaborateBase(*typed);
          if (!v) return v.failure();
          impl->base = std::move(*v);
        }
        return std::shared_ptr<Program>(new Program(std::move(impl)));
      },
      [](Failure f) -> R { return f; });
}

RunResult Program::run(const RunOptions& options) {
  return guarded<RunResult>(
      [&] {
        RunResult result;
        auto p = impl_->prepare(options);
        result.failure = p ? impl_->toEngine(p->variant) : std::optional(p.failure());
        if (result.failure) return result;
        return impl_->runOn(p->variant->engine.get(), *p, options);
      },
      [](Failure f) { return RunResult{std::move(f), {}, {}}; });
}

std::optional<Failure> Program::compile(const RunOptions& options) {
  return guarded<std::optional<Failure>>(
      [&]() -> std::optional<Failure> {
        auto p = impl_->prepare(options);
        return p ? impl_->toEngine(p->variant) : std::optional(p.failure());
      },
      [](Failure f) { return std::optional(std::move(f)); });
}

Result<PreparedRun> Program::prepared(const RunOptions& options) {
  using R = Result<PreparedRun>;
  return guarded<R>(
      [&]() -> R {
        auto p = impl_->prepare(options);
        if (!p) return p.failure();
        if (auto failed = impl_->toKernels(p->variant)) return *failed;
        const Graph& g = p->variant->program.graph;
        auto inputs = bindInputs(g, p->settings, p->sizes, p->sources, options.sampleInputs);
        if (!inputs) return inputs.failure();
        return PreparedRun{p->sizes, *inputs, &*p->variant->lowered};
      },
      [](Failure f) -> R { return f; });
}

RunResult Program::oracle(const RunOptions& options) {
  return guarded<RunResult>(
      [&] {
        if (auto failed = impl_->materialise()) return RunResult{*failed, {}, {}};
        auto p = impl_->prepare(options);
        if (!p) return RunResult{p.failure(), {}, {}};
        const auto engine = makeOracleEngine(p->variant->program.graph, true);
        return impl_->runOn(engine.get(), *p, options);
      },
      [](Failure f) { return RunResult{std::move(f), {}, {}}; });
}

Result<std::vector<Comparison>> Program::compareWithOracle(const RunOptions& options) {
  RunOptions quiet = options;
  quiet.listener = nullptr;
  const RunResult got = run(quiet);
  if (got.failure) return *got.failure;
  const RunResult want = oracle(quiet);
  if (want.failure) return *want.failure;
  std::vector<Comparison> all;
  for (const NamedArray& o : got.outputs) {
    for (const NamedArray& w : want.outputs) {
      if (w.name == o.name) all.push_back(compare(o.name, o.array, w.array));
    }
  }
  return all;
}

const Graph& Program::graph() const { return impl_->first().program.graph; }
const std::vector<TypeInfo>& Program::types() const { return impl_->first().program.types; }
std::vector<PhaseTime> Program::phaseTimes() const { return impl_->phases.all(); }
RunStats Program::stats() const { return impl_->stats; }

Signature Program::signature() const { return signatureOf(impl_->file, impl_->sources, graph()); }

Result<std::string> Program::emit(EmitStage stage) {
  using R = Result<std::string>;
  return guarded<R>(
      [&]() -> R {
        if (auto failed = impl_->materialise()) return *failed;
        Variant& v = impl_->first();
        if (stage == EmitStage::Ast) return ast::print(impl_->file, impl_->sources);
        if (stage == EmitStage::Sdg) return print(v.program.graph);
        if (auto failed = impl_->toPlan(&v)) return *failed;
        if (stage == EmitStage::Plan) return print(*v.plan);
        if (auto failed = impl_->toKernels(&v)) return *failed;
        if (stage == EmitStage::Kir) return kir::print(v.lowered->program);
        return emitTarget(impl_->stage(), v, stage);
      },
      [](Failure f) -> R { return f; });
}

Result<std::string> Program::planText() { return impl_->planReport(false); }
Result<std::string> Program::planJson() { return impl_->planReport(true); }

}  // namespace tempo
