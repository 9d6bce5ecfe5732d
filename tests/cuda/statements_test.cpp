// Every kind of statement through the emulator, in all thread orders, against values reckoned here; and through NVRTC.
#include <numeric>

#include "catch.hpp"
#include "cuda/common.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/programs.hpp"
#include "oracle/oracle.hpp"

namespace tempo::cudatest {
namespace {

struct Expected {
  std::vector<float> h, total;
  std::vector<int64_t> tri, back;
};

Expected expectedOf(int64_t T, int64_t D, const std::vector<float>& x) {
  auto at = [&](int64_t t, int64_t d) { return static_cast<size_t>(t * D + d); };
  Expected e;
  e.h.assign(static_cast<size_t>((T + 1) * D), 0);
  float total = 0;
  for (int64_t t = 0; t < T; ++t) {
    float s = 0;
    for (int64_t d = 0; d < D; ++d) {
      const int64_t m = D - 1 - d;
      e.h[at(t + 1, d)] = x[at(t, m)] + e.h[at(t, m)] + total;
    }
    for (int64_t d = 0; d < D; ++d) s += e.h[at(t + 1, d)];  // small integers: exact in any order
    total = t % 2 == 0 ? s + total : total - 1;
  }
  e.total = {total, 1};
  e.tri.assign(static_cast<size_t>(T * T), 0);
  for (int64_t i = 0; i < T; ++i) {
    for (int64_t j = 0; j <= i; ++j) e.tri[static_cast<size_t>(i * T + j)] = i * 100 + j;
  }
  e.back.assign(static_cast<size_t>(T), 1);
  for (int64_t t = T - 2; t >= 0; --t) e.back[static_cast<size_t>(t)] = 2 * e.back[static_cast<size_t>(t + 1)];
  return e;
}

}  // namespace

TEST_CASE("every kind of statement computes what it says") {
  Emulator e;
  e.compile(parse(kEverything));
  for (auto [T, D] : {std::pair<int64_t, int64_t>{3, 5}, {4, 300}, {1, 1}}) {
    std::vector<float> x(static_cast<size_t>(T * D));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 3);
    const Expected want = expectedOf(T, D, x);
    everyWay(e, [&, T = T, D = D] {
      auto r = e.run({{"T", T}, {"D", D}}, {{"x", toBytes(x)}});
      CHECK(r.fault.site == -1);
      CHECK(r.launches == 3);
      CHECK(fromBytes<float>(r.buffers["h"]) == want.h);
      CHECK(fromBytes<float>(r.buffers["total"]) == want.total);
      CHECK(fromBytes<int64_t>(r.buffers["tri"]) == want.tri);
      CHECK(fromBytes<int64_t>(r.buffers["back"]) == want.back);
    });
  }
}

TEST_CASE("every kind of statement compiles for sm_80 and sm_90, and its resource use is known") {
  std::string why;
  const cuda::Nvrtc* nvrtc = cuda::Nvrtc::get(&why);
  if (!nvrtc) {
    WARN("skipped: " << why);
    return;
  }
  const auto e = cuda::emit(parse(kEverything));
  for (const char* other : {kReductions, kRandom}) {
    const auto c = nvrtc->compile(cuda::emit(parse(other)).source, 90, cuda::Image::Ptx);
    INFO(c.log);
    CHECK(c.ok);
  }
  for (int arch : {80, 90}) {
    const auto c = nvrtc->compile(e.source, arch, cuda::Image::Cubin);
    INFO(c.log);
    REQUIRE(c.ok);
    CHECK(c.image.substr(1, 3) == "ELF");
    REQUIRE(c.resources.count("k_rnn"));
    CHECK(c.resources.at("k_rnn").registers > 0);
    CHECK(c.resources.at("k_rnn").sharedBytes >= e.kernels[0].sharedBytes);
    CHECK(c.resources.at("k_rnn").spillBytes == 0);
  }
  const auto bad = nvrtc->compile("extern \"C\" __global__ void k() { nonsense; }", 90, cuda::Image::Cubin);
  CHECK(!bad.ok);
  CHECK(bad.log.find("nonsense") != std::string::npos);
}

TEST_CASE("random words are those of the one definition") {
  const auto p = parse(kRandom);
  Emulator e;
  e.compile(p);
  const int64_t n = 40;
  const uint64_t seed = 0x123456789abcdefull;
  const auto y = fromBytes<int64_t>(e.run({{"N", n}}, {}, seed).buffers["y"]);
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<std::vector<int64_t>> points = {
        {}, {i}, {i, 1, -i, 3}, {i, i, i, i, i}, {1, 2, 3, 4, 5, i * 10000000000, -7}};
    const uint64_t streams[] = {1, static_cast<uint64_t>(-4), 12345678901, 7, 7};
    for (size_t k = 0; k < 5; ++k) {
      INFO(i << " " << k);
      CHECK(y[static_cast<size_t>(i) * 5 + k] == philox(seed, streams[k], points[k].data(), static_cast<int>(points[k].size())));
    }
  }
}

TEST_CASE("boxes of Par loops, with bounds that depend on the instance") {
  const auto p = parse(R"(sizes N, A, B
buffer y: i64[(N * A) * B] output zeroed
kernel k(N, A, B) {
  buffer y: i64 written
  grid(n in 1 .. N, m in 0 .. 1) {
    par a in n .. A {
      par b in 0 .. B {
        par c in 0 .. 1 {
          y[((n * (A * B)) + (a * B)) + b] = ((n * 10000) + (a * 100)) + (b + c)
        }
      }
    }
  }
}
host {
  launch k(N, A, B)
}
)");
  Emulator e;
  e.compile(p);
  const int64_t N = 4, A = 9, B = 35;
  std::vector<int64_t> want(static_cast<size_t>(N * A * B), 0);
  for (int64_t n = 1; n < N; ++n) {
    for (int64_t a = n; a < A; ++a) {
      for (int64_t b = 0; b < B; ++b) want[static_cast<size_t>((n * A + a) * B + b)] = n * 10000 + a * 100 + b;
    }
  }
  everyWay(e, [&] {
    auto r = e.run({{"N", N}, {"A", A}, {"B", B}}, {});
    CHECK(fromBytes<int64_t>(r.buffers["y"]) == want);
  });
  CHECK(fromBytes<int64_t>(e.run({{"N", 1}, {"A", A}, {"B", 0}}, {}).buffers["y"]).empty());
}

TEST_CASE("a failed check stops the run and tells site and values") {
  // In a Par nest, outside one, and in a kernel of one thread per instance.
  for (const char* body : {"par i in 0 .. N {\n check idx[i] < 10 site 7(idx[i], i)\n y[i] = x[idx[i]]\n }\n",
                           "for i in 0 .. N {\n check idx[i] < 10 site 7(idx[i], i)\n par one in 0 .. 1 {\n y[i] = x[idx[i]]\n }\n }\n",
                           "for i in 0 .. N {\n check idx[i] < 10 site 7(idx[i], i)\n y[i] = x[idx[i]]\n }\n"}) {
    Emulator e;
    e.compile(parse(std::string("sizes N\nbuffer x: i64[10] input\nbuffer idx: i64[N] input\nbuffer y: i64[N] output zeroed\n"
                                "buffer z: i64[1] output zeroed\n"
                                "kernel gather(N) {\nbuffer x: i64\nbuffer idx: i64\nbuffer y: i64 written\ngrid() {\n") +
                    body + "}\n}\nkernel after(N) {\nbuffer z: i64 written\ngrid() {\nz[0] = 1\n}\n}\n" +
                    "host {\nlaunch gather(N)\nlaunch after(N)\n}\n"));
    std::vector<int64_t> x(10), idx = {3, 1, 4, 1, 5, 9, 2, 6};
    std::iota(x.begin(), x.end(), 100);
    everyWay(e, [&] {
      auto good = e.run({{"N", 8}}, {{"x", toBytes(x)}, {"idx", toBytes(idx)}});
      CHECK(good.fault.site == -1);
      CHECK(fromBytes<int64_t>(good.buffers["y"]) == std::vector<int64_t>{103, 101, 104, 101, 105, 109, 102, 106});
      auto wrong = idx;
      wrong[5] = 10;
      auto bad = e.run({{"N", 8}}, {{"x", toBytes(x)}, {"idx", toBytes(wrong)}});
      CHECK(bad.fault.site == 7);
      CHECK(bad.fault.count == 2);
      CHECK(bad.fault.values[0] == 10);
      CHECK(bad.fault.values[1] == 5);
      CHECK(e.stop == 1);
      CHECK(bad.launches == 1);
    });
    // A kernel that was already enqueued when the fault happened does nothing.
    emulation::Bytes z(8);
    e.fault = TempoFault{7, 0, {}};
    e.launch(1, {8}, {&z}, 1);
    CHECK(fromBytes<int64_t>(z)[0] == 0);
  }
}

TEST_CASE("a stop is seen where the state is whole") {
  const auto p = parse(R"(sizes T
buffer y: i64[T * 40] output zeroed
kernel k(T) {
  buffer y: i64 written
  grid() {
    for t in 0 .. T {
      par i in 0 .. 40 {
        y[(t * 40) + i] = t + 1
      }
      poll
    }
  }
}
host {
  launch k(T)
}
)");
  Emulator e;
  e.compile(p);
  everyWay(e, [&] {
    e.stop = 1;
    emulation::Bytes y(3 * 40 * 8);
    e.launch(0, {3}, {&y}, 1);
    const auto v = fromBytes<int64_t>(y);
    CHECK(std::accumulate(v.begin(), v.end(), int64_t{0}) == 40);  // the first step, whole, and no other
  });
}

TEST_CASE("the host loop: loops, conditions on data, effects") {
  const auto p = parse(R"(sizes T
buffer done: bool[T] output zeroed
buffer n: i64[1] output zeroed
kernel step(t) {
  buffer done: bool written
  buffer n: i64 written
  grid() {
    n[0] = n[0] + 1
    done[t] = t == 3
  }
}
host {
  let go: i64 = 1
  for t in 0 .. T {
    if n[0] <= 3 {
      launch step(t)
      effect 2(t, go + t)
    }
  }
}
)");
  Emulator e;
  e.compile(p);
  auto r = e.run({{"T", 9}}, {});
  CHECK(r.launches == 4);
  CHECK(fromBytes<int64_t>(r.buffers["n"])[0] == 4);
  CHECK(fromBytes<uint8_t>(r.buffers["done"]) == std::vector<uint8_t>{0, 0, 0, 1, 0, 0, 0, 0, 0});
  REQUIRE(r.effects.size() == 4);
  CHECK(r.effects[3].effect == 2);
  CHECK(r.effects[3].point == std::vector<int64_t>{3, 4});
}

TEST_CASE("a guarded load does not happen where its condition is false") {
  const auto p = parse(R"(sizes N
buffer x: f32[N] input
buffer y: f32[N] output
kernel shift(N) {
  buffer x: f32
  buffer y: f32 written
  grid() {
    par i in 0 .. N {
      y[i] = if(i >= 1, x[i - 1], -1:f32)
    }
  }
}
host {
  launch shift(N)
}
)");
  Emulator e;
  e.compile(p);
  auto r = e.run({{"N", 3}}, {{"x", toBytes(std::vector<float>{4, 5, 6})}});
  CHECK(fromBytes<float>(r.buffers["y"]) == std::vector<float>{-1, 4, 5});
}

}  // namespace tempo::cudatest
