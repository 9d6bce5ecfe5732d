// Fibers: the threads of an emulated block. A fiber runs until it switches back; nothing here is preemptive.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace tempo::emulation {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes the fiber run `body` at the next resume, whatever it did before (its old frames are dropped, not unwound).
  void reset(std::function<void()> body);
  /// Runs the fiber until it suspends or its body returns.
  void resume();
  /// From inside the fiber: back to the one that resumed it.
  void suspend();
  bool finished() const;

 private:
  struct State;
  friend struct FiberEntry;
  std::unique_ptr<State> state_;
};

}  // namespace tempo::emulation
