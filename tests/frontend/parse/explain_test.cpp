// The explanations of codes and the fixes of diagnostics are programs too: they must do what they say.
#include <algorithm>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "frontend/parse/support.hpp"

using tempo::Parsed;

namespace {

/// The indented blocks of an explanation, without their indentation. Command lines are no programs.
std::vector<std::string> examples(const std::string& explanation) {
  std::vector<std::string> out;
  std::istringstream lines(explanation);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    bool indented = line.rfind("    ", 0) == 0;
    if (indented && !inside) out.emplace_back();
    inside = indented;
    if (indented && line.rfind("    tempo ", 0) != 0) out.back() += line.substr(4) + "\n";
  }
  return out;
}

std::string applied(const std::string& text, const tempo::Fix& fix) {
  auto edits = fix.edits;
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.first.begin > b.first.begin; });
  std::string out = text;
  for (const auto& [span, replacement] : edits) out.replace(span.begin, span.end - span.begin, replacement);
  return out;
}

}  // namespace

TEST_CASE("a syntax code's first example is wrong in that way, its last is right", "[parse]") {
  // The examples of these cannot be written in an explanation, or are no programs.
  const std::set<std::string> unprintable = {"E0106", "E0190"};
  for (const tempo::CodeInfo& info : tempo::allCodes()) {
    std::string code = info.code;
    if (code.rfind("E01", 0) != 0 || unprintable.count(code)) continue;
    CAPTURE(code);
    auto blocks = examples(info.explanation);
    REQUIRE(blocks.size() >= 2);
    Parsed wrong(blocks.front()), right(blocks.back());
    REQUIRE(wrong.diags.hasErrors());
    for (const auto& d : wrong.diags.all()) CHECK(d->code == code);
    CHECK(right.errors() == "");
  }
}

TEST_CASE("the examples of all other codes are syntactically right", "[parse]") {
  for (const tempo::CodeInfo& info : tempo::allCodes()) {
    std::string code = info.code;
    if (code.rfind("E01", 0) == 0) continue;
    for (const std::string& block : examples(info.explanation)) {
      CAPTURE(code, block);
      Parsed p(block);
      // E0206 shows a path without quotes, which is a module name; E0218 a `param` at its wrong place.
      if (code != "E0218") CHECK(p.errors() == "");
    }
  }
}

TEST_CASE("fixes mend what they are attached to", "[parse]") {
  for (const std::string text :
       {"y = 0 < x < 1\n", "y = 2 * sum[s in 0 : T] x[s] + 1\n", "y = 1 + if a then b else c\n", "y : float32[3] = x\n"}) {
    CAPTURE(text);
    Parsed wrong(text);
    REQUIRE(wrong.diags.all().size() == 1);
    REQUIRE_FALSE(wrong.diags.all()[0]->fixes.at(0).edits.empty());
    Parsed mended(applied(text, wrong.diags.all()[0]->fixes[0]));
    CHECK(mended.errors() == "");
  }
}
