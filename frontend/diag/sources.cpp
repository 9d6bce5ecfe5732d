#include <algorithm>

#include "diag/diag.hpp"

namespace tempo {
namespace {

bool startsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

std::pair<int, int> SourceFile::lineColumn(uint32_t offset) const {
  size_t end = std::min<size_t>(offset, text.size());
  int line = 1;
  size_t start = 0;
  for (size_t i = 0; i < end; ++i) {
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  int column = 1 + static_cast<int>(std::count_if(text.begin() + start, text.begin() + end, startsCodePoint));
  return {line, column};
}

std::string SourceFile::line(int number) const {
  size_t start = 0;
  for (int n = 1; n < number; ++n) {
    size_t newline = text.find('\n', start);
    if (newline == std::string::npos) return "";
    start = newline + 1;
  }
  size_t end = std::min(text.find('\n', start), text.size());
  if (end > start && text[end - 1] == '\r') --end;
  return text.substr(start, end - start);
}

uint32_t Sources::addFile(std::string path, std::string text) {
  files_.push_back(std::make_unique<SourceFile>(SourceFile{std::move(path), std::move(text)}));
  return static_cast<uint32_t>(files_.size() - 1);
}

Loc Sources::loc(Span s) {
  spans_.push_back(s);
  return Loc{static_cast<uint32_t>(spans_.size() - 1)};
}

Span Sources::span(Loc l) const { return l.id < spans_.size() ? spans_[l.id] : Span{}; }

std::string Sources::text(Span s) const {
  if (s.file >= files_.size()) return "";
  const std::string& text = files_[s.file]->text;
  size_t begin = std::min<size_t>(s.begin, text.size());
  size_t end = std::clamp<size_t>(s.end, begin, text.size());
  return text.substr(begin, end - begin);
}

std::string Sources::place(Span s) const {
  if (s.file >= files_.size()) return "<unknown>";
  auto [line, column] = files_[s.file]->lineColumn(s.begin);
  return files_[s.file]->path + ":" + std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace tempo
