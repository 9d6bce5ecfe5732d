// Nothing in the compiler knows a program or a library function by name: with every name changed, and softmax written out by the
// user, the plan is the same up to names.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "catch.hpp"
#include "parse/parse.hpp"
#include "samples/cases.hpp"

using namespace tempo;
using namespace tempo::test;
namespace fs = std::filesystem;

namespace {

/// Put before a name, keeping the case of its first letter: index expressions print lower-case names first.
const std::string kMark = "zz_", kUpperMark = "ZZ_";
const std::string kSoftmax =
    "\nfn zz_softmax(x, axis = -1) = {\n  e = exp(x - max(x, axis = axis, keep = true, init = 0))\n"
    "  e / sum(e, axis = axis, keep = true)\n}\n";

/// Names the program declares at its top level.
std::set<std::string> declared(const std::string& path, const std::string& text) {
  Sources sources;
  Diagnostics diags(sources);
  const ast::File file = parseSource(sources.addFile(path, text), diags);
  std::set<std::string> out;
  for (const auto& s : file.stmts) {
    for (const auto& d : s->dims) out.insert(d.dim.text), out.insert(d.size.text);
    for (const auto& d : s->sizeDecls) out.insert(d.name.text);
    for (const auto& i : s->inputItems) out.insert(i.name.text);
    for (const auto& t : s->targets) out.insert(t.name.text);
    if (s->kind == ast::Stmt::Kind::Fn || s->kind == ast::Stmt::Kind::Let) out.insert(s->name.text);
    if (s->kind == ast::Stmt::Kind::Let)
      for (const auto& n : s->names) out.insert(n.text);
  }
  out.erase("");
  return out;
}

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string renamed(const std::string& text, const std::set<std::string>& names) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') quoted = !quoted;
    size_t j = i;
    while (j < text.size() && isWord(text[j])) ++j;
    const std::string word = text.substr(i, j - i);
    const bool member = i > 0 && text[i - 1] == '.';
    if (!quoted && !member && names.count(word)) out += std::isupper(static_cast<unsigned char>(word[0])) ? kUpperMark : kMark;
    if (j == i) j = i + 1;
    out += text.substr(i, j - i);
    i = j;
  }
  return out;
}

/// Loop variables are numbered by a counter of the process: number them by appearance; marks are dropped.
std::string plain(const std::string& plan) {
  std::string out;
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < plan.size();) {
    size_t j = i;
    while (j < plan.size() && isWord(plan[j])) ++j;
    std::string word = plan.substr(i, j - i);
    for (const std::string& mark : {kMark, kUpperMark})
      for (size_t at; (at = word.find(mark)) != std::string::npos;) word.erase(at, mark.size());
    const size_t cut = word.rfind('_');
    const bool counted = cut != std::string::npos && cut + 1 < word.size() &&
                         word.find_first_not_of("0123456789", cut + 1) == std::string::npos;
    if (counted) word = names.try_emplace(word, word.substr(0, cut) + "#" + std::to_string(names.size())).first->second;
    out += word;
    if (j == i) out += plan[j++];
    i = j;
  }
  return out;
}

std::string planOf(const std::string& path, const std::string& text) {
  Sources sources;
  Diagnostics diags(sources);
  CompileOptions o;
  o.cache = false;
  auto p = Program::load({path, text}, o, diags);
  if (!p) return renderHuman(diags, false) + p.failure().message;
  auto plan = (*p)->emit(EmitStage::Plan);
  return plan ? *plan : plan.failure().message;
}

}  // namespace

TEST_CASE("plans do not depend on names", "[samples][names]") {
  const fs::path root = fs::path(TEMPO_SOURCE_DIR) / "samples";
  int programs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".tempo") continue;
    INFO(entry.path().filename().string());
    std::string text = readWholeFile(entry.path().string());
    const std::string before = planOf(entry.path().string(), text);
    REQUIRE(before.find("store ") != std::string::npos);
    std::set<std::string> names = declared(entry.path().string(), text);
    if (text.find("softmax(") != std::string::npos) {
      names.insert("softmax");
      text += kSoftmax;
    }
    std::string changed = renamed(text, names);
    for (size_t at; (at = changed.find("zz_zz_")) != std::string::npos;) changed.erase(at, kMark.size());
    const fs::path other = entry.path().parent_path() / "a_program_by_another_name.tempo";  // never written: text is given
    CHECK(plain(planOf(other.string(), changed)) == plain(before));
    ++programs;
  }
  CHECK(programs > 20);
}
