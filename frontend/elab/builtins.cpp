// Builtin functions: the op table's scalar operations, casts, reductions. Everything that can be written in Tempo is in the
// prelude instead.
#include <algorithm>

#include "elab/elaborator.hpp"

namespace tempo::elab {

namespace {

bool isWord(const std::string& s) { return !s.empty() && std::isalpha(static_cast<unsigned char>(s[0])); }

}  // namespace

const std::map<std::string, Elaborator::Builtin>& Elaborator::builtins() {
  using E = Elaborator;
  static const std::map<std::string, Builtin> table = {
      {"stack", &E::bStack},       {"concat", &E::bConcat},     {"transpose", &E::bTranspose}, {"reshape", &E::bReshape},
      {"zeros", &E::bZeros},       {"ones", &E::bOnes},         {"full", &E::bFull},           {"arange", &E::bArange},
      {"steps", &E::bSteps},       {"eye", &E::bEye},           {"shape", &E::bShape},         {"len", &E::bLen},
      {"sort", &E::bSort},         {"argsort", &E::bArgsort},   {"stop", &E::bStop},           {"map", &E::bMap},
      {"uniform", &E::bUniform},   {"normal", &E::bNormal},     {"bernoulli", &E::bBernoulli}, {"categorical", &E::bCategorical},
      {"randint", &E::bRandint},   {"permutation", &E::bPermutation}, {"broadcast", &E::bBroadcast},
  };
  return table;
}

bool Elaborator::isBuiltin(const std::string& name) const {
  if (builtins().count(name) || name == "mean" || parseDType(name)) return true;
  if (!isWord(name) || name == "and" || name == "or" || name == "not") return false;
  return findOp(name, 1) || findOp(name, 2) || findReduce(name);
}

const Value* Elaborator::argValue(Args& a, size_t i, const std::string& name) const {
  if (i < a.positional.size()) return &a.positional[i];
  auto it = a.named.find(name);
  return it == a.named.end() ? nullptr : &it->second;
}

Arr Elaborator::argument(Args& a, size_t i, const std::string& name, Span where) {
  const Value* v = argValue(a, i, name);
  if (!v) fail("E0203", where, "the argument `" + name + "` is missing");
  return asArray(*v, i < a.spans.size() ? a.spans[i] : where);
}

Arr Elaborator::optionalArgument(Args& a, size_t i, const std::string& name) {
  const Value* v = argValue(a, i, name);
  if (!v) return nullptr;
  return asArray(*v, a.call ? a.call->span : Span{});
}

void Elaborator::expectArgs(Args& a, size_t lo, size_t hi, const std::string& what, std::initializer_list<const char*> names,
                            Span where) {
  size_t n = a.positional.size();
  if (n < lo || n > hi) {
    std::string range = lo == hi ? std::to_string(lo) : std::to_string(lo) + " to " + std::to_string(hi);
    if (n > hi || a.named.empty()) {
      fail("E0203", where, "`" + what + "` takes " + range + " arguments, " + std::to_string(n) + " given");
    }
  }
  for (auto& [k, v] : a.named) {
    if (std::none_of(names.begin(), names.end(), [&](const char* s) { return k == s; })) {
      fail("E0204", a.namedSpans.count(k) ? a.namedSpans[k] : where, "`" + what + "` has no parameter `" + k + "`");
    }
  }
}

size_t Elaborator::axisNumber(const Value& v, const Arr& x, Span where) {
  Arr a = asArray(v, where);
  if (!a->ix || !a->ix->asConst()) fail("E0214", where, "an axis must be known at compile time");
  int64_t k = *a->ix->asConst(), n = static_cast<int64_t>(x->rank());
  if (k < -n || k >= n) {
    fail("E0412", where, "no axis " + std::to_string(k) + " in " + shapeText(*x), "it has " + std::to_string(n) + " axes");
  }
  return static_cast<size_t>(k < 0 ? k + n : k);
}

std::vector<size_t> Elaborator::axisArgument(Args& a, const Arr& x, bool allByDefault, Span where) {
  std::vector<size_t> axes;
  auto it = a.named.find("axis");
  if (it == a.named.end()) {
    if (allByDefault) {
      for (size_t k = 0; k < x->rank(); ++k) axes.push_back(k);
    } else if (x->rank() > 0) {
      axes.push_back(x->rank() - 1);
    }
    return axes;
  }
  const Value& v = it->second;
  if (v.kind == Value::Kind::Tuple || v.kind == Value::Kind::List) {
    for (auto& i : v.items) axes.push_back(axisNumber(i, x, where));
  } else {
    axes.push_back(axisNumber(v, x, where));
  }
  return axes;
}

std::vector<Ix> Elaborator::shapeArgument(const Value& v, Span where) {
  std::vector<Ix> shape;
  auto take = [&](const Value& i) {
    Arr a = asArray(i, where);
    if (!a->ix) fail("E0409", where, "a shape must be made of sizes and integers");
    shape.push_back(*a->ix);
  };
  if (v.kind == Value::Kind::List || v.kind == Value::Kind::Tuple) {
    for (auto& i : v.items) take(i);
  } else {
    take(v);
  }
  return shape;
}

/// `sum` divided by the product of the lengths; where one of them is 0, `init`, without which that is an error.
Arr Elaborator::meanOf(const Arr& sum, const std::vector<Ix>& lengths, const Arr& init, Span where) {
  if (sum->unknown) return sum;
  Arr count = fromIx(1);
  Cond empty = Cond::truth(false);
  for (auto& n : lengths) {
    count = elementwise(Op::Mul, {count, fromIx(n)}, where);
    empty = empty || Cond::eq0(n);
  }
  if (!init && sum->access) needNonEmpty_.insert(sum->access->node.v);
  Arr mean = elementwise(Op::Div, {sum, count}, where);
  return init ? selectArray(truth(empty), init, mean, where) : mean;
}

/// `sum(x, over = (b, t in 0 : T-1))`: reduces dims.
Arr Elaborator::reduceOver(const std::string& name, const Arr& x0, Args& args, const Arr& init, Span where) {
  Arr x = x0;
  std::vector<RVar> vars;
  std::vector<Ix> lengths;
  Subst all;
  for (auto& item : args.call->over) {
    Binding* b = lookup(item.dim.text, args.scope);
    if (!b || b->kind != Binding::Kind::Dim) fail("E0219", item.dim.span, "`" + item.dim.text + "` is no dim", "a dim is needed");
    if (!x->unknown && !x->dims.count(b->dim)) {
      fail("E0410", item.dim.span, "the value does not vary along `" + item.dim.text + "`", "not among its dims");
    }
    RVar r;
    r.lo = item.lo ? evalIx(*item.lo, args.scope, "a bound of `over`") : Ix(0);
    r.hi = item.hi ? evalIx(*item.hi, args.scope, "a bound of `over`") : dimSize(b->dim);
    r.var = uniqueVar(b->dim.name());
    all[b->dim] = Ix(r.var);
    vars.push_back(r);
    lengths.push_back(rangeLength(r.lo, r.hi, 1));
  }
  if (x->unknown) {
    std::set<Sym> dims = x->dims;
    for (auto& [d, r] : all) dims.erase(d);
    return unknownArray(dims);
  }
  for (auto& n : x->shape) {
    for (auto& [d, r] : all) {
      if (n.uses(d)) fail("E0407", where, "the values reduced have lengths that depend on `" + d.name() + "`", "length `" + n.str() + "`");
    }
  }
  // The variables count as bound while the value is formed, then the reduction takes them away.
  for (auto& r : vars) boundVars_[r.var] = {r.lo, r.hi, {}, {}};
  Arr inner = substArray(strong(x), all);
  Arr out;
  if (name == "mean") {
    if (!isFloat(inner->dtype)) inner = cast(inner, DType::F32);
    out = meanOf(reduceVars(Reduce::Sum, inner, vars, nullptr, "mean", where), lengths, init, where);
  } else {
    out = reduceVars(*findReduce(name), inner, vars, init, name, where);
  }
  for (auto& r : vars) boundVars_.erase(r.var);
  return out;
}

Value Elaborator::reduction(const std::string& name, Args& args, Span where) {
  Arr init;
  if (auto it = args.named.find("init"); it != args.named.end()) init = asArray(it->second, where);
  expectArgs(args, 1, 1, name, {"axis", "keep", "init"}, where);
  Arr x = argument(args, 0, "x", where);
  if (args.call && args.call->kind == ast::Expr::Kind::Call && !args.call->over.empty()) {
    if (args.named.count("axis")) fail("E0203", where, "`axis` and `over` do not go together");
    return Value::of(reduceOver(name, x, args, init, where));
  }
  if (x->unknown) return Value::of(x);
  bool keep = false;
  if (auto it = args.named.find("keep"); it != args.named.end()) {
    Arr k = asArray(it->second, where);
    if (!k->cond) fail("E0214", where, "`keep` must be true or false");
    keep = k->cond->isTrue();
  }
  auto r = findReduce(name);
  bool arg = r && (*r == Reduce::ArgMax || *r == Reduce::ArgMin);
  auto axes = axisArgument(args, x, !arg, where);
  if (arg && axes.size() != 1) fail("E0412", where, "`" + name + "` needs one axis", shapeText(*x));
  if (name != "mean") return Value::of(reduceAxes(*r, x, axes, keep, init, name, where));
  std::vector<Ix> lengths;
  for (size_t k : axes) lengths.push_back(x->shape[k]);
  x = strong(x);
  if (!isFloat(x->dtype)) x = cast(x, DType::F32);
  if (axes.empty()) return Value::of(x);
  return Value::of(meanOf(reduceAxes(Reduce::Sum, x, axes, keep, nullptr, "mean", where), lengths, init, where));
}

Value Elaborator::callBuiltin(const std::string& name, Args& args, Span where) {
  auto it = builtins().find(name);
  if (it != builtins().end()) return (this->*it->second)(args, where);
  if (auto t = parseDType(name)) {
    expectArgs(args, 1, 1, name, {}, where);
    return Value::of(cast(argument(args, 0, "x", where), *t));
  }
  bool minmax = name == "min" || name == "max";
  if (minmax && args.positional.size() >= 2) {
    Arr out = argument(args, 0, "x", where);
    for (size_t k = 1; k < args.positional.size(); ++k) {
      out = elementwise(name == "min" ? Op::Min : Op::Max, {out, argument(args, k, "x", where)}, where);
    }
    return Value::of(out);
  }
  if (findReduce(name) || name == "mean") return reduction(name, args, where);
  size_t n = findOp(name, 1) ? 1 : 2;
  expectArgs(args, n, n, name, {}, where);
  std::vector<Arr> in;
  for (size_t k = 0; k < n; ++k) in.push_back(argument(args, k, "x", where));
  return Value::of(elementwise(*findOp(name, static_cast<int>(n)), in, where));
}

Value Elaborator::bStop(Args& a, Span where) {
  expectArgs(a, 1, 1, "stop", {}, where);
  return a.positional.at(0);
}

Value Elaborator::mapStructures(const Value& f, const std::vector<Value>& items, Args& args, Span where) {
  const Value& first = items[0];
  if (first.kind == Value::Kind::Tuple || first.kind == Value::Kind::List) {
    Value out = first;
    for (size_t k = 0; k < first.items.size(); ++k) {
      std::vector<Value> parts;
      for (auto& i : items) {
        if (i.kind != first.kind || i.items.size() != first.items.size()) {
          fail("E0215", where, "the structures given to `map` differ");
        }
        parts.push_back(i.items[k]);
      }
      out.items[k] = mapStructures(f, parts, args, where);
    }
    return out;
  }
  if (first.kind == Value::Kind::Instance) fail("E0208", where, "`map` over an instance is not in this version");
  Args inner;
  inner.positional = items;
  inner.spans.assign(items.size(), where);
  inner.scope = args.scope;
  return apply(f, inner, where);
}

Value Elaborator::bMap(Args& a, Span where) {
  if (a.positional.size() < 2) fail("E0203", where, "`map` takes a function and at least one structure");
  return mapStructures(a.positional[0], {a.positional.begin() + 1, a.positional.end()}, a, where);
}

}  // namespace tempo::elab
