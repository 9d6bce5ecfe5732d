// tests/golden/parse: NAME.tempo with NAME.expected beside it, which holds the tree and then the diagnostics. A program
// without an expectation must parse without a diagnostic.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "frontend/parse/support.hpp"

namespace {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("parse goldens", "[parse]") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TEMPO_SOURCE_DIR "/tests/golden/parse")) {
    if (entry.path().extension() != ".tempo") continue;
    ++count;
    CAPTURE(entry.path().filename().string());
    tempo::Parsed p(slurp(entry.path()), entry.path().filename().string());
    auto expected = std::filesystem::path(entry.path()).replace_extension(".expected");
    if (std::filesystem::exists(expected)) {
      CHECK(p.tree() + p.errors() == slurp(expected));
    } else {
      CHECK(p.errors() == "");
      CHECK(p.tree() != "");
    }
  }
  CHECK(count >= 5);
}
