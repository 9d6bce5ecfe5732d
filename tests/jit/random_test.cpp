#include "catch.hpp"
#include "jit/kernels.hpp"
#include "oracle/oracle.hpp"

using namespace tempo;
using tempo::test::Run;

TEST_CASE("random words are the oracle's, in lanes and alone") {
  const uint64_t stream = streamKey("noise");
  const std::string id = std::to_string(static_cast<int64_t>(stream));
  Run r("sizes N, a\nbuffer y: i64[N * 4] output\nkernel draw(N, a) {\n  buffer y: i64 written\n  grid(i in 0 .. N) {\n    y[i] = random(" +
        id + ", i - 5)\n    y[N + i] = random(" + id + ", a, i)\n    y[(N * 2) + i] = random(" + id +
        ", 1, 2, 3, a, i, 9)\n    y[(N * 3) + i] = random(" + id + ")\n  }\n}\nhost {\n  launch draw(N, a)\n}\n");
  const int64_t n = 75, a = (int64_t{1} << 40) + 77;
  r.alloc<int64_t>("y", n * 4);
  for (uint64_t seed : {uint64_t{0}, uint64_t{1234567890123456789}}) {
    r.seed = seed;
    r({n, a});
    const int64_t* y = r.get<int64_t>("y");
    for (int64_t i = 0; i < n; ++i) {
      const int64_t one[] = {i - 5}, two[] = {a, i}, six[] = {1, 2, 3, a, i, 9};
      CHECK(y[i] == philox(seed, stream, one, 1));
      CHECK(y[n + i] == philox(seed, stream, two, 2));
      CHECK(y[n * 2 + i] == philox(seed, stream, six, 6));
      CHECK(y[n * 3 + i] == philox(seed, stream, nullptr, 0));
    }
  }
}
