// What `report` and `print` say while a program runs. A *record* is one occurrence of an effect: the values of its dims and
// its named values. Reports go to the progress line of a terminal or become plain lines, and to log files if asked:
// JSONL, one object per record, and CSV, one row per point with a column per dim and per name. Not-a-number and infinities
// are the strings "nan", "inf", "-inf" in JSONL.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tempo {

/// A value with a shape; one number has none.
struct MetricValue {
  std::vector<int64_t> shape;
  std::vector<double> values;
  bool integral = false;
};

struct MetricRecord {
  std::vector<std::pair<std::string, int64_t>> point;
  std::vector<std::pair<std::string, MetricValue>> values;
};

class LogFile {
 public:
  virtual ~LogFile() = default;
  virtual void write(const MetricRecord& record, double seconds) = 0;
  /// Called once at the end of the run; throws FileError if anything could not be written.
  virtual void close() = 0;
};

/// Throws FileError if the file cannot be made. `dims` and `names` are all that may occur.
std::unique_ptr<LogFile> openJsonl(const std::string& path);
std::unique_ptr<LogFile> openCsvLog(const std::string& path, std::vector<std::string> dims, std::vector<std::string> names);

/// `i=3  ret=21.5 loss=0.031`
std::string formatRecord(const MetricRecord& record);
/// `3.14`, `[1, 2.5]`, nested for higher ranks; `%.6g` or integers; at most `limit` numbers, then `...`.
std::string formatValue(const MetricValue& value, size_t limit = 64);
std::string formatNumber(double v);

}  // namespace tempo
