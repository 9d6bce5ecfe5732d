#include "cli/command.hpp"

#include "catch.hpp"
#include "driver/scratch.hpp"
#include "runtime/io.hpp"
#include "runtime/io_npz.hpp"

using namespace tempo;
using namespace tempo::test;
using Catch::Contains;
using Catch::Matches;

namespace {

/// Running sums of a series, with something of everything a program can say.
const char* kSums = R"(# Running sums.
dim t : T = 4
option scale : f32 = 2 "of the sums"
input x[t] : f32

s[-1] = 0.0
s[t] = s[t-1] + scale * x
report total = s
output s
)";

Array series(std::initializer_list<double> values) {
  Array a = Array::zeros(DType::F32, {static_cast<int64_t>(values.size())});
  int64_t i = 0;
  for (const double v : values) a.set(i++, v);
  return a;
}

struct Folder : Scratch {
  Folder() {
    write("sums.tempo", kSums);
    writeArray({path("x.npy"), ""}, series({1, 2, 3, 4}));
  }
  Ran run(const std::vector<std::string>& args, const HowToRun& how = {}) const { return runTempo(path(), args, how); }
};

}  // namespace

TEST_CASE("a program runs, shows its outputs, and says what it compiled", "[cli]") {
  const Folder f;
  const Ran first = f.run({"run", "sums.tempo", "--in", "x=x.npy"});
  INFO(first.err);
  REQUIRE(first.code == 0);
  // 2*1, 2*(1+2), 2*(1+2+3), 2*(1+2+3+4)
  CHECK_THAT(first.out, Contains("s : f32[4] = [2, 6, 12, 20]"));
  CHECK_THAT(first.out, Contains("t=3  total=20"));
  CHECK_THAT(first.err, Contains(", 0 cached"));
  const Ran second = f.run({"run", "sums.tempo", "--in", "x=x.npy", "-s", "scale=1"});
  REQUIRE(second.code == 0);
  CHECK_THAT(second.out, Contains("s : f32[4] = [1, 3, 6, 10]"));
  CHECK_THAT(second.err, Contains("compiled 0 kernels"));
}

TEST_CASE("the cache can be off, cleared and damaged", "[cli]") {
  const Folder f;
  const std::vector<std::string> run = {"run", "sums.tempo", "--in", "x=x.npy"};
  f.run(run);
  // The program as a run needs it, and its code.
  CHECK_THAT(f.run({"cache", "info"}).out, Contains("entries  2"));
  CHECK_THAT(f.run(run, {{{"TEMPO_CACHE", "0"}}, 0}).err, Contains(", 0 cached"));
  CHECK_THAT(f.run({"run", "sums.tempo", "--in", "x=x.npy", "--no-cache"}).err, Contains(", 0 cached"));
  for (const auto& e : std::filesystem::directory_iterator(f.path(".cache/tempo"))) {
    if (e.path().extension() == ".entry") std::filesystem::resize_file(e.path(), 100);
  }
  const Ran repaired = f.run(run);
  CHECK(repaired.code == 0);
  CHECK_THAT(repaired.err, Contains(", 0 cached"));
  CHECK_THAT(f.run(run).err, Contains("compiled 0 kernels"));
  CHECK_THAT(f.run({"cache", "clear"}).out, Contains("removed 2 "));
  CHECK_THAT(f.run(run).err, Contains(", 0 cached"));
}

TEST_CASE("a program started from the cache is the program in the files", "[cli]") {
  const Folder f;
  f.write("mine.tempo", "fn twice(x) = 2 * x\n");
  f.write("x.csv", "v\n1\n2\n");
  f.write("p.tempo",
          "use \"mine.tempo\" as mine\ndim t : T\ninput x[t] : f32 = csv(\"x.csv\", column = \"v\")\n"
          "y = mine.twice(x)\nassert y < 100.0\nreport y\noutput y\n");
  const auto run = [&] { return f.run({"run", "p.tempo", "--time-phases"}); };
  const Ran cold = run();
  INFO(cold.err);
  REQUIRE(cold.code == 0);
  CHECK_THAT(cold.out, Contains("y : f32[2] = [2, 4]"));
  CHECK_THAT(cold.err, Contains("elaborate"));
  const Ran warm = run();
  CHECK(warm.out == cold.out);
  CHECK_THAT(warm.err, !Contains("elaborate"));
  f.write("x.csv", "v\n1\n2\n50\n");  // another length, and a value the assert refuses
  const Ran longer = run();
  CHECK(longer.code == 1);
  CHECK_THAT(longer.err, Contains("p.tempo:5:") && Contains("t = 2"));
  f.write("x.csv", "v\n1\n2\n51\n");
  CHECK_THAT(run().err, Contains("p.tempo:5:") && !Contains("elaborate"));
  f.write("x.csv", "v\n3\n4\n");
  CHECK_THAT(run().out, Contains("[6, 8]"));
  f.write("mine.tempo", "fn twice(x) = 20 * x\n");
  CHECK_THAT(run().out, Contains("[60, 80]"));
}

TEST_CASE("outputs go to files, reports to logs", "[cli]") {
  const Folder f;
  const Ran r = f.run({"run", "sums.tempo", "--in", "x=x.npy", "--out", "s=s.npz:sums", "--log", "csv=m.csv,jsonl", "-q"});
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.out.empty());
  CHECK(r.err.empty());
  CHECK(readArray({f.path("s.npz"), "sums"}).get(3) == 20);
  CHECK_THAT(readWholeFile(f.path("m.csv")), Matches("t,total,seconds\n0,2,[0-9.]+\n1,6,(.|\n)*"));
  CHECK_THAT(readWholeFile(f.path("sums.metrics.jsonl")), Contains("{\"t\": 3, \"total\": 20, \"seconds\": "));
}

TEST_CASE("sizes come from files, and one program serves any", "[cli]") {
  const Folder f;
  f.write("open.tempo", "dim t : T\ninput x[t] : f32 = csv(\"x.csv\", column = \"v\")\ny = 10.0 * x\noutput y\n");
  f.write("x.csv", "v,w\n1,7\n2,8\n3,9\n");
  const Ran r = f.run({"run", "open.tempo"});
  INFO(r.err);
  CHECK_THAT(r.out, Contains("y : f32[3] = [10, 20, 30]"));
  CHECK_THAT(f.run({"run", "open.tempo", "--in", "x=x.csv:w"}).out, Contains("[70, 80, 90]"));
  CHECK_THAT(f.run({"run", "open.tempo", "--in", "x=x.npy"}).out, Contains("[10, 20, 30, 40]"));
}

TEST_CASE("help lists what a program takes", "[cli]") {
  const Folder f;
  const Ran r = f.run({"run", "sums.tempo", "--help"});
  REQUIRE(r.code == 0);
  CHECK_THAT(r.out, Contains("Running sums."));
  CHECK_THAT(lineWith(r.out, "  T "), Contains("default 4"));
  CHECK_THAT(lineWith(r.out, "  scale : f32"), Contains("default 2  of the sums"));
  CHECK_THAT(lineWith(r.out, "  x : f32 over (t)"), Contains("required"));
  CHECK_THAT(r.out, Contains("  s : f32 over (t)"));
  CHECK_THAT(r.out, Contains("--in"));
  CHECK_THAT(f.run({"run", "--help"}).out, Contains("--threads"));
}

TEST_CASE("mistakes on the command line exit with 2, a place and a reason", "[cli]") {
  const Folder f;
  const struct {
    std::vector<std::string> args;
    const char* message;
  } rows[] = {
      {{"run", "nofile.tempo"}, "nofile.tempo: No such file or directory"},
      {{"run"}, "says no program"},
      {{"runn", "sums.tempo"}, "did you mean `tempo run`?"},
      {{"sums.tempo"}, "did you mean `tempo run sums.tempo`?"},
      {{"run", "sums.tempo", "--thread=2"}, "did you mean `--threads`?"},
      {{"run", "sums.tempo", "--threads", "0"}, "--threads"},
      {{"run", "sums.tempo", "--device", "tpu"}, "tpu"},
      {{"run", "sums.tempo", "-s", "T"}, "wants NAME=VALUE, not `T`"},
      {{"run", "sums.tempo", "-s", "T=four"}, "-s T=four: `T` is a size: an integer, not `four`"},
      {{"run", "sums.tempo", "-s", "T=-4"}, "at least 0"},
      {{"run", "sums.tempo", "-s", "scale=big"}, "`scale` is a number, not `big`"},
      {{"run", "sums.tempo", "-s", "scael=1"}, "did you mean `scale`?"},
      {{"run", "sums.tempo", "-s", "T=1", "-s", "T=2"}, "`T` is given twice"},
      {{"run", "sums.tempo"}, "input `x`: it is bound to nothing"},
      {{"run", "sums.tempo", "--in", "series=x.npy"}, "the program has no input `series`"},
      {{"run", "sums.tempo", "--in", "x=x.npy", "--out", "sum=y.npy"}, "the program has no output `sum`"},
      {{"run", "sums.tempo", "--in", "x=x.npy", "--out", "s=y.foo"}, "end the name in .npy, .npz, .csv or .txt"},
      {{"run", "sums.tempo", "--in", "x=x.npy", "--log", "tb"}, "`tb` is not a kind of log"},
      {{"run", "sums.tempo", "--in", "x=x.npy", "--target-cpu", "x86-64-v9"}, "there is no such CPU"},
      {{"emit", "sums.tempo"}, "say what to print"},
      {{"explain", "E9999"}, "there is no error code `E9999`"},
      {{"cache", "purge"}, "purge"},
      {{"repl"}, "there is no REPL in this version"},
  };
  for (const auto& row : rows) {
    const Ran r = f.run(row.args);
    INFO("tempo " << row.args[0] << " ... " << row.args.back() << ": " << r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK_THAT(r.err, Contains(row.message));
  }
}

TEST_CASE("bad files exit with 1, the path and a reason", "[cli]") {
  const Folder f;
  f.write("broken.npy", "\x93NUMPY");
  f.write("holes.csv", "v\n1\n2\n\"\"\n4\n");
  writeArray({f.path("long.npy"), ""}, series({1, 2, 3, 4, 5}));
  const struct {
    const char* file;
    const char* message;
  } rows[] = {
      {"none.npy", "none.npy: No such file or directory"},
      {"broken.npy", "broken.npy: the file is cut short in the npy header"},
      {"holes.csv:v", "holes.csv: line 4, column 1 (`v`): the value is missing"},
      {"long.npy", "makes `T` 5"},
  };
  for (const auto& row : rows) {
    const Ran r = f.run({"run", "sums.tempo", "--in", std::string("x=") + row.file});
    INFO(row.file << ": " << r.err);
    CHECK(r.code == 1);
    CHECK_THAT(r.err, Contains(row.message));
  }
  CHECK(f.run({"run", "sums.tempo", "--in", "x=x.npy", "--out", "s=no/folder.npy"}).code == 1);
}

TEST_CASE("errors in a program exit with 1, for people and for programs", "[cli]") {
  const Folder f;
  f.write("hole.tempo", "dim t : T = 3\nh[t] = h[t-1] + 0.5 * x\ninput x[t] : f32\noutput h\n");
  for (const char* verb : {"run", "check", "plan", "emit"}) {
    std::vector<std::string> args = {verb, "hole.tempo"};
    if (args[0] == "emit") args.emplace_back("--sdg");
    const Ran r = f.run(args);
    CHECK(r.code == 1);
    CHECK_THAT(r.err, Contains("error[E0301]") && Contains("hole.tempo:2:"));
    CHECK(r.out.empty());
  }
  const Ran json = f.run({"check", "hole.tempo", "--format", "json"});
  REQUIRE(json.code == 1);
  CHECK(json.err.front() == '{');
  CHECK_THAT(json.err, Contains("E0301"));
  CHECK_THAT(f.run({"explain", "E0301"}).out, Contains("E0301"));
}

TEST_CASE("a failed assert names equation, message and point", "[cli]") {
  const Folder f;
  f.write("guard.tempo", "dim t : T = 4\ninput x[t] : f32\nassert x < 3.0\noutput x\n");
  const Ran r = f.run({"run", "guard.tempo", "--in", "x=x.npy"});
  CHECK(r.code == 1);
  CHECK_THAT(r.err, Contains("guard.tempo:3:") && Contains("t = 2"));
}

TEST_CASE("prints go to stdout with their point, also when quiet", "[cli]") {
  const Folder f;
  f.write("say.tempo", "dim t : T = 3\nx[t] = 2 * t\nprint x when t > 0\noutput x\n");
  CHECK(f.run({"run", "say.tempo", "-q"}).out == "[t = 1] x = 2\n[t = 2] x = 4\n");
}

TEST_CASE("types are printed and the oracle agrees", "[cli]") {
  const Folder f;
  CHECK_THAT(f.run({"check", "sums.tempo"}).out, Contains("s : f32 over (t)"));
  const Ran r = f.run({"check", "sums.tempo", "--oracle"});
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK_THAT(r.out, Contains("s: agrees with the oracle"));
  CHECK_THAT(f.run({"run", "sums.tempo", "--in", "x=x.npy", "--device", "oracle"}).out, Contains("[2, 6, 12, 20]"));
}

TEST_CASE("every stage can be printed", "[cli]") {
  const Folder f;
  const std::pair<const char*, const char*> rows[] = {{"--ast", "scale"},  {"--sdg", "input"},   {"--plan", "kernel"},
                                                      {"--kir", "kernel"}, {"--llvm", "define"}, {"--asm", "tempo_host"},
                                                      {"--cuda", "TEMPO_KERNEL"}};
  for (const auto& [stage, word] : rows) {
    const Ran r = f.run({"emit", stage, "sums.tempo"});
    INFO(stage << ": " << r.err);
    CHECK(r.code == 0);
    CHECK_THAT(r.out, Contains(word));
  }
  CHECK_THAT(f.run({"plan", "sums.tempo"}).out, Contains("bytes besides the inputs"));
  CHECK(f.run({"plan", "sums.tempo", "--format", "json"}).out.front() == '{');
  CHECK_THAT(f.run({"run", "sums.tempo", "--in", "x=x.npy", "--time-phases"}).err,
             Contains("parse") && Contains("elaborate") && Contains("lower") && Contains("total"));
}

TEST_CASE("passes can be switched off one by one and change nothing", "[cli]") {
  const Folder f;
  for (const char* pass : {"recur", "schedule", "place", "store"}) {
    const Ran r = f.run({"run", "sums.tempo", "--in", "x=x.npy", std::string("--no-") + pass});
    INFO(pass << r.err);
    CHECK_THAT(r.out, Contains("s : f32[4] = [2, 6, 12, 20]"));
  }
  CHECK(f.run({"run", "sums.tempo", "--no-magic"}).code == 2);
  CHECK(f.run({"run", "sums.tempo", "--in", "x=x.npy", "--force", "store.s=banana"}).code == 2);
}

TEST_CASE("an interrupted run ends with 130", "[cli]") {
  const Folder f;
  f.write("long.tempo",
          "dim i : I >= 1 = 20000, t : T >= 1 = 1000\nw[0, t] = 1.0 / (t + 1)\n"
          "w[i+1, t] = sum[s in 0 : T] abs(w[i, s] - w[i, t]) / T\noutput w[I-1]\n");
  const Ran r = f.run({"run", "long.tempo"}, {{}, 1500});
  INFO(r.err);
  CHECK(r.code == 130);
  CHECK_THAT(r.err, Contains("interrupted"));
}

TEST_CASE("tests in comments", "[cli]") {
  const Folder f;
  f.write("good.tempo", R"(fn double(x) = 2 * x
fn running[t](x) = sum(x[t = 0 : t + 1], axis = 0)
## test : double([1.0, 2.0]) == [2, 4]; double(3.0) == 6
## test T=3 x=[1, 2, 3] : running[t](x) == [1, 3, 6]
## test : double(0.5) == 1.2 ~ 0.2
)");
  CHECK(f.run({"test", "good.tempo"}).out == "good.tempo: 3 passed, 0 failed\n");
  f.write("program.tempo", std::string(kSums) + R"(## test T=2 x=[1, 2] : s == [2, 6]
## test T=2 x=[1, 2] scale=1 : s == [1,
##    3]
## error E0301 : s[t] = s[t-2] + x
## compiles 1 : T=4, T=8, T=100
## peak_mem <= 65536 : T=100
)");
  const Ran program = f.run({"test", "program.tempo"});
  INFO(program.out << program.err);
  CHECK(program.out == "program.tempo: 5 passed, 0 failed\n");
  f.write("bad.tempo", std::string(kSums) + R"(## test T=2 x=[1, 2] : s == [2, 7]
## error E0302 : s[t] = s[t-2] + x
## compiles 2 : T=4, T=8
## peak_mem <= 1 : T=100
## test T=2 x=[1, 2] : s == [[2, 6]]
)");
  const Ran bad = f.run({"test", "bad.tempo"});
  CHECK(bad.code == 1);
  CHECK_THAT(bad.out, Contains("bad.tempo:10: FAILED: `s` [1] is 6, expected 7"));
  CHECK_THAT(bad.out, Contains("has E0301 instead"));
  CHECK_THAT(bad.out, Contains("compiled 1 times, expected 2"));
  CHECK_THAT(bad.out, Contains("at most 1 expected"));
  CHECK_THAT(bad.out, Contains("has shape [2], expected [1, 2]"));
  CHECK_THAT(bad.out, Contains("0 passed, 5 failed"));
  f.write("odd.tempo", "## test : f(1)\n");
  CHECK_THAT(f.run({"test", "odd.tempo"}).err, Contains("odd.tempo:1:"));
  CHECK(f.run({"test", "hole.tempo"}).code == 2);
}
