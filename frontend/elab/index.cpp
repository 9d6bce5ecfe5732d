// Indexing: which dim an index belongs to, points, ranges, gathers, axis slices.
#include <algorithm>

#include "check.hpp"
#include "elab/elaborator.hpp"

namespace tempo::elab {

std::vector<Sym> Elaborator::dimsInOrder(const std::set<Sym>& dims) const {
  std::vector<Sym> out;
  for (Sym d : dims) {
    if (isDim(d)) out.push_back(d);
  }
  std::sort(out.begin(), out.end(), [&](Sym a, Sym b) { return dimIndex_.at(a) < dimIndex_.at(b); });
  return out;
}

/// The dims an index expression names: by themselves, by their size, or through a bound variable; for data, its dims.
std::set<Sym> Elaborator::mentionOf(const Arr& a) const {
  if (a->ix || a->later) return a->mention;
  std::set<Sym> out;
  for (Sym d : a->dims) {
    auto it = boundVars_.find(d);
    if (it == boundVars_.end()) {
      out.insert(d);
    } else if (it->second.standsFor) {
      out.insert(it->second.standsFor);
    }
  }
  return out;
}

Ix Elaborator::rangeLength(const Ix& lo, const Ix& hi, int64_t step) {
  Ix n = step > 0 ? hi - lo : lo - hi;
  int64_t s = step > 0 ? step : -step;
  if (s != 1) n = Ix::floordiv(n + (s - 1), s);
  if (n.asConst()) return Ix::max(n, 0);
  // Where nothing can make it negative the `max` is left out; one step beyond each end is counted in, for shifted reads.
  Cond given = sizeFacts();
  std::set<Sym> vars = n.vars();
  std::set<Sym> bounds;
  for (Sym v : vars) {
    if (auto it = boundVars_.find(v); it != boundVars_.end()) given = given && Cond::range(v, it->second.lo, it->second.hi);
  }
  given.collect(vars);
  for (Sym v : vars) {
    if (isDim(v)) given = given && Cond::ge(v, -1) && Cond::le(v, dimSize(v));
  }
  auto key = std::make_pair(n.str() + " >= 0", given.str());
  auto it = lengthCache_.find(key);
  bool nonNegative = false;
  if (it != lengthCache_.end()) {
    nonNegative = it->second;
  } else {
    try {
      nonNegative = solver_.implies(given, Cond::ge0(n));
    } catch (const NotAffine&) {
    }
    lengthCache_[key] = nonNegative;
  }
  return nonNegative ? n : Ix::max(n, 0);
}

int64_t Elaborator::stepOf(const IndexValue& iv) {
  if (!iv.step) return 1;
  Ix s = *iv.step->ix;
  if (!s.asConst()) s = specialise(s, iv.span);
  if (*s.asConst() == 0) fail("E0409", iv.span, "the step of a range is 0", "a step goes somewhere");
  if (*s.asConst() < 0) fail("E0409", iv.span, "the step of a range is negative", "", "write the reversed index, as in `x[T - 1 - t]`");
  return *s.asConst();
}

Elaborator::IndexValue Elaborator::readIndex(const ast::Index& i, const ScopePtr& s) {
  IndexValue iv;
  iv.span = i.span;
  auto bound = [&](const ast::ExprPtr& e) -> Arr {
    if (!e) return nullptr;
    Arr a = settled(evalArray(*e, s));
    if (!a->ix && !a->unknown) {
      fail("E0409", e->span, "the bounds of a range must be made of dims, sizes and integers", "depends on the data of a tensor");
    }
    return a;
  };
  auto take = [&](const Arr& lo, const Arr& hi, const Arr& step) {
    iv.range = true;
    iv.lo = lo;
    iv.hi = hi;
    iv.step = step;
  };
  if (i.kind == ast::Index::Kind::Range) {
    take(bound(i.lo), bound(i.hi), bound(i.step));
    iv.whole = !iv.lo && !iv.hi;
  } else {
    Value v = eval(*i.lo, s);
    if (v.kind == Value::Kind::Range) {
      take(v.range->lo, v.range->hi, v.range->step);
    } else {
      iv.lo = settled(asArray(v, i.lo->span));
      if (!iv.lo->ix && !iv.lo->unknown && (iv.lo->weak == Weak::Float || isFloat(iv.lo->dtype))) {
        fail("E0408", i.span, "an index must be an integer", "this is a float", "`//` divides and rounds down");
      }
    }
  }
  if (i.withinLo) iv.withinLo = evalIx(*i.withinLo, s, "a bound after `within`");
  if (i.withinHi) iv.withinHi = evalIx(*i.withinHi, s, "a bound after `within`");
  for (const Arr& a : {iv.lo, iv.hi}) {
    if (!a) continue;
    for (Sym m : mentionOf(a)) iv.mention.insert(m);
  }
  if (i.dim) {
    Binding* b = lookup(i.dim->text, s);
    if (!b || b->kind != Binding::Kind::Dim) fail("E0219", i.dim->span, "`" + i.dim->text + "` is no dim", "a dim is needed");
    iv.dim = b->dim;
    iv.named = true;
  }
  return iv;
}

void Elaborator::resolveDims(const Arr& a, std::vector<IndexValue>& ix, Span where) {
  std::vector<Sym> dims = dimsInOrder(a->dims);
  std::set<Sym> own(dims.begin(), dims.end());
  bool named = std::any_of(ix.begin(), ix.end(), [](auto& i) { return i.named; });
  auto list = [&] {
    std::string s;
    for (Sym d : dims) s += (s.empty() ? "" : ", ") + d.name();
    return dims.empty() ? std::string("it has no dims") : "its dims are (" + s + ")";
  };
  if (!named && ix.size() == dims.size()) {
    for (size_t k = 0; k < ix.size(); ++k) {
      ix[k].dim = dims[k];
      if (ix[k].mention.size() == 1 && *ix[k].mention.begin() != dims[k] && own.count(*ix[k].mention.begin())) {
        std::string other = ix[k].mention.begin()->name();
        fail("E0405", ix[k].span, "this index can be read in two ways",
             "by position it is `" + dims[k].name() + "`, by name it is `" + other + "`",
             "name the dim: `" + dims[k].name() + " = ...` or `" + other + " = ...`");
      }
    }
    return;
  }
  std::set<Sym> taken;
  for (auto& i : ix) {
    if (!i.named) {
      std::vector<Sym> hits;
      for (Sym m : i.mention) {
        if (own.count(m)) hits.push_back(m);
      }
      if (hits.size() == 1) {
        i.dim = hits[0];
      } else if (hits.size() > 1) {
        fail("E0405", i.span, "this index mentions several dims of the tensor", "`" + hits[0].name() + "` or `" + hits[1].name() + "`?",
             "name the dim: `" + hits[0].name() + " = ...`");
      } else if (dims.empty() || ix.size() > dims.size()) {
        fail("E0411", i.span, "more indices than dims", list(),
             dims.empty() ? "axes are indexed after a semicolon: `x[; 0]`" : "");
      } else if (i.mention.size() == 1) {
        fail("E0410", i.span, "the value does not vary along `" + i.mention.begin()->name() + "`", list());
      } else {
        fail("E0405", i.span, "this index does not say which dim it is for", list(), "name the dim: `" + dims[0].name() + " = ...`");
      }
    }
    if (!own.count(i.dim)) fail("E0410", i.span, "the value does not vary along `" + i.dim.name() + "`", list());
    if (!taken.insert(i.dim).second) fail("E0405", i.span, "two indices for the dim `" + i.dim.name() + "`", list());
  }
}

Index Elaborator::dataIndex(const Arr& idx, const ExprPtr& value, const IndexValue& iv, Span where) {
  Index out;
  out.data = value;
  if (iv.withinLo && iv.withinHi) {
    out.lo = *iv.withinLo;
    out.hi = *iv.withinHi;
    out.checked = !(idx->lo && idx->hi && *idx->lo == out.lo && *idx->hi == out.hi);
    return out;
  }
  if (idx->lo && idx->hi) {
    out.lo = *idx->lo;
    out.hi = *idx->hi;
    return out;
  }
  fail("E0308", where, "the value of this index has no known range", "any integer could come",
       "state what it may touch, as in `x[idx within 0 : T]`, or `clip` it");
}

/// Points that are data: after this the array reads its node at the values of the index tensors.
Arr Elaborator::gatherDims(Arr a, const std::vector<IndexValue>& ix, Span where) {
  std::vector<Arr> idx;
  for (auto& i : ix) idx.push_back(i.lo);
  std::set<Sym> dims = a->dims;
  for (auto& i : ix) dims.erase(i.dim);
  for (auto& i : idx) dims.insert(i->dims.begin(), i->dims.end());
  bool unknown = a->unknown;
  for (auto& i : idx) unknown |= i->unknown;
  if (unknown) return unknownArray(dims);
  auto simple = [&] {
    if (!a->access) return false;
    for (auto& i : ix) {
      int uses = 0;
      for (auto& at : a->access->at) {
        if (at.data) {
          bool inside = false;
          ex::visit(at.data, [&](const Expr& e) { inside |= e.kind == Expr::Kind::Index && e.ix.uses(i.dim); });
          ex::visit(at.data, [&](const Expr& e) {
            for (auto& j : e.indices) inside |= !j.data && j.ix.uses(i.dim);
          });
          if (inside) return false;
        } else if (at.ix.uses(i.dim)) {
          if (at.ix.asVar() != i.dim) return false;
          ++uses;
        }
      }
      if (uses != 1) return false;
    }
    return true;
  };
  for (auto& i : ix) {
    for (auto& n : a->shape) {
      if (n.uses(i.dim)) fail("E0407", i.span, "a gather along `" + i.dim.name() + "`, on which a length depends", "length `" + n.str() + "`");
    }
  }
  if (!simple()) a = materialise(a, "of");
  if (!emit_ && !a->access) {
    auto shape0 = joinShapes(idx, where);
    shape0.insert(shape0.end(), a->shape.begin(), a->shape.end());
    Arr out = composite(a->dtype, Weak::None, dims, shape0, a->gen);
    return bounded(out, a->lo, a->hi);
  }
  std::vector<Ix> lead = joinShapes(idx, where), pos;
  std::vector<Sym> holes;
  for (size_t k = 0; k < lead.size(); ++k) {
    holes.push_back(hole());
    pos.push_back(holes.back());
  }
  Access acc = *a->access;
  for (size_t n = 0; n < ix.size(); ++n) {
    for (auto& at : acc.at) {
      if (at.data || at.ix.asVar() != ix[n].dim) continue;
      Arr v = idx[n]->weak == Weak::None ? idx[n] : strong(idx[n]);
      at = dataIndex(v, emit_ ? atBroadcast(v, pos, lead, v->dtype) : ex::constant(DType::I32, 0), ix[n], ix[n].span);
      break;
    }
  }
  std::vector<Ix> shape = lead;
  shape.insert(shape.end(), a->shape.begin(), a->shape.end());
  holes.insert(holes.end(), a->holes.begin(), a->holes.end());
  return bounded(accessArray(acc, holes, a->dtype, dims, shape, loc(where)), a->lo, a->hi);
}

Arr Elaborator::indexDims(const Arr& a0, const std::vector<IndexValue>& ix, Span where) {
  Arr a = a0;
  std::vector<IndexValue> data, rest;
  for (auto& i : ix) {
    if (i.lo && i.lo->unknown) {
      std::set<Sym> dims = a->dims;
      for (auto& j : ix) dims.erase(j.dim);
      for (auto& j : ix) {
        for (const Arr& v : {j.lo, j.hi}) {
          if (v) dims.insert(v->dims.begin(), v->dims.end());
        }
      }
      return unknownArray(dims);
    }
    (i.data() ? data : rest).push_back(i);
  }
  if (!data.empty()) {
    // The gather comes first; its index tensors are read at this step, so other indices must not shift them.
    if (!rest.empty()) a = indexDims(a, rest, where);
    bool seenRange = false;  // the axes of the gather come first, so they must be written first
    for (auto& i : ix) {
      seenRange |= i.range;
      if (seenRange && i.data() && i.lo->rank() > 0) {
        fail("E0208", where, "a range before an index that is a tensor with axes is not in this version", "", "write the range last");
      }
    }
    return gatherDims(a, data, where);
  }
  std::vector<Ix> lead;
  std::vector<std::function<Ix(const Ix&)>> along;
  std::vector<Sym> rangeDims;
  Subst points;
  std::set<Sym> dims = a->dims;
  for (auto& i : rest) dims.erase(i.dim);
  auto addDims = [&](const Ix& e) {
    for (Sym v : e.vars()) {
      if (isDim(v) || boundVars_.count(v)) dims.insert(v);
    }
  };
  for (auto& i : rest) {
    if (!i.range) {
      points[i.dim] = *i.lo->ix;
      addDims(*i.lo->ix);
      continue;
    }
    Ix lo = i.lo ? *i.lo->ix : Ix(0), hi = i.hi ? *i.hi->ix : dimSize(i.dim);
    int64_t step = stepOf(i);
    for (auto& n : a->shape) {
      if (n.uses(i.dim)) {
        fail("E0407", i.span, "a range along `" + i.dim.name() + "`, on which the length of an axis depends",
             "the axis has length `" + n.str() + "`", "reduce or contract that axis first");
      }
    }
    lead.push_back(rangeLength(lo, hi, step));
    rangeDims.push_back(i.dim);
    along.push_back([lo, step](const Ix& j) { return lo + Ix(step) * j; });
    addDims(lo);
    addDims(hi);
  }
  if (a->unknown) return unknownArray(dims);
  std::vector<Ix> shape = lead;
  for (auto& n : a->shape) {
    Ix m = n.subst(points);
    addDims(m);
    shape.push_back(m);
  }
  size_t nl = lead.size();
  Loc l = loc(where);
  std::shared_ptr<Array> out;
  if (a->access) {
    std::vector<Sym> holes;
    Subst s = points;
    for (size_t k = 0; k < nl; ++k) {
      holes.push_back(hole());
      s[rangeDims[k]] = along[k](holes[k]);
    }
    holes.insert(holes.end(), a->holes.begin(), a->holes.end());
    Arr shifted = substArray(a, s);
    out = std::make_shared<Array>(*accessArray(*shifted->access, holes, a->dtype, dims, shape, l));
  } else if (a->rank() == 0 && nl == 0 && (a->ix || a->cond)) {
    return substArray(a, points);
  } else {
    Gen gen = [this, a, nl, points, rangeDims, along](const std::vector<Ix>& pos, DType want) {
      Subst s = points;
      for (size_t k = 0; k < nl; ++k) s[rangeDims[k]] = along[k](pos[k]);
      std::vector<Ix> inner;
      for (size_t k = nl; k < pos.size(); ++k) {
        Sym h = hole();
        inner.push_back(h);
        s[h] = pos[k];
      }
      return ex::subst(a->gen(inner, want), s);
    };
    out = std::make_shared<Array>(*composite(a->dtype, a->weak, dims, shape, gen));
  }
  out->loc = l;
  Subst s = points;
  auto keep = [&](const std::optional<Ix>& b) -> std::optional<Ix> {
    if (!b) return std::nullopt;
    for (Sym d : rangeDims) {
      if (b->uses(d)) return std::nullopt;
    }
    return b->subst(s);
  };
  out->lo = keep(a->lo);
  out->hi = keep(a->hi);
  return out;
}

Arr Elaborator::gatherAxis(const Arr& a0, size_t axis, const IndexValue& iv, Span where) {
  Arr a = a0, idx = iv.lo;
  std::set<Sym> dims = a->dims;
  dims.insert(idx->dims.begin(), idx->dims.end());
  if (a->unknown || idx->unknown) return unknownArray(dims);
  std::vector<Ix> shape(a->shape.begin(), a->shape.begin() + axis);
  shape.insert(shape.end(), idx->shape.begin(), idx->shape.end());
  shape.insert(shape.end(), a->shape.begin() + axis + 1, a->shape.end());
  auto usesOf = [&](const Arr& x) {
    int uses = 0;
    for (auto& at : x->access->at) {
      if (!at.data && at.ix.uses(x->holes[axis])) uses += at.ix.asVar() == x->holes[axis] ? 1 : 2;
    }
    return uses;
  };
  if (!a->access || usesOf(a) != 1) a = materialise(a, "of");
  if (!emit_ && !a->access) return bounded(composite(a->dtype, Weak::None, dims, shape, a->gen), a->lo, a->hi);
  std::vector<Sym> holes(a->holes.begin(), a->holes.begin() + axis);
  std::vector<Ix> pos;
  for (size_t k = 0; k < idx->rank(); ++k) {
    holes.push_back(hole());
    pos.push_back(holes.back());
  }
  holes.insert(holes.end(), a->holes.begin() + axis + 1, a->holes.end());
  Access acc = *a->access;
  Arr v = strong(idx);
  for (auto& at : acc.at) {
    if (!at.data && at.ix.asVar() == a->holes[axis]) {
      at = dataIndex(v, emit_ ? this->at(v, pos, v->dtype) : ex::constant(DType::I32, 0), iv, iv.span);
      break;
    }
  }
  return bounded(accessArray(acc, holes, a->dtype, dims, shape, loc(where)), a->lo, a->hi);
}

/// The array, depending also on what the index expressions use.
Arr Elaborator::withDims(const Arr& a, const std::vector<Ix>& used) {
  auto b = std::make_shared<Array>(*a);
  for (auto& e : used) {
    for (Sym v : e.vars()) {
      if (isDim(v) || boundVars_.count(v)) b->dims.insert(v);
    }
  }
  return b;
}

Arr Elaborator::indexAxes(const Arr& a0, const std::vector<ast::Index>& ix, const ScopePtr& s, Span where) {
  Arr a = a0;
  if (a->unknown) {
    std::set<Sym> dims = a->dims;
    for (auto& i : ix) {
      if (i.kind != ast::Index::Kind::Point) continue;
      Value v = eval(*i.lo, s);
      if (v.kind == Value::Kind::Array) dims.insert(v.array->dims.begin(), v.array->dims.end());
    }
    return unknownArray(dims);
  }
  size_t written = 0;
  for (auto& i : ix) written += i.kind == ast::Index::Kind::Point || i.kind == ast::Index::Kind::Range;
  if (written > a->rank()) {
    fail("E0411", where, std::to_string(written) + " axis indices for a shape of " + std::to_string(a->rank()) + " axes",
         "the shape is " + shapeText(*a));
  }
  size_t axis = 0;
  for (auto& i : ix) {
    if (i.kind == ast::Index::Kind::Ellipsis) {
      axis += a0->rank() - written;
      continue;
    }
    if (i.kind == ast::Index::Kind::NewAxis) {
      std::vector<Ix> shape = a->shape;
      shape.insert(shape.begin() + axis, Ix(1));
      a = mapAxes(strong(a), shape, [axis](std::vector<Ix> p) {
        p.erase(p.begin() + axis);
        return p;
      });
      ++axis;
      continue;
    }
    IndexValue iv = readIndex(i, s);
    Ix length = a->shape[axis];
    auto fromEnd = [&](const Ix& v) { return v.asConst() && *v.asConst() < 0 ? length + v : v; };
    std::vector<Ix> shape = a->shape;
    if (iv.data()) {
      size_t extra = iv.lo->rank();
      a = gatherAxis(a, axis, iv, where);
      axis += extra;
    } else if (iv.range) {
      Ix lo = iv.lo ? fromEnd(*iv.lo->ix) : Ix(0), hi = iv.hi ? fromEnd(*iv.hi->ix) : length;
      int64_t step = stepOf(iv);
      if (!iv.whole || step != 1) {
        shape[axis] = iv.whole && step == 1 ? length : rangeLength(lo, hi, step);
        a = mapAxes(a, shape, [axis, lo, step](std::vector<Ix> p) {
          p[axis] = lo + Ix(step) * p[axis];
          return p;
        });
        a = withDims(a, {lo});
      }
      ++axis;
    } else {
      Ix at = fromEnd(*iv.lo->ix);
      shape.erase(shape.begin() + axis);
      a = mapAxes(a, shape, [axis, at](std::vector<Ix> p) {
        p.insert(p.begin() + axis, at);
        return p;
      });
      a = withDims(a, {at});
    }
  }
  auto out = std::make_shared<Array>(*a);
  if (out->access) return bounded(accessArray(*out->access, out->holes, out->dtype, out->dims, out->shape, loc(where)), a->lo, a->hi);
  out->loc = loc(where);
  return out;
}

Value Elaborator::indexValue(const Value& base, const ast::Expr& e, const ScopePtr& s) {
  if (base.kind == Value::Kind::List && !e.hasSemicolon) {
    if (e.indices.size() != 1 || e.hasSemicolon) fail("E0411", e.span, "a list takes one index");
    int64_t k = evalInt(*e.indices[0].lo, s, "the index of a list");
    int64_t n = static_cast<int64_t>(base.items.size());
    if (k < 0) k += n;
    if (k < 0 || k >= n) fail("E0404", e.span, "the list has " + std::to_string(n) + " items", "index " + std::to_string(k));
    return base.items[static_cast<size_t>(k)];
  }
  if (base.kind == Value::Kind::Tuple) {
    Value out = base;
    for (auto& item : out.items) item = indexValue(item, e, s);
    return out;
  }
  if (base.kind == Value::Kind::Instance) {
    auto inst = std::make_shared<Instance>(*base.instance);
    for (auto& i : e.indices) {
      IndexValue iv = readIndex(i, s);
      if (iv.range || iv.data()) fail("E0208", i.span, "an instance is indexed by points only in this version");
      Sym d = iv.named ? iv.dim : iv.mention.size() == 1 ? *iv.mention.begin() : Sym();
      if (!d) fail("E0405", i.span, "this index does not say which dim it is for", "", "name the dim, as in `net[i = 0]`");
      inst->at[d] = *iv.lo->ix;
    }
    Value out = base;
    out.instance = inst;
    return out;
  }
  Arr a = asArray(base, e.args[0]->span);
  if (!e.axisIndices.empty()) a = indexAxes(a, e.axisIndices, s, e.span);
  if (e.indices.empty()) return Value::of(a);
  std::vector<IndexValue> ix;
  for (auto& i : e.indices) {
    if (i.kind != ast::Index::Kind::Point && i.kind != ast::Index::Kind::Range) {
      fail("E0409", i.span, "`None` and `...` are for axes, after a semicolon", "", "`x[; None, :]`");
    }
    ix.push_back(readIndex(i, s));
  }
  if (a->unknown) {
    std::set<Sym> dims;
    for (auto& i : ix) {
      for (const Arr& v : {i.lo, i.hi}) {
        if (v) dims.insert(v->dims.begin(), v->dims.end());
      }
    }
    return Value::of(unknownArray(dims));
  }
  resolveDims(a, ix, e.span);
  return Value::of(indexDims(a, ix, e.span));
}

Value Elaborator::evalIndex(const ast::Expr& e, const ScopePtr& s) {
  Value base = eval(*e.args[0], s);
  if (base.kind == Value::Kind::Callable) {
    auto c = std::make_shared<Callable>(*base.callable);
    for (auto& i : e.indices) {
      const ast::Expr* n = i.lo.get();
      Binding* b = n && n->kind == ast::Expr::Kind::NameRef && i.kind == ast::Index::Kind::Point ? lookup(n->text, s) : nullptr;
      if (!b || b->kind != Binding::Kind::Dim) fail("E0219", i.span, "a dim is needed in the brackets of a function");
      c->dims.push_back(b->dim);
    }
    c->dimsGiven = true;
    Value out = base;
    out.callable = c;
    return out;
  }
  return indexValue(base, e, s);
}

}  // namespace tempo::elab
