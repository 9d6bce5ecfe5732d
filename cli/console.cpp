#include "console.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "driver/plan_report.hpp"

namespace tempo::cli {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int exitCode(Failure::Kind kind) {
  switch (kind) {
    case Failure::Kind::Usage: return kWrongCommand;
    case Failure::Kind::Interrupted: return kInterrupted;
    default: return kFailed;
  }
}

const char* kindName(Failure::Kind kind) {
  switch (kind) {
    case Failure::Kind::Usage: return "usage";
    case Failure::Kind::Compile: return "compile";
    case Failure::Kind::Run: return "run";
    case Failure::Kind::Interrupted: return "interrupted";
  }
  return "";
}

void tellHuman(const Failure& f) {
  const bool colour = wantsColour(stderr);
  std::string text = colour ? "\x1b[1;31merror\x1b[0m: " : "error: ";
  if (!f.place.empty()) text += f.place + ": ";
  text += f.message + "\n";
  if (!f.help.empty()) text += std::string(colour ? "  \x1b[1;36mhelp\x1b[0m: " : "  help: ") + f.help + "\n";
  std::fputs(text.c_str(), stderr);
}

void tellJson(const Failure& f) {
  std::fprintf(stderr, "{\"severity\": \"error\", \"kind\": \"%s\", \"place\": %s, \"message\": %s, \"help\": %s}\n",
               kindName(f.kind), jsonString(f.place).c_str(), jsonString(f.message).c_str(), jsonString(f.help).c_str());
}

}  // namespace

int tell(const Failure& f, const Diagnostics* diags, Format format) {
  const bool fromSource = diags && diags->hasErrors() && f.kind == Failure::Kind::Compile;
  std::fflush(stdout);
  if (fromSource) {
    std::fputs((format == Format::Json ? renderJson(*diags) : renderHuman(*diags, wantsColour(stderr))).c_str(), stderr);
  } else if (format == Format::Json) {
    tellJson(f);
  } else {
    tellHuman(f);
  }
  return exitCode(f.kind);
}

int wrongCommand(const std::string& place, const std::string& message, const std::string& help, Format format) {
  return tell({Failure::Kind::Usage, message, place, help}, nullptr, format);
}

void tellWarnings(const Diagnostics& diags, Format format) {
  if (diags.all().empty()) return;
  std::fputs((format == Format::Json ? renderJson(diags) : renderHuman(diags, wantsColour(stderr))).c_str(), stderr);
}

std::string summary(const std::string& label, const Array& a) {
  const int64_t n = a.count();
  std::string text = label + " : " + name(a.dtype) + (a.shape.empty() ? "" : shapeString(a.shape));
  if (n <= 64) {
    MetricValue v{a.shape, {}, !isFloat(a.dtype)};
    for (int64_t i = 0; i < n; ++i) v.values.push_back(a.get(i));
    return text + " = " + formatValue(v);
  }
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = a.get(i);
    if (std::isnan(v)) {
      ++nans;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
  }
  if (nans < n) {
    text += "  min " + formatNumber(low) + "  mean " + formatNumber(sum / static_cast<double>(n - nans)) + "  max " +
            formatNumber(high);
  }
  if (nans) text += "  " + std::to_string(nans) + " nan";
  return text;
}

Console::Console(const Options& options, const Graph& g)
    : quiet_(options.quiet), terminal_(isTerminal(stderr) && isatty(fileno(stdout))), start_(now()) {
  std::vector<std::string> dims, names;
  const auto addOnce = [](std::vector<std::string>* list, const std::string& s) {
    if (std::find(list->begin(), list->end(), s) == list->end()) list->push_back(s);
  };
  for (const Effect& e : g.effects) {
    if (e.kind != Effect::Kind::Report) continue;
    for (const Sym d : e.dims) addOnce(&dims, d.name());
    for (const auto& [name, unused] : e.values) addOnce(&names, name);
  }
  for (const LogRequest& log : options.logs) {
    logs_.push_back(log.kind == "csv" ? openCsvLog(log.path, dims, names) : openJsonl(log.path));
  }
}

Console::~Console() = default;

double Console::seconds() const { return now() - start_; }

void Console::started(const std::string& dim, int64_t total) {
  ProgressOptions options;
  options.enabled = !quiet_;
  options.terminal = isTerminal(stderr);
  options.colour = wantsColour(stderr);
  options.label = dim;
  options.total = total;
  start_ = now();
  progress_ = std::make_unique<Progress>(options);
}

void Console::progress(int64_t done, int64_t total) {
  if (progress_) progress_->update(done, total);
}

void Console::report(const MetricRecord& record) {
  for (auto& log : logs_) log->write(record, seconds());
  if (quiet_) return;
  last_ = formatRecord(record);
  if (terminal_ && progress_) {
    progress_->setNote(last_);
  } else if (progress_) {
    progress_->printLine(stdout, last_);
  } else {
    std::printf("%s\n", last_.c_str());
  }
}

void Console::print(const MetricRecord& record) {
  std::string line;
  for (const auto& [name, v] : record.point) line += (line.empty() ? "[" : ", ") + name + " = " + std::to_string(v);
  if (!line.empty()) line += "] ";
  const char* comma = "";
  for (const auto& [name, v] : record.values) {
    line += comma + name + " = " + formatValue(v, 1024);
    comma = ", ";
  }
  if (progress_) {
    progress_->printLine(stdout, line);
  } else {
    std::printf("%s\n", line.c_str());
  }
}

void Console::finish() {
  const bool drew = progress_ && progress_->drawsLine();
  progress_.reset();
  // The bar is gone; what it last said stays.
  if (drew && terminal_ && !last_.empty() && !quiet_) std::printf("%s\n", last_.c_str());
  for (auto& log : logs_) log->close();
  logs_.clear();
}

}  // namespace tempo::cli
