#include "cpu/emit_kernel.hpp"

#include <algorithm>
#include <set>

#include "check.hpp"

namespace tempo::cpu {

// A vector access may reach past the elements that are there, under a mask; the object must be that large.
constexpr int64_t kMostLanes = 64;

using namespace llvm;  // NOLINT: this file is nothing but IR building
using SKind = kir::Stmt::Kind;

namespace {

constexpr int64_t kStackScratchBytes = 32 * 1024;

/// Field `index` of TempoContext; see runtime/abi.hpp. Every field before `serial` is eight bytes.
Value* contextField(IRBuilder<>& b, Value* ctx, int64_t index, Type* t) {
  return b.CreateLoad(t, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), ctx, static_cast<uint64_t>(index)));
}

size_t bufferIndex(const kir::Program& p, const std::string& name) {
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    if (p.buffers[i].name == name) return i;
  }
  TEMPO_CHECK(false, "no program buffer " + name);
  return 0;
}

}  // namespace

std::string kernelSymbol(const kir::Program& p, size_t k) { return "k" + std::to_string(k) + "_" + p.kernels[k].name; }

bool onStack(const kir::Scratch& s) {
  return s.count->kind == kir::Expr::Kind::ConstI && s.count->i * bytes(s.dtype) <= kStackScratchBytes;
}

Value* scratchBytes(IRBuilder<>& b, const kir::Scratch& s, Value* count) {
  Value* size = b.CreateMul(count, b.getInt64(static_cast<uint64_t>(bytes(s.dtype))));
  return b.CreateAnd(b.CreateAdd(size, b.getInt64(63)), b.getInt64(~uint64_t{63}));
}

KernelEmitter::KernelEmitter(Module& m, const Machine& machine, const kir::Program& p, size_t index)
    : ExprEmitter(m, machine), program_(p), kernel_(p.kernels[index]), symbol_(kernelSymbol(p, index)) {}

void KernelEmitter::run() {
  // The body takes its buffers as noalias arguments: the one form of the fact that every LLVM pass trusts.
  std::vector<Type*> types = {b_.getPtrTy(), b_.getPtrTy(), i64(), i64(), b_.getInt64Ty()};
  types.insert(types.end(), kernel_.params.size(), i64());
  types.insert(types.end(), kernel_.buffers.size(), b_.getPtrTy());
  body_ = Function::Create(FunctionType::get(b_.getVoidTy(), types, false), GlobalValue::InternalLinkage, symbol_ + ".body", module_);
  body_->addFnAttr(Attribute::NoInline);
  body_->addFnAttr(Attribute::NoUnwind);
  auto* entryType = FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), i64(), i64(), b_.getInt32Ty()}, false);
  entry_ = Function::Create(entryType, GlobalValue::ExternalLinkage, symbol_, module_);
  entry_->addFnAttr(Attribute::NoUnwind);
  emitEntry();
  emitBody();
}

void KernelEmitter::emitEntry() {
  b_.SetInsertPoint(BasicBlock::Create(ctx_, "entry", entry_));
  Value* ctx = entry_->getArg(0);
  Value* scratch = contextField(b_, ctx, 5, b_.getPtrTy());
  Value* each = contextField(b_, ctx, 6, i64());
  Value* worker = b_.CreateSExt(entry_->getArg(4), i64());
  Value* arena = b_.CreateGEP(b_.getInt8Ty(), scratch, b_.CreateMul(each, worker));
  std::vector<Value*> args = {ctx, arena, entry_->getArg(2), entry_->getArg(3), contextField(b_, ctx, 2, i64())};
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    args.push_back(b_.CreateLoad(i64(), b_.CreateConstInBoundsGEP1_64(i64(), entry_->getArg(1), i)));
  }
  Value* buffers = contextField(b_, ctx, 0, b_.getPtrTy());
  for (const auto& buf : kernel_.buffers) {
    args.push_back(b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), buffers, bufferIndex(program_, buf.name))));
  }
  b_.CreateCall(body_, args);
  b_.CreateRetVoid();
}

void KernelEmitter::emitBody() {
  b_.SetInsertPoint(BasicBlock::Create(ctx_, "entry", body_));
  context_ = body_->getArg(0);
  seed_ = body_->getArg(4);
  const std::set<std::string> sizes(program_.sizes.begin(), program_.sizes.end());
  unsigned arg = 5;
  for (const auto& p : kernel_.params) {
    Value* v = body_->getArg(arg++);
    v->setName(p);
    bind(p, {.value = v, .nonNegative = sizes.count(p) != 0});
  }
  for (const auto& buf : kernel_.buffers) {
    body_->addParamAttr(arg, Attribute::NoAlias);
    body_->addParamAttr(arg, Attribute::NoUndef);
    if (!buf.written) body_->addParamAttr(arg, Attribute::ReadOnly);
    Value* v = body_->getArg(arg++);
    v->setName(buf.name);
    buffers_[buf.name] = {v, buf.dtype};
  }
  body_->addParamAttr(1, Attribute::NoAlias);
  Value* arena = body_->getArg(1);
  for (const auto& s : kernel_.scratch) {
    if (onStack(s)) {
      auto* a = b_.CreateAlloca(memoryType(s.dtype), b_.getInt64(static_cast<uint64_t>(std::max<int64_t>(s.count->i, kMostLanes))), s.name);
      a->setAlignment(Align(64));
      buffers_[s.name] = {a, s.dtype};
    } else {
      buffers_[s.name] = {arena, s.dtype};
      arena = b_.CreateGEP(b_.getInt8Ty(), arena, scratchBytes(b_, s, emit(s.count)));
    }
  }
  emitInstances(body_->getArg(2), body_->getArg(3));
  b_.CreateRetVoid();
}

// The flattened range as rows of the last grid loop: the other indices change between rows only.
void KernelEmitter::emitInstances(Value* begin, Value* end) {
  const auto& grid = kernel_.grid;
  if (grid.empty()) {
    loop(begin, end, 1, nullptr, [&](Value*) { block(kernel_.body); });
    return;
  }
  const size_t n = grid.size();
  std::vector<Value*> lo, extent;
  std::vector<bool> nonNeg;
  for (const auto& l : grid) {
    lo.push_back(emit(l.lo));
    extent.push_back(b_.CreateSub(emit(l.hi), lo.back()));
    nonNeg.push_back(nonNegative(*l.lo));
  }
  if (n == 1) {
    parRange(grid[0].var, b_.CreateAdd(lo[0], begin), b_.CreateAdd(lo[0], end), nonNeg[0], kernel_.body);
    return;
  }
  std::vector<AllocaInst*> at;
  Value* rest = begin;
  std::vector<Value*> start(n);
  auto* guard = newBlock("nonempty");
  auto* done = newBlock("done");
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), guard, done);
  b_.SetInsertPoint(guard);
  for (size_t k = n; k-- > 0;) {
    start[k] = k ? b_.CreateURem(rest, extent[k]) : rest;
    if (k) rest = b_.CreateUDiv(rest, extent[k]);
  }
  for (size_t k = 0; k < n; ++k) at.push_back(slot(i64())), b_.CreateStore(start[k], at[k]);
  AllocaInst* index = slot(i64());
  b_.CreateStore(begin, index);
  auto* row = newBlock("row");
  b_.CreateBr(row);
  b_.SetInsertPoint(row);
  Value* idx = b_.CreateLoad(i64(), index);
  for (size_t k = 0; k + 1 < n; ++k) {
    bind(grid[k].var, {.value = b_.CreateAdd(lo[k], b_.CreateLoad(i64(), at[k])), .nonNegative = nonNeg[k]});
  }
  Value* first = b_.CreateLoad(i64(), at[n - 1]);
  Value* count = b_.CreateBinaryIntrinsic(Intrinsic::smin, b_.CreateSub(extent[n - 1], first), b_.CreateSub(end, idx));
  Value* from = b_.CreateAdd(lo[n - 1], first);
  parRange(grid[n - 1].var, from, b_.CreateAdd(from, count), nonNeg[n - 1], kernel_.body);
  b_.CreateStore(constant(0), at[n - 1]);
  Value* carry = b_.getTrue();
  for (size_t k = n - 1; k-- > 0;) {
    Value* next = b_.CreateAdd(b_.CreateLoad(i64(), at[k]), b_.CreateZExt(carry, i64()));
    carry = b_.CreateICmpEQ(next, extent[k]);
    b_.CreateStore(b_.CreateSelect(carry, constant(0), next), at[k]);
  }
  Value* after = b_.CreateAdd(idx, count);
  b_.CreateStore(after, index);
  b_.CreateCondBr(b_.CreateICmpSLT(after, end), row, done);
  b_.SetInsertPoint(done);
}

Value* KernelEmitter::loop(Value* lo, Value* hi, int64_t step, MDNode* metadata, const std::function<void(Value*)>& body,
                           bool partial) {
  auto* before = b_.GetInsertBlock();
  Value* last = step == 1 || partial ? hi : b_.CreateSub(hi, constant(step - 1));
  auto* head = newBlock("loop");
  auto* inside = newBlock("body");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  PHINode* i = b_.CreatePHI(i64(), 2);
  i->addIncoming(lo, before);
  auto* after = newBlock("end");
  b_.CreateCondBr(b_.CreateICmpSLT(i, last), inside, after);
  b_.SetInsertPoint(inside);
  forget();
  const auto saved = env_;
  body(i);
  env_ = saved;
  forget();
  Value* next = b_.CreateNSWAdd(i, constant(step));
  i->addIncoming(next, b_.GetInsertBlock());
  auto* latch = b_.CreateBr(head);
  if (metadata) latch->setMetadata(LLVMContext::MD_loop, metadata);
  b_.SetInsertPoint(after);
  return i;
}

static MDNode* loopNode(LLVMContext& c, std::vector<Metadata*> parts) {
  parts.insert(parts.begin(), nullptr);
  auto* n = MDNode::getDistinct(c, parts);
  n->replaceOperandWith(0, n);
  return n;
}

MDNode* KernelEmitter::plainLoop() {
  auto* no = ConstantAsMetadata::get(b_.getFalse());
  return loopNode(ctx_, {MDNode::get(ctx_, {MDString::get(ctx_, "llvm.loop.vectorize.enable"), no}),
                         MDNode::get(ctx_, {MDString::get(ctx_, "llvm.loop.unroll.runtime.disable")})});
}

MDNode* KernelEmitter::parallelLoop(MDNode* group) {
  return loopNode(ctx_, {MDNode::get(ctx_, {MDString::get(ctx_, "llvm.loop.parallel_accesses"), group})});
}

AllocaInst* KernelEmitter::slot(Type* t) {
  IRBuilder<> top(&body_->getEntryBlock(), body_->getEntryBlock().begin());
  return top.CreateAlloca(t);
}

void KernelEmitter::block(const kir::Block& b) {
  const auto saved = env_;
  for (const auto& s : b) stmt(*s);
  env_ = saved;
  forget();
}

void KernelEmitter::stmt(const kir::Stmt& s) {
  switch (s.kind) {
    case SKind::Seq: return seq(s);
    case SKind::Par: return par(s.loop, s.body);
    case SKind::If: return branch(s);
    case SKind::Let: return bindLet(s.name, s.value);
    case SKind::Store: return storeTo(s.name, s.index, emit(s.value));
    case SKind::Reduce: return reduce(s);
    case SKind::Check: return check(s);
    case SKind::Poll: return poll();
    case SKind::Call: TEMPO_CHECK(false, "cpu: no library call " + s.name);
  }
}

void KernelEmitter::seq(const kir::Stmt& s) {
  Value* lo = emit(s.loop.lo);
  Value* hi = emit(s.loop.hi);
  const bool nonNeg = nonNegative(*s.loop.lo);
  auto* group = accessGroup_;
  accessGroup_ = nullptr;
  if (!s.loop.reverse) {
    loop(lo, hi, 1, nullptr, [&](Value* i) {
      bind(s.loop.var, {.value = i, .nonNegative = nonNeg});
      block(s.body);
    });
  } else {
    Value* top = b_.CreateSub(hi, constant(1));
    loop(constant(0), b_.CreateSub(hi, lo), 1, nullptr, [&](Value* i) {
      bind(s.loop.var, {.value = b_.CreateSub(top, i), .nonNegative = nonNeg});
      block(s.body);
    });
  }
  accessGroup_ = group;
}

void KernelEmitter::par(const kir::Loop& l, const kir::Block& body) {
  Value* lo = emit(l.lo);
  Value* hi = emit(l.hi);
  parRange(l.var, lo, hi, nonNegative(*l.lo), body);
}

void KernelEmitter::parRange(const std::string& var, Value* lo, Value* hi, bool nonNeg, const kir::Block& body) {
  // Scratch belongs to an instance, so instances that use it cannot share a vector.
  const bool shared = &body == &kernel_.body && !kernel_.scratch.empty();
  const ParPlan plan = lanes_ == 1 && !shared ? planPar(var, body) : ParPlan{};
  if (plan.lanes == 1) {
    auto* saved = accessGroup_;
    auto* group = MDNode::getDistinct(ctx_, {});
    accessGroup_ = lanes_ == 1 ? group : nullptr;
    loop(lo, hi, 1, parallelLoop(group), [&](Value* i) {
      bind(var, {.value = i, .nonNegative = nonNeg});
      block(body);
    });
    accessGroup_ = saved;
    return;
  }
  const bool was = sequentialReduce_;
  sequentialReduce_ = true;
  for (const Pass& pass : passes(plan.wide, plan.lanes)) lo = lanePass(pass, var, lo, hi, nonNeg, [&] { block(body); });
  sequentialReduce_ = was;
}

std::vector<KernelEmitter::Pass> KernelEmitter::passes(int wide, int lanes) const {
  const bool masks = machine_.vectorBytes == 64;  // masked vector operations cost what plain ones do
  if (!masks) {
    if (wide > lanes) return {{wide, false}, {lanes, false}, {1, false}};
    return {{lanes, false}, {1, false}};
  }
  return {{wide, false}, {lanes, true}};
}

Value* KernelEmitter::lanePass(const Pass& pass, const std::string& var, Value* lo, Value* hi, bool nonNeg,
                               const std::function<void()>& body) {
  return loop(
      lo, hi, pass.lanes, plainLoop(),
      [&](Value* i) {
        lanes_ = pass.lanes;
        if (pass.masked) mask_ = tailMask_ = laneMask(b_.CreateSub(hi, i));
        bind(var, laneBinding(i, nonNeg));
        body();
        lanes_ = 1;
        mask_ = tailMask_ = nullptr;
      },
      pass.masked);
}

Value* KernelEmitter::laneMask(Value* count) {
  Value* n = b_.CreateBinaryIntrinsic(Intrinsic::smin, count, constant(lanes_));
  std::vector<Constant*> steps;
  for (int k = 0; k < lanes_; ++k) steps.push_back(b_.getInt32(static_cast<uint32_t>(k)));
  return b_.CreateICmpULT(ConstantVector::get(steps), splat(b_.CreateTrunc(n, b_.getInt32Ty())));
}

Binding KernelEmitter::laneBinding(Value* i, bool nonNeg) {
  Binding v{.value = i, .lane0 = i, .stride = 1, .nonNegative = nonNeg};
  if (lanes_ == 1) return v;
  std::vector<Constant*> steps;
  for (int k = 0; k < lanes_; ++k) steps.push_back(b_.getInt64(static_cast<uint64_t>(k)));
  v.value = b_.CreateAdd(splat(i), ConstantVector::get(steps));
  return v;
}

void KernelEmitter::branch(const kir::Stmt& s) {
  Value* c = emit(s.cond);
  if (c->getType()->isVectorTy()) {
    Value* outer = mask_;
    mask_ = outer ? b_.CreateAnd(outer, c) : c;
    block(s.body);
    Value* no = b_.CreateNot(c);
    mask_ = outer ? b_.CreateAnd(outer, no) : no;
    if (!s.orelse.empty()) block(s.orelse);
    mask_ = outer;
    return;
  }
  auto* yes = newBlock("then");
  auto* no = newBlock("else");
  auto* join = newBlock("join");
  b_.CreateCondBr(c, yes, no);
  b_.SetInsertPoint(yes);
  block(s.body);
  b_.CreateBr(join);
  b_.SetInsertPoint(no);
  forget();
  block(s.orelse);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  forget();
}

// Over lanes, the first lane that fails is the one reported.
void KernelEmitter::check(const kir::Stmt& s) {
  Value* ok = emit(s.cond);
  Value* failed = b_.CreateNot(ok);
  if (mask_) {
    unify(failed, mask_);
    failed = b_.CreateAnd(failed, splat(mask_));
  }
  const bool vector = failed->getType()->isVectorTy();
  auto* bad = newBlock("fault");
  auto* good = newBlock("checked");
  b_.CreateCondBr(vector ? b_.CreateOrReduce(failed) : failed, bad, good);
  b_.SetInsertPoint(bad);
  Value* lane = nullptr;
  if (vector) {
    Value* bits = b_.CreateBitCast(failed, b_.getIntNTy(static_cast<unsigned>(lanes_)));
    lane = b_.CreateZExtOrTrunc(b_.CreateBinaryIntrinsic(Intrinsic::cttz, bits, b_.getTrue()), i64());
  }
  const auto n = static_cast<unsigned>(s.args.size());
  auto* values = slot(ArrayType::get(i64(), std::max(n, 1U)));
  for (unsigned k = 0; k < n; ++k) {
    Value* v = emit(s.args[k]);
    if (v->getType()->isVectorTy()) v = b_.CreateExtractElement(v, lane ? lane : constant(0));
    b_.CreateStore(v, b_.CreateConstInBoundsGEP1_64(i64(), values, k));
  }
  auto* type = FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), i64(), b_.getPtrTy(), b_.getInt32Ty()}, false);
  b_.CreateCall(module_.getOrInsertFunction("tempo_rt_fault", type),
                {context_, constant(s.site), values, b_.getInt32(n)});
  leave();
  b_.SetInsertPoint(good);
  forget();
}

void KernelEmitter::poll() {
  Value* stop = contextField(b_, context_, 3, b_.getPtrTy());
  auto* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), stop, Align(4));
  flag->setAtomic(AtomicOrdering::Monotonic);
  auto* out = newBlock("stopped");
  auto* on = newBlock("running");
  b_.CreateCondBr(b_.CreateICmpNE(flag, b_.getInt32(0)), out, on);
  b_.SetInsertPoint(out);
  leave();
  b_.SetInsertPoint(on);
}

void KernelEmitter::leave() { b_.CreateRetVoid(); }

void emitKernel(Module& m, const kir::Program& p, size_t k, const Machine& machine) { KernelEmitter(m, machine, p, k).run(); }

void emitProgram(Module& m, const kir::Program& p, const Machine& machine) {
  for (size_t k = 0; k < p.kernels.size(); ++k) emitKernel(m, p, k, machine);
  emitHost(m, p, machine);
}

}  // namespace tempo::cpu
