#include "cuda/host_program.hpp"

#include <cmath>
#include <cstring>
#include <map>

#include "check.hpp"
#include "cuda/emit.hpp"

namespace tempo::cuda {
namespace {

struct State {
  std::vector<int64_t> slots;
  HostActions& actions;
};

using Value = std::function<int64_t(State&)>;
using Number = std::function<double(State&)>;
/// False: the run has been stopped.
using Action = std::function<bool(State&)>;

/// Compiles in one walk; slots are given out as names are met.
class Compiler {
 public:
  explicit Compiler(const kir::Program& p) : program_(p) {
    for (const auto& s : p.sizes) declare(s);
  }

  Action block(const std::vector<kir::HostStmt>& statements) {
    const auto saved = names_;
    std::vector<Action> actions;
    for (const auto& s : statements) actions.push_back(statement(s));
    names_ = saved;
    return [actions](State& st) {
      for (const auto& a : actions) {
        if (st.actions.stopped() || !a(st)) return false;
      }
      return true;
    };
  }

  size_t slots() const { return slots_; }

 private:
  const kir::Program& program_;
  std::map<std::string, size_t> names_;
  size_t slots_ = 0;

  size_t declare(const std::string& name) { return names_[name] = slots_++; }

  size_t find(const std::string& name) const {
    auto it = names_.find(name);
    TEMPO_CHECK(it != names_.end(), "host statement names `" + name + "`, which has no value");
    return it->second;
  }

  int buffer(const std::string& name) const {
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i].name == name) return static_cast<int>(i);
    }
    internalError(__FILE__, __LINE__, "host statement reads `" + name + "`, which is no buffer");
  }

  /// Floats appear only below comparisons and casts, of loaded values.
  Number number(const kir::ExprPtr& e) {
    using Kind = kir::Expr::Kind;
    if (!isFloat(e->dtype)) {
      Value v = value(e);
      return [v](State& s) { return static_cast<double>(v(s)); };
    }
    if (e->kind == Kind::ConstF) return [c = e->f](State&) { return c; };
    if (e->kind == Kind::Cast) return number(e->args[0]);
    if (e->kind == Kind::Load) {
      Value i = value(e->args[0]);
      return [b = buffer(e->name), i](State& s) { return s.actions.load(b, i(s)); };
    }
    if (e->kind == Kind::Select || e->kind == Kind::Cond) {
      Value c = value(e->args[0]);
      Number a = number(e->args[1]), b = number(e->args[2]);
      return [c, a, b](State& s) { return c(s) ? a(s) : b(s); };
    }
    TEMPO_CHECK(e->kind == Kind::Op, "float expression in a host statement");
    Number a = number(e->args[0]);
    Number b = e->args.size() > 1 ? number(e->args[1]) : a;
    return [o = e->op, t = e->dtype, a, b](State& s) {
      const double args[] = {a(s), b(s)};
      return roundTo(t, evalOp(o, t, args));
    };
  }

  Value value(const kir::ExprPtr& e) {
    using Kind = kir::Expr::Kind;
    switch (e->kind) {
      case Kind::ConstI: return [c = e->i](State&) { return c; };
      case Kind::Var: return [slot = find(e->name)](State& s) { return s.slots[slot]; };
      case Kind::Load: {
        Value i = value(e->args[0]);
        return [b = buffer(e->name), i](State& s) { return static_cast<int64_t>(s.actions.load(b, i(s))); };
      }
      case Kind::Select:
      case Kind::Cond: {
        Value c = value(e->args[0]), a = value(e->args[1]), b = value(e->args[2]);
        return [c, a, b](State& s) { return c(s) ? a(s) : b(s); };
      }
      case Kind::Cast: return castValue(*e);
      case Kind::Op: return opValue(*e);
      default: internalError(__FILE__, __LINE__, "host expression of a kind that only kernels have");
    }
  }

  Value castValue(const kir::Expr& e) {
    if (isFloat(e.args[0]->dtype)) {
      Number v = number(e.args[0]);
      return [v, t = e.dtype](State& s) { return static_cast<int64_t>(roundTo(t, v(s))); };
    }
    Value v = value(e.args[0]);
    if (e.dtype == DType::Bool) return [v](State& s) { return int64_t{v(s) != 0}; };
    return v;
  }

  Value opValue(const kir::Expr& e) {
    if (isFloat(e.args[0]->dtype)) {
      Number a = number(e.args[0]);
      Number b = e.args.size() > 1 ? number(e.args[1]) : a;
      return [o = e.op, t = e.args[0]->dtype, a, b](State& s) {
        const double args[] = {a(s), b(s)};
        return static_cast<int64_t>(evalOp(o, t, args));
      };
    }
    Value a = value(e.args[0]);
    Value b = e.args.size() > 1 ? value(e.args[1]) : a;
    return [o = e.op, a, b](State& s) { return integerOp(o, a(s), b(s)); };
  }

  std::vector<Value> values(const std::vector<kir::ExprPtr>& args) {
    std::vector<Value> v;
    for (const auto& a : args) v.push_back(value(a));
    return v;
  }

  static std::vector<int64_t> evaluateAll(const std::vector<Value>& v, State& s) {
    std::vector<int64_t> out;
    out.reserve(v.size());
    for (const auto& f : v) out.push_back(f(s));
    return out;
  }

  Action loop(const kir::HostStmt& s) {
    Value lo = value(s.loop.lo), hi = value(s.loop.hi);
    const auto saved = names_;
    const size_t slot = declare(s.loop.var);
    Action body = block(s.body);
    names_ = saved;
    return [lo, hi, slot, body, reverse = s.loop.reverse](State& st) {
      const int64_t first = lo(st), end = hi(st);
      for (int64_t i = first; i < end; ++i) {
        st.slots[slot] = reverse ? end - 1 - (i - first) : i;
        if (!body(st) || st.actions.stopped()) return false;
      }
      return true;
    };
  }

  Action statement(const kir::HostStmt& s) {
    using Kind = kir::HostStmt::Kind;
    switch (s.kind) {
      case Kind::For: return loop(s);
      case Kind::If: {
        Value c = value(s.cond);
        Action yes = block(s.body), no = block(s.orelse);
        return [c, yes, no](State& st) { return c(st) ? yes(st) : no(st); };
      }
      case Kind::Let: {
        Value v = value(s.value);
        return [v, slot = declare(s.name)](State& st) {
          st.slots[slot] = v(st);
          return true;
        };
      }
      case Kind::Launch:
        return [k = s.kernel, args = values(s.args)](State& st) {
          st.actions.launch(k, evaluateAll(args, st));
          return true;
        };
      case Kind::Effect:
        return [n = s.effect, args = values(s.args)](State& st) {
          st.actions.effect(n, evaluateAll(args, st));
          return true;
        };
      case Kind::Progress:
        return [args = values(s.args)](State& st) {
          st.actions.progress(args.at(0)(st), args.at(1)(st));
          return true;
        };
    }
    internalError(__FILE__, __LINE__, "unknown kind of host statement");
  }
};

}  // namespace

struct HostProgram::Impl {
  Action all;
  size_t sizes, slots;
};

HostProgram::HostProgram(const kir::Program& p) {
  Compiler c(p);
  Action all = c.block(p.host);
  impl_ = std::make_unique<const Impl>(Impl{std::move(all), p.sizes.size(), c.slots()});
}

HostProgram::~HostProgram() = default;

void HostProgram::run(const std::vector<int64_t>& sizes, HostActions& actions) const {
  TEMPO_CHECK(sizes.size() == impl_->sizes, "a run needs every size of the program");
  State s{sizes, actions};
  s.slots.resize(std::max<size_t>(1, impl_->slots));
  impl_->all(s);
}

double loadNumber(const void* data, DType t, int64_t index) {
  const char* p = static_cast<const char*>(data) + index * bytes(t);
  auto as = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    return static_cast<double>(v);
  };
  switch (t) {
    case DType::F64: return as(double{});
    case DType::F32: return as(float{});
    case DType::I64: return as(int64_t{});
    case DType::I32: return as(int32_t{});
    case DType::I8: return as(int8_t{});
    case DType::U8: return as(uint8_t{});
    case DType::Bool: return as(uint8_t{}) != 0;
    default: internalError(__FILE__, __LINE__, "host code reads a bf16 or f16");
  }
}

}  // namespace tempo::cuda
