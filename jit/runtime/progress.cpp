#include "runtime/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace tempo {
namespace {

using Clock = std::chrono::steady_clock;

std::string duration(double seconds) {
  char text[32];
  const auto s = static_cast<long long>(seconds + 0.5);
  if (s >= 3600) {
    std::snprintf(text, sizeof text, "%lldh%02lldm", s / 3600, s / 60 % 60);
  } else if (s >= 60) {
    std::snprintf(text, sizeof text, "%lldm%02llds", s / 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%llds", s);
  }
  return text;
}

int columns(std::FILE* f) {
  winsize size{};
  return ::ioctl(::fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

struct Progress::Impl {
  ProgressOptions options;
  std::atomic<int64_t> done{0}, total{-1};
  Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false, lineShown = false, plainShown = false;
  int64_t shown = 0;
  std::string note;
  std::thread watcher;

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  std::string text() {
    // Counters may be read between the two stores of an update: never show less than before.
    shown = std::max(shown, done.load(std::memory_order_relaxed));
    std::string s = describe(options.label, shown, total.load(std::memory_order_relaxed), elapsed());
    if (!note.empty()) s += "  " + note;
    return s;
  }
  void draw() {
    std::string s = text();
    const size_t width = static_cast<size_t>(columns(options.out)) - 1;
    if (s.size() > width) s.resize(width);
    std::fprintf(options.out, options.colour ? "\r\x1b[2K\x1b[36m%s\x1b[0m" : "\r\x1b[2K%s", s.c_str());
    std::fflush(options.out);
    lineShown = true;
  }
  void clear() {
    if (!lineShown) return;
    std::fputs("\r\x1b[2K", options.out);
    std::fflush(options.out);
    lineShown = false;
  }
  void plain() {
    std::fprintf(options.out, "%s\n", text().c_str());
    std::fflush(options.out);
    plainShown = true;
  }
  void watch() {
    std::unique_lock lock(mutex);
    const auto period = std::chrono::duration<double>(options.terminal ? options.terminalPeriod : options.plainPeriod);
    while (!wake.wait_for(lock, period, [&] { return stopping; })) {
      if (options.terminal) {
        draw();
      } else {
        plain();
      }
    }
    if (options.terminal) {
      clear();
    } else if (plainShown) {
      plain();
    }
  }
};

Progress::Progress(ProgressOptions options) : impl_(new Impl) {
  impl_->options = std::move(options);
  impl_->total = impl_->options.total;
  if (impl_->options.enabled) impl_->watcher = std::thread([this] { impl_->watch(); });
}

Progress::~Progress() {
  if (!impl_->watcher.joinable()) return;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->watcher.join();
}

void Progress::update(int64_t done, int64_t total) {
  impl_->done.store(done, std::memory_order_relaxed);
  impl_->total.store(total, std::memory_order_relaxed);
}

void Progress::setNote(std::string note) {
  std::lock_guard lock(impl_->mutex);
  impl_->note = std::move(note);
}

void Progress::printLine(std::FILE* to, const std::string& line) {
  std::lock_guard lock(impl_->mutex);
  impl_->clear();
  std::fprintf(to, "%s\n", line.c_str());
  if (to != stdout || isTerminal(to)) std::fflush(to);
}

bool Progress::drawsLine() const { return impl_->options.enabled && impl_->options.terminal; }

std::string Progress::describe(const std::string& label, int64_t done, int64_t total, double elapsed) {
  std::string s = label.empty() ? "" : label + " ";
  if (total < 0) return s + "running  " + duration(elapsed);
  s += std::to_string(done) + "/" + std::to_string(total);
  if (done > 0 && elapsed > 0) {
    const double rate = done / elapsed;
    char text[48];
    std::snprintf(text, sizeof text, rate >= 100 ? "  %.0f/s" : "  %.3g/s", rate);
    s += text;
    s += "  " + duration(elapsed) + ", " + duration((total - done) / rate) + " left";
  } else {
    s += "  " + duration(elapsed);
  }
  return s;
}

bool isTerminal(std::FILE* f) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(f)) && !(term && std::strcmp(term, "dumb") == 0);
}

bool wantsColour(std::FILE* f) {
  const char* off = std::getenv("NO_COLOR");
  return !(off && *off) && isTerminal(f);
}

}  // namespace tempo
