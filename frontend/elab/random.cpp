// Draws. A draw is a node over the dims of its equation: a name is one value, and the number at a point is a function of
// the seed, the qualified name, the point and the position alone.
#include "elab/elaborator.hpp"

namespace tempo::elab {

/// A float in [0, 1), or in (0, 1] when `open`, from the upper 24 bits of a word.
ExprPtr Elaborator::uniformBits(const std::string& stream, const std::vector<Ix>& point, DType t, bool open) {
  ExprPtr word = ex::random(stream, point);
  ExprPtr top = ex::cast(DType::F32, ex::op(Op::FloorDiv, {word, ex::constant(DType::I64, 256)}));
  if (open) top = ex::op(Op::Add, {top, ex::constant(DType::F32, 1)});
  ExprPtr u = ex::op(Op::Mul, {top, ex::constant(DType::F32, 1.0 / 16777216.0)});
  return t == DType::F32 ? u : ex::cast(t, u);
}

Arr Elaborator::draw(const std::string& kind, DType t, const std::vector<Ix>& shape, const std::set<Sym>& dims,
                     const std::function<ExprPtr(const std::string&, const std::vector<Ix>&, const std::vector<Ix>&)>& f) {
  std::string base = cx_.path.empty() ? kind : cx_.path + "." + kind;
  int n = ++drawCounts_[base];
  std::string stream = n == 1 ? base : base + "." + std::to_string(n);
  std::set<Sym> all = dims;
  all.insert(cx_.dims.begin(), cx_.dims.end());
  std::vector<Ix> point;
  for (Sym d : dimsInOrder(cx_.dims)) point.push_back(d);
  for (Sym b : cx_.bound) {
    point.push_back(b);
    all.insert(b);
  }
  return makeNode(kind, shape, t, all,
                  [&](const std::vector<Ix>& pos) {
                    std::vector<Ix> at = point;
                    at.insert(at.end(), pos.begin(), pos.end());
                    Body b;
                    b.value = f(stream, at, pos);
                    return b;
                  },
                  {});
}

namespace {

std::vector<Ix> withLast(std::vector<Ix> p, int64_t last) {
  p.push_back(last);
  return p;
}

}  // namespace

std::vector<Ix> Elaborator::drawShape(Args& a, const std::vector<Arr>& params, Span where) {
  if (auto it = a.named.find("shape"); it != a.named.end()) return shapeArgument(it->second, where);
  auto shape = joinShapes(params, where);
  return shape.empty() && cx_.shape ? *cx_.shape : shape;
}

Value Elaborator::bUniform(Args& a, Span where) {
  expectArgs(a, 0, 2, "uniform", {"shape"}, where);
  Arr lo = optionalArgument(a, 0, "lo"), hi = optionalArgument(a, 1, "hi");
  if (!lo) lo = fromIx(0);
  if (!hi) hi = fromIx(1);
  if (lo->unknown || hi->unknown) return Value::of(lo->unknown ? lo : hi);
  Arr u = draw("uniform", DType::F32, drawShape(a, {lo, hi}, where), {},
               [&](auto& stream, auto& point, auto&) { return uniformBits(stream, point, DType::F32, false); });
  bool unit = lo->ix && *lo->ix == Ix(0) && hi->ix && *hi->ix == Ix(1);
  if (unit) return Value::of(u);
  return Value::of(elementwise(Op::Add, {lo, elementwise(Op::Mul, {elementwise(Op::Sub, {hi, lo}, where), u}, where)}, where));
}

Value Elaborator::bNormal(Args& a, Span where) {
  expectArgs(a, 0, 2, "normal", {"shape"}, where);
  Arr m = optionalArgument(a, 0, "m"), s = optionalArgument(a, 1, "s");
  if (!m) m = fromIx(0);
  if (!s) s = fromIx(1);
  if (m->unknown || s->unknown) return Value::of(m->unknown ? m : s);
  // Box-Muller: sqrt(-2 ln u1) cos(2 pi u2), u1 in (0, 1].
  Arr z = draw("normal", DType::F32, drawShape(a, {m, s}, where), {}, [&](auto& stream, auto& point, auto&) {
    DType f = DType::F32;
    ExprPtr u1 = uniformBits(stream, withLast(point, 0), f, true), u2 = uniformBits(stream, withLast(point, 1), f, false);
    ExprPtr r = ex::op(Op::Sqrt, {ex::op(Op::Mul, {ex::constant(f, -2), ex::op(Op::Log, {u1})})});
    return ex::op(Op::Mul, {r, ex::op(Op::Cos, {ex::op(Op::Mul, {ex::constant(f, 6.283185307179586), u2})})});
  });
  if (!(s->ix && *s->ix == Ix(1))) z = elementwise(Op::Mul, {s, z}, where);
  if (!(m->ix && *m->ix == Ix(0))) z = elementwise(Op::Add, {m, z}, where);
  return Value::of(z);
}

Value Elaborator::bBernoulli(Args& a, Span where) {
  expectArgs(a, 1, 1, "bernoulli", {"shape"}, where);
  Arr p = argument(a, 0, "p", where);
  if (p->unknown) return Value::of(p);
  Arr u = draw("bernoulli", DType::F32, drawShape(a, {p}, where), {},
               [&](auto& stream, auto& point, auto&) { return uniformBits(stream, point, DType::F32, false); });
  return Value::of(elementwise(Op::Lt, {u, p}, where));
}

/// The argmax of the logits plus Gumbel noise is a draw from their softmax.
Value Elaborator::bCategorical(Args& a, Span where) {
  expectArgs(a, 1, 1, "categorical", {}, where);
  Arr logits = argument(a, 0, "logits", where);
  if (logits->unknown) return Value::of(logits);
  if (logits->rank() == 0) fail("E0402", where, "`categorical` needs an axis of logits", shapeText(*logits));
  Arr g = draw("gumbel", DType::F32, logits->shape, logits->dims, [&](auto& stream, auto& point, auto&) {
    DType f = DType::F32;
    // u in (0, 1): the middle of one of 2^24 cells, so that both logarithms are finite.
    ExprPtr u = ex::op(Op::Add, {uniformBits(stream, point, f, false), ex::constant(f, 0.5 / 16777216.0)});
    u = ex::op(Op::Min, {u, ex::constant(f, 1 - 1.0 / 16777216.0)});
    return ex::op(Op::Neg, {ex::op(Op::Log, {ex::op(Op::Neg, {ex::op(Op::Log, {u})})})});
  });
  Arr x = elementwise(Op::Add, {strong(logits), g}, where);
  return Value::of(reduceAxes(Reduce::ArgMax, x, {x->rank() - 1}, false, nullptr, "categorical", where));
}

Value Elaborator::bRandint(Args& a, Span where) {
  expectArgs(a, 1, 1, "randint", {"shape"}, where);
  Arr n = argument(a, 0, "n", where);
  if (n->unknown) return Value::of(n);
  std::vector<Ix> shape = drawShape(a, {n}, where);
  if (!n->ix && (n->weak != Weak::None || !isInt(n->dtype))) fail("E0414", where, "`randint` takes an integer", shapeText(*n));
  Arr out = draw("randint", DType::I32, shape, n->dims, [&](auto& stream, auto& point, auto& pos) {
    ExprPtr bound = atBroadcast(n, pos, shape, DType::I64);
    return ex::cast(DType::I32, ex::op(Op::Mod, {ex::random(stream, point), bound}));
  });
  return Value::of(bounded(out, Ix(0), n->ix ? n->ix : n->hi));
}

Value Elaborator::bPermutation(Args& a, Span where) {
  expectArgs(a, 1, 1, "permutation", {}, where);
  Arr n = argument(a, 0, "n", where);
  if (n->unknown) return Value::of(n);
  if (!n->ix) fail("E0409", where, "the length of a permutation must be made of dims, sizes and integers");
  std::string base = cx_.path.empty() ? "permutation" : cx_.path + ".permutation";
  int count = ++drawCounts_[base];
  std::string stream = count == 1 ? base : base + "." + std::to_string(count);
  std::set<Sym> dims = n->dims;
  dims.insert(cx_.dims.begin(), cx_.dims.end());
  Arr out = makeNode("permutation", {*n->ix}, DType::I32, dims,
                     [&](const std::vector<Ix>& pos) {
                       std::vector<Ix> at;
                       for (Sym d : dimsInOrder(cx_.dims)) at.push_back(d);
                       for (Sym b : cx_.bound) at.push_back(b);
                       at.push_back(pos[0]);
                       Body b;
                       b.kind = Body::Kind::ArgSort;
                       b.value = ex::random(stream, at, loc(where));
                       return b;
                     },
                     loc(where));
  return Value::of(bounded(out, Ix(0), *n->ix));
}

}  // namespace tempo::elab
