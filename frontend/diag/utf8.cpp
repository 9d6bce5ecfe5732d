#include "diag/utf8.hpp"

namespace tempo {

size_t utf8SequenceLength(const std::string& s, size_t i) {
  auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  auto continues = [&](size_t k) { return (byte(k) & 0xC0) == 0x80; };
  unsigned b = byte(i);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b <= 0xDF) return continues(i + 1) ? 2 : 0;
  if (b >= 0xE0 && b <= 0xEF) {
    if (!continues(i + 1) || !continues(i + 2)) return 0;
    if ((b == 0xE0 && byte(i + 1) < 0xA0) || (b == 0xED && byte(i + 1) > 0x9F)) return 0;
    return 3;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    if (!continues(i + 1) || !continues(i + 2) || !continues(i + 3)) return 0;
    if ((b == 0xF0 && byte(i + 1) < 0x90) || (b == 0xF4 && byte(i + 1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

std::string utf8Repaired(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    size_t n = utf8SequenceLength(s, i);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
    } else {
      out += s.substr(i, n);
      i += n;
    }
  }
  return out;
}

}  // namespace tempo
