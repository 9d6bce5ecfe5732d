// Complaints from the field, with the answers a correct system gives. The names say what used to go wrong elsewhere.
#include <cmath>
#include <set>

#include "catch.hpp"
#include "field/harness.hpp"

using namespace tempo;
using namespace tempo::test;

namespace {
std::string str(int64_t n) { return std::to_string(n); }
}  // namespace

TEST_CASE("FC-05 normalising a batch of one gives zero, not NaN") {
  FieldProgram p;
  p.text = "use math\ndim n : N\ninput a[n] : f32\nm = mean(a[0 : N], init = 0)\n"
           "s = sqrt(mean((a[0 : N] - m) ** 2, init = 0))\nan[n] = (a - m) / (s + 1e-8)\noutput an\n";
  p.arrays["a"] = f32({1}, {2.5});
  gives(p, "an", {0}, 0);
  p.arrays["a"] = f32({2}, {3, 3});
  gives(p, "an", {0, 0}, 0);
}

TEST_CASE("FC-07 an n-step target near the end uses the exponent of the steps it summed") {
  FieldProgram p;
  p.text = "dim t : T\nsize n = 3\ninput r[t] : f32, v : f32[T+1]\n"
           "let k = min(t + n, T) - t\n"
           "g[t] = (sum[i in t : min(t + n, T)] 0.9 ** (i - t) * r[i]) + 0.9 ** k * v[; min(t + n, T)]\noutput g\n";
  for (int64_t T : {1, 2, 5, 7}) {
    p.arrays["r"] = f32({T}, Values(size_t(T), 1));
    p.arrays["v"] = f32({T + 1}, Values(size_t(T + 1), 10));
    gives(p, "g", Values(size_t(T), 10));
  }
}

TEST_CASE("FC-09 the recurrent state is reset where an episode starts") {
  FieldProgram p;
  p.text = "dim t : T\ninput start[t] : bool, x[t] : f32\nh[-1] = 0.0\nh[t] = (if start then 0 else 0.5 * h[t-1]) + x\noutput h[0 : T]\n";
  p.arrays["start"] = array(DType::Bool, {4}, {1, 0, 1, 0});
  p.arrays["x"] = f32({4}, {1, 1, 1, 1});
  gives(p, "h", {1, 1.5, 1, 1.5}, 0);
}

TEST_CASE("FC-11 shapes [B, 1] and [B] do not broadcast in silence") {
  FieldProgram p;
  p.text = "size B = 3\ninput ret : f32[B, 1], v : f32[B]\nloss = mean((ret - v) ** 2, init = 0)\noutput loss\n";
  Refusal r = refuses(p);
  REQUIRE(!r.codes.empty());
  CHECK(r.codes[0].substr(0, 3) == "E04");
  CHECK(r.text.find("B, 1") != std::string::npos);
  CHECK(r.text.find(":3:") != std::string::npos);
  p.text = "size B = 3\ninput ret : f32[B, 1], v : f32[B]\nloss = mean((ret[; :, 0] - v) ** 2, init = 0)\noutput loss\n";
  p.arrays["ret"] = f32({3, 1}, {1, 2, 3});
  p.arrays["v"] = f32({3}, {1, 2, 3});
  gives(p, "loss", {0}, 0);
}

TEST_CASE("FC-17 a ring of W slots keeps the window's order past its first wrap") {
  FieldProgram p;
  p.text = "dim t : T\nsize W = 4\nv[0] = 0.0\nv[t+1] = v + 1\nlet lo = max(0, t-W+1)\n"
           "out[t] = mean(v[lo : t+1], init = 0)\nord[t] = sum[i in lo : t+1] (i - lo) * v[i]\noutput out[0 : T], ord[0 : T]\n";
  for (const char* layout : {"", "store"}) {
    p.settings["T"] = "7";
    p.force.clear();
    if (*layout) p.force["store.v"] = "ring";
    gives(p, "out", {0, 0.5, 1, 1.5, 2.5, 3.5, 4.5});
    Outputs o = runWay(p, "cpu");
    CHECK(o.values["ord"][5] == 26);
  }
}

TEST_CASE("FC-17 the window after a prefill of any length") {
  FieldProgram p;
  p.text = "dim t : T\nsize W = 4, P\ninput u : f32[P]\n"
           "v[t] = u[; t] when t < P\nv[t] = v[t-1] + 1 otherwise\n"
           "out[t] = mean(v[max(0, t-W+1) : t+1], init = 0)\noutput out\n";
  p.settings["T"] = "7";
  for (int64_t prefill : {1, 3, 4, 5}) {
    Values u;
    for (int64_t i = 0; i < prefill; ++i) u.push_back(double(i));
    p.arrays["u"] = f32({prefill}, u);
    p.text.replace(p.text.find("size W = 4, P"), 13, "size W = 4, P");
    FieldProgram q = p;
    q.text.replace(q.text.find("dim t : T"), 9, "dim t : T >= 1");
    q.text.replace(q.text.find(", P\n"), 3, ", P >= 1");
    gives(q, "out", {0, 0.5, 1, 1.5, 2.5, 3.5, 4.5});
  }
}

TEST_CASE("FC-19 an attention over nothing is zero") {
  FieldProgram p;
  p.text = "dim t : T\ninput s[t] : f32, v[t] : f32\nout[t] = softmax(s[0 : t]) @ v[0 : t]\noutput out\n";
  p.arrays["s"] = f32({3}, {0, 0, 0});
  p.arrays["v"] = f32({3}, {1, 2, 3});
  gives(p, "out", {0, 1, 1.5});
}

TEST_CASE("FC-21 positions are absolute whatever the chunk") {
  FieldProgram p;
  p.text = "dim t : T\ninput v[t] : f32\nout[t] = mean(v[0 : t+1], init = 0)\noutput out\n";
  p.arrays["v"] = f32({5}, {0, 1, 2, 3, 4});
  gives(p, "out", {0, 0.5, 1, 1.5, 2});
  for (int chunk : {1, 2, 3, 4, 5}) {
    p.force["chunk.t"] = str(chunk);
    gives(p, "out", {0, 0.5, 1, 1.5, 2});
  }
}

TEST_CASE("FC-25 a bf16 sum is the same running, whole and tiled") {
  FieldProgram p;
  p.text = "dim t : T\ninput x[t] : bf16\ns[t] = sum(x[0 : t+1])\noutput s\n";
  p.arrays["x"] = array(DType::BF16, {5}, {256, 1, 1, 1, 1});
  gives(p, "s", {256, 256, 258, 260, 260}, 0);  // 257 and 259 are ties between even neighbours
  p.force["tile.t"] = "2";
  gives(p, "s", {256, 256, 258, 260, 260}, 0);
}

TEST_CASE("FC-27 an index past the bound is one message, before anything runs") {
  FieldProgram p;
  p.text = "dim t : T = 8\ninput k[t] : f32\ny = k[8]\noutput y\n";
  Refusal r = refuses(p);
  REQUIRE(r.codes.size() == 1);
  CHECK((r.codes[0] == "E0301" || r.codes[0] == "E0305"));
  for (const char* part : {"this reads k[8]", "k is defined for 0 <= t < T", "T = 8", "y = k[8]"}) {
    INFO(part << " in\n" << r.text);
    CHECK(r.text.find(part) != std::string::npos);
  }
}

TEST_CASE("FC-29 a scan carries its state over chunks, a window its halo") {
  FieldProgram p;
  p.text = "dim t : T\ninput x[t] : f32\nh[-1] = 0.0\nh[t] = 0.9 * h[t-1] + x\nc[t] = sum(x[max(0, t-3) : t+1])\noutput h[0 : T], c\n";
  p.arrays["x"] = f32({8}, Values(8, 1));
  const Values h{1, 1.9, 2.71, 3.439, 4.0951, 4.68559, 5.217031, 5.6953279};
  for (int chunk : {0, 1, 2, 3, 4, 8}) {
    p.force.clear();
    if (chunk) p.force["chunk.t"] = str(chunk);
    gives(p, "h", h);
    gives(p, "c", {1, 2, 3, 4, 4, 4, 4, 4}, 0);
  }
}

TEST_CASE("FC-41 a dim of length zero") {
  FieldProgram p;
  p.text = "dim t : T\ninput x[t] : f32\ns = sum(x[0 : T])\nh[-1] = 3.0\nh[t] = 0.5 * h[t-1] + x\nlast = h[T-1]\np = prod(x[0 : T])\n"
           "y[t] = x * 2\noutput s, last, p, y\n";
  p.arrays["x"] = f32({0}, {});
  gives(p, "s", {0}, 0);
  gives(p, "last", {3}, 0);
  gives(p, "p", {1}, 0);
  gives(p, "y", {}, 0);
  FieldProgram q;
  q.text = "dim t : T\ninput x[t] : f32\nm = max(x[0 : T])\noutput m\n";
  q.arrays["x"] = f32({0}, {});
  Outputs o = runWay(q, "cpu");  // the size is known before anything runs
  CHECK(o.values.empty());
  CHECK(o.problem != "");
  q.text = "dim t : T\ninput x[t] : f32\nm = max(x[0 : T], init = -1.0)\noutput m\n";
  gives(q, "m", {-1}, 0);
  q.text = "dim t : T\ninput x[t] : f32\nz[t] = sum(x[0 : 0])\noutput z\n";
  q.arrays["x"] = f32({3}, {1, 2, 3});
  gives(q, "z", {0, 0, 0}, 0);
}

TEST_CASE("FC-43 a bf16 sum does not stop growing") {
  FieldProgram p;
  p.text = "dim t : T\ninput x[t] : bf16\ns = sum(x[0 : T])\nc[t] = sum(x[0 : t+1])\noutput s, c\n";
  p.arrays["x"] = array(DType::BF16, {10000}, Values(10000, 0.5));
  for (const std::string& way : ways()) {
    if (way == "cpu without all" || way == "cpu without recur" || way == "oracle") continue;  // quadratic
    INFO(way);
    Outputs o = runWay(p, way);
    REQUIRE(o.problem == "");
    CHECK(o.values["s"][0] == 4992);
    CHECK(o.values["c"][255] == 128);
    CHECK(o.values["c"][9999] == 4992);
  }
  FieldProgram q;
  q.text = "dim t : T\ninput x[t] : f32\ns = sum(x[0 : T])\noutput s\n";
  q.arrays["x"] = f32({1000000}, Values(1000000, 0.1));
  for (const char* way : {"cpu", "emulated CUDA"}) {
    INFO(way);
    CHECK(std::abs(runWay(q, way).values["s"][0] - 100000) <= 1);
  }
}

TEST_CASE("FC-45 padded, transposed and ring layouts read as they were written") {
  FieldProgram p;
  p.text = "dim t : T >= 3\nx[t] : f32[4] = 4 * t + steps(0 : 4)\nc = sum(x[0 : T], axis = 0)\nr[t] = x[T-1-t; 1]\n"
           "e = x[0 : 3 : 2; 1]\noutput c, r, e\n";
  p.settings["T"] = "3";
  for (const char* layout : {"", "pad16", "transposed"}) {
    p.force.clear();
    if (*layout) p.force["layout.x"] = layout;
    if (*layout) p.force["store.x"] = "full";
    gives(p, "c", {12, 15, 18, 21}, 0);
    gives(p, "r", {9, 5, 1}, 0);
    gives(p, "e", {1, 9}, 0);
  }
}

TEST_CASE("FC-47 // and % floor, in every back end") {
  FieldProgram p;
  p.text = "dim t : T\na[t] = i32((t-3) % 4)\nq[t] = i32((t-3) // 2)\noutput a, q\n";
  p.settings["T"] = "5";
  gives(p, "a", {1, 2, 3, 0, 1}, 0);
  gives(p, "q", {-2, -1, -1, 0, 0}, 0);
}

TEST_CASE("FC-49 draws written twice differ, and a second run gives the same") {
  FieldProgram p;
  p.text = "dim t : T\na[t] = uniform(0, 1)\nb[t] = uniform(0, 1)\noutput a, b\n";
  p.settings["T"] = "1000";
  Outputs first = runWay(p, "cpu"), second = runWay(p, "cpu"), emulated = runWay(p, "emulated CUDA");
  REQUIRE(first.problem == "");
  CHECK(first.values == second.values);
  CHECK(first.values == emulated.values);
  const Values &a = first.values["a"], &b = first.values["b"];
  double ma = 0, mb = 0, cov = 0, va = 0, vb = 0;
  for (size_t i = 0; i < a.size(); ++i) ma += a[i] / 1000, mb += b[i] / 1000;
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i] != b[i]);
    cov += (a[i] - ma) * (b[i] - mb), va += (a[i] - ma) * (a[i] - ma), vb += (b[i] - mb) * (b[i] - mb);
  }
  CHECK(std::abs(cov / std::sqrt(va * vb)) < 0.12);  // about four standard errors
  CHECK(std::set<double>(a.begin(), a.end()).size() > 990);
}

TEST_CASE("FC-51 a sampler visits the noise levels its rule says") {
  FieldProgram p;
  p.text = "dim i : N\nsize S = 1000\noption off : i32 = 0\ninput alpha : f32[S]\n"
           "tau[i] = (N-1-i) * (S // N) + off\nlevel[i] = alpha[; tau within 0 : S]\noutput level\n";
  Values alpha;
  for (int k = 0; k < 1000; ++k) alpha.push_back(k);
  p.arrays["alpha"] = f32({1000}, alpha);
  p.settings = {{"N", "50"}};
  Values leading;
  for (int k = 49; k >= 0; --k) leading.push_back(20.0 * k);
  gives(p, "level", leading, 0);
  p.settings = {{"N", "21"}};
  CHECK(runWay(p, "cpu").values["level"][0] == 940);
  p.settings = {{"N", "3"}, {"off", "1"}};
  gives(p, "level", {667, 334, 1}, 0);
  p.settings = {{"N", "1000"}, {"off", "1"}};
  Outputs o = runWay(p, "cpu");
  INFO(o.problem);
  CHECK(o.problem.find("1000") != std::string::npos);
  CHECK(o.problem.find("alpha") != std::string::npos);
}

TEST_CASE("FC-63 slices with bounds of the step and of a tensor") {
  FieldProgram p;
  p.text = "dim t : T\ninput x[t] : f32\np[t] = sum(x[0 : t])\noutput p\n";
  p.arrays["x"] = f32({5}, {0, 1, 2, 3, 4});
  gives(p, "p", {0, 0, 1, 3, 6}, 0);
}
