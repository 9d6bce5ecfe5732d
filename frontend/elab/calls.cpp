// Calls: hygienic inlining of functions, blocks, instances of modules.
#include <algorithm>

#include "elab/elaborator.hpp"

namespace tempo::elab {

int countUses(const ast::Expr& e, const std::string& name) {
  int n = e.kind == ast::Expr::Kind::NameRef && e.text == name ? 1 : 0;
  auto add = [&](const ast::ExprPtr& p) {
    if (p) n += countUses(*p, name);
  };
  for (auto& a : e.args) add(a);
  for (auto& a : e.callArgs) add(a.value);
  for (auto& o : e.over) {
    add(o.lo);
    add(o.hi);
  }
  for (auto* list : {&e.indices, &e.axisIndices}) {
    for (auto& i : *list) {
      add(i.lo);
      add(i.hi);
      add(i.step);
      add(i.withinLo);
      add(i.withinHi);
    }
  }
  for (auto& b : e.binders) {
    add(b.lo);
    add(b.hi);
  }
  for (auto& s : e.body) {
    add(s->value);
    add(s->when);
    for (auto& t : s->targets) {
      for (auto& i : t.indices) add(i.lo);
    }
  }
  // Below a comprehension a use is one per value of the bound variable.
  return e.kind == ast::Expr::Kind::Comprehension ? 2 * n : n;
}

Value Elaborator::evalCall(const ast::Expr& e, const ScopePtr& s) {
  const ast::Expr& callee = *e.args[0];
  if (callee.kind == ast::Expr::Kind::NameRef && !lookup(callee.text, s)) {
    if (callee.text == "grad" || callee.text == "custom_grad") {
      fail("E0208", e.span, "`" + callee.text + "` is not in this version", "gradients come later");
    }
    if (!isBuiltin(callee.text)) unknownName(callee.text, callee.span, s);
  }
  Args args;
  args.call = &e;
  args.scope = s;
  for (auto& a : e.callArgs) {
    Value v = eval(*a.value, s);
    if (a.name) {
      if (!args.named.emplace(a.name->text, v).second) fail("E0204", a.span, "`" + a.name->text + "` is given twice");
      args.namedSpans[a.name->text] = a.span;
    } else {
      args.positional.push_back(v);
      args.spans.push_back(a.span);
    }
  }
  if (callee.kind == ast::Expr::Kind::NameRef && !lookup(callee.text, s)) return callBuiltin(callee.text, args, e.span);
  return apply(eval(callee, s), args, e.span);
}

Value Elaborator::apply(const Value& f, Args& args, Span where) {
  if (f.kind == Value::Kind::Instance) {
    auto it = f.instance->scope->names.find("call");
    if (it == f.instance->scope->names.end()) fail("E0209", where, "this instance has no `call`");
    return apply(member(*f.instance, "call", where), args, where);
  }
  if (f.kind == Value::Kind::Array && f.array->unknown) {
    std::set<Sym> dims = f.array->dims;
    for (auto& a : args.positional) {
      if (a.kind == Value::Kind::Array) dims.insert(a.array->dims.begin(), a.array->dims.end());
    }
    return Value::of(unknownArray(dims));
  }
  if (f.kind != Value::Kind::Callable) fail("E0209", where, "this is not a function and cannot be called");
  const Callable& c = *f.callable;
  if (!c.builtin.empty()) return callBuiltin(c.builtin, args, where);
  if (args.call && !args.call->over.empty()) {
    // `over = dim` on a function of a module: its argument with the dim turned into a leading axis.
    fail("E0208", where, "`over` is for the reductions `sum prod max min mean all any`");
  }
  return c.decl->kind == ast::Stmt::Kind::Module ? instantiate(c, args, where) : inlineFunction(c, args, where);
}

void Elaborator::bindDims(const ast::Stmt& decl, const Callable& c, const ScopePtr& scope, size_t& used, Span where) {
  used = 0;
  if (decl.dimParams.empty()) return;
  if (c.dims.size() < decl.dimParams.size()) {
    std::string list;
    for (auto& d : decl.dimParams) list += (list.empty() ? "" : ", ") + d.text;
    fail("E0213", where,
         "`" + decl.name.text + "` takes " + std::to_string(decl.dimParams.size()) + " dims in brackets, " +
             std::to_string(c.dims.size()) + " given",
         "", "write `" + decl.name.text + "[" + list + "](...)`");
  }
  for (auto& d : decl.dimParams) {
    Binding b;
    b.kind = Binding::Kind::Dim;
    b.dim = c.dims[used++];
    scope->names[d.text] = b;
  }
}

void Elaborator::bindParameters(const ast::Stmt& decl, Args& args, const ScopePtr& scope, const ast::Expr* body, Span where) {
  if (args.positional.size() > decl.params.size()) {
    fail("E0203", where,
         "`" + decl.name.text + "` takes " + std::to_string(decl.params.size()) + " arguments, " +
             std::to_string(args.positional.size()) + " given");
  }
  std::vector<std::string> names;
  for (auto& p : decl.params) names.push_back(p.name.text);
  for (auto& [n, v] : args.named) {
    auto it = std::find(names.begin(), names.end(), n);
    if (it == names.end()) {
      std::string near = closest(n, names);
      fail("E0204", args.namedSpans.count(n) ? args.namedSpans[n] : where, "`" + decl.name.text + "` has no parameter `" + n + "`",
           "", near.empty() ? "" : "did you mean `" + near + "`?");
    }
    if (static_cast<size_t>(it - names.begin()) < args.positional.size()) {
      fail("E0203", where, "`" + n + "` is given twice, by position and by name");
    }
  }
  for (size_t k = 0; k < decl.params.size(); ++k) {
    const ast::Param& p = decl.params[k];
    Value v;
    if (k < args.positional.size()) {
      v = args.positional[k];
    } else if (auto it = args.named.find(p.name.text); it != args.named.end()) {
      v = it->second;
    } else if (p.value) {
      v = eval(*p.value, scope);
    } else {
      fail("E0203", where, "the argument `" + p.name.text + "` of `" + decl.name.text + "` is missing");
    }
    if (v.kind == Value::Kind::Array && body && !v.array->access && !v.array->ix && !v.array->cond && !v.array->number &&
        v.array->weak == Weak::None && countUses(*body, p.name.text) > 1) {
      v = Value::of(materialise(v.array, p.name.text));
    }
    Binding b;
    b.value = v;
    scope->names[p.name.text] = b;
  }
}

/// The path of one more inlining of `name` here: `y.softmax`, `y.softmax.2`.
std::string Elaborator::inlinePath(const std::string& name) {
  std::string base = cx_.path.empty() ? name : cx_.path + "." + name;
  int n = ++pathCounts_[base];
  return n == 1 ? base : base + "." + std::to_string(n);
}

Value Elaborator::inlineFunction(const Callable& c, Args& args, Span where) {
  const ast::Stmt& decl = *c.decl;
  if (std::count(calling_.begin(), calling_.end(), &decl)) {
    fail("E0211", where, "`" + decl.name.text + "` calls itself", "functions are inlined, so they may not recur");
  }
  auto scope = std::make_shared<Scope>();
  scope->parent = c.scope;
  scope->function = true;
  Saved saved(*this);
  cx_.path = inlinePath(decl.name.text);
  size_t used = 0;
  bindDims(decl, c, scope, used, where);
  if (used < c.dims.size()) {
    fail("E0213", where, "`" + decl.name.text + "` takes " + std::to_string(used) + " dims in brackets, " +
                             std::to_string(c.dims.size()) + " given");
  }
  bindParameters(decl, args, scope, decl.value.get(), where);
  Calling calling(*this, decl, where);
  if (decl.value->kind == ast::Expr::Kind::Block) return evalBlock(*decl.value, scope, cx_.path);
  return eval(*decl.value, scope);
}

/// Local statements, then the value. Plain equations are elaborated when read; indexed ones become tensors of their own.
Value Elaborator::evalBlock(const ast::Expr& body, const ScopePtr& outer, const std::string& path) {
  auto scope = std::make_shared<Scope>();
  scope->parent = outer;
  std::vector<const ast::Stmt*> indexed;
  for (auto& st : body.body) {
    switch (st->kind) {
      case ast::Stmt::Kind::Let:
        for (auto& n : st->names) {
          Binding b;
          b.kind = Binding::Kind::Let;
          b.let = st->value.get();
          b.letScope = scope;
          scope->names[n.text] = b;
        }
        break;
      case ast::Stmt::Kind::Fn: {
        Binding b;
        b.value.kind = Value::Kind::Callable;
        auto f = std::make_shared<Callable>();
        f->decl = st.get();
        f->scope = scope;
        b.value.callable = f;
        scope->names[st->name.text] = b;
        break;
      }
      case ast::Stmt::Kind::Equation: {
        bool anyIndexed = std::any_of(st->targets.begin(), st->targets.end(), [](auto& t) { return t.indexed; });
        if (anyIndexed || st->when || st->otherwise) {
          declareEquation(*st, scope, path, true);
          indexed.push_back(st.get());
          break;
        }
        auto lazy = std::make_shared<LazyEquation>();
        lazy->stmt = st.get();
        lazy->scope = scope;
        lazy->context = cx_;
        lazy->context.path = path;
        for (size_t k = 0; k < st->targets.size(); ++k) {
          Binding b;
          b.kind = Binding::Kind::Lazy;
          b.lazy = lazy;
          b.item = k;
          const ast::Name& n = st->targets[k].name;
          if (scope->names.count(n.text)) fail("E0202", n.span, "`" + n.text + "` is defined twice in this function");
          scope->names[n.text] = b;
        }
        break;
      }
      default: fail("E0208", st->span, "this statement cannot stand in a function in this version");
    }
  }
  for (auto* st : indexed) evaluateEquation(*st, scope, path, true);
  return eval(*body.args[0], scope);
}

/// The array in the written dtype and shape; a scalar fills the shape.
Arr Elaborator::conform(const Arr& a0, const ast::TypeExpr& type, Span where) {
  Arr a = a0;
  if (a->unknown) return a;
  if (type.dtype) {
    bool fits = a->weak == Weak::None ? promote(a->dtype, *type.dtype) == *type.dtype : a->weak == Weak::Int || isFloat(*type.dtype);
    if (!fits) fail("E0417", where, "this is " + shapeText(*a) + ", and the written type is " + name(*type.dtype));
    a = cast(a, *type.dtype);
  }
  if (!cx_.shape) return a;
  const std::vector<Ix>& shape = *cx_.shape;
  if (a->rank() == 0 && !shape.empty()) {
    std::set<Sym> dims = a->dims;
    return composite(a->dtype, a->weak, dims, shape,
                     [this, a](const std::vector<Ix>&, DType want) { return a->gen({}, want); });
  }
  bool same = a->rank() == shape.size();
  for (size_t k = 0; same && k < shape.size(); ++k) same = sameLength(a->shape[k], shape[k]);
  if (!same) {
    Array written;
    written.dtype = a->dtype;
    written.shape = shape;
    fail("E0417", where, "this is " + shapeText(*a) + ", and the written type is " + shapeText(written));
  }
  return a;
}

/// The value of a local plain equation, elaborated at its first use, in its own place.
Value Elaborator::force(LazyEquation& lazy, const Binding& b, Span where) {
  const ast::Stmt& st = *lazy.stmt;
  if (!lazy.forced) {
    if (lazy.busy) {
      const std::string& n = st.targets.empty() ? st.name.text : st.targets[b.item].name.text;
      fail("E0205", where, "`" + n + "` depends on itself through plain lefts", "read here while it is being defined",
           "write the index on the left, as in `" + n + "[t] = ...`");
    }
    lazy.busy = true;
    struct Done {
      LazyEquation& l;
      ~Done() { l.busy = false; }
    } done{lazy};
    Saved saved(*this);
    std::string name = st.targets.empty() ? st.name.text : st.targets[0].name.text;
    cx_ = lazy.context;
    if (st.targets.size() <= 1) {
      std::string full = lazy.context.path.empty() ? name : lazy.context.path + "." + name;
      cx_.path = full;
      cx_.shape.reset();
      if (st.type && st.type->shape) {
        cx_.shape.emplace();
        for (auto& x : *st.type->shape) cx_.shape->push_back(evalIx(*x, lazy.scope, "a length"));
      }
      Value v = eval(*st.value, lazy.scope);
      cx_.path = lazy.context.path;
      if (v.kind == Value::Kind::Array && st.type) v = Value::of(conform(v.array, *st.type, st.value->span));
      bool weak = v.kind == Value::Kind::Array && (v.array->weak != Weak::None || v.array->ix || v.array->cond);
      if (v.kind == Value::Kind::Array && !weak) v = Value::of(materialise(v.array, name));
      lazy.value = v;
    } else {
      cx_.path = lazy.context.path.empty() ? name : lazy.context.path + "." + name;
      Value v = eval(*st.value, lazy.scope);
      cx_.path = lazy.context.path;
      for (size_t k = 0; k < st.targets.size(); ++k) {
        Value item = part(v, k, st.targets.size(), st.span);
        bool weak = item.kind == Value::Kind::Array && (item.array->weak != Weak::None || item.array->ix || item.array->cond);
        if (item.kind == Value::Kind::Array && !weak) item = Value::of(materialise(item.array, st.targets[k].name.text));
        lazy.value.kind = Value::Kind::Tuple;
        lazy.value.items.push_back(item);
      }
    }
    lazy.forced = true;
  }
  return st.targets.size() > 1 ? lazy.value.items[b.item] : lazy.value;
}

Value Elaborator::instantiate(const Callable& c, Args& args, Span where) {
  const ast::Stmt& decl = *c.decl;
  if (std::count(calling_.begin(), calling_.end(), &decl)) fail("E0211", where, "`" + decl.name.text + "` contains itself");
  auto scope = std::make_shared<Scope>();
  scope->parent = c.scope;
  scope->function = true;
  size_t used = 0;
  bindDims(decl, c, scope, used, where);
  std::set<Sym> family(c.dims.begin() + static_cast<long>(used), c.dims.end());
  Saved saved(*this);
  cx_.dims.insert(family.begin(), family.end());
  bindParameters(decl, args, scope, nullptr, where);
  Calling calling(*this, decl, where);
  auto inst = std::make_shared<Instance>();
  inst->scope = scope;
  declareMembers(decl.body, scope, cx_.path, cx_.dims, inst->order);
  Value out;
  out.kind = Value::Kind::Instance;
  out.instance = inst;
  return out;
}

void Elaborator::declareMembers(const std::vector<ast::StmtPtr>& body, const ScopePtr& scope, const std::string& path,
                                const std::set<Sym>& dims, std::vector<std::string>& order) {
  auto declare = [&](const ast::Name& n, Binding b) {
    auto it = scope->names.find(n.text);
    if (it != scope->names.end() && it->second.kind != Binding::Kind::Value) {
      fail("E0202", n.span, "`" + n.text + "` is defined twice in this module");
    }
    scope->names[n.text] = std::move(b);
  };
  for (auto& st : body) {
    switch (st->kind) {
      case ast::Stmt::Kind::Let:
        for (auto& n : st->names) {
          Binding b;
          b.kind = Binding::Kind::Let;
          b.let = st->value.get();
          b.letScope = scope;
          declare(n, b);
        }
        break;
      case ast::Stmt::Kind::Size:
        for (auto& d : st->sizeDecls) {
          Binding b;
          b.kind = Binding::Kind::Let;
          b.let = d.value.get();
          b.letScope = scope;
          if (!b.let) fail("E0214", d.name.span, "a size of a module needs a value");
          declare(d.name, b);
        }
        break;
      case ast::Stmt::Kind::Fn:
      case ast::Stmt::Kind::Module: {
        Binding b;
        b.value.kind = Value::Kind::Callable;
        auto f = std::make_shared<Callable>();
        f->decl = st.get();
        f->scope = scope;
        b.value.callable = f;
        scope->names[st->name.text] = b;
        break;
      }
      case ast::Stmt::Kind::Param:
      case ast::Stmt::Kind::Equation: {
        auto lazy = std::make_shared<LazyEquation>();
        lazy->stmt = st.get();
        lazy->scope = scope;
        lazy->context = cx_;
        lazy->context.path = path;
        lazy->context.dims = dims;
        if (st->kind == ast::Stmt::Kind::Param && !st->value) {
          fail("E0214", st->span, "a parameter needs a value to begin with", "", "`param " + st->name.text + " = normal(0, 0.1, shape = [...])`");
        }
        for (size_t k = 0; k < std::max<size_t>(1, st->targets.size()); ++k) {
          Binding b;
          b.kind = Binding::Kind::Lazy;
          b.lazy = lazy;
          b.item = k;
          const ast::Name& n = st->targets.empty() ? st->name : st->targets[k].name;
          if (!st->targets.empty() && st->targets[k].indexed) {
            fail("E0208", st->span, "an indexed equation in a module is not in this version", "", "put it in a function");
          }
          declare(n, b);
          order.push_back(n.text);
        }
        break;
      }
      case ast::Stmt::Kind::For: {
        Value list = eval(*st->value, scope);
        if (list.kind != Value::Kind::List) fail("E0214", st->value->span, "a list known at compile time is needed here");
        for (auto& item : list.items) {
          scope->names[st->name.text].value = item;
          declareMembers(st->body, scope, path, dims, order);
        }
        break;
      }
      default: fail("E0208", st->span, "this statement cannot stand in a module in this version");
    }
  }
}

Value Elaborator::member(const Instance& inst, const std::string& name, Span where) {
  auto it = inst.scope->names.find(name);
  if (it == inst.scope->names.end()) {
    std::vector<std::string> known;
    for (auto& [n, b] : inst.scope->names) known.push_back(n);
    std::string near = closest(name, known);
    fail("E0207", where, "the instance has no member `" + name + "`", "", near.empty() ? "" : "did you mean `" + near + "`?");
  }
  Value v = bindingValue(it->second, name, where);
  return substValue(v, inst.at);
}

Value Elaborator::substValue(const Value& v, const Subst& s) {
  if (s.empty()) return v;
  Value out = v;
  if (v.kind == Value::Kind::Array) out.array = substArray(v.array, s);
  for (auto& i : out.items) i = substValue(i, s);
  if (v.kind == Value::Kind::Instance) {
    auto inst = std::make_shared<Instance>(*v.instance);
    for (auto& [d, e] : inst->at) e = e.subst(s);
    for (auto& [d, e] : s) inst->at.emplace(d, e);
    out.instance = inst;
  }
  if (v.kind == Value::Kind::Callable && v.callable->scope) {
    // A method of an instance read at other points: its parameters are seen through the index.
    auto c = std::make_shared<Callable>(*v.callable);
    auto view = std::make_shared<Scope>();
    view->parent = c->scope;
    for (auto& [n, b] : c->scope->names) {
      if (b.kind == Binding::Kind::Lazy || (b.kind == Binding::Kind::Value && b.value.kind != Value::Kind::Callable)) {
        Binding shifted;
        shifted.value = substValue(bindingValue(b, n, Span{}), s);
        view->names[n] = shifted;
      } else if (b.kind == Binding::Kind::Value) {
        auto inner = std::make_shared<Callable>(*b.value.callable);
        inner->scope = view;
        Binding method;
        method.value = b.value;
        method.value.callable = inner;
        view->names[n] = method;
      }
    }
    c->scope = view;
    out.callable = c;
  }
  return out;
}

}  // namespace tempo::elab
