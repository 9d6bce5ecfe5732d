#include <algorithm>
#include <cstdio>
#include <tuple>

#include "diag/diag.hpp"
#include "diag/utf8.hpp"

namespace tempo {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : utf8Repaired(s)) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 0x20 || u == 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", u);
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string field(const char* name, const std::string& value) { return quoted(name) + ":" + value; }

template <typename T, typename F>
std::string list(const std::vector<T>& items, F render) {
  std::string out = "[";
  for (const T& item : items) {
    if (out.size() > 1) out += ",";
    out += render(item);
  }
  return out + "]";
}

std::string position(const SourceFile& file, uint32_t offset) {
  auto [line, column] = file.lineColumn(offset);
  return "{" + field("line", std::to_string(line)) + "," + field("column", std::to_string(column)) + "," +
         field("offset", std::to_string(offset)) + "}";
}

std::string spanFields(const Sources& sources, Span s) {
  if (s.file >= sources.fileCount()) return field("file", "null");
  const SourceFile& file = sources.file(s.file);
  return field("file", quoted(file.path)) + "," + field("begin", position(file, s.begin)) + "," +
         field("end", position(file, s.end));
}

std::string renderLabel(const Sources& sources, const Label& l) {
  return "{" + spanFields(sources, l.span) + "," + field("text", quoted(l.text)) + "}";
}

std::string renderFix(const Sources& sources, const Fix& fix) {
  auto edit = [&](const std::pair<Span, std::string>& e) {
    return "{" + spanFields(sources, e.first) + "," + field("replacement", quoted(e.second)) + "}";
  };
  return "{" + field("help", quoted(fix.help)) + "," + field("edits", list(fix.edits, edit)) + "}";
}

const char* name(Severity s) { return s == Severity::Error ? "error" : s == Severity::Warning ? "warning" : "note"; }

std::string render(const Sources& sources, const Diagnostic& d) {
  auto label = [&](const Label& l) { return renderLabel(sources, l); };
  auto fix = [&](const Fix& f) { return renderFix(sources, f); };
  return "{" + field("severity", quoted(name(d.severity))) + "," + field("code", quoted(d.code)) + "," +
         field("message", quoted(d.message)) + "," + field("primary", label(d.primary)) + "," +
         field("secondary", list(d.secondary, label)) + "," + field("notes", list(d.notes, quoted)) + "," +
         field("fixes", list(d.fixes, fix)) + "}";
}

}  // namespace

std::string renderJson(const Diagnostics& d) {
  std::vector<const Diagnostic*> sorted;
  for (const auto& p : d.all()) sorted.push_back(p.get());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tuple(a->primary.span.file, a->primary.span.begin) <
           std::tuple(b->primary.span.file, b->primary.span.begin);
  });
  std::string out;
  for (const Diagnostic* p : sorted) out += render(d.sources(), *p) + "\n";
  return out;
}

}  // namespace tempo
