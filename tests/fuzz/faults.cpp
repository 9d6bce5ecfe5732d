#include "fuzz/faults.hpp"

#include <functional>
#include <set>

#include "check.hpp"

namespace tempo::fuzz {

namespace {

using kir::Block;
using kir::ExprPtr;
using kir::Stmt;
using kir::StmtPtr;

/// Where an expression stands.
enum class Place { Value, Address, Bound };

/// Walks a program and changes the place number `target` of those where `kind` fits; counts them.
class Mutator {
 public:
  Mutator(std::string kind, int64_t target) : kind_(std::move(kind)), target_(target) {}

  kir::Program program(kir::Program p) {
    if (kind_ == "ring-extent") return ringExtent(std::move(p));
    for (kir::Kernel& k : p.kernels) {
      for (kir::Loop& l : k.grid) {
        bounds(l);
        if (kind_ == "grid-end" && hit()) l.hi = minus1(l.hi);
      }
      for (const kir::Loop& l : k.grid) loops_.push_back(&l);
      k.body = block(k.body);
      loops_.clear();
    }
    p.host = host(std::move(p.host));
    return p;
  }
  int64_t fits() const { return seen_; }

 private:
  bool hit() { return seen_++ == target_; }
  static ExprPtr plus1(const ExprPtr& e) { return kir::op(Op::Add, {e, kir::ci(1)}); }
  static ExprPtr minus1(const ExprPtr& e) { return kir::op(Op::Sub, {e, kir::ci(1)}); }
  static bool isOp(const ExprPtr& e, Op o) { return e->kind == kir::Expr::Kind::Op && e->op == o; }
  static bool isConst(const ExprPtr& e, int64_t v) { return e->kind == kir::Expr::Kind::ConstI && e->i == v; }

  void bounds(kir::Loop& l) {
    l.lo = expr(l.lo, Place::Bound);
    l.hi = expr(l.hi, Place::Bound);
  }

  /// Every slot of one ring is taken modulo one less than its length.
  kir::Program ringExtent(kir::Program p) {
    std::set<std::string> rings;
    for (const kir::Kernel& k : p.kernels) collectRings(k.body, rings);
    for (const std::string& name : rings)
      if (hit()) ring_ = name;
    if (ring_ == kNoRing) return p;
    for (kir::Kernel& k : p.kernels) k.body = block(k.body);
    return p;
  }
  static bool hasMod(const ExprPtr& e) {
    if (isOp(e, Op::Mod)) return true;
    for (const ExprPtr& a : e->args)
      if (hasMod(a)) return true;
    return false;
  }
  static void collectRings(const Block& b, std::set<std::string>& out) {
    for (const StmtPtr& s : b) {
      if (s->kind == Stmt::Kind::Store && hasMod(s->index)) out.insert(s->name);
      collectRings(s->body, out);
      collectRings(s->orelse, out);
    }
  }
  ExprPtr smallerRing(const ExprPtr& e) {
    if (isOp(e, Op::Mod)) return kir::op(Op::Mod, {e->args[0], kir::op(Op::Max, {kir::ci(1), minus1(e->args[1])})});
    return withArgs(e, [&](const ExprPtr& a) { return smallerRing(a); });
  }

  static ExprPtr withArgs(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& f) {
    auto copy = std::make_shared<kir::Expr>(*e);
    for (ExprPtr& a : copy->args) a = f(a);
    return copy;
  }

  ExprPtr expr(const ExprPtr& e, Place place) {
    if (!e) return e;
    if (e->kind == kir::Expr::Kind::Load && e->name == ring_)
      return withArgs(e, [&](const ExprPtr& a) { return smallerRing(a); });
    Place below = e->kind == kir::Expr::Kind::Load ? Place::Address : place;
    ExprPtr r = withArgs(e, [&](const ExprPtr& a) { return expr(a, below); });
    return changed(r, place);
  }

  ExprPtr changed(const ExprPtr& e, Place place) {
    using K = kir::Expr::Kind;
    bool choice = e->kind == K::Select || e->kind == K::Cond;
    if (kind_ == "guard-dropped" && choice && hit()) return e->args[1];
    if (kind_ == "branches-swapped" && choice && hit()) return swapped(e);
    if (kind_ == "min-dropped" && place == Place::Bound && isOp(e, Op::Min) && hit()) return e->args[0];
    if (kind_ == "max-dropped" && place == Place::Bound && isOp(e, Op::Max) && hit()) return e->args[1];
    if (kind_ == "ring-slot" && place == Place::Address && isOp(e, Op::Mod) && hit())
      return kir::op(Op::Mod, {plus1(e->args[0]), e->args[1]});
    if (kind_ == "stride" && place == Place::Address && isOp(e, Op::Mul) && hit())
      return kir::op(Op::Mul, {e->args[0], plus1(e->args[1])});
    if (kind_ == "read-shifted" && e->kind == K::Load && hit()) return withArgs(e, plus1);
    if (kind_ == "comparison-off" && isOp(e, Op::Ge) && hit()) return kir::op(Op::Gt, e->args);
    if (kind_ == "cast-narrow" && e->kind == K::Load && e->dtype == DType::F64 && hit())
      return kir::cast(DType::F64, kir::cast(DType::F32, e));
    if (kind_ == "index-rounded" && e->kind == K::Cast && isFloat(e->dtype) && e->args[0]->dtype == DType::I64 && hit())
      return withArgs(e, plus1);
    return e;
  }
  static ExprPtr swapped(const ExprPtr& e) {
    auto copy = std::make_shared<kir::Expr>(*e);
    std::swap(copy->args[1], copy->args[2]);
    return copy;
  }

  Block block(const Block& b) {
    Block out;
    for (const StmtPtr& s : b) stmt(*s, out);
    return out;
  }

  void stmt(Stmt s, Block& out) {
    s.cond = expr(s.cond, Place::Bound);
    s.index = expr(s.index, Place::Address);
    if (s.index && s.name == ring_ && s.kind == Stmt::Kind::Store) s.index = smallerRing(s.index);
    s.value = expr(s.value, Place::Value);
    switch (s.kind) {
      case Stmt::Kind::Seq:
      case Stmt::Kind::Par:
        loop(s);
        break;
      case Stmt::Kind::If:
        s.body = block(s.body);
        s.orelse = block(s.orelse);
        if (kind_ == "if-dropped" && hit()) {
          for (StmtPtr& c : s.body) out.push_back(std::move(c));
          return;
        }
        break;
      case Stmt::Kind::Let:
        // Computed in the first iteration and used in all.
        if (const kir::Loop* l = kind_ == "let-stale" ? varying(s.value) : nullptr; l && hit())
          s.value = at(s.value, l->var, l->lo);
        break;
      case Stmt::Kind::Store:
        if (kind_ == "store-shifted" && hit()) s.index = plus1(s.index);
        // Added to what is there, which nothing has set.
        if (kind_ == "no-reset" && (s.value->dtype == DType::F32 || s.value->dtype == DType::F64) && hit())
          s.value = kir::op(Op::Add, {s.value, kir::load(s.name, s.value->dtype, s.index)});
        break;
      case Stmt::Kind::Reduce:
        reduce(s);
        break;
      default:
        break;
    }
    out.push_back(std::make_shared<Stmt>(std::move(s)));
  }

  void loop(Stmt& s) {
    bounds(s.loop);
    if (kind_ == "loop-end" && hit()) s.loop.hi = minus1(s.loop.hi);
    if (kind_ == "loop-start" && hit()) s.loop.lo = plus1(s.loop.lo);
    if (kind_ == "loop-backwards" && s.kind == Stmt::Kind::Seq && s.loop.var.rfind("chunk", 0) != 0 && hit())
      s.loop.reverse = true;
    loops_.push_back(&s.loop);
    s.body = block(s.body);
    loops_.pop_back();
  }

  void reduce(Stmt& s) {
    for (kir::Loop& l : s.loops) {
      bounds(l);
      if (kind_ == "reduce-start" && hit()) l.lo = plus1(l.lo);
      if (kind_ == "reduce-end" && hit()) l.hi = minus1(l.hi);
      if (kind_ == "reduce-beyond" && hit()) l.hi = plus1(l.hi);
    }
    for (const kir::Loop& l : s.loops) loops_.push_back(&l);
    s.body = block(s.body);
    loops_.resize(loops_.size() - s.loops.size());
    for (kir::Acc& a : s.accs) {
      a.value = expr(a.value, Place::Value);
      if (kind_ == "reduce-op" && (a.op == Reduce::Max || a.op == Reduce::Min) && hit())
        a.op = a.op == Reduce::Max ? Reduce::Min : Reduce::Max;
    }
  }

  /// The innermost loop around here whose variable `e` uses.
  const kir::Loop* varying(const ExprPtr& e) const {
    for (size_t i = loops_.size(); i-- > 0;)
      if (uses(e, loops_[i]->var)) return loops_[i];
    return nullptr;
  }
  static bool uses(const ExprPtr& e, const std::string& v) {
    if (e->kind == kir::Expr::Kind::Var) return e->name == v;
    for (const ExprPtr& a : e->args)
      if (uses(a, v)) return true;
    return false;
  }
  static ExprPtr at(const ExprPtr& e, const std::string& v, const ExprPtr& value) {
    if (e->kind == kir::Expr::Kind::Var) return e->name == v ? value : e;
    return withArgs(e, [&](const ExprPtr& a) { return at(a, v, value); });
  }

  std::vector<kir::HostStmt> host(std::vector<kir::HostStmt> b) {
    using K = kir::HostStmt::Kind;
    std::vector<kir::HostStmt> out;
    for (kir::HostStmt& s : b) {
      if (s.kind == K::For) {
        bounds(s.loop);
        if (kind_ == "host-loop-end" && hit()) s.loop.hi = minus1(s.loop.hi);
      }
      s.cond = expr(s.cond, Place::Bound);
      s.body = host(std::move(s.body));
      s.orelse = host(std::move(s.orelse));
      bool launchPair = s.kind == K::Launch && !out.empty() && out.back().kind == K::Launch;
      if (kind_ == "launch-dropped" && s.kind == K::Launch && hit()) continue;
      if (kind_ == "launches-swapped" && launchPair && hit()) {
        out.insert(out.end() - 1, std::move(s));
        continue;
      }
      if (kind_ == "if-dropped" && s.kind == K::If && hit()) {
        for (kir::HostStmt& c : s.body) out.push_back(std::move(c));
        continue;
      }
      out.push_back(std::move(s));
    }
    return out;
  }

  static constexpr const char* kNoRing = "\n";
  std::string kind_, ring_ = kNoRing;
  int64_t target_, seen_ = 0;
  std::vector<const kir::Loop*> loops_;  // around the statement looked at
};

}  // namespace

const std::vector<std::string>& faultKinds() {
  static const std::vector<std::string> kinds{
      "loop-end",       "loop-start",      "loop-backwards", "grid-end",    "host-loop-end",    "reduce-start",
      "reduce-end",     "reduce-beyond",   "reduce-op",      "ring-extent", "ring-slot",        "stride",
      "read-shifted",   "store-shifted",   "guard-dropped",  "if-dropped",  "branches-swapped", "min-dropped",
      "max-dropped",    "comparison-off",  "no-reset",       "let-stale",   "cast-narrow",      "index-rounded",
      "launch-dropped", "launches-swapped"};
  return kinds;
}

std::optional<kir::Program> injectFault(const kir::Program& p, const std::string& kind, uint64_t choice) {
  Mutator count(kind, -1);
  count.program(p);
  if (count.fits() == 0) return std::nullopt;
  return Mutator(kind, int64_t(choice % uint64_t(count.fits()))).program(p);
}

}  // namespace tempo::fuzz
