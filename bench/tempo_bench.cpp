// tempo_bench WHAT...: figures of Tempo against peers measured in the same process. See README.md.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "harness.hpp"
#include "peers.hpp"

namespace tempo::bench {
namespace {

using Settings = std::map<std::string, std::string>;

std::string text(double v) { return std::to_string(static_cast<int64_t>(v)); }

std::string fileText(const std::filesystem::path& p) {
  std::ifstream in(p);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

/// A sample with its inputs left open, so that they are sampled at the sizes asked for.
std::string sampleText(const std::string& path) {
  return std::regex_replace(fileText(std::string(TEMPO_SAMPLES) + "/" + path), std::regex(R"( = npy\([^)]*\))"), "");
}

std::vector<float> randomFloats(int64_t n) {
  std::vector<float> v(static_cast<size_t>(n));
  uint32_t s = 1;
  for (float& x : v) s = s * 1664525u + 1013904223u, x = static_cast<float>(s >> 8) * 0x1p-23f - 1.0f;
  return v;
}

volatile float sink;

// ---- the host loop

void launch() {
  constexpr double kSteps = 200'000;
  // What is read crosswise keeps the kernels of a step in one loop, and what another step reads keeps them apart.
  const std::string program =
      "dim t : T\ninput x0 : f32[4]\n"
      "a[0] = x0\na[t+1] = b[t] * 0.5 + 1.0\n"
      "b[0] = x0\nb[t+1] = max(a[t+1], 0.1) - sum(a[t+1]) * 0.1\n"
      "output a, b\n";
  Bench b(program, {{"T", text(kSteps)}}, {{"place.t", "host"}});
  const auto kir = b.program().emit(EmitStage::Kir);
  int kernels = 0;
  if (kir) {
    const std::string loop = kir->substr(kir->find("for c_"), kir->find("progress(") - kir->find("for c_"));
    for (size_t at = loop.find("launch "); at != std::string::npos; at = loop.find("launch ", at + 1)) ++kernels;
  }
  std::vector<double> t;
  b.run(1);
  for (int k = 0; k < 9; ++k) t.push_back(b.run(1) / (kSteps * std::max(kernels, 1)));
  line("launch: per kernel call, " + std::to_string(kernels) + " a step", number(median(t) * 1e9, "ns"), "100 ns",
       median(t) * 1e9 / 100, false, 1);
}

// ---- recurrences

void recurrence() {
  constexpr int64_t n = 1'000'000;
  const auto x = randomFloats(n);
  std::vector<float> s(n + 1);
  Bench whole("dim t : T\ninput x[t] : f32\ns[0] = 0.0\ns[t+1] = 0.999 * s[t] + x[t]\noutput s\n", {{"T", text(n)}});
  const Pair p = interleave([&] { return whole.run(1); },
                            [&] {
                              const double start = now();
                              recurrenceWhole(x.data(), s.data(), n);
                              sink = s[n];
                              return now() - start;
                            });
  line("recurrence: kept whole, per step", number(p.a / n * 1e9, "ns"), "C -O3 " + number(p.b / n * 1e9, "ns"), p.ratio, false, 1.5);
  Bench ring("dim t : T\ninput x[t] : f32\ns[0] = 0.0\ns[t+1] = 0.999 * s[t] + x[t]\noutput s[t = T]\n", {{"T", text(n)}});
  const Pair r = interleave([&] { return ring.run(1); },
                            [&] {
                              const double start = now();
                              sink = recurrenceLast(x.data(), n);
                              return now() - start;
                            });
  line("recurrence: last value only, per step", number(r.a / n * 1e9, "ns"), "C -O3 " + number(r.b / n * 1e9, "ns"), r.ratio, false, 1.5);
}

// ---- decoding

std::string rowsOf(Program& p, const std::string& tensor) {
  const auto json = p.planJson();
  if (!json) return "";
  std::smatch m;
  const std::regex entry("\"tensor\": \"" + tensor + "\",[^}]*\"kept\": \"([a-z]+)\", \"dims\": \"([^\"]*)\"");
  return std::regex_search(*json, m, entry) ? m[1].str() + ", " + m[2].str() : "";
}

void decodeWindow() {
  const std::string program = sampleText("attention/decode_window.tempo");
  double first = 0;
  for (const int64_t steps : {4096, 16384, 65536}) {
    Bench b(program, {{"T", text(steps)}, {"H", "8"}, {"D", "64"}, {"M", "512"}, {"W", "256"}});
    for (const char* tensor : {"k", "v"}) {
      const std::string rows = rowsOf(b.program(), tensor);
      if (rows.find("ring") == std::string::npos || rows.find("last max(1, min(T, W))") == std::string::npos) {
        std::printf("decode-window: %s is kept as %s, not as a ring of W rows\n", tensor, rows.c_str());
        std::exit(1);
      }
    }
    auto t = b.steps(2);
    t.erase(t.begin(), t.begin() + 512);
    const double each = median(t);
    if (!first) {
      auto alone = b.steps(1);
      alone.erase(alone.begin(), alone.begin() + 512);
      line("decode-window: per token, 1 thread", number(median(alone) * 1e6, "us"), "2 threads " + number(each * 1e6, "us"),
           median(alone) / each, true, 1.5);
    }
    if (!first) first = each;
    line("decode-window: per token, T = " + std::to_string(steps), number(each * 1e6, "us"),
         "T = 4096 " + number(first * 1e6, "us"), each / first, false, 1.05);
  }
}

void decodeCausal() {
  constexpr int64_t h = 64, d = 1024, m = 16, steps = 512;
  Bench b(sampleText("attention/decode_causal.tempo"), {{"T", text(steps)}, {"H", text(h)}, {"D", text(d)}, {"M", text(m)}});
  const auto data = randomFloats(2 * h * d * steps);
  // The last steps read all of K and V; the pure read takes its turn before and after the run.
  const auto read = [&] {
    return onThreads(2, [&](int k) { sink = pureRead(data.data() + k * h * d * steps, h * d * steps); });
  };
  read();
  std::vector<double> reads{read(), read(), read()};
  const auto t = b.steps(2);
  for (int k = 0; k < 3; ++k) reads.push_back(read());
  const std::vector<double> tail(t.end() - 32, t.end());
  const double bytes = 2.0 * h * d * (steps - 16) * 4;  // the middle of the last 32
  const double mine = bytes / median(tail), pure = 2.0 * h * d * steps * 4 / median(reads);
  line("decode-causal: K and V read, " + number(bytes / 1e6, "MB"), number(mine / 1e9, "GB/s"),
       "pure read " + number(pure / 1e9, "GB/s"), mine / pure, true, 0.85);
}

// ---- windows

void moving() {
  constexpr int64_t n = 1'000'000;
  for (const char* what : {"moving_sum", "moving_max"}) {
    const auto at = [&](int64_t w) {
      return std::make_unique<Bench>("dim t : T\nsize W\ninput x[t] : f32\ny[t] = " + std::string(what == std::string("moving_sum") ? "sum" : "max") +
                   "(x[max(0, t - W + 1) : t + 1])\noutput y\n", Settings{{"T", text(n)}, {"W", text(w)}});
    };
    auto narrow = at(16), wide = at(4096);
    const Pair p = interleave([&] { return wide->run(1); }, [&] { return narrow->run(1); }, 3);
    line(std::string("moving: ") + what + ", W = 4096, per element", number(p.a / n * 1e9, "ns"), "W = 16 " + number(p.b / n * 1e9, "ns"),
         p.ratio, false, 1.2);
  }
  const auto x = randomFloats(n);
  std::vector<float> s(n + 1);
  Bench sum("dim t : T\ninput x[t] : f32\ny[t] = sum(x[0 : t + 1])\noutput y\n", {{"T", text(n)}});
  const Pair p = interleave([&] { return sum.run(1); },
                            [&] {
                              const double start = now();
                              recurrenceWhole(x.data(), s.data(), n);
                              sink = s[n];
                              return now() - start;
                            });
  line("moving: cumulative sum, per element", number(p.a / n * 1e9, "ns"), "C recurrence " + number(p.b / n * 1e9, "ns"), p.ratio, false, 1.5);
}

// ---- threads

void threads() {
  constexpr int64_t n = 1 << 22;
  std::string deep = "x[t]";
  for (int k = 0; k < 64; ++k) deep = "(" + deep + " * 0.5 + 0.25)";
  Bench b("dim t : T\ninput x[t] : f32\ny[t] = " + deep + "\noutput y\n", {{"T", text(n)}});
  const Pair p = interleave([&] { return b.run(1); }, [&] { return b.run(2); });
  line("threads: arithmetic, 1 thread against 2", number(p.a * 1e3, "ms"), "2 threads " + number(p.b * 1e3, "ms"), p.ratio, true, 1.7);

  constexpr int64_t rows = 1 << 16, width = 4096;
  Bench stream("dim t : T\nsize D\ninput x[t] : f32[D]\ny[t] = sum(x)\noutput y\n", {{"T", text(rows)}, {"D", text(width)}});
  const auto data = randomFloats(rows * width);
  const Pair s = interleave([&] { return onThreads(2, [&](int k) { sink = pureRead(data.data() + k * rows * width / 2, rows * width / 2); }); },
                            [&] { return stream.run(2); });
  const double bytes = 4.0 * rows * width;
  line("threads: streaming, 1 GiB", number(bytes / s.b / 1e9, "GB/s"), "pure read " + number(bytes / s.a / 1e9, "GB/s"), s.ratio, true, 0.9);
}

// ---- compiling

std::string shell(const std::string& command, int* code) {
  std::string out;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return out;
  char part[4096];
  while (const size_t n = fread(part, 1, sizeof part, pipe)) out.append(part, n);
  *code = pclose(pipe);
  return out;
}

void compile(const std::string& tempo) {
  const auto cache = std::filesystem::temp_directory_path() / ("tempo_bench_cache_" + std::to_string(now()));
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  double worst = 0, worstWarm = 0;
  std::string slowest;
  for (const auto& e : std::filesystem::directory_iterator(std::string(TEMPO_SAMPLES) + "/attention")) {
    if (e.path().extension() != ".tempo") continue;
    int code = 0;
    const std::string run = tempo + " run " + e.path().string() + " --quiet";
    std::vector<double> cold, warm;
    std::string phases;
    for (int k = 0; k < 3; ++k) {
      phases = shell("TEMPO_CACHE=0 " + run + " --time-phases", &code);
      std::smatch m;
      if (!std::regex_search(phases, m, std::regex("total +([0-9.]+) ms"))) break;
      cold.push_back(std::stod(m[1]) / 1e3);
    }
    shell(run, &code);
    for (int k = 0; k < 3; ++k) {
      const double start = now();
      shell(run, &code);
      warm.push_back(now() - start);
    }
    const double c = median(cold), w = median(warm);
    std::string split = std::regex_replace(phases, std::regex("\\s+"), " ");
    std::printf("compile: %-22s cold %6.1f ms  warm process %6.1f ms %s|%s\n", e.path().stem().c_str(), c * 1e3, w * 1e3,
                code ? "FAILED " : "", split.c_str());
    if (c > worst) worst = c, slowest = e.path().stem();
    worstWarm = std::max(worstWarm, w);
  }
  line("compile: slowest sample cold, " + slowest, number(worst, "s"), "0.5 s", worst / 0.5, false, 1);
  line("compile: slowest sample from the cache, all", number(worstWarm * 1e3, "ms"), "50 ms", worstWarm / 0.05, false, 1);
  std::filesystem::remove_all(cache);
}

// ---- products of matrices

void matmul() {
  float seed = 0;
  const auto peak = [&] {
    const double start = now();
    const double flops = fmaPeak(2'000'000, &seed);
    return (now() - start) / flops;
  };
  const struct {
    int64_t t, k, n;
  } shapes[] = {{512, 64, 64}, {4096, 256, 256}, {1024, 1024, 1024}, {1024, 64, 4096}};
  for (const auto& s : shapes) {
    Bench b("dim t : T\nsize N, K\ninput x[t] : f32[K], w : f32[K, N]\ny[t] = x[t] @ w\noutput y\n",
            {{"T", text(s.t)}, {"K", text(s.k)}, {"N", text(s.n)}});
    const double flops = 2.0 * s.t * s.k * s.n;
    const Pair p = interleave(peak, [&] { return b.run(1) / flops; });
    line("matmul: " + std::to_string(s.t) + " x " + std::to_string(s.k) + " x " + std::to_string(s.n) + ", 1 thread",
         number(1e-9 / p.b, "GFLOP/s"), "FMA peak " + number(1e-9 / p.a, "GFLOP/s"), p.ratio, true, 0.8);
  }
}

int usage() {
  std::fprintf(stderr, "usage: tempo_bench launch|recurrence|decode-window|decode-causal|moving|threads|compile|matmul|all ...\n");
  return 2;
}

int benchMain(int argc, char** argv) {
  const std::string tempo = (std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "tempo").string();
  const std::pair<const char*, std::function<void()>> all[] = {
      {"launch", launch},  {"recurrence", recurrence}, {"decode-window", decodeWindow},        {"decode-causal", decodeCausal},
      {"moving", moving},  {"threads", threads},       {"compile", [&] { compile(tempo); }},   {"matmul", matmul}};
  if (argc < 2) return usage();
  for (int i = 1; i < argc; ++i) {
    bool known = false;
    for (const auto& [name, f] : all) {
      if (std::strcmp(argv[i], "all") != 0 && name != std::string(argv[i])) continue;
      known = true;
      f();
    }
    if (!known) return usage();
  }
  return 0;
}

}  // namespace
}  // namespace tempo::bench

int main(int argc, char** argv) { return tempo::bench::benchMain(argc, argv); }
