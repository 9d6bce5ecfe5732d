#include "runtime/interrupt.hpp"

#include <signal.h>
#include <unistd.h>

namespace tempo {
namespace {

// Read by the handler, hence lock-free atomics and nothing else.
std::atomic<std::atomic<int32_t>*> activeStop{nullptr};
std::atomic<int> received{0};

void onSignal(int number) {
  if (received.exchange(1, std::memory_order_relaxed) != 0) {
    ::signal(number, SIG_DFL);
    ::raise(number);
    return;
  }
  if (auto* stop = activeStop.load(std::memory_order_relaxed)) stop->store(1, std::memory_order_relaxed);
}

}  // namespace

struct InterruptScope::Saved {
  struct sigaction interrupt, terminate;
  std::atomic<int32_t>* stop;
  int received;
};

InterruptScope::InterruptScope(std::atomic<int32_t>* stop) : saved_(new Saved) {
  saved_->stop = activeStop.exchange(stop);
  saved_->received = received.exchange(0);
  struct sigaction action {};
  action.sa_handler = onSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &saved_->interrupt);
  ::sigaction(SIGTERM, &action, &saved_->terminate);
}

InterruptScope::~InterruptScope() {
  ::sigaction(SIGINT, &saved_->interrupt, nullptr);
  ::sigaction(SIGTERM, &saved_->terminate, nullptr);
  activeStop = saved_->stop;
  received = saved_->received;
  delete saved_;
}

bool InterruptScope::interrupted() const { return received.load(std::memory_order_relaxed) != 0; }

}  // namespace tempo
