// Every stage of the compiler, in the order it runs: the one place that names them all.
//
//   source text --parse--> ast::File --elaborate--> Graph (SDG) --makePlan--> Plan --lower--> Kernel IR --compile--> Engine
//
// Each function does one stage and charges its time to the phases. Failures of the source are in the Diagnostics.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache.hpp"
#include "driver/driver.hpp"
#include "driver/engine.hpp"
#include "driver/settings.hpp"
#include "kernel/lower.hpp"
#include "pipeline.hpp"
#include "plan/plan.hpp"

namespace tempo {

class Phases {
 public:
  /// Runs `f`, adding its seconds to phase `name`.
  template <class F>
  auto time(const std::string& name, F&& f) {
    const Clock start(*this, name);
    return f();
  }
  void add(const std::string& name, double seconds);
  const std::vector<PhaseTime>& all() const { return all_; }

 private:
  struct Clock {
    Clock(Phases& p, std::string n) : phases(p), name(std::move(n)) {}
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    ~Clock() { phases.add(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()); }
    Phases& phases;
    std::string name;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };
  std::vector<PhaseTime> all_;
};

/// One compilation: of all sizes, or of one value of each specialised size.
struct Variant {
  Elaborated program;
  Env sizes;                                           // of the run it is compiled for
  std::vector<std::pair<Sym, int64_t>> specialised;
  std::optional<Plan> plan;
  std::optional<Lowered> lowered;
  std::vector<OuterLoop> loops;
  std::unique_ptr<Engine> engine;
  bool fromImage = false;         // `program.graph` has no equations, and there is no plan

  /// The graph whose effects the lowered program has.
  const Graph& runGraph() const { return plan ? plan->graph : program.graph; }
};

/// What stays the same over all variants of a program.
struct Probes;

struct StageInput {
  const CompileOptions& options;
  const ast::File& file;
  std::string folder;             // of the source file
  Diagnostics& diags;
  Phases& phases;
  DiskCache cache;
  RunStats& stats;
  Probes* probes = nullptr;       // filled by elaboration if not null
};

/// The source text of a module: of the standard library, or of a file next to the program if the name ends in `.tempo`.
std::optional<std::string> moduleText(const StageInput& in, const std::string& name);
/// What the file of an input says of its shape; nothing if there is none to be read.
std::optional<FileShape> shapeOfInput(const StageInput& in, const std::map<std::string, FileRef>& files,
                                      const std::map<std::string, ArrayHeader>& shapes, const std::string& name,
                                      const std::string& path, const std::string& member);

Result<std::unique_ptr<Variant>> elaborateStage(const StageInput& in, const TypedSettings& settings,
                                                const std::map<std::string, FileRef>& files,
                                                const std::map<std::string, ArrayHeader>& shapes);
/// The sizes a graph marks as specialised, with their values.
std::vector<std::pair<Sym, int64_t>> specialisedSizes(const Graph& g, const Env& sizes);
/// May specialise further sizes, to their values in `v->sizes`.
std::optional<Failure> planStage(const StageInput& in, Variant* v);
std::optional<Failure> lowerStage(const StageInput& in, Variant* v);
/// Kernel IR to machine code (or PTX) and an engine that runs it.
std::optional<Failure> compileStage(const StageInput& in, Variant* v);

/// The two targets of compileStage, and their texts.
std::optional<Failure> compileForCpu(const StageInput& in, Variant* v);
std::optional<Failure> compileForCuda(const StageInput& in, Variant* v);
Result<std::string> emitForCpu(const StageInput& in, const Variant& v, bool assembly);
Result<std::string> emitForCuda(const StageInput& in, const Variant& v, bool ptx);
/// LLVM IR, assembly, CUDA C++ or PTX of a lowered variant.
Result<std::string> emitTarget(const StageInput& in, const Variant& v, EmitStage stage);

/// What the passes must know of this machine.
Machine describeMachine(const CompileOptions& options);

}  // namespace tempo
