// Emission of one kernel's function: its instances, statements and reductions.
#pragma once

#include <functional>

#include "cpu/emit.hpp"

namespace tempo::cpu {

/// How the iterations of a parallel loop run.
struct ParPlan {
  int lanes = 1;      // 1: one by one
  int wide = 1;       // lanes of the unrolled main loop; equal to `lanes` if there is none
};

class KernelEmitter : public ExprEmitter {
 public:
  KernelEmitter(llvm::Module& m, const Machine& machine, const kir::Program& p, size_t index);
  void run();

 private:
  const kir::Program& program_;
  const kir::Kernel& kernel_;
  std::string symbol_;
  llvm::Function* entry_ = nullptr;
  llvm::Function* body_ = nullptr;
  Value* context_ = nullptr;
  bool sequentialReduce_ = false;  // inside a loop vectorised over its own iterations, and in its tail

  void emitEntry();
  void emitBody();
  void emitInstances(Value* begin, Value* end);
  void emitRow(Value* lo, Value* hi);

  void block(const kir::Block& b);
  void stmt(const kir::Stmt& s);
  void seq(const kir::Stmt& s);
  void par(const kir::Loop& loop, const kir::Block& body);
  void parRange(const std::string& var, Value* lo, Value* hi, bool nonNegative, const kir::Block& body);
  void branch(const kir::Stmt& s);
  void check(const kir::Stmt& s);
  void poll();
  void leave();  // returns from the kernel

  /// One way of running through the iterations that are left: `lanes` at a time, all of them or under a mask.
  struct Pass {
    int lanes;
    bool masked;
  };
  std::vector<Pass> passes(int wide, int lanes) const;
  /// Runs `body` with lanes, mask and `var` set; gives the first iteration not done.
  Value* lanePass(const Pass& pass, const std::string& var, Value* lo, Value* hi, bool nonNegative,
                  const std::function<void()>& body);
  Value* laneMask(Value* count);                   // the first `count` lanes

  /// The variable of a loop that runs `lanes_` iterations at once, from i.
  Binding laneBinding(Value* i, bool nonNegative);

  // Reductions. An accumulator is a stack slot per width the loop runs at; LLVM keeps it in registers.
  struct AccSlots {
    llvm::AllocaInst* value = nullptr;
    llvm::AllocaInst* position = nullptr;  // ArgMax, ArgMin
  };
  struct AccValue {
    Value* value = nullptr;
    Value* position = nullptr;
  };
  void reduce(const kir::Stmt& s);
  void reduceAcross(const kir::Stmt& s);   // lanes over the last loop, combined at the end
  void reduceInOrder(const kir::Stmt& s);  // one after the other (per lane of the enclosing loop)
  std::vector<AccSlots> accSlots(const kir::Stmt& s);
  void fold(const kir::Stmt& s, const std::vector<AccSlots>& slots, Value* position, bool across);
  /// The loops of a reduction but the last; `inner` gets the bounds of the last one.
  void outerLoops(const kir::Stmt& s, size_t k, const std::function<void(Value*, Value*, bool)>& inner);
  AccValue combine(const kir::Acc& a, AccValue x, AccValue y);
  AccValue load(const AccSlots& s);
  AccValue lanesToOne(const kir::Acc& a, AccValue x);  // halves until one lane is left
  AccValue slice(AccValue x, int from, int count);
  void bindAcc(const kir::Acc& a, AccValue v);
  std::vector<Pass> reducePasses(const kir::Stmt& s);  // empty: in order

  /// Runs `body` for i = lo, lo + step, ... while i + step <= hi; gives the first i not taken. `metadata` is attached to
  /// the latch. Blocks that `body` makes are inside the loop.
  Value* loop(Value* lo, Value* hi, int64_t step, llvm::MDNode* metadata, const std::function<void(Value*)>& body,
              bool partial = false);               // partial: while i < hi
  llvm::MDNode* plainLoop();                       // not to be vectorised; unrolled only if the trip count is constant
  llvm::MDNode* parallelLoop(llvm::MDNode* group);
  llvm::AllocaInst* slot(llvm::Type* t);           // in the entry block

  ParPlan planPar(const std::string& var, const kir::Block& body);
  int lanesFor(const kir::Block& body) const;
  /// Accesses that would be gathers or scatters if `var` ran over lanes; nullopt: the body cannot be vectorised so.
  struct Accesses {
    int contiguous = 0, scattered = 0, inReduce = 0, cost = 0, accumulators = 0;
    bool reduces = false, possible = true;
  };
  void survey(const kir::Block& body, Accesses& out, bool inReduce);
  void surveyExpr(const kir::ExprPtr& e, Accesses& out, bool inReduce);
  Accesses surveyWith(const std::string& var, const std::function<void(Accesses&)>& walk);
};

}  // namespace tempo::cpu
