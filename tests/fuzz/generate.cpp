#include "fuzz/generate.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace tempo::fuzz {

namespace {

struct Tensor {
  std::string name;
  std::vector<int> dims;  // indices into kDims
  Type type;
  int equation;  // -1 - k: input
};

struct DimInfo {
  const char *var, *size;
};
constexpr DimInfo kDims[] = {{"t", "T"}, {"b", "B"}};

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}

  Program run() {
    dims_ = chance(35) ? 2 : 1;
    std::string header = dims_ == 2 ? "dim b : B, t : T\n" : "dim t : T\n";
    header += "size D, E, W\n";
    static const int64_t lengths[] = {1, 2, 3, 5, 7, 8, 13, 16, 17};
    p_.sizes = {{"T", chance(4) ? 0 : lengths[pick(9)]}, {"D", 1 + pick(6)}, {"E", 1 + pick(9)}, {"W", 1 + pick(9)}};
    if (dims_ == 2) p_.sizes.push_back({"B", 1 + pick(4)});
    if (chance(15)) {
      header += "option gain : f32 = 0.75\n";
      option_ = true;
    }
    int inputs = 2 + int(pick(2));
    for (int i = 0; i < inputs; ++i) header += input(i);
    p_.header = header;
    int equations = 1 + int(pick(5));
    while (int(p_.equations.size()) < equations) equation(int(p_.equations.size()));
    equations = int(p_.equations.size());
    p_.outputs.push_back(equations - 1);
    for (int i = 0; i + 1 < equations; ++i)
      if (chance(30)) p_.outputs.push_back(i);
    if (chance(8)) effect(p_.outputs[0]);
    return std::move(p_);
  }

 private:
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  int64_t pick(int64_t n) { return int64_t(next() % uint64_t(n)); }
  bool chance(int percent) { return pick(100) < percent; }

  static bool isFloat(const Type& t) { return t.dtype != "i32" && t.dtype != "bool"; }
  static Type scalar(const std::string& dtype) { return {{}, dtype}; }

  /// Mostly f32: the others are met where a program mixes them.
  std::string someDType() {
    int64_t n = pick(100);
    return n < 68 ? "f32" : n < 76 ? "f64" : n < 82 ? "bf16" : n < 87 ? "f16" : n < 97 ? "i32" : "bool";
  }

  void effect(int i) {
    const Equation& q = p_.equations[size_t(i)];
    if (q.dims.empty() || chance(50)) {
      p_.effects.push_back("report m = " + q.name);
    } else {
      std::string v = kDims[q.dims[0]].var;
      p_.effects.push_back("print " + q.name + " when " + v + " % 3 == 1");
    }
  }

  std::string axisLength() {
    static const char* names[] = {"D", "E", "3"};
    return names[pick(3)];
  }
  std::vector<int> someDims() {
    if (dims_ == 1) return {0};
    switch (pick(4)) {
      case 0:
        return {0};
      case 1:
        return {1};
      default:
        return {1, 0};  // b, t: the declared order
    }
  }
  static std::string dimList(const std::vector<int>& dims) {
    std::string s;
    for (int d : dims) s += (s.empty() ? "" : ", ") + std::string(kDims[d].var);
    return s;
  }
  static std::string shape(const Type& t) {
    std::string s;
    for (const std::string& a : t.axes) s += (s.empty() ? "" : ", ") + a;
    return s.empty() ? t.dtype : t.dtype + "[" + s + "]";
  }

  std::string input(int i) {
    Tensor x;
    x.name = "in" + std::to_string(i);
    x.dims = i == 0 ? (dims_ == 2 ? std::vector<int>{1, 0} : std::vector<int>{0}) : someDims();
    if (i == 1 && chance(40)) x.dims.clear();
    x.type.dtype = chance(12) ? "f64" : chance(10) ? "bf16" : chance(8) ? "f16" : "f32";
    if (i != 0) {
      if (chance(60)) x.type.axes.push_back(axisLength());
      if (!x.type.axes.empty() && chance(35)) x.type.axes.push_back(axisLength());
    }
    x.equation = -1 - i;
    tensors_.push_back(x);
    return "input " + x.name + (x.dims.empty() ? "" : "[" + dimList(x.dims) + "]") + " : " + shape(x.type) + "\n";
  }

  // --- expressions: `scope` is the dims that may be used
  // ------------------------------------------------------------------
  ExprPtr make(std::string text, std::vector<ExprPtr> args, Type type, std::vector<int> reads = {}) {
    auto e = std::make_shared<Expr>();
    e->text = std::move(text);
    e->args = std::move(args);
    e->type = std::move(type);
    e->reads = std::move(reads);
    return e;
  }

  /// A point along dim `d` that exists for tensors over 0 .. size-1 whenever the dim variable does.
  std::string point(int d) {
    std::string v = kDims[d].var, n = kDims[d].size, k = std::to_string(1 + pick(4));
    switch (pick(9)) {
      case 0:
        return "max(0, " + v + "-" + k + ")";
      case 1:
        return "min(" + v + "+" + k + ", " + n + "-1)";
      case 2:
        return n + "-1-" + v;
      case 3:
        return v + " // 2";
      case 4:
        return v + " % 3";
      default:
        return v;
    }
  }
  std::string range(int d) {
    std::string v = kDims[d].var, n = kDims[d].size, k = std::to_string(1 + pick(5));
    switch (pick(9)) {
      case 0:
        return "0 : " + v + "+1";
      case 1:
        return "0 : " + v;
      case 2:
        return v + " : " + n;
      case 3:
        return "max(0, " + v + "-W+1) : " + v + "+1";
      case 4:
        return "max(0, " + v + "-" + k + ") : min(" + v + "+" + k + ", " + n + ")";
      case 5:
        return v + "+1 : " + n;
      case 6:
        return "0 : " + v + "+1 : 2";
      case 7:
        return "max(0, " + v + "-W) : " + v;
      default:
        return "0 : " + n;
    }
  }

  bool fits(const Tensor& x, const std::vector<int>& scope) const {
    return std::all_of(x.dims.begin(), x.dims.end(),
                       [&](int d) { return std::find(scope.begin(), scope.end(), d) != scope.end(); });
  }

  std::vector<const Tensor*> candidates(const std::vector<int>& scope, const std::function<bool(const Tensor&)>& ok) {
    std::vector<const Tensor*> out;
    for (const Tensor& x : tensors_)
      if (fits(x, scope) && ok(x)) out.push_back(&x);
    return out;
  }

  std::string indexed(const Tensor& x, int special, const std::string& text) {
    if (x.dims.empty()) return x.name;
    std::string s;
    for (int d : x.dims)
      s += (s.empty() ? "" : ", ") + (d == special ? text : chance(70) ? std::string(kDims[d].var) : point(d));
    return x.name + "[" + s + "]";
  }

  ExprPtr literal(const Type& t) {
    if (!t.axes.empty()) return nullptr;
    if (t.dtype == "bool") return make(chance(50) ? "true" : "false", {}, t);
    if (t.dtype == "i32") return make("i32(" + std::to_string(pick(6)) + ")", {}, t);
    if (option_ && t.dtype == "f32" && chance(30)) return make("gain", {}, t);
    std::string v = std::to_string(pick(5) - 2) + (chance(50) ? ".5" : ".0");
    if (v[0] == '-') v = "(" + v + ")";
    return make(typed(t, v), {}, t);
  }
  /// Literals are weak, and what is made of weak values alone is f32: elsewhere the type has to be said.
  static std::string typed(const Type& t, const std::string& v) {
    return isFloat(t) && t.dtype != "f32" ? t.dtype + "(" + v + ")" : v;
  }

  ExprPtr read(const Type& t, const std::vector<int>& scope) {
    auto xs = candidates(scope, [&](const Tensor& x) { return x.type == t; });
    if (xs.empty()) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    return make(indexed(x, -1, ""), {}, t, {x.equation});
  }

  /// Something reduced over a range of a dim.
  ExprPtr overRange(const Type& t, const std::vector<int>& scope) {
    if (!isFloat(t) || chance(25)) return comprehension(t, scope);
    auto xs = candidates(scope, [&](const Tensor& x) { return x.type == t && !x.dims.empty(); });
    if (xs.empty()) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    int d = x.dims[size_t(pick(int64_t(x.dims.size())))];
    std::string r = range(d);
    switch (pick(6)) {
      case 0:
        return make("max(" + indexed(x, d, r) + ", axis = 0, init = 0.0)", {}, t, {x.equation});
      case 1: {
        if (t.axes.size() > 1) break;
        auto us = candidates(scope, [&](const Tensor& u) {
          return u.type.axes.empty() && u.type.dtype == t.dtype &&
                 std::find(u.dims.begin(), u.dims.end(), d) != u.dims.end();
        });
        if (us.empty()) break;
        const Tensor& u = *us[size_t(pick(int64_t(us.size())))];
        return make("(softmax(" + indexed(u, d, r) + ") @ " + indexed(x, d, r) + ")", {}, t, {u.equation, x.equation});
      }
      case 2: {
        std::string lo = r.substr(0, r.find(" : "));
        std::string rest = r.substr(r.find(" : ") + 3);
        std::string hi = rest.substr(0, rest.find(" : "));
        std::string v = kDims[d].var;
        std::string decay = chance(50) ? "0.5 ** abs(" + v + " - s) * " : "";
        if (chance(30) && hi == v + "+1") decay = "0.75 ** (" + v + " - s) * ";
        return make("(sum[s in " + lo + " : " + hi + "] " + decay + indexed(x, d, "s") + ")", {}, t, {x.equation});
      }
      default:
        break;
    }
    return make("sum(" + indexed(x, d, r) + ", axis = 0)", {}, t, {x.equation});
  }

  /// A range that is never empty where the dim variable exists.
  std::string someRange(int d) {
    std::string v = kDims[d].var, n = kDims[d].size;
    switch (pick(4)) {
      case 0:
        return "0 : " + v + "+1";
      case 1:
        return "max(0, " + v + "-W+1) : " + v + "+1";
      case 2:
        return v + " : " + n;
      default:
        return v + " : min(" + v + "+3, " + n + ")";
    }
  }

  /// A reduction written with a bound variable: over integers all of them, over floats those that lose no digits.
  ExprPtr comprehension(const Type& t, const std::vector<int>& scope) {
    if (t.dtype == "i32" && t.axes.empty() && chance(25)) return argReduce(scope);
    auto xs = candidates(scope, [&](const Tensor& x) { return x.type == t && !x.dims.empty(); });
    if (xs.empty()) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    int d = x.dims[size_t(pick(int64_t(x.dims.size())))];
    std::string body = indexed(x, d, "s");
    if (t.dtype == "bool")
      return make("(" + std::string(chance(50) ? "all" : "any") + "[s in " + plainRange(d) + "] " + body + ")", {}, t,
                  {x.equation});
    static const char* ops[] = {"max", "min"};
    if (chance(60))
      return make("(" + std::string(ops[pick(2)]) + "[s in " + someRange(d) + "] " + body + ")", {}, t, {x.equation});
    if (t.dtype == "i32") return make("((sum[s in " + plainRange(d) + "] " + body + ") % 101)", {}, t, {x.equation});
    return make("(prod[s in " + plainRange(d) + "] tanh(" + body + "))", {}, t, {x.equation});
  }
  std::string plainRange(int d) {
    std::string v = kDims[d].var;
    static const char* none[] = {" : ", "+1 : "};
    return chance(60) ? someRange(d) : chance(50) ? "0 : " + v : v + none[pick(2)] + kDims[d].size;
  }

  ExprPtr argReduce(const std::vector<int>& scope) {
    auto xs = candidates(scope, [&](const Tensor& x) { return x.type == scalar("i32") && !x.dims.empty(); });
    if (xs.empty()) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    int d = x.dims[size_t(pick(int64_t(x.dims.size())))];
    return make("i32(argmax[s in " + someRange(d) + "] " + indexed(x, d, "s") + ")", {}, scalar("i32"), {x.equation});
  }

  /// Over a dim that need not be in scope.
  ExprPtr overDim(const Type& t, const std::vector<int>& scope) {
    int d = int(pick(dims_));
    std::vector<int> wider = scope;
    if (std::find(wider.begin(), wider.end(), d) == wider.end()) wider.push_back(d);
    auto xs = candidates(wider, [&](const Tensor& x) {
      return x.type == t && std::find(x.dims.begin(), x.dims.end(), d) != x.dims.end();
    });
    if (xs.empty() || !isFloat(t)) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    std::string bounds = chance(30) ? std::string(" in 0 : ") + kDims[d].size + "-1" : "";
    return make("sum(" + x.name + " * 0.5, over = " + kDims[d].var + bounds + ")", {}, t, {x.equation});
  }

  /// A read at a step that a tensor says.
  ExprPtr gather(const Type& t, const std::vector<int>& scope, int depth) {
    auto xs = candidates(scope, [&](const Tensor& x) { return x.type == t && !x.dims.empty(); });
    if (xs.empty()) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    int d = x.dims[size_t(pick(int64_t(x.dims.size())))];
    ExprPtr at = expr(scalar("i32"), scope, depth - 1);
    if (!at) return nullptr;
    std::string v = kDims[d].var, n = kDims[d].size;
    std::string within = chance(35) ? " within 0 : " + n : "";
    return make(x.name + "[" + v + " = ($0 % " + n + ")" + within + "]", {at}, t, {x.equation});
  }
  ExprPtr axisGather(const Type& t, const std::vector<int>& scope, int depth) {
    if (!t.axes.empty()) return nullptr;
    auto xs = candidates(
        scope, [&](const Tensor& x) { return x.type.dtype == t.dtype && x.type.axes.size() == 1 && !x.dims.empty(); });
    if (xs.empty()) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    ExprPtr at = expr(scalar("i32"), scope, depth - 1);
    if (!at) return nullptr;
    return make(x.name + "[" + dimList(x.dims) + "; $0 % " + x.type.axes[0] + "]", {at}, t, {x.equation});
  }

  ExprPtr shuffle(const Type& t, const std::vector<int>& scope, int depth) {
    if (t.axes.size() == 2) {
      ExprPtr a = expr({{t.axes[1], t.axes[0]}, t.dtype}, scope, depth - 1);
      return a ? make("transpose($0)", {a}, t) : nullptr;
    }
    if (!t.axes.empty() || t.dtype == "bool") return nullptr;
    ExprPtr a = expr({{axisLength()}, t.dtype}, scope, depth - 1),
            b = expr({{axisLength()}, t.dtype}, scope, depth - 1);
    if (!a || !b) return nullptr;
    return make(t.dtype == "i32" ? "(sum(concat($0, $1)) % 57)" : "sum(concat($0, $1))", {a, b}, t);
  }

  ExprPtr cast(const Type& t, const std::vector<int>& scope, int depth) {
    static const char* floats[] = {"f32", "f64", "bf16", "f16"};
    if (!isFloat(t)) return nullptr;
    // A narrow value in a wide tensor would be compared with the wide one's tolerance: only widening of what has no
    // rounding.
    Type from = t;
    from.dtype = t.dtype == "bf16" || t.dtype == "f16" ? floats[pick(2)] : "i32";
    ExprPtr a = expr(from, scope, depth - 1);
    return a ? make(t.dtype + "($0)", {a}, t) : nullptr;
  }

  /// Integers stay small, so that nothing wraps and float64 holds them.
  ExprPtr integer(const Type& t, const std::vector<int>& scope, int depth) {
    switch (pick(9)) {
      case 0:
      case 1:
        if (scope.empty() || !t.axes.empty()) return nullptr;
        return make("i32((" + std::string(kDims[scope[size_t(pick(int64_t(scope.size())))]].var) + " * " +
                        std::to_string(1 + pick(4)) + " + " + std::to_string(pick(5)) + ") % " +
                        std::to_string(2 + pick(8)) + ")",
                    {}, t);
      case 2:
        return scope.empty() ? nullptr : overRange(t, scope);
      case 3:
        return read(t, scope);
      case 4:
        return gather(t, scope, depth);
      case 5:
        return scope.empty() ? nullptr : choice(t, scope, depth);
      default:
        break;
    }
    static const char* ops[] = {"($0 + $1)",           "($0 - $1)",   "(($0 * $1) % 31)",
                                "min($0, $1)",         "max($0, $1)", "($0 // (1 + abs($1)))",
                                "($0 % (2 + abs($1)))"};
    ExprPtr a = expr(t, scope, depth - 1), b = expr(t, scope, depth - 1);
    return a && b ? make(ops[pick(7)], {a, b}, t) : nullptr;
  }

  /// Comparisons of what every precision holds exactly.
  ExprPtr boolean(const Type& t, const std::vector<int>& scope, int depth) {
    static const char* logic[] = {"($0 and $1)", "($0 or $1)", "(not $0)"};
    static const char* order[] = {"($0 < $1)", "($0 >= $1)", "($0 == $1)", "($0 != $1)"};
    if (chance(20)) return scope.empty() ? nullptr : overRange(t, scope);
    if (chance(40)) {
      ExprPtr a = expr(t, scope, depth - 1), b = expr(t, scope, depth - 1);
      return a && b ? make(logic[pick(3)], {a, b}, t) : nullptr;
    }
    if (chance(40)) {
      auto xs = candidates(scope, [&](const Tensor& x) { return x.equation < 0 && x.type.axes == t.axes; });
      if (xs.empty()) return nullptr;
      const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
      return make("(" + indexed(x, -1, "") + " > 0.25)", {}, t, {x.equation});
    }
    Type from{t.axes, "i32"};
    ExprPtr a = expr(from, scope, depth - 1), b = expr(from, scope, depth - 1);
    return a && b ? make(order[pick(4)], {a, b}, t) : nullptr;
  }

  ExprPtr choice(const Type& t, const std::vector<int>& scope, int depth) {
    ExprPtr a = expr(t, scope, depth - 1), b = expr(t, scope, depth - 1);
    if (!a || !b) return nullptr;
    if (chance(55)) return make("(if " + dimCondition(scope) + " then $0 else $1)", {a, b}, t);
    ExprPtr c = expr(scalar("bool"), scope, depth - 1);
    return c ? make("(if $2 then $0 else $1)", {a, b, c}, t) : nullptr;
  }

  ExprPtr axisReduce(const Type& t, const std::vector<int>& scope) {
    auto xs = candidates(scope, [&](const Tensor& x) {
      return x.type.dtype == t.dtype && x.type.axes.size() == t.axes.size() + 1 &&
             std::equal(t.axes.begin(), t.axes.end(), x.type.axes.begin() + 1);
    });
    if (xs.empty()) return nullptr;
    const Tensor& x = *xs[size_t(pick(int64_t(xs.size())))];
    static const char* ops[] = {"sum", "max", "min"};
    if (t.dtype == "bool") return make("any(" + indexed(x, -1, "") + ", axis = 0)", {}, t, {x.equation});
    if (t.dtype == "i32") return make("(sum(" + indexed(x, -1, "") + ", axis = 0) % 43)", {}, t, {x.equation});
    return make(std::string(ops[pick(3)]) + "(" + indexed(x, -1, "") + ", axis = 0, init = 0.0)", {}, t, {x.equation});
  }

  ExprPtr contraction(const Type& t, const std::vector<int>& scope, int depth) {
    auto ms = candidates(scope, [&](const Tensor& x) {
      return x.type.dtype == t.dtype && x.type.axes.size() == t.axes.size() + 1 &&
             std::equal(t.axes.begin(), t.axes.end(), x.type.axes.begin() + 1);
    });
    if (ms.empty()) return nullptr;
    const Tensor& m = *ms[size_t(pick(int64_t(ms.size())))];
    Type vt{{m.type.axes[0]}, t.dtype};
    ExprPtr v = expr(vt, scope, depth - 1);
    if (!v) return nullptr;
    return make("($0 @ " + indexed(m, -1, "") + ")", {v}, t, {m.equation});
  }

  std::string dimCondition(const std::vector<int>& scope) {
    int d = scope[size_t(pick(int64_t(scope.size())))];
    std::string v = kDims[d].var, n = kDims[d].size, k = std::to_string(pick(6));
    switch (pick(5)) {
      case 0:
        return v + " < " + k;
      case 1:
        return v + " >= " + n + " - " + k;
      case 2:
        return v + " % 2 == 0";
      case 3:
        return v + " == " + k;
      default:
        return v + " >= W";
    }
  }

  ExprPtr expr(const Type& t, const std::vector<int>& scope, int depth) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      ExprPtr e = depth <= 0 ? (chance(75) ? read(t, scope) : literal(t)) : compound(t, scope, depth);
      if (e) return e;
    }
    ExprPtr e = read(t, scope);
    return e ? e : fallback(t, scope);
  }

  /// Always possible: a scalar spread over the shape.
  ExprPtr fallback(const Type& t, const std::vector<int>&) {
    if (t.axes.empty()) return literal(t);
    std::string s;
    for (const std::string& a : t.axes) s += (s.empty() ? "" : ", ") + a;
    std::string v = t.dtype == "i32" ? "i32(2)" : t.dtype == "bool" ? "true" : "0.5";
    return make(typed(t, "full([" + s + "], " + v + ")"), {}, t);
  }

  ExprPtr compound(const Type& t, const std::vector<int>& scope, int depth) {
    if (chance(5)) return overDim(t, scope);
    if (chance(6)) return axisGather(t, scope, depth);
    if (chance(6)) return shuffle(t, scope, depth);
    if (t.dtype == "i32") return integer(t, scope, depth);
    if (t.dtype == "bool") return boolean(t, scope, depth);
    if (chance(7)) return gather(t, scope, depth);
    if (chance(7)) return cast(t, scope, depth);
    switch (pick(14)) {
      case 0:
      case 1:
        return scope.empty() ? nullptr : overRange(t, scope);
      case 2:
        return axisReduce(t, scope);
      case 3:
        return contraction(t, scope, depth);
      case 4: {
        static const char* ops[] = {"tanh($0)", "sin($0)",           "abs($0)",
                                    "(-$0)",    "exp(min($0, 1.0))", "sqrt(abs($0) + 0.25)"};
        ExprPtr a = expr(t, scope, depth - 1);
        return a ? make(ops[pick(6)], {a}, t) : nullptr;
      }
      case 5: {
        return scope.empty() ? nullptr : choice(t, scope, depth);
      }
      case 6: {
        if (scope.empty() || !t.axes.empty() || t.dtype != "f32") return nullptr;
        int d = scope[size_t(pick(int64_t(scope.size())))];
        ExprPtr a = expr(t, scope, depth - 1);
        return a ? make("($0 * (" + std::string(kDims[d].var) + " - 1))", {a}, t) : nullptr;
      }
      case 7:
        return read(t, scope);
      default: {
        static const char* ops[] = {"($0 + $1)",   "($0 - $1)",   "($0 * $1)",
                                    "min($0, $1)", "max($0, $1)", "($0 / (1.5 + abs($1)))"};
        ExprPtr a = expr(t, scope, depth - 1), b = expr(t, scope, depth - 1);
        return a && b ? make(ops[pick(6)], {a, b}, t) : nullptr;
      }
    }
  }

  // --- equations
  // ----------------------------------------------------------------------------------------------------------
  void equation(int i) {
    Equation q;
    q.name = "y" + std::to_string(i);
    q.dims = someDims();
    if (chance(10)) q.dims.clear();
    if (chance(50)) q.type.axes.push_back(axisLength());
    if (!q.type.axes.empty() && chance(25)) q.type.axes.push_back(axisLength());
    q.type.dtype = someDType();
    bool recurrent = !q.dims.empty() && q.type.dtype != "bool" && chance(40);
    if (recurrent && isFloat(q.type) && chance(15)) return mutual(std::move(q), i);
    if (!recurrent) {
      std::string left = q.dims.empty() ? q.name : q.name + "[" + dimList(q.dims) + "]";
      left += " : " + shape(q.type);
      if (!q.dims.empty() && chance(20)) {
        std::string c = dimCondition(q.dims);
        q.pieces.push_back({left, " when " + c, expr(q.type, q.dims, 2)});
        q.pieces.push_back({q.name + "[" + dimList(q.dims) + "]", " otherwise", expr(q.type, q.dims, 2)});
      } else {
        q.pieces.push_back({left, "", expr(q.type, q.dims, 3)});
      }
    } else {
      recurrence(q, i);
    }
    Tensor x{q.name, q.dims, q.type, i};
    p_.equations.push_back(std::move(q));
    tensors_.push_back(x);
  }

  /// Two equations that read each other, the first one step back.
  void mutual(Equation q, int i) {
    int d = q.dims[size_t(pick(int64_t(q.dims.size())))];
    std::string v = kDims[d].var;
    Equation r = q;
    r.name = "y" + std::to_string(i + 1);
    auto at = [&](const Equation& e, const std::string& index) {
      std::string s;
      for (int k : e.dims) s += (s.empty() ? "" : ", ") + (k == d ? index : std::string(kDims[k].var));
      return e.name + "[" + s + "]";
    };
    q.pieces.push_back({at(q, v) + " : " + shape(q.type), " when " + v + " < 1", expr(q.type, q.dims, 1)});
    q.pieces.push_back({at(q, v), " otherwise",
                        make("(0.5 * " + at(r, v + "-1") + " + $0)", {expr(q.type, q.dims, 2)}, q.type, {i + 1})});
    std::string back = chance(40) ? "0.25 * " + at(q, "max(0, " + v + "-2)") : "0.5 * " + at(q, v);
    r.pieces.push_back(
        {at(r, v) + " : " + shape(r.type), "", make("(" + back + " - $0)", {expr(q.type, q.dims, 2)}, q.type, {i})});
    for (Equation* e : {&q, &r}) {
      tensors_.push_back({e->name, e->dims, e->type, e == &q ? i : i + 1});
      p_.equations.push_back(std::move(*e));
    }
  }

  /// In the order of `next(b, t)`: from the step before, or the last step of the row before; or from both neighbours.
  bool overBoth(Equation& q, int i) {
    if (q.dims.size() != 2 || !chance(35)) return false;
    std::string all = q.name + "[b, t]", type = " : " + shape(q.type);
    ExprPtr first = expr(q.type, q.dims, 1), row = expr(q.type, q.dims, 1), rest = expr(q.type, q.dims, 2);
    q.pieces.push_back({all + type, " when b < 1 and t < 1", first});
    q.pieces.push_back(
        {all, " when b >= 1 and t < 1", make("(0.5 * " + q.name + "[b-1, T-1] + $0)", {row}, q.type, {i})});
    std::string both = chance(50) ? "(0.5 * " + q.name + "[b, t-1] + $0)"
                                  : "(0.25 * " + q.name + "[b, t-1] + 0.25 * " + q.name + "[max(0, b-1), t-1] + $0)";
    q.pieces.push_back({all, " otherwise", make(both, {rest}, q.type, {i})});
    return true;
  }

  void recurrence(Equation& q, int i) {
    if (isFloat(q.type) && overBoth(q, i)) return;
    int d = q.dims[size_t(pick(int64_t(q.dims.size())))];
    std::string v = kDims[d].var, n = kDims[d].size;
    int64_t k = 1 + pick(3);
    std::string ks = std::to_string(k), all = q.name + "[" + dimList(q.dims) + "]";
    bool forward = chance(65);
    std::string guard = forward ? v + " < " + ks : v + " >= " + n + " - " + ks;
    std::string left = all + " : " + shape(q.type);
    q.pieces.push_back({left, " when " + guard, expr(q.type, q.dims, 1)});
    auto self = [&](const std::string& at) {
      std::string s;
      for (int e : q.dims) s += (s.empty() ? "" : ", ") + (e == d ? at : std::string(kDims[e].var));
      return q.name + "[" + s + "]";
    };
    ExprPtr other = expr(q.type, q.dims, 2);
    std::string step = std::to_string(1 + pick(k));
    std::string rec;
    if (q.type.dtype == "i32") {
      rec = "(" + self(forward ? v + "-" + step : v + "+" + step) + " * 3) % 17";
      q.pieces.push_back({all, " otherwise", make("(((" + rec + ") + $0) % 101)", {other}, q.type, {i})});
      return;
    }
    switch (pick(4)) {
      case 0:
        rec = "0.25 * sum(" + self(forward ? "max(0, " + v + "-3) : " + v : v + "+1 : min(" + v + "+4, " + n + ")") +
              ", axis = 0)";
        break;
      case 1:
        rec = "tanh(" + self(forward ? v + "-" + step : v + "+" + step) + " * 0.75)";
        break;
      case 2:
        rec = "0.5 * " + self(forward ? "(" + v + "-1) // 2" : v + "+1");
        break;
      default:
        rec = "0.5 * " + self(forward ? v + "-" + step : v + "+" + step);
        break;
    }
    q.pieces.push_back({all, " otherwise", make("(" + rec + " + $0)", {other}, q.type, {i})});
  }

  uint64_t state_;
  int dims_ = 1;
  bool option_ = false;
  Program p_;
  std::vector<Tensor> tensors_;
};

std::string render(const ExprPtr& e) {
  std::string out;
  for (size_t i = 0; i < e->text.size(); ++i) {
    if (e->text[i] == '$' && i + 1 < e->text.size()) {
      out += render(e->args[size_t(e->text[++i] - '0')]);
    } else {
      out += e->text[i];
    }
  }
  return out;
}

void readsOf(const ExprPtr& e, std::set<int>& out) {
  out.insert(e->reads.begin(), e->reads.end());
  for (const ExprPtr& a : e->args) readsOf(a, out);
}

size_t nodes(const ExprPtr& e) {
  size_t n = 1 + e->text.size() / 16;
  for (const ExprPtr& a : e->args) n += nodes(a);
  return n;
}

std::set<int> needed(const Program& p) {
  std::set<int> need(p.outputs.begin(), p.outputs.end());
  for (size_t before = 0; before != need.size();) {
    before = need.size();
    for (int i = int(p.equations.size()) - 1; i >= 0; --i)
      if (need.count(i))
        for (const Piece& q : p.equations[size_t(i)].pieces) readsOf(q.value, need);
  }
  return need;
}

/// `e` with the subtree at pre-order position `at` replaced by `f` of it; null if `f` has nothing to offer.
ExprPtr replaceAt(const ExprPtr& e, int& at, const std::function<ExprPtr(const ExprPtr&)>& f) {
  if (at-- == 0) return f(e);
  for (size_t i = 0; i < e->args.size(); ++i) {
    ExprPtr a = replaceAt(e->args[i], at, f);
    if (at >= 0) continue;
    if (!a) return nullptr;
    auto copy = std::make_shared<Expr>(*e);
    copy->args[i] = a;
    return copy;
  }
  return e;
}

int count(const ExprPtr& e) {
  int n = 1;
  for (const ExprPtr& a : e->args) n += count(a);
  return n;
}

}  // namespace

std::string Program::text() const {
  std::set<int> need = needed(*this);
  std::string s = header;
  for (size_t i = 0; i < equations.size(); ++i) {
    if (!need.count(int(i))) continue;
    for (const Piece& p : equations[i].pieces) s += p.left + " = " + render(p.value) + p.guard + "\n";
  }
  for (int o : outputs) s += "output " + equations[size_t(o)].name + "\n";
  for (const std::string& e : effects) s += e + "\n";
  return s;
}

size_t Program::weight() const {
  size_t n = outputs.size() * 4 + effects.size() * 4;
  for (int i : needed(*this)) {
    if (i < 0) continue;
    for (const Piece& p : equations[size_t(i)].pieces) n += 4 + nodes(p.value);
  }
  for (const auto& [name, v] : sizes) n += size_t(v);
  return n;
}

Program generate(uint64_t seed) { return Generator(seed).run(); }

std::map<std::string, std::string> forces(const Program& p, uint64_t seed) {
  std::map<std::string, std::string> out;
  std::set<int> need = needed(p);
  uint64_t r = seed * 0xD1342543DE82EF95ull;
  auto pick = [&](uint64_t n) {
    r = r * 6364136223846793005ull + 1442695040888963407ull;
    return (r >> 33) % n;
  };
  static const char* stores[] = {"full", "ring"};
  static const char* layouts[] = {"pad16", "transposed", "pad3"};
  static const char* places[] = {"host", "kernel"};
  static const char* tiles[] = {"1", "2", "3", "5"};
  for (int i : need) {
    if (i < 0 || pick(3)) continue;
    const std::string& name = p.equations[size_t(i)].name;
    bool output = std::find(p.outputs.begin(), p.outputs.end(), i) != p.outputs.end();
    if (output) continue;
    if (pick(2)) {
      out["store." + name] = stores[pick(4) == 0];
    } else {
      out["layout." + name] = layouts[pick(3)];
    }
  }
  if (!pick(3)) out["tile.t"] = tiles[pick(4)];
  if (!pick(3)) out["place.t"] = places[pick(2)];
  return out;
}

std::vector<Program> shrinkSteps(const Program& p) {
  std::vector<Program> out;
  if (!p.effects.empty()) {
    Program q = p;
    q.effects.clear();
    out.push_back(q);
  }
  if (p.outputs.size() > 1)
    for (size_t i = 0; i < p.outputs.size(); ++i) {
      Program q = p;
      q.outputs = {p.outputs[i]};
      out.push_back(q);
    }
  for (int i : needed(p)) {
    if (i < 0) continue;
    if (p.outputs != std::vector<int>{i}) {
      Program q = p;
      q.outputs = {i};
      out.push_back(q);
    }
    for (size_t k = 0; k < p.equations[size_t(i)].pieces.size(); ++k) {
      const ExprPtr& v = p.equations[size_t(i)].pieces[k].value;
      for (int at = 0; at < count(v); ++at) {
        auto attempt = [&](const std::function<ExprPtr(const ExprPtr&)>& f) {
          int where = at;
          ExprPtr e = replaceAt(v, where, f);
          if (!e) return;
          Program q = p;
          q.equations[size_t(i)].pieces[k].value = e;
          out.push_back(q);
        };
        for (size_t a = 0; a < 2; ++a)
          attempt([&](const ExprPtr& e) {
            return a < e->args.size() && e->args[a]->type == e->type ? e->args[a] : nullptr;
          });
        attempt([&](const ExprPtr& e) -> ExprPtr {
          std::string one = e->type.dtype == "bool" ? "true" : e->type.dtype + "(1)";
          if (!e->type.axes.empty() || e->text == one) return nullptr;
          auto c = std::make_shared<Expr>();
          c->text = one;
          c->type = e->type;
          return c;
        });
      }
    }
  }
  for (size_t i = 0; i < p.sizes.size(); ++i)
    for (int64_t v : {int64_t(1), p.sizes[i].second / 2, p.sizes[i].second - 1}) {
      if (v < 1 || v >= p.sizes[i].second) continue;
      Program q = p;
      q.sizes[i].second = v;
      out.push_back(q);
    }
  std::sort(out.begin(), out.end(), [](const Program& a, const Program& b) { return a.weight() < b.weight(); });
  return out;
}

}  // namespace tempo::fuzz
