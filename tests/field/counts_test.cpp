// Complaints about compile time, caches and silence: counted, never timed.
#include <unistd.h>

#include <fstream>

#include "catch.hpp"
#include "driver/layout.hpp"
#include "field/harness.hpp"
#include "kernel/kir.hpp"

using namespace tempo;
using namespace tempo::test;

namespace {

int64_t residentBytes() {
  std::ifstream f("/proc/self/statm");
  int64_t total = 0, resident = 0;
  f >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

RunOptions sized(std::map<std::string, std::string> settings) {
  RunOptions r;
  r.settings = std::move(settings);
  r.threads = 1;
  return r;
}

}  // namespace

TEST_CASE("FC-53 statements, kernels and code do not depend on lengths or layers") {
  FieldProgram p;
  p.text = "dim t : T = 10, l : L = 2\nsize D = 4\nw[l] : f32[D, D] = normal(0, 0.5, shape = [D, D])\n"
           "h[t, 0] : f32[D] = 0.1 * t + steps(0 : D)\nh[t, l+1] = tanh(h @ w + 0.5 * (if t > 0 then h[t-1, l+1] else 0 * h))\n"
           "output h[t, L]\n";
  auto loaded = load(p);
  std::string first;
  for (const char* T : {"10", "100", "1000", "10000"}) {
    for (const char* L : {"2", "8", "32"}) {
      INFO("T = " << T << ", L = " << L);
      auto r = loaded->program->prepared(sized({{"T", T}, {"L", L}}));
      REQUIRE(r);
      std::string text = kir::print(r->lowered->program);
      if (first.empty()) first = text;
      CHECK(text == first);
    }
  }
  RunResult small = loaded->program->run(sized({{"T", "10"}})), large = loaded->program->run(sized({{"T", "100"}, {"L", "8"}}));
  CHECK(!small.failure);
  CHECK(!large.failure);
  CHECK(loaded->program->stats().compilations == 1);
}

TEST_CASE("FC-55 ten thousand runs of many lengths leave memory where it was") {
  FieldProgram p;
  p.text = "dim t : T\ninput x[t] : f32\ns[t] = sum(x[0 : t+1])\noutput s\n";
  p.arrays["x"] = f32({3}, {1, 2, 3});
  auto loaded = load(p);
  std::vector<Array> inputs;
  for (int64_t n = 0; n <= 500; ++n) {
    Array a = Array::zeros(DType::F32, {n});
    for (int64_t i = 0; i < n; ++i) a.set(i, 1);
    inputs.push_back(a);
  }
  int64_t early = 0;
  for (int call = 1; call <= 10000; ++call) {
    const int64_t n = 1 + call % 500;
    RunOptions run = sized({});
    run.arrays["x"] = inputs[size_t(n)];
    RunResult r = loaded->program->run(run);
    if (r.failure || r.outputs[0].array.get(n - 1) != double(n)) {
      INFO("call " << call << (r.failure ? r.failure->message : ""));
      REQUIRE(false);
    }
    if (call == 1000) early = residentBytes();
  }
  CHECK(residentBytes() - early <= (1 << 20));
  CHECK(loaded->program->stats().compilations == 1);
}

TEST_CASE("FC-65 a run tells how far it is, in order, from before its first step") {
  struct Watcher : RunListener {
    bool begun = false;
    int64_t last = 0, total = -1;
    bool monotone = true, startedFirst = false;
    void started(const std::string& dim, int64_t n) override {
      begun = true;
      total = n;
      CHECK(dim == "i");
    }
    void progress(int64_t done, int64_t n) override {
      startedFirst = begun;
      monotone = monotone && done >= last && n == total;
      last = done;
    }
  } watcher;
  FieldProgram p;
  p.text = "dim i : I = 1000, t : T = 128\nsize D = 65\nw[0] : f32[D] = zeros\n"
           "h[i, 0] : f32[D] = w\nh[i, t+1] = tanh(0.5 * h + 0.01 * steps(0 : D))\nw[i+1] = 0.9 * w + h[i, T]\noutput w[I]\n";
  auto loaded = load(p);
  RunOptions run = sized({});
  run.listener = &watcher;
  RunResult r = loaded->program->run(run);
  INFO((r.failure ? r.failure->message : ""));
  CHECK(!r.failure);
  CHECK(watcher.startedFirst);
  CHECK(watcher.monotone);
  CHECK((watcher.total == 1000 || watcher.total == 1001));  // w exists at 0 .. I: the step that fills w[I] may count
  CHECK(watcher.last == watcher.total);
}

TEST_CASE("moving sums, maxima and cumulative sums cost a fixed number of operations a step") {
  // Counted on the plan: no reduction over a range that grows with the window is left in the kernels.
  for (const char* body : {"sum(x[0 : t+1])", "sum(x[max(0, t-W+1) : t+1])", "max(x[max(0, t-W+1) : t+1], init = -9.0)",
                           "sum(x[t : T])"}) {
    INFO(body);
    FieldProgram p;
    p.text = std::string("dim t : T\nsize W = 100\ninput x[t] : f32\ny[t] = ") + body + "\noutput y\n";
    p.arrays["x"] = f32({300}, Values(300, 1));
    auto loaded = load(p);
    RunOptions run = sized({});
    run.arrays = p.arrays;
    auto r = loaded->program->prepared(run);
    REQUIRE(r);
    std::string text = kir::print(r->lowered->program);
    INFO(text);
    auto plan = loaded->program->planText();
    REQUIRE(plan);
    CHECK(plan->find("recur y") != std::string::npos);
  }
}
