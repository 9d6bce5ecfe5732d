// Tempo as a library: source text in, a runnable program out.
//
//   Sources sources;
//   Diagnostics diags(sources);
//   auto program = Program::load({"rnn.tempo"}, {}, diags);
//   if (!program) std::cerr << renderHuman(diags, false) << program.failure().message;
//   RunOptions run;
//   run.arrays["x"] = array;
//   RunResult r = (*program)->run(run);              // as often as wanted, with other sizes, arrays and seeds
//
// A program is compiled once for all sizes. Only a size that multiplies, divides or steps a dim is *specialised*: a run
// with another value of it compiles again (counted in RunStats::compilations). Sizes, options, arrays and the seed given to
// `run` replace those given to `load`. Every error is data; no function here throws.
//
// One Program may be used by one thread at a time; different Programs are independent. The Sources behind the Diagnostics
// given to `load` must outlive the Program: run-time errors name places in them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "array.hpp"
#include "diag/diag.hpp"
#include "driver/failure.hpp"
#include "elab/elaborate.hpp"
#include "runtime/io.hpp"
#include "runtime/metrics.hpp"
#include "sdg/graph.hpp"

namespace tempo {

enum class Device : uint8_t {
  Cpu,
  Cuda,
  Oracle,  // interprets the program point by point in float64: slow, no pass runs; for finding bugs
};

/// A file of source, or a text that stands for one. `use "mine.tempo"` is looked up next to `path`.
struct ProgramSource {
  std::string path;
  std::optional<std::string> text;
};

struct CompileOptions {
  std::map<std::string, std::string> settings;    // sizes and options, as typed after `-s`
  std::map<std::string, FileRef> inputs;          // the file of an input
  std::map<std::string, ArrayHeader> shapes;      // of inputs that `run` gets as arrays, for sizes left open
  Device device = Device::Cpu;
  std::string targetCpu;                          // an LLVM name; "" is this machine
  std::set<std::string> passesOff;                // "recur" for --no-recur
  std::map<std::string, std::string> force;       // "store.v" -> "ring", "tile.t" -> "4"
  bool cache = true;                              // use the cache on disk
  bool runOnly = false;                           // start from the cached image of an earlier run if there is one: types()
                                                  // is then empty, and graph() has no equations
  bool verify = false;                            // run the verifiers after every pass
  bool keepEffects = true;                        // false: print and report do nothing; asserts stay
  std::set<std::string> onlyOutputs;              // compute these outputs alone; empty: all
};

/// Receives what a run says. Called on the thread that runs the program.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void report(const MetricRecord&) {}
  virtual void print(const MetricRecord&) {}
  /// The run starts; its outermost dim (may be "") has `total` steps (-1: not known).
  virtual void started(const std::string& /*dim*/, int64_t /*total*/) {}
  /// Cheap and frequent.
  virtual void progress(int64_t /*done*/, int64_t /*total*/) {}
};

struct RunOptions {
  std::map<std::string, std::string> settings;
  std::map<std::string, FileRef> inputs;
  std::map<std::string, Array> arrays;            // by input name; these win over files
  bool sampleInputs = false;                      // inputs bound to nothing: floats from [-1, 1), the rest zeros
  uint64_t seed = 0;
  int threads = 0;                                // 0: all
  std::atomic<int32_t>* stop = nullptr;           // set it to stop the run where its state is whole
  RunListener* listener = nullptr;
};

struct RunStats {
  int compilations = 0;                           // of this Program so far, specialised sizes included
  int kernelsCompiled = 0, kernelsCached = 0;     // so far
  double compileSeconds = 0;                      // so far
  double runSeconds = 0;                          // of this run
  int64_t plannedBytes = 0;                       // what the plan promised: temporaries and outputs
  int64_t allocatedBytes = 0;                     // peak of what the run took under the runtime's allocations
};

struct NamedArray {
  std::string name;
  Array array;
  std::string path;                               // of `output y to "last.npy"`, "" without
};

struct RunResult {
  std::optional<Failure> failure;                 // outputs are then absent, but for an interrupted run
  std::vector<NamedArray> outputs;                // in the program's order
  RunStats stats;
};

struct PhaseTime {
  std::string name;
  double seconds = 0;
};

/// What a program can be told, for help texts.
struct Signature {
  struct Size {
    std::string name, value, help;                // value: default or definition, "" if open
    bool settable = true, specialised = false;
  };
  struct Option {
    std::string name, dtype, value, help;
  };
  struct Input {
    std::string name, type, path;                 // type: "f32[D] over (t)"; path: default file
  };
  struct Output {
    std::string name, type, path;
  };
  std::string description;                        // the comment at the top of the file
  std::vector<Size> sizes;
  std::vector<Option> options;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

enum class EmitStage : uint8_t { Ast, Sdg, Plan, Kir, Llvm, Asm, Cuda, Ptx };

/// One output compared with the oracle's.
struct Comparison {
  std::string output;
  bool agrees = false;
  double worst = 0;                               // largest |a - b| / (|b| + 1)
  std::vector<int64_t> at;                        // where
  double value = 0, expected = 0;
};

struct Lowered;

/// A run worked out but not made: for running the same Kernel IR by other means.
struct PreparedRun {
  Env sizes;
  std::map<std::string, Array> inputs;            // by name, as bound
  const Lowered* lowered = nullptr;               // owned by the Program; of the variant these sizes need
};

class Program {
 public:
  /// Parses and checks. On errors in the source `diags` holds them and the failure's kind is Compile.
  static Result<std::shared_ptr<Program>> load(const ProgramSource& source, const CompileOptions& options, Diagnostics& diags);
  ~Program();

  /// Compiles if that has not been done for these sizes, binds, runs.
  RunResult run(const RunOptions& options);
  /// Compiles for the sizes of `options` and stops there.
  std::optional<Failure> compile(const RunOptions& options);
  /// Lowers for the sizes of `options` and binds the inputs.
  Result<PreparedRun> prepared(const RunOptions& options);
  /// The run's outputs by the oracle, in float64.
  RunResult oracle(const RunOptions& options);
  /// Runs both and compares every output within the tolerance of its dtype.
  Result<std::vector<Comparison>> compareWithOracle(const RunOptions& options);

  const Graph& graph() const;
  const std::vector<TypeInfo>& types() const;
  Signature signature() const;
  /// Text of a stage, compiled for the sizes given to `load`.
  Result<std::string> emit(EmitStage stage);
  /// The plan told in the program's names: order, stores, memory.
  Result<std::string> planText();
  Result<std::string> planJson();
  /// Seconds per phase, summed over the Program's life, in the order of the pipeline.
  std::vector<PhaseTime> phaseTimes() const;
  RunStats stats() const;

 private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo
