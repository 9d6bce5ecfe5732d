#include "cuda_emulation/fiber.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEMPO_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEMPO_FIBER_ASAN 1
#endif

#if defined(__x86_64__) && !defined(TEMPO_FIBER_ASAN)
#define TEMPO_FIBER_ASM 1
#else
#include <ucontext.h>
#endif
#if defined(TEMPO_FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tempo::emulation {

namespace {
constexpr size_t kStackBytes = 128 * 1024;
}

#if defined(TEMPO_FIBER_ASM)
// Saves the callee-saved registers on the stack, stores the stack pointer in *from, continues at `to`.
extern "C" void tempo_fiber_switch(void** from, void* to);
__asm__(
    ".text\n.globl tempo_fiber_switch\n.hidden tempo_fiber_switch\n.type tempo_fiber_switch,@function\n"
    "tempo_fiber_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size tempo_fiber_switch,.-tempo_fiber_switch\n");
#endif

struct Fiber::State {
  std::function<void()> body;
  char* stack = static_cast<char*>(std::aligned_alloc(64, kStackBytes));
  bool done = true;
#if defined(TEMPO_FIBER_ASM)
  void* self = nullptr;
  void* caller = nullptr;
#else
  ucontext_t self{}, caller{};
#endif
#if defined(TEMPO_FIBER_ASAN)
  void* fake = nullptr;
  const void* callerStack = nullptr;
  size_t callerSize = 0;
#endif
};

static thread_local Fiber* starting = nullptr;

Fiber::Fiber() : state_(std::make_unique<State>()) {
  if (!state_->stack) throw std::bad_alloc();
}
Fiber::~Fiber() { std::free(state_->stack); }
bool Fiber::finished() const { return state_->done; }

/// First function of every fiber. Never returns: there is nothing above it on its stack.
struct FiberEntry {
  static void run() {
    Fiber* f = starting;
#if defined(TEMPO_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &f->state_->callerStack, &f->state_->callerSize);
#endif
    f->state_->body();
    f->state_->done = true;
    f->suspend();
    std::abort();
  }
};

void Fiber::reset(std::function<void()> body) {
  state_->body = std::move(body);
  state_->done = false;
#if defined(TEMPO_FIBER_ASM)
  auto* top = reinterpret_cast<uint64_t*>(state_->stack + kStackBytes);
  *--top = 0;  // keeps the stack 16-byte aligned at entry, as after a call
  *--top = reinterpret_cast<uint64_t>(&FiberEntry::run);
  for (int i = 0; i < 6; ++i) *--top = 0;
  state_->self = top;
#else
  getcontext(&state_->self);
  state_->self.uc_stack.ss_sp = state_->stack;
  state_->self.uc_stack.ss_size = kStackBytes;
  state_->self.uc_link = nullptr;
  makecontext(&state_->self, &FiberEntry::run, 0);
#endif
}

void Fiber::resume() {
  starting = this;
#if defined(TEMPO_FIBER_ASAN)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, state_->stack, kStackBytes);
#endif
#if defined(TEMPO_FIBER_ASM)
  tempo_fiber_switch(&state_->caller, state_->self);
#else
  swapcontext(&state_->caller, &state_->self);
#endif
#if defined(TEMPO_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
#if defined(TEMPO_FIBER_ASAN)
  __sanitizer_start_switch_fiber(&state_->fake, state_->callerStack, state_->callerSize);
#endif
#if defined(TEMPO_FIBER_ASM)
  tempo_fiber_switch(&state_->self, state_->caller);
#else
  swapcontext(&state_->self, &state_->caller);
#endif
#if defined(TEMPO_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(state_->fake, &state_->callerStack, &state_->callerSize);
#endif
}

}  // namespace tempo::emulation
