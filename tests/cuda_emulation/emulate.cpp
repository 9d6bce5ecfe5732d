#include "cuda_emulation/emulate.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include "check.hpp"
#include "cuda/host_program.hpp"
#include "cuda_emulation/compile.hpp"
#include "cuda_emulation/fiber.hpp"
#include "cuda_emulation/shadow.hpp"

namespace tempo::emulation {
namespace {

/// As in the device header.
struct HostBody {
  void (*barrier)(int line);
  int (*barrierOr)(int flag, int line);
  void (*access)(const void* address, int bytes, int write);
  int thread, threads;
  int64_t block, grid;
  unsigned char* shared;
};

using KernelFn = void (*)(const void* args);

constexpr int kPoison = 0xff;  // a NaN in every float type, -1 in the signed integers

}  // namespace

struct Emulator::Impl {
  enum class State { Ready, Waiting, Finished };
  struct Thread {
    Fiber fiber;
    State state = State::Finished;
    int line = 0;
  };

  kir::Program program;
  cuda::Emitted emitted;
  std::shared_ptr<Library> library;
  HostBody* body = nullptr;
  Shadow shadow;
  Clock clock;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<unsigned char> shared;
  std::mt19937_64 random;
  std::string error;
  bool checkAccesses = true;
  int orFlag = 0, orResult = 0;

  static thread_local Impl* current;

  static int arrive(int flag, int line) {
    Impl& m = *current;
    Thread& t = *m.threads[static_cast<size_t>(m.body->thread)];
    t.state = State::Waiting;
    t.line = line;
    m.orFlag |= flag != 0;
    t.fiber.suspend();
    return m.orResult;
  }
  static void barrier(int line) { arrive(0, line); }
  static void access(const void* address, int bytes, int write) {
    Impl& m = *current;
    if (!m.checkAccesses) return;
    const std::string problem = m.shadow.access(address, bytes, write != 0, m.body->thread, m.clock);
    if (problem.empty()) return;
    if (m.error.empty()) m.error = problem;
    m.threads[static_cast<size_t>(m.body->thread)]->fiber.suspend();  // never resumed
  }

  std::vector<int> order(int n, Order o) {
    std::vector<int> v(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) v[static_cast<size_t>(i)] = o == Order::Reversed ? n - 1 - i : i;
    if (o == Order::Shuffled) std::shuffle(v.begin(), v.end(), random);
    return v;
  }

  std::string sourceLine(int line) const {
    size_t at = 0;
    for (int i = 1; i < line && at != std::string::npos; ++i) at = emitted.source.find('\n', at) + 1;
    if (at == std::string::npos) return "";
    std::string s = emitted.source.substr(at, emitted.source.find('\n', at) - at);
    return s.substr(std::min(s.size(), s.find_first_not_of(' ')));
  }

  /// After every thread ran as far as it could: lets them pass the barrier, or says why they may not. True at the end.
  bool meet(int n) {
    int waiting = 0;
    for (int i = 0; i < n; ++i) waiting += threads[static_cast<size_t>(i)]->state == State::Waiting;
    if (waiting == 0) return true;
    int line = -1;
    for (int i = 0; i < n; ++i) {
      Thread& t = *threads[static_cast<size_t>(i)];
      if (t.state == State::Finished) {
        error = "divergent barrier: " + std::to_string(waiting) + " of " + std::to_string(n) +
                " threads wait at a barrier, thread " + std::to_string(i) + " has ended";
        return true;
      }
      if (line >= 0 && line != t.line) {
        error = "divergent barrier: threads wait at line " + std::to_string(line) + " (" + sourceLine(line) + ") and line " +
                std::to_string(t.line) + " (" + sourceLine(t.line) + ")";
        return true;
      }
      line = t.line;
    }
    for (int i = 0; i < n; ++i) threads[static_cast<size_t>(i)]->state = State::Ready;
    orResult = orFlag;
    orFlag = 0;
    ++clock.now;
    return false;
  }

  void runBlock(KernelFn fn, const void* args, int n, Order o) {
    while (static_cast<int>(threads.size()) < n) threads.push_back(std::make_unique<Thread>());
    for (int i = 0; i < n; ++i) {
      Thread& t = *threads[static_cast<size_t>(i)];
      t.state = State::Ready;
      t.fiber.reset([this, fn, args, &t] {
        fn(args);
        t.state = State::Finished;
      });
    }
    orFlag = orResult = 0;
    do {
      for (int i : order(n, o)) {
        Thread& t = *threads[static_cast<size_t>(i)];
        if (t.state != State::Ready) continue;
        body->thread = i;
        t.fiber.resume();
        if (!error.empty()) return;
      }
    } while (!meet(n));
  }
};

thread_local Emulator::Impl* Emulator::Impl::current = nullptr;

Emulator::Emulator() : impl_(std::make_unique<Impl>()) {}
Emulator::~Emulator() = default;

void Emulator::compile(const kir::Program& p) { compile(p, cuda::emit(p)); }

void Emulator::compile(const kir::Program& p, const cuda::Emitted& e) {
  impl_->program = p;
  impl_->emitted = e;
  std::string problem;
  impl_->library = compileLibrary(e.source, &problem);
  if (!impl_->library) throw EmulationError("the emitted text does not compile as C++:\n" + problem);
  impl_->body = static_cast<HostBody*>(impl_->library->symbol("tempo_emulator"));
  TEMPO_CHECK(impl_->body != nullptr, "emulated library lacks its host body");
}

const cuda::Emitted& Emulator::emitted() const { return impl_->emitted; }

void Emulator::launchRaw(int kernel, int64_t grid, const void* args, const std::vector<int64_t>& sizes,
                         int64_t scratchBytes) {
  Impl& m = *impl_;
  const auto& k = m.emitted.kernels.at(static_cast<size_t>(kernel));
  auto fn = reinterpret_cast<KernelFn>(m.library->symbol(k.symbol.c_str()));
  TEMPO_CHECK(fn != nullptr, "emulated library lacks " + k.symbol);
  const auto* words = static_cast<const uint64_t*>(args);
  m.shadow.clear();
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    m.shadow.add(m.program.buffers.at(static_cast<size_t>(k.buffers[i])).name,
                 reinterpret_cast<const void*>(words[6 + std::max<size_t>(1, k.params) + i]), sizes.at(i), Shadow::Kind::Buffer);
  }
  void* scratch = reinterpret_cast<void*>(words[4]);
  if (scratchBytes > 0) {
    std::memset(scratch, kPoison, static_cast<size_t>(scratchBytes));
    m.shadow.add("scratch", scratch, scratchBytes, Shadow::Kind::Scratch);
  }
  m.shared.assign(static_cast<size_t>(std::max<int64_t>(16, k.sharedBytes)), kPoison);
  if (k.sharedBytes > 0) m.shadow.add("shared memory", m.shared.data(), k.sharedBytes, Shadow::Kind::Shared);
  *m.body = HostBody{&Impl::barrier, &Impl::arrive, &Impl::access, 0, k.threads, 0, grid, m.shared.data()};
  m.random.seed(options.orderSeed);
  m.checkAccesses = options.checkAccesses;
  m.error.clear();
  Impl::current = &m;
  m.clock.launchStart = ++m.clock.now;
  for (int64_t b = 0; b < grid; ++b) {
    m.clock.blockStart = ++m.clock.now;
    m.body->block = b;
    std::fill(m.shared.begin(), m.shared.end(), static_cast<unsigned char>(kPoison));
    if (k.sharedBytes > 0) m.shadow.forget(m.shared.data());
    m.runBlock(fn, args, k.threads, options.order);
    if (!m.error.empty()) throw EmulationError("kernel `" + k.name + "`, block " + std::to_string(b) + ": " + m.error);
  }
}

void Emulator::launch(int kernel, const std::vector<int64_t>& params, const std::vector<Bytes*>& buffers,
                      int64_t instances, uint64_t seed) {
  if (instances <= 0) return;
  const auto& k = impl_->emitted.kernels.at(static_cast<size_t>(kernel));
  const auto& source = impl_->program.kernels.at(static_cast<size_t>(kernel));
  TEMPO_CHECK(params.size() == k.params && buffers.size() == k.buffers.size(), "arguments of " + k.name);
  int64_t grid = k.blocks(instances);
  if (options.maxBlocks > 0) grid = std::min(grid, options.maxBlocks);
  cuda::Values values;
  for (size_t i = 0; i < params.size(); ++i) values[source.params[i]] = params[i];
  cuda::ArgHeader h;
  h.instances = instances;
  h.seed = seed;
  h.stop = &stop;
  h.fault = &fault;
  h.scratchStride = cuda::scratchBytesPerBlock(source, values);
  Bytes scratch(static_cast<size_t>(h.scratchStride * grid));
  h.scratch = scratch.data();
  std::vector<void*> pointers;
  std::vector<int64_t> sizes;
  for (Bytes* b : buffers) {
    pointers.push_back(b->data());
    sizes.push_back(static_cast<int64_t>(b->size()));
  }
  const auto args = cuda::packArgs(h, params.data(), params.size(), pointers);
  launchRaw(kernel, grid, args.data(), sizes, static_cast<int64_t>(scratch.size()));
}

namespace {

/// What the host statements of a program do to an emulated device.
struct EmulatedActions : cuda::HostActions {
  Emulator& emulator;
  const kir::Program& program;
  RunResult& result;
  uint64_t seed;

  EmulatedActions(Emulator& e, const kir::Program& p, RunResult& r, uint64_t s) : emulator(e), program(p), result(r), seed(s) {}

  void launch(int kernel, const std::vector<int64_t>& params) override {
    const auto& k = program.kernels.at(static_cast<size_t>(kernel));
    cuda::Values values;
    for (size_t i = 0; i < params.size(); ++i) values[k.params.at(i)] = params[i];
    std::vector<Bytes*> buffers;
    for (const auto& b : k.buffers) buffers.push_back(&result.buffers.at(b.name));
    emulator.launch(kernel, params, buffers, cuda::instances(k, values), seed);
    ++result.launches;
  }
  void effect(int effect, const std::vector<int64_t>& point) override {
    Effect e{effect, point};
    if (emulator.onEffect) emulator.onEffect(e, result);
    result.effects.push_back(std::move(e));
  }
  void progress(int64_t, int64_t) override {}
  double load(int buffer, int64_t index) override {
    const auto& b = program.buffers.at(static_cast<size_t>(buffer));
    const Bytes& data = result.buffers.at(b.name);
    if (index < 0 || (index + 1) * bytes(b.dtype) > static_cast<int64_t>(data.size())) {
      throw EmulationError("the host loop reads `" + b.name + "` at " + std::to_string(index) + ", outside it");
    }
    return cuda::loadNumber(data.data(), b.dtype, index);
  }
  bool stopped() override { return emulator.fault.site != -1 || emulator.stop != 0; }
};

}  // namespace

RunResult Emulator::run(const std::map<std::string, int64_t>& sizes, const std::map<std::string, Bytes>& inputs,
                        uint64_t seed) {
  RunResult result;
  fault = TempoFault{-1, 0, {}};
  stop = 0;
  const kir::Program& p = impl_->program;
  std::vector<int64_t> values;
  cuda::Values named;
  for (const auto& s : p.sizes) {
    auto it = sizes.find(s);
    if (it == sizes.end()) throw EmulationError("size `" + s + "` has no value");
    values.push_back(it->second);
    named[s] = it->second;
  }
  for (const auto& b : p.buffers) {
    const int64_t n = cuda::evaluate(b.count, named) * bytes(b.dtype);
    Bytes data(static_cast<size_t>(n), static_cast<std::byte>(b.zeroed ? 0 : kPoison));
    if (auto it = inputs.find(b.name); it != inputs.end()) {
      if (it->second.size() != data.size()) {
        throw EmulationError("buffer `" + b.name + "` has " + std::to_string(n) + " bytes, given " +
                             std::to_string(it->second.size()));
      }
      data = it->second;
    }
    result.buffers[b.name] = std::move(data);
  }
  EmulatedActions actions(*this, p, result, seed);
  cuda::HostProgram(p).run(values, actions);
  result.fault = fault;
  return result;
}

}  // namespace tempo::emulation
