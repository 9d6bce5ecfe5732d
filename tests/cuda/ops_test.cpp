// Every op on every type, every cast, every reduction: through the emulator against the op table's meaning, and through
// NVRTC for both architectures.
#include <cmath>
#include <limits>
#include <map>

#include "catch.hpp"
#include "cuda/common.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/ops_program.hpp"
#include "cuda/programs.hpp"
#include "sdg/ops.hpp"

namespace tempo::cudatest {
namespace {

bool close(DType t, double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;
  if (!isFloat(t) || std::isinf(want)) return false;
  const double epsilon = t == DType::F32 ? 1e-6 : 1e-14;
  return std::fabs(got - want) <= epsilon * std::max(1.0, std::fabs(want));
}

}  // namespace

TEST_CASE("every op on every type means what the op table says") {
  Builder b;
  const auto cases = buildOps(b);
  kir::verify(b.program);
  CHECK(cases.size() > 140);
  Emulator e;
  e.compile(b.program);
  const auto result = e.run({}, b.inputs);
  for (const auto& c : cases) {
    const std::string tn = name(c.type);
    const auto x = unpack(c.type, b.inputs["a_" + tn]), y = unpack(c.type, b.inputs["b_" + tn]);
    const DType rt = resultType(c.op, c.type);
    const auto got = unpack(rt, result.buffers.at(c.out));
    for (size_t i = 0; i < x.size(); ++i) {
      const double args[] = {x[i], y[i]};
      const double want = roundTo(rt, evalOp(c.op, c.type, args));
      // The table reckons in double, where products of i64 are not exact.
      if (c.type == DType::I64 && std::fabs(want) > 9e15) continue;
      INFO(info(c.op).text << " on " << tn << " of " << x[i] << ", " << y[i] << ": " << got[i] << ", want " << want);
      REQUIRE(close(rt, got[i], want));
    }
  }
}

TEST_CASE("every op on every type compiles for sm_80 and sm_90") {
  std::string why;
  const cuda::Nvrtc* nvrtc = cuda::Nvrtc::get(&why);
  if (!nvrtc) {
    WARN("skipped: " << why);
    return;
  }
  Builder b;
  buildOps(b);
  const auto e = cuda::emit(b.program);
  for (int arch : {80, 90}) {
    const auto ptx = nvrtc->compile(e.source, arch, cuda::Image::Ptx);
    INFO(ptx.log);
    REQUIRE(ptx.ok);
    CHECK(ptx.image.find(".target sm_" + std::to_string(arch)) != std::string::npos);
    CHECK(ptx.image.find("k_ops_f32") != std::string::npos);
  }
}

TEST_CASE("casts saturate, truncate and round as stated") {
  Builder b;
  const std::vector<double> values = {0,    1,     -1,    0.5,   -0.5,  1.9,  -1.9,  126.9, 127.5,  -128.9,
                                      255.4, 256.7, 300,  1e10,  -1e10, 1e20, -1e20, kInf,  -kInf,  kNan};
  const auto n = static_cast<int64_t>(values.size());
  b.buffer("x", DType::F64, n, kir::HostBuffer::Role::Input);
  b.inputs["x"] = pack(DType::F64, values);
  kir::Kernel& k = b.kernel("casts");
  k.buffers = {{"x", DType::F64, false}};
  kir::Block body;
  const std::vector<DType> types = {DType::F32, DType::I64, DType::I32, DType::I8, DType::U8, DType::Bool};
  for (DType t : types) {
    const std::string out = std::string("y_") + name(t);
    b.buffer(out, t, n, kir::HostBuffer::Role::Output);
    k.buffers.push_back({out, t, true});
    body.push_back(store(out, kir::var("i"), kir::cast(t, kir::load("x", DType::F64, kir::var("i")))));
  }
  k.body = {par("i", n, body)};
  Emulator e;
  e.compile(b.program);
  auto r = e.run({}, b.inputs);
  auto clamp = [](double v, double lo, double hi) { return std::isnan(v) ? 0 : v <= lo ? lo : v >= hi ? hi : std::trunc(v); };
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    INFO(v);
    CHECK(fromBytes<int32_t>(r.buffers["y_i32"])[i] == static_cast<int32_t>(clamp(v, -2147483648.0, 2147483647.0)));
    CHECK(fromBytes<int8_t>(r.buffers["y_i8"])[i] == static_cast<int8_t>(clamp(v, -128, 127)));
    CHECK(fromBytes<uint8_t>(r.buffers["y_u8"])[i] == static_cast<uint8_t>(clamp(v, 0, 255)));
    CHECK(fromBytes<uint8_t>(r.buffers["y_bool"])[i] == (v != 0 ? 1 : 0));
    const int64_t wide = std::isnan(v) ? 0 : v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(v);
    CHECK(fromBytes<int64_t>(r.buffers["y_i64"])[i] == wide);
    const float single = fromBytes<float>(r.buffers["y_f32"])[i];
    CHECK((std::isnan(v) ? std::isnan(single) : single == static_cast<float>(v)));
  }
}

namespace {

/// Value of a 16-bit float with the given exponent and fraction widths, from its definition.
double halfValue(unsigned bits, int exponentBits, int fractionBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const unsigned exponent = (bits >> fractionBits) & ((1u << exponentBits) - 1), fraction = bits & ((1u << fractionBits) - 1);
  const double sign = bits & 0x8000u ? -1 : 1;
  if (exponent == (1u << exponentBits) - 1) return fraction ? kNan : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp(fraction + std::ldexp(1.0, fractionBits), static_cast<int>(exponent) - bias - fractionBits);
}

/// A program that widens all 65536 values of `t` and narrows `wide` doubles to it.
void checkHalf(DType t, int exponentBits, int fractionBits) {
  const std::string tn = name(t);
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  // Between every two neighbours: just below the middle, the middle, just above; far out; tiny.
  std::vector<double> wide;
  std::vector<uint16_t> want;
  const unsigned top = ((1u << exponentBits) - 1) << fractionBits;  // infinity
  for (unsigned u = 0; u < top; u += t == DType::F16 ? 1 : 7) {
    const double lo = halfValue(u, exponentBits, fractionBits);
    const double hi = u + 1 == top ? std::ldexp(1.0, (1 << (exponentBits - 1))) : halfValue(u + 1, exponentBits, fractionBits);
    const double middle = lo + (hi - lo) / 2;
    const double probes[] = {lo, std::nextafter(middle, lo), middle, std::nextafter(middle, hi)};
    const unsigned results[] = {u, u, u % 2 ? u + 1 : u, u + 1};
    for (int i = 0; i < 4; ++i) {
      wide.push_back(probes[i]);
      want.push_back(static_cast<uint16_t>(results[i]));
      wide.push_back(-probes[i]);
      want.push_back(static_cast<uint16_t>(results[i] | 0x8000u));
    }
  }
  kir::Program p = parse("sizes N\nbuffer h: " + tn + "[65536] input\nbuffer x: f64[N] input\nbuffer w: f32[65536] output\n" +
                         "buffer y: " + tn + "[N] output\nkernel k(N) {\n  buffer h: " + tn + "\n  buffer x: f64\n" +
                         "  buffer w: f32 written\n  buffer y: " + tn + " written\n  grid() {\n    par i in 0 .. 65536 {\n" +
                         "      w[i] = f32(h[i])\n    }\n    par i in 0 .. N {\n      y[i] = " + tn +
                         "(x[i])\n    }\n  }\n}\nhost {\n  launch k(N)\n}\n");
  Emulator e;
  e.options.checkAccesses = false;
  e.compile(p);
  auto r = e.run({{"N", static_cast<int64_t>(wide.size())}}, {{"h", toBytes(all)}, {"x", toBytes(wide)}});
  const auto w = fromBytes<float>(r.buffers["w"]);
  int wrong = 0;
  for (unsigned u = 0; u < 65536; ++u) {
    const double v = halfValue(u, exponentBits, fractionBits);
    wrong += std::isnan(v) ? !std::isnan(w[u]) : !(static_cast<double>(w[u]) == v && std::signbit(w[u]) == std::signbit(v));
  }
  CHECK(wrong == 0);
  const auto y = fromBytes<uint16_t>(r.buffers["y"]);
  for (size_t i = 0; i < wide.size(); ++i) {
    INFO(tn << " of " << wide[i]);
    if (y[i] != want[i]) REQUIRE(y[i] == want[i]);
  }
}

}  // namespace

TEST_CASE("bf16 and f16 are converted exactly and rounded once to nearest even") {
  checkHalf(DType::F16, 5, 10);
  checkHalf(DType::BF16, 8, 7);
}

TEST_CASE("reductions over a block and inside a thread") {
  const auto p = parse(kReductions);
  Emulator e;
  e.compile(p);
  REQUIRE(e.emitted().kernels[0].threads == 256);
  for (int64_t n : {0, 1, 100, 1000}) {
    std::vector<float> x;
    std::vector<int64_t> k;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(static_cast<float>((i * 37) % 101));
      k.push_back(50 - (i * 29) % 97);
    }
    float sum = 0, hi = -std::numeric_limits<float>::infinity();
    int64_t product = 1, lo = std::numeric_limits<int64_t>::max(), at = 0, low = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += x[i];  // small integers: exact in any order
      product = static_cast<int64_t>(static_cast<uint64_t>(product) * static_cast<uint64_t>(((k[i] % 3) + 3) % 3 + 1));
      if (x[i] > hi) hi = x[i], at = i;
      if (k[i] < lo) lo = k[i], low = i;
    }
    everyWay(e, [&] {
      auto r = e.run({{"N", n}, {"M", 3}}, {{"x", toBytes(x)}, {"k", toBytes(k)}});
      for (size_t m = 0; m < 3; ++m) {
        const auto f = fromBytes<float>(r.buffers["f"]);
        const auto q = fromBytes<int64_t>(r.buffers["n"]);
        const auto g = fromBytes<uint8_t>(r.buffers["g"]);
        CHECK(f[m * 6] == sum);
        CHECK(f[m * 6 + 1] == hi);
        CHECK(f[m * 6 + 2] == hi);
        CHECK(f[m * 6 + 3] == sum);
        CHECK(f[m * 6 + 4] == hi);
        CHECK(f[m * 6 + 5] == hi);
        CHECK(q[m * 6] == product);
        CHECK(q[m * 6 + 1] == lo);
        CHECK(q[m * 6 + 2] == at);
        CHECK(q[m * 6 + 3] == at);
        CHECK(q[m * 6 + 4] == low);
        CHECK(q[m * 6 + 5] == low);
        CHECK(g[m * 2] == 1);
        CHECK(g[m * 2 + 1] == 0);
      }
    });
  }
}

TEST_CASE("reductions have the same bits in every order and let NaN through") {
  const auto p = parse(R"(sizes N
buffer x: f32[N] input
buffer y: f32[3] output
buffer at: i64[1] output
kernel k(N) {
  buffer x: f32
  buffer y: f32 written
  buffer at: i64 written
  grid() {
    reduce i in 0 .. N {
      sum s: f32 = x[i]
      max m: f32 = x[i]
      min l: f32 = x[i]
      argmax a: f32 = x[i]
    }
    y[0] = s
    y[1] = m
    y[2] = l
    at[0] = a
  }
}
host {
  launch k(N)
}
)");
  Emulator e;
  e.compile(p);
  std::vector<float> x;
  for (int i = 0; i < 777; ++i) x.push_back(1.0f / static_cast<float>(i + 1));
  // The stated order: strided partial sums, then a tree of halves.
  std::vector<float> partial(256, 0.0f);
  for (size_t i = 0; i < x.size(); ++i) partial[i % 256] += x[i];
  for (size_t w = 128; w > 0; w /= 2) {
    for (size_t i = 0; i < w; ++i) partial[i] += partial[i + w];
  }
  everyWay(e, [&] {
    auto r = e.run({{"N", 777}}, {{"x", toBytes(x)}});
    CHECK(fromBytes<float>(r.buffers["y"])[0] == partial[0]);
  });
  x[300] = static_cast<float>(kNan);
  x[500] = static_cast<float>(kNan);
  everyWay(e, [&] {
    auto r = e.run({{"N", 777}}, {{"x", toBytes(x)}});
    for (float v : fromBytes<float>(r.buffers["y"])) CHECK(std::isnan(v));
    CHECK(fromBytes<int64_t>(r.buffers["at"])[0] == 300);
  });
}

}  // namespace tempo::cudatest
