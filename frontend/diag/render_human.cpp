#include <algorithm>
#include <map>
#include <tuple>

#include "diag/diag.hpp"
#include "diag/utf8.hpp"

namespace tempo {
namespace {

constexpr int kTabWidth = 4;

struct Paint {
  bool on;
  std::string operator()(const char* ansi, const std::string& s) const {
    return on ? std::string("\x1b[") + ansi + "m" + s + "\x1b[0m" : s;
  }
  std::string error(const std::string& s) const { return (*this)("1;31", s); }
  std::string warning(const std::string& s) const { return (*this)("1;33", s); }
  std::string note(const std::string& s) const { return (*this)("1;36", s); }
  std::string gutter(const std::string& s) const { return (*this)("1;34", s); }
  std::string bold(const std::string& s) const { return (*this)("1", s); }
};

bool continuesCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Screen column, from 0, of a 1-based code point column: a tab advances to the next multiple of its width.
int screenColumn(const std::string& line, int column) {
  int screen = 0, points = 0;
  for (char c : line) {
    if (continuesCodePoint(c)) continue;
    if (++points == column) return screen;
    screen = c == '\t' ? (screen / kTabWidth + 1) * kTabWidth : screen + 1;
  }
  return screen + std::max(0, column - 1 - points);
}

/// The line as it is shown: tabs as spaces, control bytes as `?`.
std::string shown(const std::string& line) {
  std::string out;
  int screen = 0;
  for (char c : utf8Repaired(line)) {
    if (c == '\t') {
      int next = (screen / kTabWidth + 1) * kTabWidth;
      out.append(next - screen, ' ');
      screen = next;
      continue;
    }
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    if (!continuesCodePoint(c)) ++screen;
  }
  return out;
}

/// A message without control bytes that a terminal would obey; source text may be quoted in it.
std::string printable(const std::string& message) {
  std::string out = utf8Repaired(message);
  for (char& c : out)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) c = '?';
  return out;
}

struct Mark {
  int line;
  int begin, end;  // screen columns
  bool primary;
  std::string text;
};

class Renderer {
 public:
  Renderer(const Sources& sources, bool colour) : sources_(sources), paint_{colour} {}

  std::string render(const Diagnostic& d) {
    out_.clear();
    header(d);
    std::map<uint32_t, std::vector<Mark>> byFile;
    for (const Label& l : d.secondary) addMark(l, false, byFile);
    addMark(d.primary, true, byFile);
    width_ = 2;
    for (const auto& [file, marks] : byFile)
      for (const Mark& m : marks) width_ = std::max(width_, static_cast<int>(std::to_string(m.line).size()) + 1);
    // The file of the primary label comes first.
    if (auto it = byFile.find(d.primary.span.file); it != byFile.end()) {
      snippet(it->first, sources_.place(d.primary.span), it->second);
      byFile.erase(it);
    }
    for (auto& [file, marks] : byFile)
      snippet(file, sources_.file(file).path + ":" + std::to_string(marks.front().line), marks);
    for (const std::string& n : d.notes) trailer("note", n);
    for (const Fix& f : d.fixes) trailer("help", f.help);
    return out_;
  }

 private:
  void header(const Diagnostic& d) {
    std::string title = d.severity == Severity::Error ? "error" : d.severity == Severity::Warning ? "warning" : "note";
    if (!d.code.empty()) title += "[" + d.code + "]";
    if (d.severity == Severity::Error) title = paint_.error(title);
    if (d.severity == Severity::Warning) title = paint_.warning(title);
    if (d.severity == Severity::Note) title = paint_.note(title);
    out_ += title + paint_.bold(": " + printable(d.message)) + "\n";
  }

  void addMark(const Label& label, bool primary, std::map<uint32_t, std::vector<Mark>>& byFile) {
    if (label.span.file >= sources_.fileCount()) return;
    const SourceFile& file = sources_.file(label.span.file);
    auto [line, column] = file.lineColumn(label.span.begin);
    auto [lastLine, lastColumn] = file.lineColumn(std::max(label.span.begin, label.span.end));
    std::string text = file.line(line);
    Mark m{line, screenColumn(text, column), 0, primary, printable(label.text)};
    // A span over several lines is underlined to the end of its first.
    m.end = lastLine == line ? screenColumn(text, lastColumn) : lineWidth(text);
    m.end = std::max(m.end, m.begin + 1);
    byFile[label.span.file].push_back(m);
    texts_[{label.span.file, line}] = shown(text);
  }

  static int lineWidth(const std::string& text) {
    int points =
        static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !continuesCodePoint(c); }));
    return screenColumn(text, points + 1);
  }

  void snippet(uint32_t file, const std::string& place, std::vector<Mark> marks) {
    out_ += std::string(width_, ' ') + paint_.gutter("--> ") + place + "\n";
    std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
      return std::pair(a.line, a.begin) < std::pair(b.line, b.begin);
    });
    int previous = 0;
    for (size_t i = 0; i < marks.size();) {
      size_t end = i;
      while (end < marks.size() && marks[end].line == marks[i].line) ++end;
      if (previous && marks[i].line > previous + 1) out_ += paint_.gutter(std::string(width_, ' ') + "...") + "\n";
      previous = marks[i].line;
      std::string number = std::to_string(previous);
      out_ += paint_.gutter(std::string(width_ - number.size(), ' ') + number + " |") + " " + texts_[{file, previous}] +
              "\n";
      for (; i < end; ++i) underline(marks[i]);
    }
  }

  void underline(const Mark& m) {
    std::string carets(m.end - m.begin, m.primary ? '^' : '-');
    if (!m.text.empty()) carets += " " + m.text;
    out_ += paint_.gutter(std::string(width_, ' ') + " |") + " " + std::string(m.begin, ' ') +
            (m.primary ? paint_.error(carets) : paint_.gutter(carets)) + "\n";
  }

  void trailer(const std::string& kind, const std::string& text) {
    std::string indent(width_ + 1, ' ');
    std::string body;
    for (char c : printable(text)) {
      body += c;
      if (c == '\n') body += indent + std::string(kind.size() + 2, ' ');
    }
    out_ += indent + paint_.note(kind + ":") + " " + body + "\n";
  }

  const Sources& sources_;
  Paint paint_;
  std::string out_;
  int width_ = 2;
  std::map<std::pair<uint32_t, int>, std::string> texts_;
};

bool before(const Diagnostic* a, const Diagnostic* b) {
  return std::tuple(a->primary.span.file, a->primary.span.begin) <
         std::tuple(b->primary.span.file, b->primary.span.begin);
}

}  // namespace

std::string renderHuman(const Diagnostics& d, bool colour) {
  std::vector<const Diagnostic*> sorted;
  for (const auto& p : d.all()) sorted.push_back(p.get());
  std::stable_sort(sorted.begin(), sorted.end(), before);
  std::string out;
  Renderer renderer(d.sources(), colour);
  for (const Diagnostic* p : sorted) {
    if (!out.empty()) out += "\n";
    out += renderer.render(*p);
  }
  if (d.errorCount() > d.limit) out += "\n" + std::to_string(d.errorCount() - d.limit) + " more errors are not shown\n";
  return out;
}

}  // namespace tempo
