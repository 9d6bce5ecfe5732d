// Pull arrays: construction, dtype and shape rules, element-wise operations, substitution.
#include "check.hpp"
#include "elab/elaborator.hpp"

namespace tempo::elab {

namespace {

std::set<Sym> unionOf(const std::vector<Arr>& args) {
  std::set<Sym> out;
  for (auto& a : args) out.insert(a->dims.begin(), a->dims.end());
  return out;
}

Index substIndex(const Index& i, const Subst& s) {
  Index out = i;
  if (i.data) {
    out.data = ex::subst(i.data, s);
    out.lo = i.lo.subst(s);
    out.hi = i.hi.subst(s);
  } else {
    out.ix = i.ix.subst(s);
  }
  return out;
}

ExprPtr castTo(ExprPtr e, DType t) {
  return e->dtype == t ? e : ex::cast(t, e, e->loc);
}

DType defaultOf(Weak w, DType t) {
  return w == Weak::Int ? DType::I32 : w == Weak::Float ? DType::F32 : t;
}

}  // namespace

Arr Elaborator::fromIx(const Ix& v, std::set<Sym> mention, Loc l) {
  auto a = std::make_shared<Array>();
  for (Sym s : v.vars()) {
    if (isDim(s) || boundVars_.count(s)) a->dims.insert(s);
  }
  a->dtype = DType::I32;
  a->weak = Weak::Int;
  a->ix = v;
  a->mention = std::move(mention);
  a->lo = v;
  a->hi = v + 1;
  a->loc = l;
  if (auto c = v.asConst()) a->number = static_cast<double>(*c);
  a->gen = [v, l](const std::vector<Ix>&, DType want) -> ExprPtr {
    if (auto c = v.asConst()) return ex::constant(want, static_cast<double>(*c), l);
    return want == DType::Bool ? ex::cast(want, ex::index(v, DType::I32, l), l) : ex::index(v, want, l);
  };
  return a;
}

Arr Elaborator::number(double v, Loc l) {
  auto a = std::make_shared<Array>();
  a->dtype = DType::F32;
  a->weak = Weak::Float;
  a->number = v;
  a->loc = l;
  a->gen = [v, l](const std::vector<Ix>&, DType want) { return ex::constant(want, v, l); };
  return a;
}

Arr Elaborator::truth(const Cond& c, Loc l) {
  auto a = std::make_shared<Array>();
  for (Sym s : c.vars()) {
    if (isDim(s) || boundVars_.count(s)) a->dims.insert(s);
  }
  a->dtype = DType::Bool;
  a->cond = c;
  a->loc = l;
  a->gen = [c, l](const std::vector<Ix>&, DType) { return ex::cond(c, l); };
  return a;
}

Arr Elaborator::unknownArray(std::set<Sym> dims) {
  auto a = std::make_shared<Array>();
  a->unknown = true;
  a->dims = std::move(dims);
  a->gen = [](const std::vector<Ix>&, DType) -> ExprPtr { internalError(__FILE__, __LINE__, "type not inferred"); };
  return a;
}

Arr Elaborator::composite(DType t, Weak w, std::set<Sym> dims, std::vector<Ix> shape, Gen gen) {
  auto a = std::make_shared<Array>();
  a->dtype = t;
  a->weak = w;
  a->dims = std::move(dims);
  a->shape = std::move(shape);
  a->gen = std::move(gen);
  return a;
}

Arr Elaborator::accessArray(Access acc, std::vector<Sym> holes, DType t, std::set<Sym> dims, std::vector<Ix> shape, Loc l) {
  auto a = std::make_shared<Array>();
  a->dtype = t;
  a->dims = std::move(dims);
  a->shape = std::move(shape);
  a->loc = l;
  a->gen = [acc, holes, t, l](const std::vector<Ix>& pos, DType) {
    Subst s;
    for (size_t k = 0; k < holes.size(); ++k) s[holes[k]] = pos.at(k);
    std::vector<Index> at;
    for (auto& i : acc.at) at.push_back(substIndex(i, s));
    return ex::read(acc.node, t, std::move(at), l);
  };
  a->access = std::move(acc);
  a->holes = std::move(holes);
  return a;
}

ExprPtr Elaborator::at(const Arr& a, const std::vector<Ix>& pos, DType want) {
  ExprPtr e = a->gen(pos, a->weak == Weak::None ? a->dtype : want);
  return castTo(e, want);
}

ExprPtr Elaborator::atBroadcast(const Arr& a, const std::vector<Ix>& pos, const std::vector<Ix>& shape, DType want) {
  if (a->rank() == 0) return at(a, {}, want);
  std::vector<Ix> p = pos;
  for (size_t k = 0; k < p.size(); ++k) {
    if (a->shape[k].asConst() == 1 && shape[k].asConst() != 1) p[k] = 0;
  }
  return at(a, p, want);
}

/// A weak array in the dtype it takes when nothing else decides.
Arr Elaborator::strong(const Arr& a) {
  if (a->weak == Weak::None || a->unknown) return a;
  return cast(a, defaultOf(a->weak, a->dtype));
}

Arr Elaborator::cast(const Arr& a, DType t) {
  if (a->unknown || (a->weak == Weak::None && a->dtype == t)) return a;
  if (a->weak == Weak::Float && !isFloat(t)) {
    return composite(t, Weak::None, a->dims, a->shape,
                     [this, a, t](const std::vector<Ix>& p, DType) { return castTo(at(a, p, DType::F32), t); });
  }
  Arr c = composite(t, Weak::None, a->dims, a->shape,
                    [this, a, t](const std::vector<Ix>& p, DType) { return at(a, p, t); });
  return isInt(t) ? bounded(c, a->lo, a->hi) : c;
}

Arr Elaborator::bounded(const Arr& a, std::optional<Ix> lo, std::optional<Ix> hi) {
  auto b = std::make_shared<Array>(*a);
  b->lo = std::move(lo);
  b->hi = std::move(hi);
  return b;
}

std::pair<DType, Weak> Elaborator::joinTypes(const std::vector<Arr>& args, Span where, const char* what) {
  std::optional<DType> t;
  Weak weak = Weak::None;
  for (auto& a : args) {
    if (a->unknown) continue;
    if (a->weak != Weak::None) {
      weak = std::max(weak, a->weak);
      continue;
    }
    auto joined = t ? promote(*t, a->dtype) : std::optional<DType>(a->dtype);
    if (!joined) {
      fail("E0401", where, std::string("`") + what + "` of " + name(*t) + " and " + name(a->dtype),
           "the two dtypes do not mix", std::string("convert one side, as in `") + name(*t) + "(...)`");
    }
    t = joined;
  }
  if (!t) return {weak == Weak::Float ? DType::F32 : DType::I32, weak == Weak::None ? Weak::Int : weak};
  if (weak == Weak::Float && isInt(*t)) t = DType::F32;
  if (weak != Weak::None && *t == DType::Bool) {
    fail("E0401", where, std::string("`") + what + "` of a bool and a number", "the two dtypes do not mix",
         "convert the bool, as in `f32(...)`, or compare");
  }
  return {*t, Weak::None};
}

bool Elaborator::sameLength(const Ix& a, const Ix& b) {
  if (a == b) return true;
  if (!emit_) return true;
  if (a.asConst() && b.asConst()) return false;
  Cond given = sizeFacts() && cx_.active;
  for (auto& [v, bv] : boundVars_) {
    if (a.uses(v) || b.uses(v)) given = given && Cond::range(v, bv.lo, bv.hi);
  }
  auto key = std::make_pair(a.str() + " = " + b.str(), given.str());
  auto it = lengthCache_.find(key);
  if (it != lengthCache_.end()) return it->second;
  bool same = false;
  try {
    same = solver_.equal(a, b, given);
  } catch (const NotAffine&) {
  }
  return lengthCache_[key] = same;
}

std::string Elaborator::shapeText(const Array& a) const {
  std::string s = "[";
  for (size_t k = 0; k < a.shape.size(); ++k) s += (k ? ", " : "") + a.shape[k].str();
  return std::string(a.weak == Weak::None ? name(a.dtype) : "") + s + "]";
}

/// The shape all arguments broadcast to. A scalar goes with anything, a literal 1 with any length; with `split` two
/// lengths that differ are joined by the condition (the branches of an index-level `if`).
std::vector<Ix> Elaborator::joinShapes(const std::vector<Arr>& args, Span where, const Cond* split) {
  const Array* ref = nullptr;
  std::vector<Ix> shape;
  for (auto& a : args) {
    if (a->unknown || a->rank() == 0) continue;
    if (!ref) {
      ref = a.get();
      shape = a->shape;
      continue;
    }
    if (a->rank() != shape.size()) {
      fail("E0402", where, "shapes " + shapeText(*ref) + " and " + shapeText(*a) + " have different ranks",
           "one side has " + std::to_string(ref->rank()) + " axes, the other " + std::to_string(a->rank()),
           "write the broadcast, as in `x[; None, :]`, or drop an axis, as in `x[; :, 0]`");
    }
    for (size_t k = 0; k < shape.size(); ++k) {
      if (shape[k].asConst() == 1) {
        shape[k] = a->shape[k];
      } else if (a->shape[k].asConst() != 1 && !sameLength(shape[k], a->shape[k])) {
        if (split) {
          shape[k] = Ix::select(*split, shape[k], a->shape[k]);
          continue;
        }
        fail("E0403", where,
             "axis " + std::to_string(k) + " has length `" + shape[k].str() + "` on one side and `" + a->shape[k].str() +
                 "` on the other",
             shapeText(*ref) + " against " + shapeText(*a));
      }
    }
  }
  return shape;
}

/// The array as an index expression, if it can be one.
Arr Elaborator::settled(const Arr& a) { return a->later ? fromIx(a->later(), a->mention, a->loc) : a; }

/// Arithmetic of dims and sizes whose index expression is formed only where an index is needed.
std::optional<Arr> Elaborator::laterArithmetic(Op op, const std::vector<Arr>& args, Span where) {
  static const std::set<Op> kIndexOps = {Op::Neg, Op::Abs, Op::Add, Op::Sub, Op::Mul, Op::FloorDiv, Op::Mod, Op::Min, Op::Max};
  bool later = false, never = false;
  for (auto& a : args) {
    if (!a->ix && !a->later) return std::nullopt;
    later |= a->later != nullptr;
    never |= a->never;
  }
  bool order = info(op).rule == TypeRule::Cmp;
  if (!order && !kIndexOps.count(op)) return std::nullopt;
  if (op == Op::Mul && !later && !inSizeDecl_) {
    const Ix &a = *args[0]->ix, &b = *args[1]->ix;
    bool sizes = sizesOnly(a) || sizesOnly(b);
    later = !a.asConst() && !b.asConst() && !(sizesOnly(a) && sizesOnly(b));
    never = later && !sizes;
  }
  if (!later || (order && never)) return std::nullopt;
  auto form = [this, op, args, where] {
    std::vector<Arr> known;
    for (auto& a : args) known.push_back(settled(a));
    return *indexArithmetic(op, known, where);
  };
  if (order) return form();
  std::set<Sym> mention;
  for (auto& a : args) mention.insert(a->mention.begin(), a->mention.end());
  Loc l = loc(where);
  auto out = std::make_shared<Array>(*composite(DType::I32, Weak::Int, unionOf(args), {},
                                                [this, op, args, l](const std::vector<Ix>&, DType want) {
                                                  DType t = want == DType::Bool ? DType::I32 : want;
                                                  std::vector<ExprPtr> es;
                                                  for (auto& a : args) es.push_back(at(a, {}, t));
                                                  return castTo(ex::op(op, std::move(es), l), want);
                                                }));
  out->mention = std::move(mention);
  out->later = [form] { return *form()->ix; };
  out->never = never;
  out->loc = l;
  return out;
}

std::optional<Arr> Elaborator::indexArithmetic(Op op, const std::vector<Arr>& args, Span where) {
  for (auto& a : args) {
    if (!a->ix) return std::nullopt;
  }
  std::set<Sym> mention;
  for (auto& a : args) mention.insert(a->mention.begin(), a->mention.end());
  const Ix& a = *args[0]->ix;
  Ix b = args.size() > 1 ? *args[1]->ix : Ix(0);
  Loc l = loc(where);
  switch (op) {
    case Op::Neg: return fromIx(-a, mention, l);
    case Op::Abs: return fromIx(Ix::abs(a), mention, l);
    case Op::Add: return fromIx(a + b, mention, l);
    case Op::Sub: return fromIx(a - b, mention, l);
    case Op::Mul: return fromIx(mulIx(a, b, where), mention, l);
    case Op::FloorDiv: return fromIx(divIx(a, b, false, where), mention, l);
    case Op::Mod: return fromIx(divIx(a, b, true, where), mention, l);
    case Op::Min: return fromIx(Ix::min(a, b), mention, l);
    case Op::Max: return fromIx(Ix::max(a, b), mention, l);
    case Op::Lt: return truth(Cond::lt(a, b), l);
    case Op::Le: return truth(Cond::le(a, b), l);
    case Op::Gt: return truth(Cond::gt(a, b), l);
    case Op::Ge: return truth(Cond::ge(a, b), l);
    case Op::Eq: return truth(Cond::eq(a, b), l);
    case Op::Ne: return truth(Cond::ne(a, b), l);
    case Op::Pow:
      if (a.asConst() && b.asConst() && *b.asConst() >= 0) {
        int64_t v = 1;
        for (int64_t k = 0; k < *b.asConst() && k < 63; ++k) v *= *a.asConst();
        return fromIx(v, mention, l);
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

void Elaborator::propagateBounds(Op op, const std::vector<Arr>& args, Array& out) {
  if (args.size() != 2 || isFloat(out.dtype)) return;
  const Array &a = *args[0], &b = *args[1];
  auto scalar = [](const Array& x) { return x.ix ? x.ix : std::nullopt; };
  switch (op) {
    case Op::Add:
      if (a.lo && b.lo) out.lo = *a.lo + *b.lo;
      if (a.hi && b.hi) out.hi = *a.hi + *b.hi - 1;
      break;
    case Op::Sub:
      if (a.lo && b.hi) out.lo = *a.lo - *b.hi + 1;
      if (a.hi && b.lo) out.hi = *a.hi - *b.lo;
      break;
    case Op::Mul:
      if (auto c = b.ix ? b.ix->asConst() : std::nullopt; c && *c > 0) {
        if (a.lo) out.lo = *a.lo * *b.ix;
        if (a.hi) out.hi = (*a.hi - 1) * *b.ix + 1;
      }
      break;
    case Op::Mod:
      if (auto n = scalar(b)) {
        out.lo = 0;
        out.hi = *n;
      }
      break;
    case Op::FloorDiv:
      if (auto n = scalar(b); n && n->asConst().value_or(0) > 0) {
        if (a.lo) out.lo = Ix::floordiv(*a.lo, *n);
        if (a.hi) out.hi = Ix::floordiv(*a.hi - 1, *n) + 1;
      } else if (n && sizesOnly(*n) && a.lo == Ix(0) && a.hi) {
        // A size is at least 0, and x // 0 is 0: dividing makes no larger.
        out.lo = 0;
        out.hi = quotient(*a.hi, *n).value_or(*a.hi);
      }
      break;
    case Op::Min:
      if (a.lo && b.lo) out.lo = Ix::min(*a.lo, *b.lo);
      if (a.hi || b.hi) out.hi = a.hi && b.hi ? Ix::min(*a.hi, *b.hi) : a.hi ? *a.hi : *b.hi;
      break;
    case Op::Max:
      if (a.lo || b.lo) out.lo = a.lo && b.lo ? Ix::max(*a.lo, *b.lo) : a.lo ? *a.lo : *b.lo;
      if (a.hi && b.hi) out.hi = Ix::max(*a.hi, *b.hi);
      break;
    default: break;
  }
}

/// a // n where a is a size defined as n times another.
std::optional<Ix> Elaborator::quotient(const Ix& a, const Ix& n) {
  Size* z = a.asVar() ? findSize(*a.asVar()) : nullptr;
  if (!z || !z->value) return std::nullopt;
  for (Sym v : z->value->vars()) {
    if (*z->value == n * Ix(v)) return Ix(v);
  }
  return std::nullopt;
}

Arr Elaborator::elementwise(Op op, const std::vector<Arr>& args, Span where) {
  if (auto a = laterArithmetic(op, args, where)) return *a;
  if (auto a = indexArithmetic(op, args, where)) return *a;
  const OpInfo& oi = info(op);
  auto cond = [&](size_t k) { return args[k]->cond; };
  if (op == Op::And && cond(0) && cond(1)) return truth(*cond(0) && *cond(1), loc(where));
  if (op == Op::Or && cond(0) && cond(1)) return truth(*cond(0) || *cond(1), loc(where));
  if (op == Op::Not && cond(0)) return truth(!*cond(0), loc(where));
  bool anyKnown = false, allKnown = true;
  for (auto& a : args) {
    anyKnown |= !a->unknown && (a->weak == Weak::None || args.size() == 1 || a->rank() > 0);
    allKnown &= !a->unknown;
  }
  if (!allKnown && !anyKnown) {
    if (oi.rule == TypeRule::Cmp || oi.rule == TypeRule::Logic || oi.rule == TypeRule::Pred) anyKnown = false;
    return unknownArray(unionOf(args));
  }
  auto [t, weak] = joinTypes(args, where, oi.text);
  if (oi.rule == TypeRule::Float || oi.rule == TypeRule::Pred) {
    if (weak == Weak::Int) weak = Weak::Float;
    if (!isFloat(t) && t != DType::Bool) t = DType::F32;
  }
  if (!accepts(op, t)) {
    fail("E0414", where, std::string("`") + oi.text + "` does not take " + name(t), "an operand is " + std::string(name(t)));
  }
  DType result = resultType(op, t);
  if (oi.rule == TypeRule::Cmp || oi.rule == TypeRule::Pred) weak = Weak::None;
  auto shape = joinShapes(args, where);
  Loc l = loc(where);
  bool weakOperands = weak != Weak::None;
  Gen gen = [this, op, args, t = t, shape, l, weakOperands](const std::vector<Ix>& pos, DType want) {
    DType operand = weakOperands ? want : t;
    bool needFloat = info(op).rule == TypeRule::Float && !isFloat(operand);
    if (needFloat) operand = DType::F32;
    std::vector<ExprPtr> es;
    for (auto& a : args) es.push_back(atBroadcast(a, pos, shape, operand));
    ExprPtr e = ex::op(op, std::move(es), l);
    return weakOperands ? castTo(e, want) : e;
  };
  auto out = std::make_shared<Array>(*composite(result, weak, unionOf(args), shape, gen));
  out->loc = l;
  propagateBounds(op, args, *out);
  return out;
}

Arr Elaborator::selectArray(const Arr& c, const Arr& a, const Arr& b, Span where) {
  if (c->cond) {
    if (c->cond->isTrue()) return a;
    if (c->cond->isFalse()) return b;
    if (a->ix && b->ix) {
      std::set<Sym> mention = a->mention;
      mention.insert(b->mention.begin(), b->mention.end());
      return fromIx(Ix::select(*c->cond, *a->ix, *b->ix), mention, loc(where));
    }
    if (a->cond && b->cond) return truth((*c->cond && *a->cond) || (!*c->cond && *b->cond), loc(where));
  }
  std::set<Sym> dims = unionOf({c, a, b});
  if (a->unknown && b->unknown) return unknownArray(dims);
  if (!c->unknown && c->dtype != DType::Bool) {
    fail("E0414", where, "the condition of `if` is " + shapeText(*c) + ", not bool", "a condition is needed here");
  }
  if ((a->unknown && b->weak != Weak::None && b->rank() == 0) || (b->unknown && a->weak != Weak::None && a->rank() == 0)) {
    return unknownArray(dims);
  }
  auto [t, weak] = joinTypes({a, b}, where, "if");
  auto shape = joinShapes({a, b}, where, c->cond ? &*c->cond : nullptr);
  if (c->rank() > 0 && !c->unknown) {
    auto boolShape = std::make_shared<Array>(*c);
    auto value = std::make_shared<Array>();
    value->shape = shape;
    shape = joinShapes({boolShape, value}, where);
  }
  Loc l = loc(where);
  Gen gen = [this, c, a, b, t = t, weak = weak, shape, l](const std::vector<Ix>& pos, DType want) {
    DType as = weak == Weak::None ? t : want;
    ExprPtr x = atBroadcast(a, pos, shape, as), y = atBroadcast(b, pos, shape, as);
    if (c->cond) return ex::guard(*c->cond, x, y, l);
    return ex::select(atBroadcast(c, pos, shape, DType::Bool), x, y, l);
  };
  auto out = std::make_shared<Array>(*composite(t, weak, dims, shape, gen));
  if (a->lo && b->lo) out->lo = Ix::min(*a->lo, *b->lo);
  if (a->hi && b->hi) out->hi = Ix::max(*a->hi, *b->hi);
  out->loc = l;
  return out;
}

Arr Elaborator::substArray(const Arr& a, const Subst& s) {
  if (s.empty()) return a;
  std::set<Sym> dims;
  for (Sym d : a->dims) {
    auto it = s.find(d);
    if (it == s.end()) {
      dims.insert(d);
      continue;
    }
    for (Sym v : it->second.vars()) {
      if (isDim(v) || boundVars_.count(v)) dims.insert(v);
    }
  }
  if (a->unknown) return unknownArray(dims);
  if (a->ix) return fromIx(a->ix->subst(s), a->mention, a->loc);
  if (a->cond) return truth(a->cond->subst(s), a->loc);
  std::vector<Ix> shape;
  for (auto& n : a->shape) shape.push_back(n.subst(s));
  std::shared_ptr<Array> out;
  if (a->access) {
    Access acc{a->access->node, {}};
    for (auto& i : a->access->at) acc.at.push_back(substIndex(i, s));
    out = std::make_shared<Array>(*accessArray(acc, a->holes, a->dtype, dims, shape, a->loc));
  } else {
    Gen gen = [this, a, s](const std::vector<Ix>& pos, DType want) {
      std::vector<Ix> inner;
      Subst all = s;
      for (auto& p : pos) {
        Sym h = hole();
        inner.push_back(h);
        all[h] = p;
      }
      return ex::subst(a->gen(inner, want), all);
    };
    out = std::make_shared<Array>(*composite(a->dtype, a->weak, dims, shape, gen));
  }
  out->number = a->number;
  if (a->later) {
    out->later = [a, s] { return a->later().subst(s); };
    out->never = a->never;
    out->mention = a->mention;
  }
  if (a->lo) out->lo = a->lo->subst(s);
  if (a->hi) out->hi = a->hi->subst(s);
  out->loc = a->loc;
  return out;
}

Arr Elaborator::mapAxes(const Arr& a, std::vector<Ix> shape,
                        std::function<std::vector<Ix>(const std::vector<Ix>&)> f) {
  if (a->unknown) return a;
  std::shared_ptr<Array> out;
  if (a->access) {
    std::vector<Sym> holes;
    std::vector<Ix> pos;
    for (size_t k = 0; k < shape.size(); ++k) {
      holes.push_back(hole());
      pos.push_back(holes.back());
    }
    auto old = f(pos);
    Subst s;
    for (size_t k = 0; k < old.size(); ++k) s[a->holes[k]] = old[k];
    Access acc{a->access->node, {}};
    for (auto& i : a->access->at) acc.at.push_back(substIndex(i, s));
    out = std::make_shared<Array>(*accessArray(acc, holes, a->dtype, a->dims, shape, a->loc));
  } else {
    out = std::make_shared<Array>(*composite(a->dtype, a->weak, a->dims, shape,
                                             [a, f](const std::vector<Ix>& pos, DType want) { return a->gen(f(pos), want); }));
  }
  for (auto& n : shape) {
    for (Sym v : n.vars()) {
      if (isDim(v) || boundVars_.count(v)) out->dims.insert(v);
    }
  }
  out->lo = a->lo;
  out->hi = a->hi;
  out->loc = a->loc;
  return out;
}

bool Elaborator::sizesOnly(const Ix& a) const {
  for (Sym v : a.vars()) {
    if (isDim(v) || boundVars_.count(v) || v.name()[0] == '%') return false;
  }
  return true;
}

/// A size is compiled per value, and with it all that it is defined by.
void Elaborator::markSpecialised(Sym s) {
  if (!specialised_.insert(s).second) return;
  changed_ = true;
  Size* z = findSize(s);
  if (!z || !z->derived) return;
  for (Sym v : z->value->vars()) markSpecialised(v);
}

/// The value of an expression of sizes, which from now on are compiled per value.
Ix Elaborator::specialise(const Ix& a, Span where) {
  Env env;
  for (Sym v : a.vars()) {
    auto value = sizeValue(v);
    if (!value) {
      fail("E0501", where, "`" + v.name() + "` multiplies, divides or steps a dim here, so its value is needed to compile",
           "`" + v.name() + "` has no value", "give it one: `-s " + v.name() + "=...`");
    }
    env[v] = *value;
    markSpecialised(v);
  }
  return Ix(a.eval(env));
}

/// A product or quotient of sizes, which integer sets cannot take, becomes a size of its own.
Ix Elaborator::hiddenSize(const std::string& text, const Ix& value) {
  Sym s = Sym::get(text);
  if (!findSize(s)) {
    Size z;
    z.sym = s;
    z.value = value;
    z.derived = true;
    sizes_.push_back(z);
    facts_.push_back(Cond::ge0(Ix(s)));
    changed_ = true;
  }
  return Ix(s);
}

Ix Elaborator::mulIx(const Ix& a, const Ix& b, Span where) {
  if (a.asConst() || b.asConst() || inSizeDecl_) return a * b;
  bool sa = sizesOnly(a), sb = sizesOnly(b);
  if (sa && sb) {
    if (a.asVar() && b.asVar()) {
      auto names = std::minmax(a.asVar()->name(), b.asVar()->name());
      return hiddenSize(names.first + "_by_" + names.second, a * b);
    }
    return hiddenSize("size_" + std::to_string(std::hash<std::string>()((a * b).str()) % 1000000), a * b);
  }
  if (sb) return a * specialise(b, where);
  if (sa) return specialise(a, where) * b;
  fail("E0409", where, "an index may not multiply two dims", "`" + a.str() + "` times `" + b.str() + "`");
}

Ix Elaborator::divIx(const Ix& a, const Ix& b, bool mod, Span where) {
  auto apply = [&](const Ix& d) { return mod ? Ix::mod(a, d) : Ix::floordiv(a, d); };
  if (b.asConst()) {
    if (*b.asConst() == 0) fail("E0409", where, "division by zero in an index", "the divisor is 0");
    return apply(b);
  }
  if (inSizeDecl_) return apply(b);
  if (!sizesOnly(b)) fail("E0409", where, "an index may be divided by sizes and numbers only", "`" + b.str() + "` is neither");
  if (sizesOnly(a)) {
    std::string text = (mod ? "mod_" : "div_") + std::to_string(std::hash<std::string>()(apply(b).str()) % 1000000);
    return hiddenSize(text, apply(b));
  }
  return apply(specialise(b, where));
}

}  // namespace tempo::elab
