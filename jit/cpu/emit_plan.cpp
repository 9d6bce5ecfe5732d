// Which loops run over vector lanes: decided from the form of the kernel and the machine alone.
#include "cpu/emit_kernel.hpp"
#include "cpu/vmath.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building
using SKind = kir::Stmt::Kind;
using EKind = kir::Expr::Kind;

namespace {

void visit(const kir::ExprPtr& e, const std::function<void(const kir::Expr&)>& f) {
  f(*e);
  for (const auto& a : e->args) visit(a, f);
}

// Smallest type of a value that is more than an index, in bytes.
void smallestValue(const kir::ExprPtr& e, int& out) {
  visit(e, [&](const kir::Expr& x) {
    if (x.dtype == DType::F32 || x.dtype == DType::BF16 || x.dtype == DType::F16 || x.dtype == DType::I32 ||
        x.dtype == DType::I8 || x.dtype == DType::U8) {
      out = 4;
    }
  });
}

void smallestValue(const kir::Block& b, int& out) {
  for (const auto& s : b) {
    if (s->value) smallestValue(s->value, out);
    for (const auto& a : s->accs) smallestValue(a.value, out);
    smallestValue(s->body, out);
    smallestValue(s->orelse, out);
  }
}

}  // namespace

int KernelEmitter::lanesFor(const kir::Block& body) const {
  int bytes = 8;
  smallestValue(body, bytes);
  return machine_.vectorBytes / bytes;
}

// Binds `var` to a stand-in of vector type for as long as `walk` runs.
KernelEmitter::Accesses KernelEmitter::surveyWith(const std::string& var, const std::function<void(Accesses&)>& walk) {
  const auto saved = env_;
  env_[var] = {.value = PoisonValue::get(FixedVectorType::get(i64(), 2)), .stride = 1};
  Accesses out;
  walk(out);
  env_ = saved;
  return out;
}

void KernelEmitter::surveyExpr(const kir::ExprPtr& e, Accesses& out, bool inReduce) {
  if (e->kind == EKind::Op) out.cost += info(e->op).cost;
  if (e->kind == EKind::Load) {
    const kir::Expr* wrap = nullptr;
    const auto stride = strideOf(*e->args[0], &wrap);
    if (!stride || (*stride != 0 && *stride != 1 && *stride != -1)) {
      ++out.scattered;
      out.inReduce += inReduce;
    } else if (*stride != 0) {
      ++out.contiguous;
    }
    // Index arithmetic costs little unless it is itself per lane.
    const int cost = out.cost;
    surveyExpr(e->args[0], out, inReduce);
    out.cost = cost + 1;
    return;
  }
  for (const auto& a : e->args) surveyExpr(a, out, inReduce);
}

void KernelEmitter::survey(const kir::Block& body, Accesses& out, bool inReduce) {
  for (const auto& s : body) {
    auto let = [&](const std::string& name, bool varying, std::optional<int64_t> stride) {
      Type* t = varying ? static_cast<Type*>(FixedVectorType::get(i64(), 2)) : i64();
      env_[name] = {.value = PoisonValue::get(t), .stride = varying ? stride : std::optional<int64_t>(0)};
    };
    auto uniformLoop = [&](const kir::Loop& l) {
      if (varies(*l.lo) || varies(*l.hi)) out.possible = false;
      let(l.var, false, 0);
    };
    switch (s->kind) {
      case SKind::Let:
        surveyExpr(s->value, out, inReduce);
        let(s->name, varies(*s->value), s->dtype == DType::I64 ? strideOf(*s->value) : std::nullopt);
        break;
      case SKind::Store: {
        surveyExpr(s->value, out, inReduce);
        const auto stride = strideOf(*s->index);
        if (stride && *stride == 0) out.possible = false;  // one element written by every lane
        if (stride && *stride == 1) {
          ++out.contiguous;
        } else {
          ++out.scattered;
        }
        break;
      }
      case SKind::Reduce: {
        out.reduces = true;
        for (const auto& l : s->loops) uniformLoop(l);
        survey(s->body, out, true);
        for (const auto& a : s->accs) {
          surveyExpr(a.value, out, true);
          ++out.accumulators;
          let(a.name, true, std::nullopt);
          let(a.name + "_v", true, std::nullopt);
        }
        break;
      }
      case SKind::If:
        surveyExpr(s->cond, out, inReduce);
        survey(s->body, out, inReduce);
        survey(s->orelse, out, inReduce);
        break;
      case SKind::Check:
        surveyExpr(s->cond, out, inReduce);
        break;
      default: out.possible = false; break;
    }
  }
}

ParPlan KernelEmitter::planPar(const std::string& var, const kir::Block& body) {
  const Accesses over = surveyWith(var, [&](Accesses& a) { survey(body, a, false); });
  if (!over.possible || over.contiguous == 0) return {};
  // A reduction inside may be the better place for the lanes: where it finds its operands side by side and we do not.
  if (over.reduces && over.inReduce > 0) {
    for (const auto& s : body) {
      if (s->kind == SKind::Reduce && !reducePasses(*s).empty()) {
        const auto& inner = *s;
        const Accesses across = surveyWith(inner.loops.back().var, [&](Accesses& a) {
          survey(inner.body, a, true);
          for (const auto& acc : inner.accs) surveyExpr(acc.value, a, true);
        });
        if (across.scattered < over.inReduce) return {};
      }
    }
  }
  ParPlan p;
  p.lanes = p.wide = lanesFor(body);
  const bool cheap = over.cost <= 12 && over.accumulators <= 2;
  if (over.reduces && cheap && over.inReduce == 0) p.wide = 4 * p.lanes;
  return p;
}

std::vector<KernelEmitter::Pass> KernelEmitter::reducePasses(const kir::Stmt& s) {
  const Accesses a = surveyWith(s.loops.back().var, [&](Accesses& out) {
    survey(s.body, out, true);
    for (const auto& acc : s.accs) surveyExpr(acc.value, out, true);
  });
  if (!a.possible || (a.contiguous == 0 && a.cost < 12) || a.scattered > a.contiguous) return {};
  int bytes = 8;
  smallestValue(s.body, bytes);
  for (const auto& acc : s.accs) smallestValue(acc.value, bytes);
  const int lanes = machine_.vectorBytes / bytes;
  if (a.cost <= 16 && s.accs.size() <= 2) return passes(4 * lanes, lanes);
  return passes(lanes, lanes);
}

}  // namespace tempo::cpu
