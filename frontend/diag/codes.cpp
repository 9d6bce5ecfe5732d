#include <algorithm>
#include <string_view>

#include "diag/diag.hpp"

namespace tempo {

const std::vector<CodeInfo>& allCodes() {
  // The explanations open with the newline of their raw string.
#define TEMPO_CODE(code, title, explanation) CodeInfo{code, title, &(explanation)[1]},
  static const std::vector<CodeInfo> codes = {
#include "diag/codes.def"
  };
#undef TEMPO_CODE
  return codes;
}

const CodeInfo* findCode(const std::string& code) {
  const auto& codes = allCodes();
  auto it = std::find_if(codes.begin(), codes.end(), [&](const CodeInfo& c) { return code == c.code; });
  return it == codes.end() ? nullptr : &*it;
}

}  // namespace tempo
