// The driver as a library.
#include "catch.hpp"

#include <chrono>
#include <numeric>
#include <thread>

#include "driver/driver.hpp"
#include "driver/scratch.hpp"

using namespace tempo;
using Catch::Contains;
using tempo::test::Scratch;

namespace {

struct Fixture {
  Sources sources;
  Diagnostics diags{sources};
  CompileOptions options;
  std::shared_ptr<Program> program;
  std::optional<Failure> failure;

  explicit Fixture(const std::string& text, CompileOptions o = {}) : options(std::move(o)) {
    options.cache = false;
    auto p = Program::load({"test.tempo", text}, options, diags);
    if (p) {
      program = *p;
    } else {
      failure = p.failure();
    }
    INFO(renderHuman(diags, false) << (failure ? failure->message : ""));
    CHECK(diags.hasErrors() == (failure && failure->kind == Failure::Kind::Compile));
  }
  RunResult run(const RunOptions& r = {}) { return program->run(r); }
};

Array floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  Array a = Array::zeros(DType::F32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) a.set(static_cast<int64_t>(i), values[i]);
  return a;
}

std::vector<double> values(const RunResult& r, size_t output = 0) {
  INFO((r.failure ? r.failure->place + ": " + r.failure->message : ""));
  REQUIRE_FALSE(r.failure.has_value());
  REQUIRE(output < r.outputs.size());
  std::vector<double> v;
  for (int64_t i = 0; i < r.outputs[output].array.count(); ++i) v.push_back(r.outputs[output].array.get(i));
  return v;
}

using V = std::vector<double>;

const char* kSums = "dim t : T = 3\noption k : f32 = 1\ninput x[t] : f32\ns[-1] = 0.0\ns[t] = s[t-1] + k * x\noutput s\n";

struct Recorder : RunListener {
  std::vector<MetricRecord> reports, prints;
  int64_t total = -2, lastDone = -1;
  bool monotone = true;
  void report(const MetricRecord& r) override { reports.push_back(r); }
  void print(const MetricRecord& r) override { prints.push_back(r); }
  void started(const std::string&, int64_t n) override { total = n; }
  void progress(int64_t done, int64_t) override {
    monotone = monotone && done >= lastDone;
    lastDone = done;
  }
};

}  // namespace

TEST_CASE("one compilation serves every length, option and array", "[driver]") {
  Fixture f(kSums);
  REQUIRE(f.program);
  RunOptions r;
  r.arrays["x"] = floats({3}, {1, 2, 3});
  CHECK(values(f.run(r)) == V{1, 3, 6});
  for (int64_t n = 0; n < 40; ++n) {
    r.settings["T"] = std::to_string(n);
    r.settings["k"] = "2";
    r.arrays["x"] = floats({n}, V(static_cast<size_t>(n), 1));
    V want(static_cast<size_t>(n));
    for (size_t i = 0; i < want.size(); ++i) want[i] = 2.0 * static_cast<double>(i + 1);
    CHECK(values(f.run(r)) == want);
  }
  CHECK(f.program->stats().compilations == 1);
}

TEST_CASE("sizes are set again for each run", "[driver]") {
  Fixture f(kSums);
  RunOptions longer;
  longer.settings["T"] = "4";
  longer.arrays["x"] = floats({4}, {1, 1, 1, 1});
  CHECK(values(f.run(longer)).size() == 4);
  RunOptions plain;
  plain.arrays["x"] = floats({3}, {1, 1, 1});
  CHECK(values(f.run(plain)).size() == 3);
}

TEST_CASE("a specialised size is compiled per value, once", "[driver]") {
  Fixture f("dim t : T = 6\nsize S = 2\ninput x[t] : f32\ny[t] = x[S * t] when S * t < T\ny[t] = 0.0 otherwise\noutput y\n");
  REQUIRE(f.program);
  RunOptions r;
  r.arrays["x"] = floats({6}, {0, 1, 2, 3, 4, 5});
  const V two = {0, 2, 4, 0, 0, 0}, three = {0, 3, 0, 0, 0, 0};
  CHECK(values(f.run(r)) == two);
  r.settings["S"] = "3";
  CHECK(values(f.run(r)) == three);
  r.settings.clear();
  CHECK(values(f.run(r)) == two);
  r.settings["S"] = "3";
  CHECK(values(f.run(r)) == three);
  CHECK(f.program->stats().compilations == 2);
  bool marked = false;
  for (const auto& s : f.program->signature().sizes) marked = marked || (s.name == "S" && s.specialised);
  CHECK(marked);
}

TEST_CASE("memory is what the plan said before the run", "[driver]") {
  Fixture f("dim t : T = 1000\ninput x[t] : f32[64]\ny[t] = x * 2.0\nz = sum(y, over = t)\noutput y\noutput z\n");
  REQUIRE(f.program);
  RunOptions r;
  r.sampleInputs = true;
  const RunResult result = f.run(r);
  REQUIRE_FALSE(result.failure);
  CHECK(result.stats.plannedBytes == result.stats.allocatedBytes);
  const int64_t outputs = 1000 * 64 * 4 + 64 * 4;
  CHECK(result.stats.allocatedBytes >= outputs);
  CHECK(result.stats.allocatedBytes <= outputs + 4096);
}

TEST_CASE("the same seed gives the same numbers, another seed others", "[driver]") {
  Fixture f("dim t : T = 100\nx[t] = normal(0.0, 1.0)\noutput x\n");
  REQUIRE(f.program);
  RunOptions one, two;
  two.seed = 7;
  const V a = values(f.run(one));
  CHECK(values(f.run(one)) == a);
  CHECK(values(f.run(two)) != a);
  one.threads = 1;
  CHECK(values(f.run(one)) == a);
}

TEST_CASE("reports, prints and progress reach the listener", "[driver]") {
  Fixture f("dim t : T = 4\nx[t] = 2 * t\nreport twice = x\nprint x when t == 2\noutput x\n");
  REQUIRE(f.program);
  Recorder seen;
  RunOptions r;
  r.listener = &seen;
  REQUIRE_FALSE(f.run(r).failure);
  REQUIRE(seen.reports.size() == 4);
  for (int64_t t = 0; t < 4; ++t) {
    CHECK(seen.reports[t].point == std::vector<std::pair<std::string, int64_t>>{{"t", t}});
    REQUIRE(seen.reports[t].values.size() == 1);
    CHECK(seen.reports[t].values[0].first == "twice");
    CHECK(seen.reports[t].values[0].second.values == V{2.0 * static_cast<double>(t)});
  }
  REQUIRE(seen.prints.size() == 1);
  CHECK(seen.prints[0].point[0].second == 2);
  CHECK(seen.total >= -1);
  CHECK(seen.monotone);
  Fixture silent("dim t : T = 4\nx[t] = 2 * t\nreport twice = x\noutput x\n", [] {
    CompileOptions o;
    o.keepEffects = false;
    return o;
  }());
  Recorder nothing;
  r.listener = &nothing;
  REQUIRE_FALSE(silent.run(r).failure);
  CHECK(nothing.reports.empty());
}

TEST_CASE("a failed assert stops the run and leaves the program usable", "[driver]") {
  Fixture f("dim t : T = 3\ninput x[t] : f32\nassert x < 2.0\ny = x + 1.0\noutput y\n");
  REQUIRE(f.program);
  std::atomic<int32_t> stop{0};
  RunOptions r;
  r.stop = &stop;
  r.arrays["x"] = floats({3}, {0, 1, 5});
  const RunResult bad = f.run(r);
  REQUIRE(bad.failure);
  CHECK(bad.failure->kind == Failure::Kind::Run);
  CHECK_THAT(bad.failure->message, Contains("t = 2"));
  CHECK_THAT(bad.failure->place, Contains("test.tempo:3:"));
  CHECK(bad.outputs.empty());
  r.arrays["x"] = floats({3}, {0, 1, 1});
  CHECK(values(f.run(r)) == V{1, 2, 2});
}

TEST_CASE("a stop flag interrupts and keeps what was computed", "[driver]") {
  Fixture f("dim i : I >= 1 = 1000000, t : T >= 1 = 500\nw[0, t] = 1.0 / (t + 1)\n"
            "w[i+1, t] = sum[s in 0 : T] abs(w[i, s] - w[i, t]) / T\nlast = w[I-1]\nz = sum(last, over = t)\noutput z\n");
  REQUIRE(f.program);
  RunOptions r;
  std::atomic<int32_t> stop{0};
  r.stop = &stop;
  r.settings["I"] = "30000";
  REQUIRE_FALSE(f.program->compile(r));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = 1;
  });
  const auto start = std::chrono::steady_clock::now();
  const RunResult result = f.run(r);
  later.join();
  REQUIRE(result.failure);
  CHECK(result.failure->kind == Failure::Kind::Interrupted);
  CHECK(result.outputs.size() == 1);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("wrong inputs and sizes are failures with a place", "[driver]") {
  Fixture f(kSums);
  REQUIRE(f.program);
  const auto failureOf = [&](const RunOptions& r) {
    const RunResult result = f.run(r);
    REQUIRE(result.failure);
    CHECK_FALSE(result.failure->place.empty());
    return result.failure->message;
  };
  RunOptions r;
  CHECK_THAT(failureOf(r), Contains("bound to nothing"));
  r.arrays["x"] = floats({5}, {1, 2, 3, 4, 5});
  CHECK_THAT(failureOf(r), Contains("shape [5]") && Contains("[3]"));
  r.arrays["x"] = Array::zeros(DType::I64, {3});
  CHECK(values(f.run(r)) == V{0, 0, 0});  // integers fit floats
  r.arrays["y"] = floats({1}, {1});
  CHECK_THAT(failureOf(r), Contains("no input `y`"));
  r.arrays.erase("y");
  r.settings["T"] = "two";
  CHECK_THAT(failureOf(r), Contains("integer"));
  Fixture ints("dim t : T = 2\ninput n[t] : i32\nm = n + 1\noutput m\n");
  RunOptions half;
  half.arrays["n"] = floats({2}, {0.5, 1});
  CHECK_THAT(ints.run(half).failure->message, Contains("f32 cannot become i32"));
  Fixture open("dim t : T\nx[t] = 2 * t\noutput x\n");
  REQUIRE(open.program);
  CHECK_THAT(open.run().failure->help, Contains("-s T=N"));
}

TEST_CASE("declared bounds of sizes are checked at the start", "[driver]") {
  Fixture f("dim t : T >= 2 = 3\nx[t] = 1.0 * t\noutput x\n");
  REQUIRE(f.program);
  RunOptions r;
  r.settings["T"] = "1";
  REQUIRE(f.run(r).failure);
  CHECK_THAT(f.run(r).failure->message, Contains("at least 2"));
}

TEST_CASE("outputs can be a part, an input, or chosen", "[driver]") {
  Fixture f("dim t : T >= 1 = 4\ninput x[t] : f32\ny = x * 10.0\noutput y[T-1]\noutput x\n");
  REQUIRE(f.program);
  RunOptions r;
  r.arrays["x"] = floats({4}, {1, 2, 3, 4});
  const RunResult result = f.run(r);
  CHECK(values(result, 0) == V{40});
  CHECK(result.outputs[0].array.shape.empty());
  CHECK(values(result, 1) == V{1, 2, 3, 4});
  CompileOptions only;
  only.onlyOutputs = {"x"};
  Fixture g("dim t : T = 4\ninput x[t] : f32\ny = x * 10.0\noutput y\noutput x\n", only);
  CHECK(g.run(r).outputs.size() == 1);
}

TEST_CASE("runs agree with the oracle, and comparisons can fail", "[driver]") {
  Fixture f(kSums);
  RunOptions r;
  r.sampleInputs = true;
  const auto all = f.program->compareWithOracle(r);
  REQUIRE(all);
  REQUIRE(all->size() == 1);
  CHECK((*all)[0].agrees);
  CHECK((*all)[0].worst < 1e-5);
}

TEST_CASE("errors in the source are data", "[driver]") {
  Fixture f("dim t : T = 3\nx[t] = = 2\noutput x\n");
  REQUIRE(f.failure);
  CHECK(f.failure->kind == Failure::Kind::Compile);
  CHECK(f.diags.errorCount() >= 1);
  Sources sources;
  Diagnostics diags(sources);
  const auto absent = Program::load({"/no/such/file.tempo", std::nullopt}, {}, diags);
  REQUIRE_FALSE(absent);
  CHECK(absent.failure().place == "/no/such/file.tempo");
}

TEST_CASE("columns of a csv fit scalars and vectors of one", "[driver]") {
  const Scratch s;
  s.write("t.csv", "a\n1\n2\n");
  RunOptions r;
  r.inputs["x"] = {s.path("t.csv"), ""};
  Fixture scalar("dim t : T = 2\ninput x[t] : f32\ny = x * 2.0\noutput y\n");
  CHECK(values(scalar.run(r)) == V{2, 4});
  Fixture vector("dim t : T = 2\ninput x[t] : f32[1]\ny = x * 2.0\noutput y\n");
  CHECK(values(vector.run(r)) == V{2, 4});
  Fixture ints("dim t : T = 2\ninput x[t] : i32\ny = x * 2\noutput y\n");
  CHECK(values(ints.run(r)) == V{2, 4});
}
