// The host function: sequential control around kernel launches, with no interpretation per step.
#include <algorithm>
#include <functional>

#include "check.hpp"
#include "cpu/emit.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building
using HKind = kir::HostStmt::Kind;
using SKind = kir::Stmt::Kind;

namespace {

constexpr int64_t kSmallWork = 400'000;  // additions: less is not worth waking a thread
constexpr int64_t kUnknownTrips = 16;

class HostEmitter : public ExprEmitter {
 public:
  HostEmitter(Module& m, const kir::Program& p, const Machine& machine) : ExprEmitter(m, machine), program_(p) {}

  void run() {
    fn_ = Function::Create(FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false), GlobalValue::ExternalLinkage,
                           kHostSymbol, module_);
    fn_->addFnAttr(Attribute::NoUnwind);
    context_ = fn_->getArg(0);
    b_.SetInsertPoint(BasicBlock::Create(ctx_, "entry", fn_));
    Value* buffers = field(0, b_.getPtrTy());
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      Value* p = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), buffers, i));
      buffers_[program_.buffers[i].name] = {p, program_.buffers[i].dtype};
    }
    Value* sizes = field(1, b_.getPtrTy());
    for (size_t i = 0; i < program_.sizes.size(); ++i) {
      Value* v = b_.CreateLoad(i64(), b_.CreateConstInBoundsGEP1_64(i64(), sizes, i));
      bind(program_.sizes[i], {.value = v, .nonNegative = true});
    }
    seed_ = field(2, i64());
    stop_ = field(3, b_.getPtrTy());
    serial_ = b_.CreateICmpNE(field(8, b_.getInt32Ty()), b_.getInt32(0));
    exit_ = newBlock("exit");
    block(program_.host);
    b_.CreateBr(exit_);
    b_.SetInsertPoint(exit_);
    b_.CreateRetVoid();
  }

 private:
  const kir::Program& program_;
  Function* fn_ = nullptr;
  Value* context_ = nullptr;
  Value* stop_ = nullptr;
  Value* serial_ = nullptr;
  BasicBlock* exit_ = nullptr;

  Value* field(int64_t k, Type* t) {
    return b_.CreateLoad(t, b_.CreateConstInBoundsGEP1_64(i64(), context_, static_cast<uint64_t>(k)));
  }

  Value* call(const char* name, std::vector<Value*> args) {
    std::vector<Type*> types;
    for (Value* a : args) types.push_back(a->getType());
    return b_.CreateCall(module_.getOrInsertFunction(name, FunctionType::get(b_.getVoidTy(), types, false)), args);
  }

  AllocaInst* array(size_t n) {
    IRBuilder<> top(&fn_->getEntryBlock(), fn_->getEntryBlock().begin());
    return top.CreateAlloca(ArrayType::get(i64(), std::max<size_t>(n, 1)));
  }

  AllocaInst* store(const std::vector<Value*>& v) {
    auto* a = array(v.size());
    for (size_t i = 0; i < v.size(); ++i) b_.CreateStore(v[i], b_.CreateConstInBoundsGEP1_64(i64(), a, i));
    return a;
  }

  std::vector<Value*> values(const std::vector<kir::ExprPtr>& v) {
    std::vector<Value*> out;
    for (const auto& e : v) out.push_back(emit(e));
    return out;
  }

  void leaveIfStopped() {
    auto* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), stop_, Align(4));
    flag->setAtomic(AtomicOrdering::Monotonic);
    auto* on = newBlock("running");
    b_.CreateCondBr(b_.CreateICmpNE(flag, b_.getInt32(0)), exit_, on);
    b_.SetInsertPoint(on);
  }

  void block(const std::vector<kir::HostStmt>& b) {
    const auto saved = env_;
    for (const auto& s : b) stmt(s);
    env_ = saved;
    forget();
  }

  void stmt(const kir::HostStmt& s) {
    forget();
    switch (s.kind) {
      case HKind::For: return loop(s);
      case HKind::If: return branch(s);
      case HKind::Let: return bindLet(s.name, s.value);
      case HKind::Launch: return launch(s);
      case HKind::Effect: {
        auto* point = store(values(s.args));
        call("tempo_rt_effect", {context_, b_.getInt32(static_cast<uint32_t>(s.effect)), point});
        return leaveIfStopped();
      }
      case HKind::Progress: {
        auto v = values(s.args);
        call("tempo_rt_progress", {context_, v[0], v[1]});
        return;
      }
    }
  }

  void loop(const kir::HostStmt& s) {
    Value* lo = emit(s.loop.lo);
    Value* hi = emit(s.loop.hi);
    auto* before = b_.GetInsertBlock();
    auto* head = newBlock("loop");
    auto* inside = newBlock("body");
    auto* after = newBlock("end");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    PHINode* i = b_.CreatePHI(i64(), 2);
    i->addIncoming(lo, before);
    b_.CreateCondBr(b_.CreateICmpSLT(i, hi), inside, after);
    b_.SetInsertPoint(inside);
    leaveIfStopped();
    const auto saved = env_;
    Value* v = s.loop.reverse ? b_.CreateSub(b_.CreateAdd(lo, b_.CreateSub(hi, i)), constant(1)) : i;
    bind(s.loop.var, {.value = v, .nonNegative = nonNegative(*s.loop.lo)});
    block(s.body);
    env_ = saved;
    i->addIncoming(b_.CreateNSWAdd(i, constant(1)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
    forget();
  }

  void branch(const kir::HostStmt& s) {
    Value* c = emit(s.cond);
    auto* yes = newBlock("then");
    auto* no = newBlock("else");
    auto* join = newBlock("join");
    b_.CreateCondBr(c, yes, no);
    b_.SetInsertPoint(yes);
    block(s.body);
    b_.CreateBr(join);
    b_.SetInsertPoint(no);
    block(s.orelse);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    forget();
  }

  static bool mayStop(const kir::Block& b) {
    return std::any_of(b.begin(), b.end(), [](const kir::StmtPtr& s) {
      return s->kind == SKind::Check || s->kind == SKind::Poll || mayStop(s->body) || mayStop(s->orelse);
    });
  }

  void launch(const kir::HostStmt& s) {
    const auto& k = program_.kernels[static_cast<size_t>(s.kernel)];
    Function* kernel = module_.getFunction(kernelSymbol(program_, static_cast<size_t>(s.kernel)));
    const auto args = values(s.args);
    auto* params = store(args);
    const auto saved = env_;
    const auto nonNeg = [&](size_t i) { return nonNegative(*s.args[i]); };
    std::unordered_map<std::string, Binding> inner;
    for (size_t i = 0; i < args.size(); ++i) inner[k.params[i]] = {.value = args[i], .nonNegative = nonNeg(i)};
    env_ = std::move(inner);
    forget();
    Value* instances = constant(1);
    for (const auto& l : k.grid) {
      instances = b_.CreateMul(instances, trips(l));
    }
    for (const auto& l : k.grid) bindMiddle(l);
    needScratch(k);
    Value* work = emitWork(k.body);
    env_ = saved;
    forget();
    dispatch(kernel, params, instances, work);
    if (mayStop(k.body)) leaveIfStopped();
  }

  void needScratch(const kir::Kernel& k) {
    Value* total = nullptr;
    for (const auto& s : k.scratch) {
      if (onStack(s)) continue;
      Value* bytes = scratchBytes(b_, s, emit(s.count));
      total = total ? b_.CreateAdd(total, bytes) : bytes;
    }
    if (!total) return;
    auto* grow = newBlock("scratch");
    auto* enough = newBlock("enough");
    b_.CreateCondBr(b_.CreateICmpSGT(total, field(6, i64())), grow, enough);
    b_.SetInsertPoint(grow);
    call("tempo_rt_scratch", {context_, total});
    b_.CreateBr(enough);
    b_.SetInsertPoint(enough);
    forget();
  }

  void dispatch(Function* kernel, Value* params, Value* instances, Value* work) {
    auto* direct = newBlock("direct");
    auto* some = newBlock("some");
    auto* spread = newBlock("spread");
    auto* done = newBlock("launched");
    Value* small = b_.CreateICmpSLT(b_.CreateMul(instances, work), constant(kSmallWork));
    small = b_.CreateOr(small, b_.CreateICmpEQ(instances, constant(1)));
    b_.CreateCondBr(b_.CreateICmpSGT(instances, constant(0)), some, done);
    b_.SetInsertPoint(some);
    b_.CreateCondBr(b_.CreateOr(serial_, small), direct, spread);
    b_.SetInsertPoint(direct);
    b_.CreateCall(kernel, {context_, params, constant(0), instances, b_.getInt32(0)});
    b_.CreateBr(done);
    b_.SetInsertPoint(spread);
    call("tempo_rt_launch", {context_, kernel, params, instances, work});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    forget();
  }

  // ---- estimate of one instance's work, in additions

  bool computable(const kir::Expr& e) const {
    if (e.kind == kir::Expr::Kind::Load) return false;
    if (e.kind == kir::Expr::Kind::Var) return env_.count(e.name) != 0;
    return std::all_of(e.args.begin(), e.args.end(), [&](const kir::ExprPtr& a) { return computable(*a); });
  }

  Value* trips(const kir::Loop& l) {
    if (!computable(*l.lo) || !computable(*l.hi)) return constant(kUnknownTrips);
    Value* n = b_.CreateSub(emit(l.hi), emit(l.lo));
    return b_.CreateBinaryIntrinsic(Intrinsic::smax, n, constant(0));
  }

  void bindMiddle(const kir::Loop& l) {
    if (!computable(*l.lo) || !computable(*l.hi)) return;
    Value* middle = b_.CreateAShr(b_.CreateAdd(emit(l.lo), emit(l.hi)), 1);
    bind(l.var, {.value = middle});
  }

  static int64_t cost(const kir::ExprPtr& e) {
    if (!e) return 0;
    int64_t c = e->kind == kir::Expr::Kind::Op ? info(e->op).cost : e->kind == kir::Expr::Kind::Random ? 40 : 1;
    for (const auto& a : e->args) c += cost(a);
    return c;
  }

  Value* emitWork(const kir::Block& b) {
    const auto saved = env_;
    int64_t fixed = 1;
    Value* total = constant(0);
    for (const auto& s : b) {
      fixed += cost(s->value) + cost(s->cond);
      if (s->kind == SKind::Seq || s->kind == SKind::Par) {
        Value* n = trips(s->loop);
        bindMiddle(s->loop);
        total = b_.CreateAdd(total, b_.CreateMul(n, emitWork(s->body)));
      } else if (s->kind == SKind::If) {
        total = b_.CreateAdd(total, b_.CreateAdd(emitWork(s->body), emitWork(s->orelse)));
      } else if (s->kind == SKind::Reduce) {
        Value* n = constant(1);
        for (const auto& l : s->loops) {
          n = b_.CreateMul(n, trips(l));
          bindMiddle(l);
        }
        int64_t each = 0;
        for (const auto& a : s->accs) each += cost(a.value);
        for (const auto& x : s->body) each += cost(x->value);
        total = b_.CreateAdd(total, b_.CreateMul(n, constant(each)));
      }
    }
    env_ = saved;
    forget();
    return b_.CreateAdd(total, constant(fixed));
  }
};

}  // namespace

void emitHost(Module& m, const kir::Program& p, const Machine& machine) { HostEmitter(m, p, machine).run(); }

}  // namespace tempo::cpu
