// Ctrl-C during a run: the first SIGINT (or SIGTERM) sets the run's stop flag, and the run ends where its state is whole;
// a second one ends the process the usual way.
#pragma once

#include <atomic>
#include <cstdint>

namespace tempo {

/// Installs the handlers while it lives. Scopes nest; signals go to the innermost.
class InterruptScope {
 public:
  explicit InterruptScope(std::atomic<int32_t>* stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  /// Did a signal arrive within this scope?
  bool interrupted() const;

 private:
  struct Saved;
  Saved* saved_;
};

}  // namespace tempo
