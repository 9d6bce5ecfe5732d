// Diagnostics as data: a code, a message that stands alone, spans, notes and a fix.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sdg/graph.hpp"

namespace tempo {

/// One file (or embedded module, or REPL line) of source text.
struct SourceFile {
  std::string path;  // as shown to the user
  std::string text;
  /// 1-based line and column (in code points) of a byte offset.
  std::pair<int, int> lineColumn(uint32_t offset) const;
  std::string line(int number) const;
};

struct Span {
  uint32_t file = 0;          // index into Sources
  uint32_t begin = 0, end = 0;  // bytes, half open
};

/// All files of a compilation, and the numbering of places (`Loc`) that SDG nodes carry.
class Sources {
 public:
  uint32_t addFile(std::string path, std::string text);
  const SourceFile& file(uint32_t i) const { return *files_[i]; }
  size_t fileCount() const { return files_.size(); }
  Loc loc(Span s);            // 0 stays nowhere
  Span span(Loc l) const;
  std::string text(Span s) const;
  /// `rnn.tempo:9:19`
  std::string place(Span s) const;
  std::string place(Loc l) const { return l.id ? place(span(l)) : std::string("<unknown>"); }

 private:
  std::vector<std::unique_ptr<SourceFile>> files_;
  std::vector<Span> spans_{Span{}};
};

enum class Severity : uint8_t { Error, Warning, Note };

struct Label {
  Span span;
  std::string text;
};

struct Fix {
  std::string help;                                     // "define the step before the first: `h[-1] = zeros`"
  std::vector<std::pair<Span, std::string>> edits;      // replacements, may be empty
};

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string code;                                     // "E0301"
  std::string message;                                  // lower case, one sentence, no full stop
  Label primary;
  std::vector<Label> secondary;
  std::vector<std::string> notes;
  std::vector<Fix> fixes;
};

/// Collects; sorted by place when rendered; at most `limit` errors are kept. A returned reference to an error beyond the
/// limit lives until the next such error.
class Diagnostics {
 public:
  explicit Diagnostics(Sources& s) : sources_(s) {}
  /// The code must be a row of diag/codes.def.
  Diagnostic& error(const std::string& code, Span where, std::string message, std::string label = "");
  Diagnostic& warning(const std::string& code, Span where, std::string message, std::string label = "");
  bool hasErrors() const { return errors_ > 0; }
  size_t errorCount() const { return errors_; }
  const std::vector<std::unique_ptr<Diagnostic>>& all() const { return all_; }
  Sources& sources() const { return sources_; }
  size_t limit = 20;

 private:
  Sources& sources_;
  std::vector<std::unique_ptr<Diagnostic>> all_;
  size_t errors_ = 0;
  std::unique_ptr<Diagnostic> overflow_;  // the last error beyond the limit
};

/// rustc-like text with carets, secondary labels, notes and help lines. Colours with ANSI if `colour`.
std::string renderHuman(const Diagnostics& d, bool colour);
/// One JSON object per line.
std::string renderJson(const Diagnostics& d);

struct CodeInfo {
  const char* code;
  const char* title;
  const char* explanation;  // what `tempo explain` prints: rule, example, mending
};
const CodeInfo* findCode(const std::string& code);
const std::vector<CodeInfo>& allCodes();

}  // namespace tempo
