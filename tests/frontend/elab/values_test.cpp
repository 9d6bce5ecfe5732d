// Programs whose values are worked out by hand, through elaboration and the oracle.
#include <cmath>

#include "frontend/elab/elab_util.hpp"

using namespace tempo;
using namespace tempo::elabtest;

namespace {

std::vector<double> range(int n, double from = 0) {
  std::vector<double> v;
  for (int k = 0; k < n; ++k) v.push_back(from + k);
  return v;
}

}  // namespace

TEST_CASE("causal attention weighs the past by softmax") {
  // One key width: scores are q k; at t = 0 only v[0]; at t = 1 weights e^0 : e^1.
  auto r = run(R"(
dim t : T
size D = 1
input q[t] : f32[D], k[t] : f32[D], v[t] : f32[D]
y[t] = softmax(k[0 : t+1] @ q / sqrt(D)) @ v[0 : t+1]
output y
)", {{"T", 2}}, {{"q", array({2, 1}, {1, 1})}, {"k", array({2, 1}, {0, 1})}, {"v", array({2, 1}, {10, 20})}});
  double e = std::exp(1.0);
  near(r.out["y"], {10, (10 + 20 * e) / (1 + e)});
  CHECK(r.shape["y"] == std::vector<int64_t>{2, 1});
}

TEST_CASE("a window keeps the last W steps") {
  auto r = run(R"(
dim t : T
size W = 4
input v[t] : f32
let lo = max(0, t - W + 1)
m[t] = mean(v[lo : t+1])
o[t] = sum[i in lo : t+1] (i - lo) * v[i]
output m, o
)", {{"T", 7}}, {{"v", array({7}, range(7))}});
  near(r.out["m"], {0, 0.5, 1, 1.5, 2.5, 3.5, 4.5});
  // At t = 5 the window is 2 3 4 5: 0*2 + 1*3 + 2*4 + 3*5 = 26.
  CHECK(r.out["o"][5] == Approx(26));
}

TEST_CASE("the user's own softmax is the library's") {
  const char* program = R"(
fn mine(x, axis = -1) = {
  e = exp(x - max(x, axis = axis, keep = true, init = 0))
  e / sum(e, axis = axis, keep = true)
}
dim t : T
input x[t] : f32[3]
y[t] = NAME(x)
output y
)";
  auto text = [&](const std::string& name) {
    std::string s = program;
    s.replace(s.find("NAME"), 4, name);
    Compiled c = compile(s);
    REQUIRE(c.program);
    std::string g = print(c.program->graph);
    for (size_t p; (p = g.find(name)) != std::string::npos;) g.replace(p, name.size(), "F");
    return g;
  };
  CHECK(text("mine") == text("softmax"));
}

TEST_CASE("n-step targets end with the exponent of the steps summed") {
  auto r = run(R"(
dim t : T
size n = 3
input r[t] : f32, V : f32
w[t] = V
w[T] = V
let hi = min(t + n, T)
G[t] = (sum[k in t : hi] 0.9 ** (k - t) * r[k]) + 0.9 ** (hi - t) * w[t = hi]
output G
)", {{"T", 5}}, {{"r", array({5}, {1, 1, 1, 1, 1})}, {"V", array({}, {10})}});
  near(r.out["G"], {10, 10, 10, 10, 10});
}

TEST_CASE("the state is reset at the start of an episode") {
  auto r = run(R"(
dim t : T
input x[t] : f32, start[t] : f32
h[-1] = 0
h[t] = (if start > 0.5 then 0 else 0.5 * h[t-1]) + x
output h
)", {{"T", 4}}, {{"x", array({4}, {1, 1, 1, 1})}, {"start", array({4}, {1, 0, 1, 0})}});
  near(r.out["h"], {1, 1.5, 1, 1.5});
}

TEST_CASE("an attention over nothing is 0") {
  auto r = run(R"(
dim t : T
input s[t] : f32, v[t] : f32
y[t] = softmax(s[0 : t]) @ v[0 : t]
output y
)", {{"T", 3}}, {{"s", array({3}, {0, 0, 0})}, {"v", array({3}, {1, 2, 3})}});
  near(r.out["y"], {0, 1, 1.5});
}

TEST_CASE("positions are absolute") {
  auto r = run(R"(
dim t : T
input v[t] : f32
y[t] = mean(v[0 : t+1])
output y[3 : T]
)", {{"T", 5}}, {{"v", array({5}, range(5))}});
  near(r.out["y"], {1.5, 2.0});
}

TEST_CASE("a dim of length zero") {
  const char* text = R"(
dim t : T
input x[t] : f32
s = sum(x[0 : T])
P = prod(x[0 : T])
h[-1] = 3
h[t] = 0.5 * h[t-1] + x
last = h[T-1]
y[t] = x * 2
output s, P, last, y
)";
  auto r = run(text, {{"T", 0}}, {{"x", array({0}, {})}});
  near(r.out["s"], {0});
  near(r.out["P"], {1});
  near(r.out["last"], {3});
  CHECK(r.shape["y"] == std::vector<int64_t>{0});
  CHECK(errorOf("dim t : T\ninput x[t] : f32\nm = max(x[0 : T])\noutput m", {{"T", 0}}) == "E0406 at max(x[0 : T])");
  CHECK(errorOf("dim t : T\ninput x[t] : f32\nm[t] = max(x[0 : t])\noutput m") == "E0406 at max(x[0 : t])");
}

TEST_CASE("slices, strides and reversals") {
  auto r = run(R"(
dim t : T
input x[t] : f32[4]
c = sum(x[0 : T], axis = 0)
r[t] = x[T-1-t; 1]
e = x[0 : T : 2; 1]
n[t] = x[; -1]
m = x[0 : T] @ ones(4)
output c, r, e, n, m
)", {{"T", 3}}, {{"x", array({3, 4}, range(12))}});
  near(r.out["c"], {12, 15, 18, 21});
  near(r.out["r"], {9, 5, 1});
  near(r.out["e"], {1, 9});
  near(r.out["n"], {3, 7, 11});
  near(r.out["m"], {6, 22, 38});
}

TEST_CASE("division and remainder floor") {
  auto r = run(R"(
dim t : T = 5
a[t] = (t - 3) % 4
q[t] = (t - 3) // 2
d[t] = (t - 3) / 2
output a, q, d
)");
  near(r.out["a"], {1, 2, 3, 0, 1});
  near(r.out["q"], {-2, -1, -1, 0, 0});
  near(r.out["d"], {-1.5, -1, -0.5, 0, 0.5});
}

TEST_CASE("spaced noise levels") {
  const char* text = R"(
dim i : N
size S = 1000, off = 0
lead[i] = (N - 1 - i) * (S // N) + off
trail[i] = S - i * S // N - 1
output lead, trail
)";
  auto r = run(text, {{"N", 50}});
  CHECK(r.out["lead"].front() == Approx(980));
  CHECK(r.out["lead"].back() == Approx(0));
  CHECK(r.out["trail"].front() == Approx(999));
  CHECK(r.out["trail"].back() == Approx(19));
  CHECK(run(text, {{"N", 21}}).out["lead"].front() == Approx(940));
  near(run(text, {{"N", 3}, {"off", 1}}).out["lead"], {667, 334, 1});
}

TEST_CASE("a growing slice") {
  auto r = run(R"(
dim t : T
input x[t] : f32
p[t] = sum(x[0 : t])
c[t] = sum[s in 0 : t+1] x[s]
output p, c
)", {{"T", 5}}, {{"x", array({5}, range(5))}});
  near(r.out["p"], {0, 0, 1, 3, 6});
  near(r.out["c"], {0, 1, 3, 6, 10});
}

TEST_CASE("pieces: when, otherwise, next") {
  auto r = run(R"(
dim i : I = 2, m : M = 3, t : T = 5
x[t] = t when t < 2
x[t] = x[t-1] + x[t-2] otherwise
p[i = 0, m = 0] = 1
next(i, m) p = 2 * p
last = p[i = I, m = 0]
output x, p, last
)");
  near(r.out["x"], {0, 1, 1, 2, 3});
  near(r.out["p"], {1, 2, 4, 8, 16, 32});
  near(r.out["last"], {64});
}

TEST_CASE("a plain left reaches as far as what it reads") {
  auto r = run(R"(
dim t : T = 3
s[0] = 1
s[t+1] = 2 * s
v = s + 1
d[t] = v[t+1] - v
output d, v[T]
)");
  near(r.out["d"], {1, 2, 4});
  near(r.out["v"], {9});
}

TEST_CASE("reductions over dims, gathers, argmax, sort") {
  auto r = run(R"(
dim b : B = 2, t : T = 3
input x[b, t] : f32
m[b] = mean(x, over = t)
a = sum(x, over = (b, t))
l = sum(x, over = t in 0 : T-1)
best[b] = argmax(x[t = 0 : T])
at[b] = x[t = best]
s[b] = sort(x[t = 0 : T])
output m, a, l, best, at, s
)", {}, {{"x", array({2, 3}, {3, 1, 2, 4, 6, 5})}});
  near(r.out["m"], {2, 5});
  near(r.out["a"], {21});
  near(r.out["l"], {4, 10});
  near(r.out["best"], {0, 1});
  near(r.out["at"], {3, 6});
  near(r.out["s"], {1, 2, 3, 4, 5, 6});
}

TEST_CASE("index-level `if` reads one side only; a matrix recurrence; concat and stack") {
  auto r = run(R"(
dim t : T = 3
input x[t] : f32
d[t] = if t > 0 then x - x[t-1] else 0
A[0] = [[1, 0], [0, 1]]
A[t+1] = A @ [[1, 1], [0, 1]]
c[t] = concat([1, 2], [x, x])
k = stack([1.0, 2.0])
output d, A[T], c, k
)", {}, {{"x", array({3}, {1, 4, 9})}});
  near(r.out["d"], {0, 3, 5});
  near(r.out["A"], {1, 3, 0, 1});
  near(r.out["c"], {1, 2, 1, 1, 1, 2, 4, 4, 1, 2, 9, 9});
  near(r.out["k"], {1, 2});
}

TEST_CASE("functions over dims, tuples, modules") {
  auto r = run(R"(
fn cumulative[t](x, start = 0) = {
  c[0] = start
  c[t+1] = c + x
  c[t+1]
}
fn both(a, b) = (a + b, a - b)
module affine(n) {
  param w : f32[n] = ones
  scale = 2 * w
  fn call(x) = sum(scale * x) + off()
  fn off() = sum(w)
}
dim s : S = 3
input x[s] : f32
c = cumulative[s](x)
d = cumulative[s](x, start = 10)
(p, m) = both(x, c)
net = affine(2)
y = net(stack([x, c]))
output c, d, p, m, y
)", {}, {{"x", array({3}, {1, 2, 3})}});
  near(r.out["c"], {1, 3, 6});
  near(r.out["d"], {11, 13, 16});
  near(r.out["p"], {2, 5, 9});
  near(r.out["m"], {0, -1, -3});
  near(r.out["y"], {2 * (1 + 1) + 2, 2 * (2 + 3) + 2, 2 * (3 + 6) + 2});
}

TEST_CASE("a family has one instance per point") {
  auto r = run(R"(
use nn
dim l : L = 2
net = nn.linear[l](1, 1)
w = net.w
output w
)");
  REQUIRE(r.out["w"].size() == 2);
  CHECK(r.out["w"][0] != r.out["w"][1]);
  for (double w : r.out["w"]) CHECK(std::abs(w) <= 1);
}

TEST_CASE("a name is one draw, two draws differ, other equations change nothing") {
  const char* text = R"(
dim t : T = 200
a[t] = uniform(0, 1)
d = a - a
b[t] = uniform(0, 1)
n[t] = normal(2, 3)
k[t] = randint(5)
p[t] = bernoulli(0.25)
c[t] = categorical([0.0, -100.0, 0.0])
o = permutation(6)
f[t] = f32(p)
output a, b, d, n, k, f, c, o
)";
  auto r = run(text);
  double mean = 0, var = 0, heads = 0;
  for (int t = 0; t < 200; ++t) {
    CHECK(r.out["d"][t] == 0);
    CHECK(r.out["a"][t] != r.out["b"][t]);
    CHECK((r.out["a"][t] >= 0 && r.out["a"][t] < 1));
    CHECK((r.out["k"][t] >= 0 && r.out["k"][t] < 5));
    CHECK(r.out["c"][t] != 1);
    mean += r.out["n"][t] / 200;
    heads += r.out["f"][t] / 200;
  }
  for (int t = 0; t < 200; ++t) var += (r.out["n"][t] - mean) * (r.out["n"][t] - mean) / 200;
  // Five standard errors.
  CHECK(mean == Approx(2).margin(5 * 3 / std::sqrt(200.0)));
  CHECK(var == Approx(9).margin(5 * 9 * std::sqrt(2 / 200.0)));
  CHECK(heads == Approx(0.25).margin(5 * std::sqrt(0.25 * 0.75 / 200)));
  auto order = r.out["o"];
  std::sort(order.begin(), order.end());
  near(order, range(6));
  auto moved = run("dim t : T = 200\nz[t] = uniform(0, 1)\na[t] = uniform(0, 1)\noutput a");
  CHECK(moved.out["a"] == r.out["a"]);
  CHECK(run(text, {}, {}, 1).out["a"] != r.out["a"]);
}

TEST_CASE("sizes come from files and must agree") {
  Compiled c = compile("dim t : T\nsize D\ninput x[t] : f32[D]\noutput x", {}, {{"x", {DType::F32, {7, 3}}}});
  REQUIRE(c.program);
  CHECK(c.program->sizesFromFiles.at("T") == 7);
  CHECK(c.program->sizesFromFiles.at("D") == 3);
  Compiled two = compile("dim t : T\ninput x[t] : f32, y[t] : f32\nz = x + y\noutput z", {},
                         {{"x", {DType::F32, {7}}}, {"y", {DType::F32, {8}}}});
  CHECK(two.codes() == "E0505");
  CHECK(two.text().find("`x`") != std::string::npos);
  CHECK(two.text().find("`y`") != std::string::npos);
}

TEST_CASE("reports, prints and asserts happen at the points of their values") {
  auto r = run(R"(
dim t : T = 6
input x[t] : f32
report every 2 t : twice = 2 * x
assert all(isfinite(x))
)", {}, {{"x", array({6}, range(6))}});
  std::vector<double> got;
  for (auto& e : r.effects) {
    if (!e.values.empty()) got.push_back(e.values[0][0]);
  }
  near(got, {0, 4, 8});
}

TEST_CASE("types are told as the user would write them") {
  Compiled c = compile("dim b : B, t : T\nsize H\ninput x[b, t] : f32[H]\ny = x[t = 0 : t+1]\nn = 3 * t\noutput x");
  REQUIRE(c.program);
  auto& t = c.program->types;
  REQUIRE(t.size() == 2);
  CHECK(t[0].name == "y");
  CHECK(t[0].type == "f32[t + 1, H] over (b, t)");
  CHECK(t[1].type == "i32 over (t)");
}
