#include "harness.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

namespace tempo::bench {

namespace {

[[noreturn]] void giveUp(const Failure& f, const Diagnostics& diags) {
  std::fprintf(stderr, "%s%s\n", renderHuman(diags, false).c_str(), f.message.c_str());
  std::exit(1);
}

class Stamps : public RunListener {
 public:
  void started(const std::string&, int64_t total) override { at.reserve(static_cast<size_t>(std::max<int64_t>(total, 0)) + 1); }
  void progress(int64_t, int64_t) override { at.push_back(now()); }
  std::vector<double> at;
};

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

Pair interleave(const std::function<double()>& a, const std::function<double()>& b, int pairs) {
  std::vector<double> as, bs, ratios;
  a(), b();
  for (int k = 0; k < pairs; ++k) {
    as.push_back(a());
    bs.push_back(b());
    ratios.push_back(as.back() / bs.back());
  }
  return {median(as), median(bs), median(ratios)};
}

Bench::Bench(const std::string& text, std::map<std::string, std::string> settings, std::map<std::string, std::string> force)
    : sources_(std::make_unique<Sources>()), diags_(std::make_unique<Diagnostics>(*sources_)) {
  CompileOptions o;
  o.settings = settings;
  o.force = std::move(force);
  o.cache = false;
  auto program = Program::load({"bench.tempo", text}, o, *diags_);
  if (!program) giveUp(program.failure(), *diags_);
  program_ = *program;
  RunOptions sampled;
  sampled.sampleInputs = true;
  const auto prepared = program_->prepared(sampled);
  if (!prepared) giveUp(prepared.failure(), *diags_);
  options_.arrays = prepared->inputs;
}

double Bench::run(int threads) {
  options_.threads = threads;
  options_.listener = nullptr;
  last_ = {};
  last_ = program_->run(options_);
  if (last_.failure) giveUp(*last_.failure, *diags_);
  return last_.stats.runSeconds;
}

std::vector<double> Bench::steps(int threads) {
  Stamps stamps;
  options_.threads = threads;
  options_.listener = &stamps;
  last_ = {};
  last_ = program_->run(options_);
  if (last_.failure) giveUp(*last_.failure, *diags_);
  std::vector<double> out;
  for (size_t i = 1; i < stamps.at.size(); ++i) out.push_back(stamps.at[i] - stamps.at[i - 1]);
  return out;
}

double onThreads(int threads, const std::function<void(int)>& work) {
  std::vector<std::thread> workers;
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  for (int k = 1; k < threads; ++k) {
    workers.emplace_back([&, k] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(k, &set);
      pthread_setaffinity_np(pthread_self(), sizeof set, &set);
      ++ready;
      while (!go) std::this_thread::yield();
      work(k);
    });
  }
  while (ready < threads - 1) std::this_thread::yield();
  const double start = now();
  go = true;
  work(0);
  for (auto& w : workers) w.join();
  return now() - start;
}

std::string number(double v, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g %s", v, unit);
  return text;
}

void line(const std::string& what, const std::string& figure, const std::string& peer, double ratio, bool atLeast, double goal) {
  const bool met = atLeast ? ratio >= goal : ratio <= goal;
  std::printf("%-44s %14s  %-26s ratio %-8.3g goal %s %-5.3g %s\n", what.c_str(), figure.c_str(), peer.c_str(), ratio,
              atLeast ? ">=" : "<=", goal, met ? "met" : "MISSED");
  std::fflush(stdout);
}

}  // namespace tempo::bench
