#include "oracle/oracle.hpp"

namespace tempo {

namespace {

uint64_t mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

void philox4x32(uint32_t c[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    uint32_t c1 = c[1], c3 = c[3];
    c[0] = uint32_t(p1 >> 32) ^ c1 ^ key0;
    c[1] = uint32_t(p1);
    c[2] = uint32_t(p0 >> 32) ^ c3 ^ key1;
    c[3] = uint32_t(p0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

uint32_t philox(uint64_t seed, uint64_t stream, const int64_t* point, int rank) {
  uint64_t key = seed ^ mix(stream);
  uint32_t counter[4] = {0, 0, 0, 0};
  for (int i = 0; i < rank; ++i) {
    auto word = uint32_t(uint64_t(point[i]));
    if (i < 4) {
      counter[i] = word;
    } else {
      counter[3] = uint32_t(mix(uint64_t{counter[3]} << 32 | word));
    }
  }
  philox4x32(counter, uint32_t(key), uint32_t(key >> 32));
  return counter[0];
}

uint64_t streamKey(const std::string& stream) {
  uint64_t h = 0xCBF29CE484222325u;
  for (char c : stream) h = (h ^ uint8_t(c)) * 0x100000001B3u;
  return h;
}

}  // namespace tempo
