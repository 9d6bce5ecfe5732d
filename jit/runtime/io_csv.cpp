#include "runtime/io_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace tempo {
namespace {

struct Row {
  int line = 0;
  std::vector<std::string> cells;
};

std::string trimmed(const std::string& s) {
  const size_t a = s.find_first_not_of(" \t\r");
  if (a == std::string::npos) return "";
  return s.substr(a, s.find_last_not_of(" \t\r") - a + 1);
}

std::optional<double> number(const std::string& cell) {
  std::string s = trimmed(cell);
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
  if (s == "true") return 1;
  if (s == "false") return 0;
  if (!s.empty() && s[0] == '+') s.erase(0, 1);
  double v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (end != s.data() + s.size() || s.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(s.c_str(), nullptr);
  if (error != std::errc()) return std::nullopt;
  return v;
}

char delimiterOf(const std::string& text) {
  bool quoted = false;
  size_t count[3] = {0, 0, 0};
  const char kinds[3] = {',', ';', '\t'};
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' && count[0] + count[1] + count[2] > 0) break;
    for (int k = 0; k < 3; ++k) count[k] += c == kinds[k];
  }
  return kinds[std::max_element(count, count + 3) - count];
}

/// Splits text into rows one at a time, so that counting rows needs no memory.
class Splitter {
 public:
  Splitter(const std::string& text, const std::string& path) : text_(text), path_(path), delimiter_(delimiterOf(text)) {
    if (text_.compare(0, 3, "\xEF\xBB\xBF") == 0) at_ = 3;
  }

  bool next(Row* row) {
    while (at_ < text_.size()) {
      if (skipBlank()) continue;
      row->line = line_;
      row->cells.clear();
      while (cell(row)) {
      }
      return true;
    }
    return false;
  }

 private:
  bool skipBlank() {
    size_t end = text_.find('\n', at_);
    if (end == std::string::npos) end = text_.size();
    const size_t first = text_.find_first_not_of(" \r\t", at_);
    const bool blank = (first == std::string::npos || first >= end) || text_[first] == '#';
    // A tab-separated row of empty cells is a row, not a blank line.
    const bool tabs = delimiter_ == '\t' && text_.find('\t', at_) < end;
    if (!blank || (tabs && text_[std::min(first, text_.size() - 1)] != '#')) return false;
    at_ = std::min(end + 1, text_.size());
    ++line_;
    return true;
  }

  /// Reads one cell; true if another follows in the same row.
  bool cell(Row* row) {
    std::string s;
    size_t p = at_;
    while (p < text_.size() && text_[p] == ' ') ++p;
    if (p < text_.size() && text_[p] == '"') {
      at_ = p;
      s = quotedCell(row->line);
    }
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n') s += text_[at_++];
    row->cells.push_back(trimmed(s));
    if (at_ >= text_.size()) return false;
    const bool more = text_[at_] == delimiter_;
    if (!more) ++line_;
    ++at_;
    if (more && at_ >= text_.size()) row->cells.emplace_back();
    return more && at_ < text_.size();
  }

  std::string quotedCell(int startLine) {
    std::string s;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        s += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        s += text_[++at_];
      } else {
        ++at_;
        return s;
      }
    }
    throw FileError(path_, "line " + std::to_string(startLine) + ": a quote is not closed");
  }

  const std::string& text_;
  const std::string& path_;
  char delimiter_;
  size_t at_ = 0;
  int line_ = 1;
};

bool isHeader(const Row& row) {
  return std::any_of(row.cells.begin(), row.cells.end(), [](const std::string& c) { return !c.empty() && !number(c); });
}

size_t columnIndex(const std::string& wanted, const Row& first, bool header, const std::string& path) {
  if (header) {
    for (size_t i = 0; i < first.cells.size(); ++i) {
      if (first.cells[i] == wanted) return i;
    }
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  if (error == std::errc() && end == wanted.data() + wanted.size()) {
    if (index < first.cells.size()) return index;
    throw FileError(path, "has " + std::to_string(first.cells.size()) + " columns; there is no column " + wanted +
                              " (they count from 0)");
  }
  if (!header) throw FileError(path, "has no header row, so no column `" + wanted + "`; give its number, from 0");
  const std::string near = nearestName(wanted, first.cells);
  std::string all;
  for (const auto& c : first.cells) all += (all.empty() ? "" : ", ") + c;
  throw FileError(path, "has no column `" + wanted + "`; " + (near.empty() ? "it has " + all : "did you mean `" + near + "`?"));
}

std::vector<size_t> chosenColumns(const std::string& columns, const Row& first, bool header, const std::string& path) {
  std::vector<size_t> chosen;
  if (columns.empty()) {
    for (size_t i = 0; i < first.cells.size(); ++i) chosen.push_back(i);
    return chosen;
  }
  if (header && std::find(first.cells.begin(), first.cells.end(), columns) != first.cells.end()) {
    return {columnIndex(columns, first, header, path)};  // a name that holds a comma
  }
  for (size_t at = 0; at <= columns.size();) {
    const size_t comma = std::min(columns.find(',', at), columns.size());
    chosen.push_back(columnIndex(trimmed(columns.substr(at, comma - at)), first, header, path));
    at = comma + 1;
  }
  return chosen;
}

double cellValue(const Row& row, size_t column, const Row& first, bool header, const std::string& path) {
  const std::string& cell = row.cells[column];
  if (const auto v = number(cell)) return *v;
  std::string where = "line " + std::to_string(row.line) + ", column " + std::to_string(column + 1);
  if (header) where += " (`" + first.cells[column] + "`)";
  throw FileError(path, where + ": " + (cell.empty() ? "the value is missing" : "`" + cell + "` is not a number"));
}

std::vector<int64_t> shapeOf(int64_t rows, size_t chosen, const std::string& columns) {
  if (chosen == 1 && !columns.empty()) return {rows};
  return {rows, static_cast<int64_t>(chosen)};
}

struct Table {
  Row first;
  bool header = false;
  std::vector<size_t> chosen;
};

/// Calls `row` for each data row.
template <class F>
Table scan(const std::string& text, const std::string& columns, const std::string& path, F&& row) {
  Splitter in(text, path);
  Table t;
  if (!in.next(&t.first)) throw FileError(path, "holds no rows");
  t.header = isHeader(t.first);
  t.chosen = chosenColumns(columns, t.first, t.header, path);
  if (!t.header) row(t, t.first);
  for (Row r; in.next(&r);) {
    if (r.cells.size() != t.first.cells.size()) {
      throw FileError(path, "line " + std::to_string(r.line) + " has " + std::to_string(r.cells.size()) +
                                " cells; the first row has " + std::to_string(t.first.cells.size()));
    }
    row(t, r);
  }
  return t;
}

void appendNumber(std::string* out, const Array& a, int64_t i) {
  char text[40];
  const double v = a.get(i);
  if (!isFloat(a.dtype)) {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(v));
  } else {
    std::snprintf(text, sizeof text, a.dtype == DType::F64 ? "%.17g" : "%.9g", v);
  }
  *out += text;
}

}  // namespace

ArrayHeader readCsvHeader(const std::string& path, const std::string& columns) {
  const std::string text = readWholeFile(path);
  int64_t rows = 0;
  const Table t = scan(text, columns, path, [&](const Table&, const Row&) { ++rows; });
  return {DType::F32, shapeOf(rows, t.chosen.size(), columns)};
}

Array readCsv(const std::string& path, const std::string& columns) { return parseCsv(readWholeFile(path), columns, path); }

Array parseCsv(const std::string& text, const std::string& columns, const std::string& path) {
  std::vector<double> values;
  int64_t rows = 0;
  const Table t = scan(text, columns, path, [&](const Table& table, const Row& r) {
    ++rows;
    for (const size_t c : table.chosen) values.push_back(cellValue(r, c, table.first, table.header, path));
  });
  Array out = allocateArray(DType::F64, shapeOf(rows, t.chosen.size(), columns));
  std::copy(values.begin(), values.end(), out.as<double>());
  return out;
}

void writeCsv(const std::string& path, const Array& array) {
  if (array.shape.size() > 2) {
    throw FileError(path, "an array of rank " + std::to_string(array.shape.size()) + " does not fit a csv; write .npy");
  }
  const int64_t columns = array.shape.size() == 2 ? array.shape[1] : 1;
  const bool tabs = path.size() > 4 && path.compare(path.size() - 4, 4, ".tsv") == 0;
  std::string text;
  for (int64_t i = 0, n = array.count(); i < n; ++i) {
    appendNumber(&text, array, i);
    text += (i + 1) % columns == 0 ? '\n' : tabs ? '\t' : ',';
  }
  writeFileAtomically(path, text);
}

}  // namespace tempo
