// Values of parameter expressions on the host: sizes of scratch and buffers, grids.
#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "check.hpp"
#include "cuda/analysis.hpp"
#include "cuda/emit.hpp"

namespace tempo::cuda {
namespace {

int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

}  // namespace

int64_t integerOp(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::Neg: return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
    case Op::Abs: return a < 0 ? -a : a;
    case Op::Sign: return (a > 0) - (a < 0);
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::FloorDiv: return floorDiv(a, b);
    case Op::Mod: return b == 0 ? 0 : a - floorDiv(a, b) * b;
    case Op::Min: return std::min(a, b);
    case Op::Max: return std::max(a, b);
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::And: return a && b;
    case Op::Or: return a || b;
    case Op::Not: return !a;
    default: internalError(__FILE__, __LINE__, std::string("`") + info(op).text + "` in a host expression");
  }
}

int64_t evaluate(const kir::ExprPtr& e, const Values& values) {
  using Kind = kir::Expr::Kind;
  auto arg = [&](size_t i) { return evaluate(e->args[i], values); };
  switch (e->kind) {
    case Kind::ConstI: return e->i;
    case Kind::Var: {
      auto it = values.find(e->name);
      TEMPO_CHECK(it != values.end(), "host expression names `" + e->name + "`, which has no value");
      return it->second;
    }
    case Kind::Op: return integerOp(e->op, arg(0), e->args.size() > 1 ? arg(1) : 0);
    case Kind::Select:
    case Kind::Cond: return arg(arg(0) ? 1 : 2);
    case Kind::Cast:
      TEMPO_CHECK(isInt(e->dtype) || e->dtype == DType::Bool, "cast to a float in a host expression");
      return e->dtype == DType::Bool ? arg(0) != 0 : arg(0);
    default: internalError(__FILE__, __LINE__, "host expressions are integer arithmetic");
  }
}

std::vector<bool> hostReads(const kir::Program& p) {
  std::set<std::string> names;
  std::function<void(const std::vector<kir::HostStmt>&)> walk = [&](const std::vector<kir::HostStmt>& block) {
    for (const auto& s : block) {
      for (const auto& e : {s.loop.lo, s.loop.hi, s.cond, s.value}) collectLoads(e, names);
      for (const auto& e : s.args) collectLoads(e, names);
      walk(s.body);
      walk(s.orelse);
    }
  };
  walk(p.host);
  std::vector<bool> read;
  for (const auto& b : p.buffers) read.push_back(names.count(b.name) != 0);
  return read;
}

int64_t instances(const kir::Kernel& k, const Values& params) {
  int64_t n = 1;
  for (const auto& l : k.grid) n *= std::max<int64_t>(0, evaluate(l.hi, params) - evaluate(l.lo, params));
  return n;
}

int64_t scratchBytesPerBlock(const kir::Kernel& k, const Values& params) {
  int64_t shared = 0, total = 0;
  const auto places = placeScratch(k, shared);
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i].shared) total += align16(evaluate(k.scratch[i].count, params) * bytes(k.scratch[i].dtype));
  }
  return total;
}

std::vector<uint64_t> packArgs(const ArgHeader& h, const int64_t* params, size_t paramCount,
                               const std::vector<void*>& buffers) {
  const size_t p = std::max<size_t>(1, paramCount), b = std::max<size_t>(1, buffers.size());
  std::vector<uint64_t> words(6 + p + b, 0);
  static_assert(sizeof(ArgHeader) == 48, "six words, as TempoArgs");
  std::memcpy(words.data(), &h, sizeof h);
  if (paramCount) std::memcpy(words.data() + 6, params, paramCount * sizeof(int64_t));
  for (size_t i = 0; i < buffers.size(); ++i) words[6 + p + i] = reinterpret_cast<uint64_t>(buffers[i]);
  return words;
}

}  // namespace tempo::cuda
