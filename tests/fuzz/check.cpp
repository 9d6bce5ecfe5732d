#include "fuzz/check.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "cpu/compile.hpp"
#include "driver/driver.hpp"
#include "driver/layout.hpp"
#include "emulated.hpp"
#include "fuzz/faults.hpp"
#include "runtime/launch.hpp"

namespace tempo::fuzz {

namespace {

constexpr int64_t kGuard = 1 << 16;  // bytes on each side of a buffer
constexpr unsigned char kPoison = 0xFF;

double tolerance(DType t) {
  switch (t) {
    case DType::F64:
      return 1e-9;
    case DType::F32:
      return 1e-4;
    case DType::F16:
      return 1e-2;
    case DType::BF16:
      return 5e-2;
    default:
      return 0;
  }
}

std::string compare(const std::string& name, const Array& got, const Array& want) {
  if (got.shape != want.shape)
    return name + " has the shape " + shapeString(got.shape) + ", the oracle says " + shapeString(want.shape);
  for (int64_t i = 0; i < got.count(); ++i) {
    double a = got.get(i), b = want.get(i);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance(got.dtype) * (std::abs(b) + 1))
      continue;
    return name + "[flat " + std::to_string(i) + "] is " + std::to_string(a) + ", the oracle says " + std::to_string(b);
  }
  return "";
}

std::string compare(const std::vector<NamedArray>& got, const std::vector<NamedArray>& want) {
  if (got.size() != want.size())
    return std::to_string(got.size()) + " outputs, the oracle has " + std::to_string(want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    std::string problem = compare(got[i].name, got[i].array, want[i].array);
    if (!problem.empty()) return problem;
  }
  return "";
}

/// A buffer between guards, all of it poison to start with.
struct Guarded {
  explicit Guarded(int64_t size, bool zeroed)
      : bytes(size), block(size_t(kGuard * 2 + (size + 63) / 64 * 64 + 64), kPoison) {
    uintptr_t at = reinterpret_cast<uintptr_t>(block.data()) + kGuard;
    start = block.data() + kGuard + (64 - at % 64) % 64;
    if (zeroed) std::memset(start, 0, size_t(size));
  }
  bool intact() const {
    auto poison = [](const unsigned char* from, const unsigned char* to) {
      for (; from != to; ++from)
        if (*from != kPoison) return false;
      return true;
    };
    return poison(block.data(), start) && poison(start + bytes, block.data() + block.size());
  }
  int64_t bytes;
  std::vector<unsigned char> block;
  unsigned char* start;
};

/// Compiles and runs Kernel IR in guarded memory; "" or what went wrong.
std::string runGuarded(const Lowered& lowered, const kir::Program& kernels, const Graph& g, const PreparedRun& run,
                       std::vector<NamedArray>* outputs) {
  const BufferPlan plan = planBuffers(lowered, g, run.sizes);
  auto module = compileCpu(kernels, {});
  std::vector<Guarded> memory;
  memory.reserve(kernels.buffers.size());
  std::vector<void*> pointers;
  for (size_t b = 0; b < kernels.buffers.size(); ++b) {
    memory.emplace_back(plan.bytes[b], kernels.buffers[b].zeroed);
    pointers.push_back(memory.back().start);
  }
  for (const ArrayMap& m : lowered.inputs)
    pack(placeOf(m, run.sizes), m.dtype, run.inputs.at(m.name).data.get(), pointers[size_t(m.buffer)]);
  TempoFault fault{-1, 0, {}};
  std::atomic<int32_t> stop{0};
  Runtime runtime;
  runtime.onEffect = [](int32_t, const int64_t*) {};
  runtime.onProgress = [](int64_t, int64_t) {};
  TempoContext context{pointers.data(), plan.sizes.data(), 1, &stop, &fault, nullptr, 0, &runtime, 1};
  module->host()(&context);
  if (fault.site >= 0) return "fault at site " + std::to_string(fault.site);
  for (size_t b = 0; b < memory.size(); ++b)
    if (!memory[b].intact()) return "something was stored outside " + kernels.buffers[b].name;
  for (const ArrayMap& m : lowered.outputs) {
    const ArrayPlace place = placeOf(m, run.sizes);
    Array a = Array::zeros(m.dtype, place.shape);
    unpack(place, m.dtype, pointers[size_t(m.buffer)], a.data.get());
    outputs->push_back({m.name, a, m.path});
  }
  return "";
}

RunOptions runOptions(int threads) {
  RunOptions run;
  run.sampleInputs = true;
  run.threads = threads;
  run.seed = 1;
  return run;
}

CompileOptions compileOptions(const Program& p, const Variant& v) {
  CompileOptions o;
  o.passesOff = v.off;
  o.force = v.force;
  o.cache = false;
  o.verify = true;
  for (const auto& [n, s] : p.sizes) o.settings[n] = std::to_string(s);
  return o;
}

std::string told(const Failure& f) { return (f.place.empty() ? "" : f.place + ": ") + f.message; }

Verdict failed(const Failure& f) {
  Verdict v;
  v.impossible = f.message.rfind("--force ", 0) == 0;
  if (!v.impossible) v.problem = "failed: " + told(f);
  return v;
}

Verdict runOne(tempo::Program& program, const Variant& v) {
  const RunOptions run = runOptions(v.threads);
  const auto start = std::chrono::steady_clock::now();
  std::vector<NamedArray> got;
  Verdict verdict;
  if (v.way == Way::Poisoned) {
    auto prepared = program.prepared(run);
    if (!prepared) return failed(prepared.failure());
    verdict.problem = runGuarded(*prepared->lowered, prepared->lowered->program, program.graph(), *prepared, &got);
  } else {
    RunResult r = v.way == Way::Emulated ? test::runEmulated(program, run) : program.run(run);
    if (r.failure) return failed(*r.failure);
    got = std::move(r.outputs);
  }
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!verdict.problem.empty()) return verdict;
  const RunResult want = program.oracle(run);
  if (want.failure) return failed(*want.failure);
  verdict.problem = compare(got, want.outputs);
  return verdict;
}

}  // namespace

Verdict check(const Program& p, const Variant& v) {
  Sources sources;
  Diagnostics diags(sources);
  const auto start = std::chrono::steady_clock::now();
  auto program = tempo::Program::load({"fuzz.tempo", p.text()}, compileOptions(p, v), diags);
  const double loading = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!program) {
    Verdict refused;
    refused.valid = false;
    refused.problem = renderHuman(diags, false) + told(program.failure());
    refused.seconds = loading;
    return refused;
  }
  Verdict verdict = runOne(**program, v);
  verdict.seconds += loading;
  return verdict;
}

FaultVerdict checkFault(const Program& p, const std::string& kind, uint64_t choice) {
  Sources sources;
  Diagnostics diags(sources);
  auto program = tempo::Program::load({"fuzz.tempo", p.text()}, compileOptions(p, {}), diags);
  if (!program) return FaultVerdict::DoesNotFit;
  const RunOptions run = runOptions(1);
  auto prepared = (*program)->prepared(run);
  if (!prepared) return FaultVerdict::DoesNotFit;
  const auto faulty = injectFault(prepared->lowered->program, kind, choice);
  if (!faulty) return FaultVerdict::DoesNotFit;
  const RunResult want = (*program)->oracle(run);
  if (want.failure) return FaultVerdict::DoesNotFit;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    std::vector<NamedArray> got;
    std::string problem;
    try {
      problem = runGuarded(*prepared->lowered, *faulty, (*program)->graph(), *prepared, &got);
    } catch (const std::exception&) {
      _exit(2);  // not a program: no fault of a kind that could pass the verifier
    }
    if (problem.empty()) problem = compare(got, want.outputs);
    _exit(problem.empty() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return FaultVerdict::DoesNotFit;
  if (WIFSIGNALED(status)) return FaultVerdict::Found;
  return WEXITSTATUS(status) == 1   ? FaultVerdict::Found
         : WEXITSTATUS(status) == 0 ? FaultVerdict::Missed
                                    : FaultVerdict::DoesNotFit;
}

}  // namespace tempo::fuzz
