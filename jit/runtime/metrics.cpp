#include "runtime/metrics.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>

#include "runtime/io.hpp"

namespace tempo {
namespace {

std::string exact(double v, bool integral) {
  char text[40];
  if (integral) {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(v));
  } else {
    std::snprintf(text, sizeof text, "%.9g", v);
  }
  return text;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string jsonNumber(double v, bool integral) {
  if (std::isnan(v)) return "\"nan\"";
  if (std::isinf(v)) return v > 0 ? "\"inf\"" : "\"-inf\"";
  return exact(v, integral);
}

/// Prints the values from `*at` on as nested lists of the shape from `axis` on.
template <class F>
void nested(const MetricValue& v, size_t axis, size_t* at, size_t limit, std::string* out, F&& number) {
  if (axis == v.shape.size()) {
    *out += number(v.values[(*at)++]);
    return;
  }
  *out += '[';
  for (int64_t i = 0; i < v.shape[axis]; ++i) {
    if (i) *out += ", ";
    if (*at >= limit) {
      *out += "...";
      break;
    }
    nested(v, axis + 1, at, limit, out, number);
  }
  *out += ']';
}

class File {
 public:
  explicit File(const std::string& path) : path_(path), f_(std::fopen(path.c_str(), "we")) {
    if (!f_) throw FileError(path, std::strerror(errno));
    std::setvbuf(f_, nullptr, _IOLBF, 1 << 16);
  }
  ~File() {
    if (f_) std::fclose(f_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void line(const std::string& text) {
    if (f_) failed_ |= std::fprintf(f_, "%s\n", text.c_str()) < 0;
  }
  void close() {
    if (!f_) return;
    errno = 0;
    failed_ |= std::fclose(f_) != 0;
    f_ = nullptr;
    if (failed_) throw FileError(path_, errno ? std::strerror(errno) : "could not be written in full");
  }

 private:
  std::string path_;
  std::FILE* f_;
  bool failed_ = false;
};

class Jsonl : public LogFile {
 public:
  explicit Jsonl(const std::string& path) : file_(path) {}
  void write(const MetricRecord& r, double seconds) override {
    std::string s = "{";
    for (const auto& [name, v] : r.point) s += quoted(name) + ": " + std::to_string(v) + ", ";
    for (const auto& [name, v] : r.values) {
      s += quoted(name) + ": ";
      size_t at = 0;
      nested(v, 0, &at, SIZE_MAX, &s, [&](double x) { return jsonNumber(x, v.integral); });
      s += ", ";
    }
    char time[48];
    std::snprintf(time, sizeof time, "\"seconds\": %.6f}", seconds);
    file_.line(s + time);
  }
  void close() override { file_.close(); }

 private:
  File file_;
};

class CsvLog : public LogFile {
 public:
  CsvLog(const std::string& path, std::vector<std::string> dims, std::vector<std::string> names)
      : file_(path), dims_(std::move(dims)), names_(std::move(names)), cells_(names_.size()) {
    std::string head;
    for (const auto& d : dims_) head += cell(d) + ",";
    for (const auto& n : names_) head += cell(n) + ",";
    file_.line(head + "seconds");
  }
  void write(const MetricRecord& r, double seconds) override {
    if (point_ && *point_ != r.point) flush();
    point_ = r.point;
    seconds_ = seconds;
    for (const auto& [name, v] : r.values) {
      const size_t i = std::find(names_.begin(), names_.end(), name) - names_.begin();
      if (i == names_.size()) continue;
      if (!cells_[i].empty()) {
        flush();
        point_ = r.point;
      }
      std::string s;
      size_t at = 0;
      nested(v, 0, &at, SIZE_MAX, &s, [&](double x) { return exact(x, v.integral && std::isfinite(x)); });
      cells_[i] = cell(s);
    }
  }
  void close() override {
    flush();
    file_.close();
  }

 private:
  static std::string cell(const std::string& s) {
    if (s.find_first_of(",\"\n") == std::string::npos) return s;
    std::string out = "\"";
    for (const char c : s) {
      if (c == '"') out += '"';
      out += c;
    }
    return out + '"';
  }
  void flush() {
    if (!point_) return;
    std::string s;
    for (const auto& d : dims_) {
      for (const auto& [name, v] : *point_) {
        if (name == d) s += std::to_string(v);
      }
      s += ",";
    }
    for (auto& c : cells_) {
      s += c + ",";
      c.clear();
    }
    char time[32];
    std::snprintf(time, sizeof time, "%.6f", seconds_);
    file_.line(s + time);
    point_.reset();
  }

  File file_;
  std::vector<std::string> dims_, names_, cells_;
  std::optional<std::vector<std::pair<std::string, int64_t>>> point_;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<LogFile> openJsonl(const std::string& path) { return std::make_unique<Jsonl>(path); }

std::unique_ptr<LogFile> openCsvLog(const std::string& path, std::vector<std::string> dims, std::vector<std::string> names) {
  return std::make_unique<CsvLog>(path, std::move(dims), std::move(names));
}

std::string formatNumber(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

std::string formatValue(const MetricValue& value, size_t limit) {
  std::string s;
  size_t at = 0;
  nested(value, 0, &at, limit, &s, [&](double v) { return value.integral ? exact(v, true) : formatNumber(v); });
  return s;
}

std::string formatRecord(const MetricRecord& record) {
  std::string s;
  for (const auto& [name, v] : record.point) s += (s.empty() ? "" : " ") + name + "=" + std::to_string(v);
  for (const auto& [name, v] : record.values) s += (s.empty() ? "" : "  ") + name + "=" + formatValue(v);
  return s;
}

}  // namespace tempo
