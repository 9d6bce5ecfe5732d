// Builtins that rearrange or make arrays. All of them are compositions of generators.
#include <algorithm>

#include "elab/elaborator.hpp"

namespace tempo::elab {

namespace {

std::set<Sym> dimsOf(const std::vector<Arr>& items) {
  std::set<Sym> out;
  for (auto& a : items) out.insert(a->dims.begin(), a->dims.end());
  return out;
}

}  // namespace

Value Elaborator::bStack(Args& a, Span where) {
  expectArgs(a, 1, 1, "stack", {"axis"}, where);
  const Value& list = a.positional.at(0);
  if (list.kind != Value::Kind::List && list.kind != Value::Kind::Tuple) {
    fail("E0215", where, "`stack` takes a list or a tuple of tensors", "", "over steps write `stack[s in lo : hi] ...`");
  }
  std::vector<Arr> items;
  for (auto& i : list.items) items.push_back(asArray(i, where));
  if (items.empty()) fail("E0215", where, "`stack` of nothing has no shape");
  for (auto& i : items) {
    if (i->unknown) return Value::of(unknownArray(dimsOf(items)));
  }
  auto [t, weak] = joinTypes(items, where, "stack");
  auto inner = joinShapes(items, where);
  for (auto& i : items) {
    if (i->rank() != inner.size()) fail("E0402", where, "`stack` of different ranks");
  }
  size_t axis = 0;
  if (auto it = a.named.find("axis"); it != a.named.end()) {
    Arr k = asArray(it->second, where);
    int64_t n = k->ix && k->ix->asConst() ? *k->ix->asConst() : 99;
    if (n < 0) n += static_cast<int64_t>(inner.size()) + 1;
    if (n < 0 || n > static_cast<int64_t>(inner.size())) fail("E0412", where, "no such axis for `stack`");
    axis = static_cast<size_t>(n);
  }
  std::vector<Ix> shape = inner;
  shape.insert(shape.begin() + static_cast<long>(axis), Ix(static_cast<int64_t>(items.size())));
  Loc l = loc(where);
  Gen gen = [this, items, axis, inner, t = t, weak = weak, l](const std::vector<Ix>& pos, DType want) {
    DType as = weak == Weak::None ? t : want;
    std::vector<Ix> p = pos;
    Ix k = p[axis];
    p.erase(p.begin() + static_cast<long>(axis));
    if (auto c = k.asConst()) return atBroadcast(items.at(static_cast<size_t>(*c)), p, inner, as);
    ExprPtr e = atBroadcast(items.back(), p, inner, as);
    for (size_t n = items.size() - 1; n-- > 0;) {
      e = ex::guard(Cond::le(k, static_cast<int64_t>(n)), atBroadcast(items[n], p, inner, as), e, l);
    }
    return e;
  };
  return Value::of(composite(t, weak, dimsOf(items), shape, gen));
}

Value Elaborator::bConcat(Args& a, Span where) {
  std::vector<Arr> items;
  if (a.positional.size() == 1 && a.positional[0].kind != Value::Kind::Array) {
    for (auto& i : a.positional[0].items) items.push_back(asArray(i, where));
  } else {
    for (auto& i : a.positional) items.push_back(asArray(i, where));
  }
  if (items.empty()) fail("E0215", where, "`concat` of nothing has no shape");
  for (auto& i : items) {
    if (i->unknown) return Value::of(unknownArray(dimsOf(items)));
  }
  auto [t, weak] = joinTypes(items, where, "concat");
  size_t axis = 0;
  if (auto it = a.named.find("axis"); it != a.named.end()) axis = axisNumber(it->second, items[0], where);
  std::vector<Ix> shape = items[0]->shape;
  if (shape.empty()) fail("E0402", where, "`concat` of scalars", "", "`stack` makes an axis of scalars");
  Ix total = shape[axis];
  for (size_t n = 1; n < items.size(); ++n) {
    if (items[n]->rank() != shape.size()) {
      fail("E0402", where, "`concat` of " + shapeText(*items[0]) + " and " + shapeText(*items[n]));
    }
    for (size_t k = 0; k < shape.size(); ++k) {
      if (k != axis && !sameLength(shape[k], items[n]->shape[k])) {
        fail("E0403", where, "`concat` of " + shapeText(*items[0]) + " and " + shapeText(*items[n]),
             "axis " + std::to_string(k) + " differs");
      }
    }
    total = total + items[n]->shape[axis];
  }
  shape[axis] = total;
  Loc l = loc(where);
  Gen gen = [this, items, axis, t = t, weak = weak, l](const std::vector<Ix>& pos, DType want) {
    DType as = weak == Weak::None ? t : want;
    std::vector<Ix> offsets{Ix(0)};
    for (auto& i : items) offsets.push_back(offsets.back() + i->shape[axis]);
    auto part = [&](size_t n) {
      std::vector<Ix> p = pos;
      p[axis] = p[axis] - offsets[n];
      return at(items[n], p, as);
    };
    ExprPtr e = part(items.size() - 1);
    for (size_t n = items.size() - 1; n-- > 0;) e = ex::guard(Cond::lt(pos[axis], offsets[n + 1]), part(n), e, l);
    return e;
  };
  return Value::of(composite(t, weak, dimsOf(items), shape, gen));
}

Value Elaborator::bTranspose(Args& a, Span where) {
  expectArgs(a, 1, 2, "transpose", {"axes"}, where);
  Arr x = argument(a, 0, "x", where);
  if (x->unknown) return Value::of(x);
  std::vector<size_t> perm;
  if (const Value* v = argValue(a, 1, "axes")) {
    for (auto& i : v->items) perm.push_back(axisNumber(i, x, where));
    std::set<size_t> distinct(perm.begin(), perm.end());
    if (perm.size() != x->rank() || distinct.size() != perm.size()) {
      fail("E0412", where, "`axes` must name each axis of " + shapeText(*x) + " once");
    }
  } else {
    for (size_t k = x->rank(); k-- > 0;) perm.push_back(k);
  }
  std::vector<Ix> shape;
  for (size_t k : perm) shape.push_back(x->shape[k]);
  return Value::of(mapAxes(strong(x), shape, [perm](const std::vector<Ix>& pos) {
    std::vector<Ix> p(pos.size());
    for (size_t k = 0; k < perm.size(); ++k) p[perm[k]] = pos[k];
    return p;
  }));
}

Value Elaborator::bReshape(Args& a, Span where) {
  expectArgs(a, 2, 2, "reshape", {}, where);
  Arr x = argument(a, 0, "x", where);
  if (x->unknown) return Value::of(x);
  std::vector<Ix> shape = shapeArgument(a.positional.at(1), where);
  // Axes of length 1 come and go freely, whatever the other lengths are.
  std::vector<size_t> oldAxes, newAxes;
  for (size_t k = 0; k < x->rank(); ++k) {
    if (x->shape[k].asConst() != 1) oldAxes.push_back(k);
  }
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k].asConst() != 1) newAxes.push_back(k);
  }
  bool same = oldAxes.size() == newAxes.size();
  for (size_t n = 0; same && n < oldAxes.size(); ++n) same = x->shape[oldAxes[n]] == shape[newAxes[n]];
  size_t rank = x->rank();
  if (same) {
    return Value::of(mapAxes(strong(x), shape, [oldAxes, newAxes, rank](const std::vector<Ix>& pos) {
      std::vector<Ix> p(rank, Ix(0));
      for (size_t n = 0; n < oldAxes.size(); ++n) p[oldAxes[n]] = pos[newAxes[n]];
      return p;
    }));
  }
  std::vector<int64_t> from, to;
  int64_t nFrom = 1, nTo = 1;
  auto constant = [&](const Ix& n) { return n.asConst() ? *n.asConst() : *specialise(n, where).asConst(); };
  for (auto& n : x->shape) from.push_back(constant(n)), nFrom *= from.back();
  for (auto& n : shape) to.push_back(constant(n)), nTo *= to.back();
  if (nFrom != nTo) {
    fail("E0403", where, "`reshape` of " + std::to_string(nFrom) + " elements to " + std::to_string(nTo), "from " + shapeText(*x));
  }
  return Value::of(mapAxes(strong(x), shape, [from, to](const std::vector<Ix>& pos) {
    Ix flat = 0;
    for (size_t k = 0; k < to.size(); ++k) flat = flat * Ix(to[k]) + pos[k];
    std::vector<Ix> p(from.size());
    int64_t stride = 1;
    for (size_t k = from.size(); k-- > 0;) {
      Ix q = Ix::floordiv(flat, stride);
      p[k] = k == 0 ? q : Ix::mod(q, from[k]);
      stride *= from[k];
    }
    return p;
  }));
}

Arr Elaborator::filled(const Value& shape, double v, Args& args, Span where) {
  std::vector<Ix> s = shapeArgument(shape, where);
  std::set<Sym> dims;
  for (auto& n : s) {
    for (Sym d : n.vars()) {
      if (isDim(d) || boundVars_.count(d)) dims.insert(d);
    }
  }
  bool whole = v == static_cast<double>(static_cast<int64_t>(v));
  Loc l = loc(where);
  return composite(whole ? DType::I32 : DType::F32, whole ? Weak::Int : Weak::Float, dims, s,
                   [v, l](const std::vector<Ix>&, DType want) { return ex::constant(want, v, l); });
}

Value Elaborator::bZeros(Args& a, Span where) {
  Value list;
  list.kind = Value::Kind::List;
  list.items = a.positional;
  bool one = a.positional.size() == 1 && a.positional[0].kind != Value::Kind::Array;
  if (auto it = a.named.find("shape"); it != a.named.end()) return Value::of(filled(it->second, 0, a, where));
  return Value::of(filled(one ? a.positional[0] : list, 0, a, where));
}

Value Elaborator::bOnes(Args& a, Span where) {
  Value list;
  list.kind = Value::Kind::List;
  list.items = a.positional;
  bool one = a.positional.size() == 1 && a.positional[0].kind != Value::Kind::Array;
  return Value::of(filled(one ? a.positional[0] : list, 1, a, where));
}

Value Elaborator::bFull(Args& a, Span where) {
  expectArgs(a, 2, 2, "full", {}, where);
  Arr v = argument(a, 1, "value", where);
  auto shape = shapeArgument(a.positional.at(0), where);
  if (v->unknown) return Value::of(v);
  if (v->rank()) fail("E0419", where, "`full` takes a scalar", shapeText(*v));
  return Value::of(composite(v->dtype, v->weak, v->dims, shape,
                             [this, v](const std::vector<Ix>&, DType want) { return v->gen({}, want); }));
}

Value Elaborator::bBroadcast(Args& a, Span where) {
  expectArgs(a, 2, 2, "broadcast", {}, where);
  Arr x = argument(a, 0, "x", where);
  auto shape = shapeArgument(a.positional.at(1), where);
  if (x->unknown) return Value::of(x);
  auto target = std::make_shared<Array>();
  target->shape = shape;
  auto joined = joinShapes({x, target}, where);
  return Value::of(composite(x->dtype, x->weak, x->dims, joined, [this, x, joined](const std::vector<Ix>& pos, DType want) {
    return atBroadcast(x, pos, joined, x->weak == Weak::None ? x->dtype : want);
  }));
}

Value Elaborator::bArange(Args& a, Span where) {
  expectArgs(a, 1, 2, "arange", {}, where);
  Arr first = argument(a, 0, "n", where), second = optionalArgument(a, 1, "hi");
  if (!first->ix || (second && !second->ix)) fail("E0409", where, "the bounds of `arange` must be made of dims, sizes and integers");
  Value r;
  r.kind = Value::Kind::Range;
  r.range = std::make_shared<RangeValue>();
  r.range->lo = second ? first : fromIx(0);
  r.range->hi = second ? second : first;
  Args inner = a;
  inner.positional = {r};
  return bSteps(inner, where);
}

Value Elaborator::bSteps(Args& a, Span where) {
  expectArgs(a, 1, 1, "steps", {}, where);
  const Value& v = a.positional.at(0);
  if (v.kind != Value::Kind::Range) fail("E0409", where, "`steps` takes a range, as in `steps(0 : t+1)`");
  IndexValue iv;
  iv.step = v.range->step;
  iv.span = where;
  if (!v.range->lo->ix || !v.range->hi->ix) fail("E0409", where, "the bounds of a range must be made of dims, sizes and integers");
  Ix lo = *v.range->lo->ix, hi = *v.range->hi->ix;
  int64_t step = stepOf(iv);
  std::set<Sym> dims;
  for (const Ix& e : {lo, hi}) {
    for (Sym d : e.vars()) {
      if (isDim(d) || boundVars_.count(d)) dims.insert(d);
    }
  }
  Loc l = loc(where);
  Arr out = composite(DType::I32, Weak::Int, dims, {rangeLength(lo, hi, step)},
                      [lo, step, l](const std::vector<Ix>& pos, DType want) {
                        return ex::index(lo + Ix(step) * pos[0], want, l);
                      });
  return Value::of(bounded(out, lo, hi));
}

Value Elaborator::bEye(Args& a, Span where) {
  expectArgs(a, 1, 1, "eye", {}, where);
  Ix n = shapeArgument(a.positional.at(0), where).at(0);
  Loc l = loc(where);
  return Value::of(composite(DType::I32, Weak::Int, {}, {n, n}, [l](const std::vector<Ix>& pos, DType want) {
    return ex::guard(Cond::eq(pos[0], pos[1]), ex::constant(want, 1, l), ex::constant(want, 0, l), l);
  }));
}

Value Elaborator::bShape(Args& a, Span where) {
  expectArgs(a, 1, 1, "shape", {}, where);
  Arr x = argument(a, 0, "x", where);
  if (x->unknown) return Value::of(x);
  Value out;
  out.kind = Value::Kind::List;
  for (auto& n : x->shape) out.items.push_back(Value::of(fromIx(n)));
  return out;
}

Value Elaborator::bLen(Args& a, Span where) {
  expectArgs(a, 1, 1, "len", {}, where);
  const Value& v = a.positional.at(0);
  if (v.kind == Value::Kind::List || v.kind == Value::Kind::Tuple) return Value::of(fromIx(static_cast<int64_t>(v.items.size())));
  if (v.kind == Value::Kind::Range) return Value::of(fromIx(rangeLength(*v.range->lo->ix, *v.range->hi->ix, 1)));
  Arr x = argument(a, 0, "x", where);
  if (x->unknown) return Value::of(x);
  if (x->rank() == 0) fail("E0412", where, "a scalar has no length");
  return Value::of(fromIx(x->shape[0]));
}

Arr Elaborator::argsortOf(const Arr& x0, bool descending, Span where) {
  if (x0->unknown) return x0;
  if (x0->rank() == 0) fail("E0412", where, "a scalar cannot be sorted");
  Arr x = strong(x0);
  Arr out = makeNode("argsort", x->shape, DType::I32, x->dims,
                     [&](const std::vector<Ix>& pos) {
                       Body b;
                       b.kind = Body::Kind::ArgSort;
                       b.value = at(x, pos, x->dtype);
                       b.descending = descending;
                       return b;
                     },
                     loc(where));
  return bounded(out, Ix(0), x->shape.back());
}

Value Elaborator::bArgsort(Args& a, Span where) {
  expectArgs(a, 1, 1, "argsort", {"descending"}, where);
  bool descending = false;
  if (auto it = a.named.find("descending"); it != a.named.end()) {
    Arr d = asArray(it->second, where);
    if (!d->cond) fail("E0214", where, "`descending` must be true or false");
    descending = d->cond->isTrue();
  }
  return Value::of(argsortOf(argument(a, 0, "x", where), descending, where));
}

Value Elaborator::bSort(Args& a, Span where) {
  expectArgs(a, 1, 1, "sort", {"descending"}, where);
  Arr x = argument(a, 0, "x", where);
  if (x->unknown) return Value::of(x);
  if (x->rank() != 1) fail("E0402", where, "`sort` takes one axis", shapeText(*x));
  x = materialise(x, "key");
  Args inner = a;
  inner.positional = {Value::of(x)};
  IndexValue iv;
  iv.span = where;
  iv.lo = bArgsort(inner, where).array;
  return Value::of(gatherAxis(x, 0, iv, where));
}

}  // namespace tempo::elab
