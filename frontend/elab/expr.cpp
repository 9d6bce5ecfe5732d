// Expressions to values.
#include <algorithm>
#include <limits>

#include "elab/elaborator.hpp"

namespace tempo::elab {

using K = ast::Expr::Kind;

Binding* Elaborator::lookup(const std::string& name, const ScopePtr& s) {
  for (Scope* p = s.get(); p; p = p->parent.get()) {
    auto it = p->names.find(name);
    if (it != p->names.end()) return &it->second;
  }
  return nullptr;
}

std::string closest(const std::string& name, const std::vector<std::string>& known) {
  std::string best;
  size_t bestDistance = 3;
  for (auto& k : known) {
    std::vector<size_t> row(k.size() + 1);
    for (size_t j = 0; j <= k.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= k.size(); ++j) {
        size_t up = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (name[i - 1] != k[j - 1])});
        diagonal = up;
      }
    }
    if (row.back() < bestDistance && row.back() < std::max(name.size(), k.size())) {
      bestDistance = row.back();
      best = k;
    }
  }
  return best;
}

void Elaborator::unknownName(const std::string& name, Span where, const ScopePtr& s) {
  std::vector<std::string> known;
  for (Scope* p = s.get(); p; p = p->parent.get()) {
    for (auto& [n, b] : p->names) known.push_back(n);
  }
  for (auto& [n, b] : builtins()) known.push_back(n);
  if (program_ && program_->names.count(name) && program_->names[name].kind == Binding::Kind::Dim) {
    fail("E0210", where, "`" + name + "` is a dim of the program, not of this function", "not a parameter in brackets");
  }
  std::string near = closest(name, known);
  fail("E0201", where, "no name `" + name + "` is known here", "not found", near.empty() ? "" : "did you mean `" + near + "`?");
}

Value Elaborator::bindingValue(Binding& b, const std::string& name, Span where) {
  switch (b.kind) {
    case Binding::Kind::Value: {
      if (b.value.kind == Value::Kind::Array && b.value.array->ix && b.value.array->loc.id == 0 && where.end) {
        auto a = std::make_shared<Array>(*b.value.array);
        a->loc = loc(where);
        return Value::of(a);
      }
      return b.value;
    }
    case Binding::Kind::Let: return eval(*b.let, b.letScope);
    case Binding::Kind::Dim: return Value::of(fromIx(Ix(b.dim), {b.dim}, loc(where)));
    case Binding::Kind::Tensor: return Value::of(readEntry(*b.entry, where));
    case Binding::Kind::Lazy: return force(*b.lazy, b, where);
  }
  return {};
}

Value Elaborator::evalName(const ast::Expr& e, const ScopePtr& s) {
  if (Binding* b = lookup(e.text, s)) return bindingValue(*b, e.text, e.span);
  if (e.text == "zeros") return Value::of(fromIx(0, {}, loc(e.span)));
  if (e.text == "ones") return Value::of(fromIx(1, {}, loc(e.span)));
  if (e.text == "inf") return Value::of(number(std::numeric_limits<double>::infinity(), loc(e.span)));
  if (e.text == "nan") return Value::of(number(std::numeric_limits<double>::quiet_NaN(), loc(e.span)));
  if (e.text == "pi") return Value::of(number(3.14159265358979323846, loc(e.span)));
  if (isBuiltin(e.text)) {
    Value v;
    v.kind = Value::Kind::Callable;
    auto c = std::make_shared<Callable>();
    c->builtin = e.text;
    v.callable = c;
    return v;
  }
  // In a function over dim `t`, `T` is its size.
  std::string lower = e.text;
  std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
  if (lower != e.text) {
    Binding* b = lookup(lower, s);
    if (b && b->kind == Binding::Kind::Dim) return Value::of(fromIx(dimSize(b->dim), {b->dim}, loc(e.span)));
  }
  unknownName(e.text, e.span, s);
}

Value Elaborator::evalMember(const ast::Expr& e, const ScopePtr& s) {
  const ast::Expr& base = *e.args[0];
  if (base.kind == K::NameRef) {
    Binding* b = lookup(base.text, s);
    if (b && b->kind == Binding::Kind::Dim) {
      if (e.text == "size") return Value::of(fromIx(dimSize(b->dim), {b->dim}, loc(e.span)));
      if (e.text == "end") fail("E0208", e.span, "`" + base.text + ".end` needs `until`, which is not in this version");
      fail("E0207", e.span, "a dim has no member `" + e.text + "`", "", "`" + base.text + ".size` is its size");
    }
  }
  Value v = eval(base, s);
  if (v.kind == Value::Kind::Namespace) {
    auto it = v.scope->names.find(e.text);
    if (it != v.scope->names.end()) return bindingValue(it->second, e.text, e.span);
    std::vector<std::string> known;
    for (auto& [n, b] : v.scope->names) known.push_back(n);
    std::string near = closest(e.text, known);
    fail("E0207", e.span, "the module has no `" + e.text + "`", "", near.empty() ? "" : "did you mean `" + near + "`?");
  }
  if (v.kind == Value::Kind::Instance) return member(*v.instance, e.text, e.span);
  if (v.kind == Value::Kind::Array && v.array->unknown) return v;
  fail("E0207", e.span, "no member `" + e.text + "`: this is neither a module nor an instance", "");
}

Arr Elaborator::asArray(const Value& v, Span where) {
  if (v.kind == Value::Kind::Array) return v.array;
  if (v.kind == Value::Kind::List && !v.items.empty()) {
    // A list of numbers, or of lists of them, written where a tensor is needed.
    Args args;
    Value items = v;
    for (auto& i : items.items) i = Value::of(asArray(i, where));
    args.positional.push_back(items);
    return bStack(args, where).array;
  }
  const char* what = v.kind == Value::Kind::Range      ? "a range"
                     : v.kind == Value::Kind::String   ? "a string"
                     : v.kind == Value::Kind::List     ? "a list"
                     : v.kind == Value::Kind::Tuple    ? "a tuple"
                     : v.kind == Value::Kind::Instance ? "an instance of a module"
                     : v.kind == Value::Kind::Callable ? "a function"
                                                       : "a module";
  fail("E0420", where, std::string("a tensor is needed here, and this is ") + what, what);
}

Arr Elaborator::evalArray(const ast::Expr& e, const ScopePtr& s) { return asArray(eval(e, s), e.span); }

Ix Elaborator::evalIx(const ast::Expr& e, const ScopePtr& s, const char* what) {
  Arr a = settled(evalArray(e, s));
  if (a->ix) return *a->ix;
  if (a->number && a->weak == Weak::Float) fail("E0408", e.span, std::string(what) + " must be an integer", "not an integer");
  fail("E0409", e.span, std::string(what) + " must be made of dims, sizes and integers", "depends on the data of a tensor");
}

int64_t Elaborator::evalInt(const ast::Expr& e, const ScopePtr& s, const char* what) {
  Ix v = evalIx(e, s, what);
  if (!v.asConst()) v = specialise(v, e.span);
  return *v.asConst();
}

Cond Elaborator::evalCond(const ast::Expr& e, const ScopePtr& s) {
  Arr a = evalArray(e, s);
  if (a->cond) return *a->cond;
  if (a->dtype == DType::Bool && a->number) return Cond::truth(*a->number != 0);
  fail("E0413", e.span, "this condition must be made of dims, sizes and integers", "depends on the data of a tensor");
}

Value Elaborator::evalBinary(const ast::Expr& e, const ScopePtr& s) {
  Value va = eval(*e.args[0], s), vb = eval(*e.args[1], s);
  if (e.text == "+" && va.kind == Value::Kind::List && vb.kind == Value::Kind::List) {
    va.items.insert(va.items.end(), vb.items.begin(), vb.items.end());
    return va;
  }
  if (va.kind == Value::Kind::String && vb.kind == Value::Kind::String) {
    if (e.text == "==" || e.text == "!=") return Value::of(truth(Cond::truth((va.text == vb.text) == (e.text == "=="))));
    if (e.text == "+") {
      va.text += vb.text;
      return va;
    }
  }
  Arr a = asArray(va, e.args[0]->span), b = asArray(vb, e.args[1]->span);
  if (e.text == "@") return Value::of(matmul(a, b, e.span));
  // `x ** 2` stays exact and of x's own kind.
  if (e.text == "**" && b->ix && b->ix->asConst() == 2 && !a->number) return Value::of(elementwise(Op::Mul, {a, a}, e.span));
  auto op = findOp(e.text, 2);
  if (!op) fail("E0208", e.span, "the operator `" + e.text + "` is not in this version");
  return Value::of(elementwise(*op, {a, b}, e.span));
}

Value Elaborator::merge(const Arr& c, const Value& a, const Value& b, Span where) {
  if (c->cond && c->cond->isTrue()) return a;
  if (c->cond && c->cond->isFalse()) return b;
  if (a.kind == Value::Kind::Array && a.array->unknown && b.kind != Value::Kind::Array) return a;
  if (b.kind == Value::Kind::Array && b.array->unknown && a.kind != Value::Kind::Array) return b;
  if (a.kind == Value::Kind::Array && b.kind == Value::Kind::Array) return Value::of(selectArray(c, a.array, b.array, where));
  bool tuples = (a.kind == Value::Kind::Tuple || a.kind == Value::Kind::List) && a.kind == b.kind;
  if (!tuples || a.items.size() != b.items.size()) fail("E0215", where, "the branches of `if` have different structures");
  Value out = a;
  for (size_t k = 0; k < a.items.size(); ++k) out.items[k] = merge(c, a.items[k], b.items[k], where);
  return out;
}

Value Elaborator::evalIf(const ast::Expr& e, const ScopePtr& s) {
  Arr c = evalArray(*e.args[0], s);
  if (!c->cond && !c->unknown && c->dtype != DType::Bool) {
    fail("E0414", e.args[0]->span, "the condition of `if` must be bool", shapeText(*c));
  }
  if (c->cond && c->cond->isTrue()) return eval(*e.args[1], s);
  if (c->cond && c->cond->isFalse()) return eval(*e.args[2], s);
  if (!c->cond && !c->unknown && !c->access) c = materialise(c, "if");
  Saved saved(*this);
  Cond outer = cx_.active;
  if (c->cond) cx_.active = outer && *c->cond;
  Value a = eval(*e.args[1], s);
  if (c->cond) cx_.active = outer && !*c->cond;
  Value b = eval(*e.args[2], s);
  cx_.active = outer;
  return merge(c, a, b, e.span);
}

Value Elaborator::evalList(const ast::Expr& e, const ScopePtr& s) {
  Value out;
  out.kind = e.kind == K::Tuple ? Value::Kind::Tuple : Value::Kind::List;
  if (e.binders.empty()) {
    for (auto& a : e.args) out.items.push_back(eval(*a, s));
    return out;
  }
  const auto& b = e.binders[0];
  Value over = eval(*b.lo, s);
  if (over.kind != Value::Kind::List) fail("E0214", b.lo->span, "a list known at compile time is needed here");
  for (auto& item : over.items) {
    auto inner = std::make_shared<Scope>();
    inner->parent = s;
    inner->names[b.var.text].value = item;
    out.items.push_back(eval(*e.args[0], inner));
  }
  return out;
}

Arr Elaborator::bindVariable(const ast::Expr::Binder& b, const ScopePtr& outer, const ScopePtr& inner, Sym& var, Ix& lo,
                             Ix& hi) {
  Arr l, h, step = b.step ? settled(evalArray(*b.step, outer)) : nullptr;
  if (b.lo && !b.hi) {
    Value v = eval(*b.lo, outer);
    if (v.kind != Value::Kind::Range) fail("E0409", b.lo->span, "a range `lo : hi` is needed here");
    l = v.range->lo;
    h = v.range->hi;
    step = v.range->step;
  } else {
    l = settled(evalArray(*b.lo, outer));
    h = settled(evalArray(*b.hi, outer));
  }
  if (!l->ix || !h->ix) fail("E0409", b.var.span, "the bounds of `" + b.var.text + "` must be made of dims, sizes and integers");
  lo = *l->ix;
  hi = *h->ix;
  var = uniqueVar(b.var.text);
  Ix value = Ix(var);
  if (step && !step->ix) fail("E0409", b.var.span, "the step of `" + b.var.text + "` must be made of sizes and integers");
  IndexValue stride;
  stride.step = step;
  stride.span = b.var.span;
  int64_t by = stepOf(stride);
  if (by != 1) {
    // The variable itself counts the steps taken.
    value = lo + Ix(by) * Ix(var);
    hi = rangeLength(lo, hi, by);
    lo = 0;
  }
  BoundVar bv{lo, hi, {}, {}};
  std::set<Sym> mention = mentionOf(l);
  for (Sym m : mentionOf(h)) mention.insert(m);
  std::set<Sym> named = mention.size() == 1 ? mention : std::set<Sym>{};
  if (!named.empty() && by == 1) bv.standsFor = *named.begin();
  boundVars_[var] = bv;
  Arr a = fromIx(value, named);
  inner->names[b.var.text].value = Value::of(a);
  return a;
}

Value Elaborator::evalComprehension(const ast::Expr& e, const ScopePtr& s) {
  auto inner = std::make_shared<Scope>();
  inner->parent = s;
  std::vector<RVar> vars;
  for (auto& b : e.binders) {
    Sym v;
    Ix lo, hi;
    bindVariable(b, inner, inner, v, lo, hi);
    vars.push_back({v, lo, hi});
  }
  Arr body;
  {
    Saved saved(*this);
    for (auto& v : vars) {
      cx_.active = cx_.active && Cond::range(v.var, v.lo, v.hi);
      cx_.bound.push_back(v.var);
    }
    body = evalArray(*e.args[0], inner);
  }
  if (auto r = findReduce(e.text)) {
    if (vars.size() > 1 && (*r == Reduce::ArgMax || *r == Reduce::ArgMin)) {
      fail("E0208", e.span, "`" + e.text + "` over two variables is not in this version");
    }
    return Value::of(reduceVars(*r, body, vars, nullptr, e.text, e.span));
  }
  if (e.text == "mean") {
    if (!body->unknown) body = isFloat(body->dtype) && body->weak != Weak::Int ? strong(body) : cast(body, DType::F32);
    std::vector<Ix> lengths;
    for (auto& v : vars) lengths.push_back(rangeLength(v.lo, v.hi, 1));
    return Value::of(meanOf(reduceVars(Reduce::Sum, body, vars, nullptr, "mean", e.span), lengths, nullptr, e.span));
  }
  if (vars.size() != 1) fail("E0208", e.span, "`" + e.text + "` takes one bound variable");
  // `stack`: the bound variable becomes the leading axis.
  RVar v = vars[0];
  Ix length = rangeLength(v.lo, v.hi, 1);
  Arr stacked;
  if (body->unknown) {
    std::set<Sym> dims = body->dims;
    dims.erase(v.var);
    stacked = unknownArray(dims);
  } else {
    std::vector<Ix> shape = {length};
    for (auto& n : body->shape) {
      if (n.uses(v.var)) fail("E0407", e.span, "the rows stacked have different lengths", "length `" + n.str() + "`");
      shape.push_back(n);
    }
    std::set<Sym> dims = body->dims;
    dims.erase(v.var);
    for (const Ix& bound : {v.lo, v.hi}) {
      for (Sym d : bound.vars()) {
        if (isDim(d) || boundVars_.count(d)) dims.insert(d);
      }
    }
    Gen gen = [this, body, v](const std::vector<Ix>& pos, DType want) {
      std::vector<Ix> rest;
      Subst sub;
      sub[v.var] = v.lo + pos[0];
      for (size_t k = 1; k < pos.size(); ++k) {
        Sym h = hole();
        rest.push_back(h);
        sub[h] = pos[k];
      }
      return ex::subst(body->gen(rest, want), sub);
    };
    stacked = composite(body->dtype, body->weak, dims, shape, gen);
  }
  if (e.text == "stack") return Value::of(stacked);
  Binding* b = lookup(e.text, s);
  if (!b) unknownName(e.text, e.span, s);
  Args args;
  args.call = &e;
  args.scope = s;
  args.positional.push_back(Value::of(stacked));
  args.spans.push_back(e.args[0]->span);
  args.named["axis"] = Value::of(fromIx(0));
  return apply(bindingValue(*b, e.text, e.span), args, e.span);
}

Value Elaborator::eval(const ast::Expr& e, const ScopePtr& s) {
  switch (e.kind) {
    case K::Number:
      return Value::of(e.isFloat ? number(e.number, loc(e.span)) : fromIx(Ix(e.integer), {}, loc(e.span)));
    case K::String: {
      Value v;
      v.kind = Value::Kind::String;
      v.text = e.text;
      return v;
    }
    case K::Bool: return Value::of(truth(Cond::truth(e.number != 0), loc(e.span)));
    case K::NameRef: return evalName(e, s);
    case K::Unary: {
      Arr a = evalArray(*e.args[0], s);
      if (e.text == "-" && a->number && !a->ix) return Value::of(number(-*a->number, loc(e.span)));
      if (e.text == "+") return Value::of(a);
      return Value::of(elementwise(e.text == "not" ? Op::Not : Op::Neg, {a}, e.span));
    }
    case K::Binary: return evalBinary(e, s);
    case K::If: return evalIf(e, s);
    case K::Call: return evalCall(e, s);
    case K::Index: return evalIndex(e, s);
    case K::Member: return evalMember(e, s);
    case K::Tuple:
    case K::List: return evalList(e, s);
    case K::Comprehension: return evalComprehension(e, s);
    case K::Block: return evalBlock(e, s, cx_.path);
    case K::Range: {
      Value v;
      v.kind = Value::Kind::Range;
      v.range = std::make_shared<RangeValue>();
      v.range->lo = settled(evalArray(*e.args[0], s));
      v.range->hi = settled(evalArray(*e.args[1], s));
      if (e.args.size() > 2 && e.args[2]) v.range->step = settled(evalArray(*e.args[2], s));
      return v;
    }
  }
  return {};
}

}  // namespace tempo::elab
