#include "catch.hpp"
#include "check.hpp"
#include "cuda/emit.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda_emulation/compile.hpp"
#include "cuda/common.hpp"

namespace tempo::cudatest {

TEST_CASE("a Par nest is spread over the threads of a block") {
  const auto p = parse(R"(sizes N
buffer x: f32[N * 8] input
buffer y: f32[N * 8] output
kernel scale(N) {
  buffer x: f32
  buffer y: f32 written
  grid(n in 0 .. N) {
    par i in 0 .. 8 {
      y[(n * 8) + i] = x[(n * 8) + i] * 2:f32
    }
  }
}
host {
  launch scale(N)
}
)");
  CHECK(cuda::emitKernels(p) == R"(TEMPO_KERNEL(k_scale, 32, TempoArgs<1, 2>) {
  const i64 N = args.params[0];
  const f32* __restrict__ const x = (const f32*)args.buffers[0];
  f32* __restrict__ const y = (f32*)args.buffers[1];
  for (i64 instance = TEMPO_BLOCK; instance < args.instances; instance += TEMPO_BLOCKS) {
    const i64 n = instance;
    {
      for (i64 i = TEMPO_THREAD; i < 8; i += TEMPO_THREADS) {
        tempo_store(y, ((n * 8) + i), (tempo_load(x, ((n * 8) + i)) * 2.0f));
      }
    }
    TEMPO_BARRIER();
  }
}
)");
}

TEST_CASE("barriers stand where threads would meet, and nowhere else") {
  const auto p = parse(R"(sizes N
buffer x: f32[N] input
buffer y: f32[N] output
buffer z: f32[N] output
kernel k(N) {
  buffer x: f32
  buffer y: f32 written
  buffer z: f32 written
  grid() {
    par i in 0 .. N {
      y[i] = x[i]
    }
    par i in 0 .. N {
      z[i] = x[i] + 1:f32
    }
    par i in 0 .. N {
      z[i] = y[(N - 1) - i]
    }
  }
}
host {
  launch k(N)
}
)");
  const std::string text = cuda::emitKernels(p);
  // None between the first two nests, which share nothing that is written; one before the third; one at the end.
  std::vector<size_t> barriers, nests;
  for (size_t at = 0; (at = text.find("TEMPO_BARRIER();", at)) != std::string::npos; ++at) barriers.push_back(at);
  for (size_t at = 0; (at = text.find("+= TEMPO_THREADS", at)) != std::string::npos; ++at) nests.push_back(at);
  REQUIRE(nests.size() == 3);
  REQUIRE(barriers.size() == 2);
  CHECK(nests[1] < barriers[0]);
  CHECK(barriers[0] < nests[2]);
  CHECK(nests[2] < barriers[1]);
}

TEST_CASE("a kernel without Par nests runs a thread per instance") {
  const auto p = parse(R"(sizes N
buffer y: f32[N] output
kernel one(N) {
  buffer y: f32 written
  grid(n in 0 .. N) {
    y[n] = f32(n)
  }
}
host {
  launch one(N)
}
)");
  const auto e = cuda::emit(p);
  CHECK(e.kernels[0].threadPerInstance);
  CHECK(e.kernels[0].threads == 128);
  CHECK(e.kernels[0].blocks(129) == 2);
  CHECK(e.source.find("TEMPO_BARRIER()", std::string(cuda::deviceHeader()).size()) == std::string::npos);
}

TEST_CASE("names that C++ has taken are not printed") {
  const auto p = parse(R"(sizes int
buffer double: f32[int] output
kernel exp(int) {
  buffer double: f32 written
  grid() {
    par `x'` in 0 .. int {
      let float: f32 = f32(`x'`)
      let float: f32 = float + 1:f32
      double[`x'`] = float
    }
  }
}
host {
  launch exp(int)
}
)");
  Emulator e;
  e.compile(p);
  CHECK(fromBytes<float>(e.run({{"int", 3}}, {}).buffers["double"]) == std::vector<float>{1, 2, 3});
}

TEST_CASE("library calls are refused") {
  kir::Program p = parse("sizes N\nkernel k(N) {\n  grid() {\n  }\n}\nhost {\n}\n");
  kir::Stmt s{};
  s.kind = kir::Stmt::Kind::Call;
  s.name = "gemm";
  p.kernels[0].body.push_back(std::make_shared<kir::Stmt>(s));
  CHECK_THROWS_AS(cuda::emit(p), InternalError);
}

TEST_CASE("resource use is read from the assembler's output") {
  const auto r = cuda::parseResources(
      "ptxas info    : Compiling entry function 'k_a' for 'sm_90'\n"
      "ptxas info    : Function properties for k_a\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 34 registers, used 1 barriers, 4096 bytes smem\n"
      "ptxas info    : Compiling entry function 'k_b' for 'sm_90'\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  CHECK(r.at("k_a").registers == 34);
  CHECK(r.at("k_a").sharedBytes == 4096);
  CHECK(r.at("k_a").spillBytes == 20);
  CHECK(r.at("k_b").registers == 8);
  CHECK(r.at("k_b").sharedBytes == 0);
}

TEST_CASE("the argument block has the layout of the device header") {
  // Read back by code compiled against the header itself.
  const std::string source = std::string(cuda::deviceHeader()) + R"(
extern "C" long long probe(const TempoArgs<2, 1>& a) {
  return a.instances + 10 * (long long)a.seed + 100 * *a.stop + 1000 * a.fault->site + 10000 * a.scratch_stride +
         100000 * a.params[1] + (a.scratch == (u8*)a.buffers[0] ? 1000000 : 0);
}
)";
  std::string problem;
  auto library = emulation::compileLibrary(source, &problem);
  REQUIRE(library);
  auto probe = reinterpret_cast<long long (*)(const void*)>(library->symbol("probe"));
  int32_t stop = 3;
  TempoFault fault{4, 0, {}};
  cuda::ArgHeader h;
  h.instances = 1;
  h.seed = 2;
  h.stop = &stop;
  h.fault = &fault;
  h.scratch = &h;
  h.scratchStride = 5;
  const int64_t params[] = {9, 6};
  CHECK(probe(cuda::packArgs(h, params, 2, {&h}).data()) == 1654321);
}

}  // namespace tempo::cudatest
