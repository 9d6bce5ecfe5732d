// Outputs, reports, prints and assertions.
#include <algorithm>

#include "elab/elaborator.hpp"

namespace tempo::elab {

void Elaborator::elaborateOutput(const ast::Stmt& st) {
  Saved saved(*this);
  cx_ = Context();
  for (auto& t : st.targets) {
    Binding* b = lookup(t.name.text, program_);
    if (!b) unknownName(t.name.text, t.name.span, program_);
    if (b->kind != Binding::Kind::Tensor) {
      fail("E0420", t.name.span, "an output is a tensor", "`" + t.name.text + "` is none", "give it a name by an equation");
    }
    if (!emit_) continue;
    Entry& e = *b->entry;
    Arr a = readEntry(e, t.name.span);
    std::vector<IndexValue> ix;
    for (auto& i : t.indices) ix.push_back(readIndex(i, program_));
    if (!ix.empty()) resolveDims(a, ix, t.span);
    Output o;
    o.node = nodeOf(e);
    o.name = t.name.text;
    o.path = st.text;
    o.loc = loc(t.span);
    for (Sym d : dimsInOrder(e.dims)) {
      RVar box{d, Ix(0), dimSize(d)};
      bool fixed = false;
      for (auto& i : ix) {
        if (i.dim != d) continue;
        if (i.data() || stepOf(i) != 1) fail("E0409", i.span, "an output is indexed by points and ranges of step 1");
        if (!i.range && i.lo && i.lo->ix && i.lo->ix->asVar() == d) continue;  // `h[t, L]`: every t
        fixed = !i.range;
        box.lo = i.lo ? *i.lo->ix : Ix(0);
        box.hi = fixed ? box.lo + 1 : i.hi ? *i.hi->ix : dimSize(d);
      }
      o.box.push_back(box);
      o.fixed.push_back(fixed);
    }
    for (auto& other : graph_.outputs) {
      if (other.name == o.name && other.path == o.path) fail("E0202", t.name.span, "`" + o.name + "` is an output twice");
    }
    graph_.outputs.push_back(o);
  }
}

/// A value of an effect as a read of a node.
void Elaborator::effectValue(Effect& f, const std::string& name, const Arr& a0, std::set<Sym>& dims) {
  dims.insert(a0->dims.begin(), a0->dims.end());
  if (!emit_ || a0->unknown) return;
  Arr a = materialise(a0, name);
  std::vector<Axis> axes;
  std::vector<Ix> pos;
  for (size_t k = 0; k < a->rank(); ++k) {
    axes.push_back({uniqueVar(name + "_" + std::to_string(k)), a->shape[k]});
    pos.push_back(axes.back().var);
  }
  f.values.push_back({name, at(a, pos, a->dtype)});
  f.axes.push_back(axes);
}

void Elaborator::effectCondition(PendingEffect& p, const ast::ExprPtr& when, const char* name, std::set<Sym>& dims) {
  if (!when) return;
  Arr c = evalArray(*when, program_);
  dims.insert(c->dims.begin(), c->dims.end());
  if (c->unknown) return;
  if (c->cond) {
    p.when = p.when && *c->cond;
    return;
  }
  if (c->dtype != DType::Bool || c->rank() != 0) fail("E0419", when->span, "a condition is one bool", shapeText(*c));
  if (!emit_) return;
  Arr m = materialise(c, name);
  p.effect.condition = at(m, {}, DType::Bool);
}

void Elaborator::elaborateReport(const ast::Stmt& st) {
  Saved saved(*this);
  cx_ = Context();
  cx_.path = "report";
  // Values over different dims happen at different points: one effect for each set of dims.
  std::map<std::set<Sym>, size_t> byDims;
  for (auto& item : st.reportItems) {
    std::string name = item.name ? item.name->text : diags_.sources().text(item.span);
    Arr a = evalArray(*item.value, program_);
    std::set<Sym> dims;
    PendingEffect p;
    p.effect.kind = Effect::Kind::Report;
    p.effect.loc = loc(item.span);
    effectValue(p.effect, name, a, dims);
    effectCondition(p, st.when, "when", dims);
    if (st.every) {
      int64_t n = evalInt(*st.every, program_, "the step of `every`");
      Binding* b = lookup(st.text, program_);
      if (!b || b->kind != Binding::Kind::Dim) fail("E0219", st.span, "`" + st.text + "` is no dim", "`every` counts a dim");
      if (n < 1) fail("E0507", st.every->span, "`every` needs a number of at least 1");
      p.when = p.when && Cond::eq0(Ix::mod(Ix(b->dim), n));
      dims.insert(b->dim);
    }
    if (!emit_) continue;
    auto [it, fresh] = byDims.emplace(dims, effects_.size());
    if (fresh || p.effect.condition) {
      p.effect.dims = dimsInOrder(dims);
      effects_.push_back(p);
    } else {
      Effect& f = effects_[it->second].effect;
      f.values.push_back(p.effect.values.at(0));
      f.axes.push_back(p.effect.axes.at(0));
    }
  }
}

void Elaborator::elaboratePrint(const ast::Stmt& st) {
  Saved saved(*this);
  cx_ = Context();
  cx_.path = "print";
  PendingEffect p;
  p.effect.kind = Effect::Kind::Print;
  p.effect.loc = loc(st.span);
  std::set<Sym> dims;
  for (auto& item : st.reportItems) {
    std::string name = item.name ? item.name->text : diags_.sources().text(item.span);
    effectValue(p.effect, name, evalArray(*item.value, program_), dims);
  }
  effectCondition(p, st.when, "when", dims);
  p.effect.dims = dimsInOrder(dims);
  if (emit_) effects_.push_back(p);
}

void Elaborator::elaborateAssert(const ast::Stmt& st) {
  Saved saved(*this);
  cx_ = Context();
  cx_.path = "assert";
  PendingEffect p;
  p.effect.kind = Effect::Kind::Assert;
  p.effect.loc = loc(st.value->span);
  p.effect.text = st.text;
  std::set<Sym> dims;
  Arr a = evalArray(*st.value, program_);
  dims.insert(a->dims.begin(), a->dims.end());
  if (st.when) {
    Arr c = evalArray(*st.when, program_);
    dims.insert(c->dims.begin(), c->dims.end());
    if (!c->unknown && !c->cond) fail("E0413", st.when->span, "the `when` of an assert must be made of dims and sizes");
    if (c->cond) p.when = *c->cond;
  }
  p.effect.dims = dimsInOrder(dims);
  if (!emit_) return;
  if (a->dtype != DType::Bool || a->rank() != 0) fail("E0419", st.value->span, "an assertion is one bool", shapeText(*a), "`all(...)` makes one of many");
  Arr m = materialise(a, "holds");
  p.effect.condition = at(m, {}, DType::Bool);
  effects_.push_back(p);
}

void Elaborator::addEffects() {
  for (auto& e : effects_) graph_.effects.push_back(e.effect);
}

}  // namespace tempo::elab
