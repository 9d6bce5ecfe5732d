// Equations: left sides, pieces, signatures' reads, emission.
#include <algorithm>

#include "check.hpp"
#include "elab/elaborator.hpp"

namespace tempo::elab {

Entry& Elaborator::entry(const std::string& name) {
  auto& p = entries_[name];
  if (!p) {
    p = std::make_unique<Entry>();
    p->name = name;
  }
  return *p;
}

Cond Elaborator::declaredRange(Sym d) { return Cond::range(Ix(d), Ix(0), dimSize(d)); }

Cond Elaborator::declaredRange(const std::set<Sym>& dims) {
  Cond c;
  for (Sym d : dimsInOrder(dims)) c = c && declaredRange(d);
  return c;
}

void Elaborator::declareEquation(const ast::Stmt& st, const ScopePtr& scope, const std::string& prefix, bool local) {
  for (size_t k = 0; k < st.targets.size(); ++k) {
    const ast::Target& t = st.targets[k];
    std::string full = prefix.empty() ? t.name.text : prefix + "." + t.name.text;
    Entry& e = entry(full);
    bool plain = !t.indexed && !st.when && !st.otherwise && st.kind == ast::Stmt::Kind::Equation;
    auto it = scope->names.find(t.name.text);
    if (it != scope->names.end() && (it->second.kind != Binding::Kind::Tensor || it->second.entry != &e || e.input)) {
      fail("E0202", t.name.span, "`" + t.name.text + "` is defined twice");
    }
    if (it != scope->names.end() && (plain || e.plain)) {
      bool both = plain && e.plain;
      Diagnostic& d = report(both ? "E0202" : "E0217", t.name.span,
                             both ? "`" + t.name.text + "` is defined twice"
                                  : "`" + t.name.text + "` has a plain left and pieces", "again here");
      d.secondary.push_back({e.span, "first here"});
      throw Reported{};
    }
    if (it == scope->names.end()) {
      e.pieces.clear();
      e.results.clear();
      e.seenDims.clear();
      e.plain = plain;
      e.local = local;
      e.scope = scope;
      e.span = t.name.span;
      e.declared.reset();
      e.failed = false;
      order_.push_back(&e);
      Binding b;
      if (e.structure) {
        auto& lazy = lazies_[&st];
        if (!lazy) {
          lazy = std::make_shared<LazyEquation>();
          lazy->stmt = &st;
          lazy->scope = scope;
          lazy->context.path = prefix;
        }
        b.kind = Binding::Kind::Lazy;
        b.lazy = lazy;
        b.item = k;
      } else {
        b.kind = Binding::Kind::Tensor;
        b.entry = &e;
      }
      scope->names[t.name.text] = b;
    }
    if (st.type && !e.declared) e.declared = st.type;
    PieceDef def;
    def.stmt = &st;
    def.target = &t;
    def.item = k;
    def.items = st.targets.size();
    e.pieces.push_back(def);
  }
}

/// The dim that an index on the left is for: named, mentioned, or found at the same position of another piece.
Sym Elaborator::leftDim(Entry& e, const ast::Target& t, size_t position, const ScopePtr& scope) {
  auto own = [&](const ast::Index& i) -> Sym {
    if (i.dim) {
      Binding* b = lookup(i.dim->text, scope);
      if (!b || b->kind != Binding::Kind::Dim) fail("E0219", i.dim->span, "`" + i.dim->text + "` is no dim", "a dim is needed");
      return b->dim;
    }
    if (i.kind != ast::Index::Kind::Point || !i.lo) return {};
    Arr a = evalArray(*i.lo, scope);
    return a->mention.size() == 1 ? *a->mention.begin() : Sym();
  };
  const ast::Index& i = t.indices[position];
  if (Sym d = own(i)) return d;
  for (auto& p : e.pieces) {
    if (!p.target->indexed || p.target->indices.size() != t.indices.size()) continue;
    if (Sym d = own(p.target->indices[position])) return d;
  }
  auto dims = dimsInOrder(e.dims);
  if (dims.size() == t.indices.size()) return dims[position];
  if (dims_.size() == 1) return dims_[0].var;
  fail("E0220", i.span, "this index does not say which dim it is for", "no other piece of `" + t.name.text + "` tells",
       "name the dim: `" + t.name.text + "[" + (dims_.empty() ? "t" : dims_[0].var.name()) + " = ...]`");
}

LeftMap Elaborator::indexedLeft(Entry& e, const PieceDef& def, const ScopePtr& scope) {
  LeftMap m;
  const ast::Target& t = *def.target;
  for (size_t k = 0; k < t.indices.size(); ++k) {
    const ast::Index& i = t.indices[k];
    if (i.kind != ast::Index::Kind::Point) fail("E0220", i.span, "a left side is indexed by points", "a range stands here");
    Sym d = leftDim(e, t, k, scope);
    Ix v = evalIx(*i.lo, scope, "the index of a left side");
    if (!m.used.insert(d).second) fail("E0220", i.span, "two indices for the dim `" + d.name() + "`");
    std::vector<Sym> dims;
    for (Sym s : v.vars()) {
      if (isDim(s)) dims.push_back(s);
    }
    if (dims.empty()) {
      m.where = m.where && Cond::eq(Ix(d), v);
      m.active = m.active && Cond::eq(Ix(d), v);
      continue;
    }
    int64_t c = 0;
    Ix rest = v.constant();
    bool linear = dims.size() == 1 && dims[0] == d;
    for (auto& [coef, atom] : v.terms()) {
      if (atom.asVar() == d) {
        c = coef;
      } else {
        linear &= !atom.uses(d);
        rest = rest + Ix(coef) * atom;
      }
    }
    if (!linear || c == 0) {
      fail("E0220", i.span, "the index of a left side must be a multiple of its dim plus a constant", "`" + v.str() + "`");
    }
    Ix back = c > 0 ? Ix(d) - rest : rest - Ix(d);
    int64_t a = c > 0 ? c : -c;
    if (a != 1) {
      m.where = m.where && Cond::eq0(Ix::mod(back, a));
      back = Ix::floordiv(back, a);
    }
    if (!(back == Ix(d))) m.toEquation[d] = back;
    m.where = m.where && Cond::range(back, Ix(0), dimSize(d));
    m.active = m.active && declaredRange(d);
  }
  return m;
}

/// `next(i, e, m) p = ...`: the successor in lexicographic order, one case per dim that advances.
std::vector<LeftMap> Elaborator::nextLefts(Entry& e, const PieceDef& def, const ScopePtr& scope) {
  std::vector<Sym> dims;
  for (auto& n : def.stmt->names) {
    Binding* b = lookup(n.text, scope);
    if (!b || b->kind != Binding::Kind::Dim) fail("E0216", n.span, "`" + n.text + "` is no dim");
    dims.push_back(b->dim);
  }
  if (dims.empty()) fail("E0216", def.stmt->span, "`next` needs dims");
  std::vector<LeftMap> out;
  for (size_t k = 0; k < dims.size(); ++k) {
    LeftMap m;
    m.used.insert(dims.begin(), dims.end());
    m.active = declaredRange(m.used);
    for (size_t j = 0; j < dims.size(); ++j) {
      Ix d = dims[j];
      if (j < k) {
        m.where = m.where && declaredRange(dims[j]);
      } else if (j == k) {
        m.toEquation[dims[j]] = d - 1;
        m.where = m.where && Cond::range(d - 1, Ix(0), k == 0 ? dimSize(dims[j]) : dimSize(dims[j]) - 1);
      } else {
        m.toEquation[dims[j]] = dimSize(dims[j]) - 1;
        m.where = m.where && Cond::eq0(d) && Cond::gt(dimSize(dims[j]), 0);
      }
    }
    out.push_back(m);
  }
  return out;
}

std::vector<LeftMap> Elaborator::leftMaps(Entry& e, const PieceDef& def, const ScopePtr& scope) {
  if (def.stmt->kind == ast::Stmt::Kind::Next) return nextLefts(e, def, scope);
  return {indexedLeft(e, def, scope)};
}

Value Elaborator::part(const Value& v, size_t i, size_t n, Span where) {
  if (n == 1) return v;
  if (v.kind == Value::Kind::Array && v.array->unknown) return v;
  if (v.kind == Value::Kind::Tuple || v.kind == Value::Kind::List) {
    if (v.items.size() != n) {
      fail("E0215", where, std::to_string(n) + " names on the left, " + std::to_string(v.items.size()) + " values on the right");
    }
    return v.items[i];
  }
  fail("E0215", where, std::to_string(n) + " names on the left, one value on the right");
}

void Elaborator::evaluateEquation(const ast::Stmt& st, const ScopePtr& scope, const std::string& prefix, bool local) {
  Saved saved(*this);
  std::vector<Entry*> targets;
  struct Restore {
    Entry*& slot;
    Entry* old;
    ~Restore() { slot = old; }
  } restore{current_, current_};
  for (auto& t : st.targets) targets.push_back(&entry(prefix.empty() ? t.name.text : prefix + "." + t.name.text));
  try {
    auto mine = [&](Entry& e) -> const PieceDef& {
      for (auto& p : e.pieces) {
        if (p.stmt == &st) return p;
      }
      internalError(__FILE__, __LINE__, "a piece was not declared");
    };
    std::vector<std::vector<LeftMap>> lefts;
    cx_.path = targets[0]->name;
    current_ = targets[0];
    if (!local) {
      cx_.dims.clear();
      cx_.active = Cond();
      cx_.bound.clear();
    }
    cx_.shape.reset();
    std::set<Sym> used;
    for (auto* e : targets) {
      lefts.push_back(leftMaps(*e, mine(*e), scope));
      used.insert(lefts.back()[0].used.begin(), lefts.back()[0].used.end());
      e->seenDims.insert(lefts.back()[0].used.begin(), lefts.back()[0].used.end());
      e->dims.insert(lefts.back()[0].used.begin(), lefts.back()[0].used.end());
      cx_.dims.insert(e->dims.begin(), e->dims.end());
    }
    cx_.active = cx_.active && lefts[0][0].active;
    std::set<Sym> others = cx_.dims;
    for (Sym d : used) others.erase(d);
    cx_.active = cx_.active && declaredRange(others);
    Cond when;
    if (st.when) {
      when = evalCond(*st.when, scope);
      cx_.active = cx_.active && when;
    }
    const auto& declared = targets[0]->declared;
    if (declared && declared->shape && st.targets.size() == 1) {
      std::vector<Ix> shape;
      for (auto& x : *declared->shape) shape.push_back(evalIx(*x, scope, "a length"));
      cx_.shape = shape;
    }
    auto lazy = lazies_.find(&st);
    Value v;
    if (lazy != lazies_.end()) {
      Binding b;
      b.kind = Binding::Kind::Lazy;
      b.lazy = lazy->second;
      force(*lazy->second, b, st.span);
      v = lazy->second->value;
    } else {
      v = eval(*st.value, scope);
    }
    for (size_t k = 0; k < targets.size(); ++k) {
      evaluatePiece(*targets[k], mine(*targets[k]), part(v, k, targets.size(), st.value->span), lefts[k], when, scope);
    }
  } catch (const Reported&) {
    for (auto* e : targets) e->failed = true;
  }
}

namespace {

bool isTensorList(const Value& v) {
  if (v.kind != Value::Kind::List) return v.kind == Value::Kind::Array;
  return !v.items.empty() && std::all_of(v.items.begin(), v.items.end(), isTensorList);
}

}  // namespace

void Elaborator::evaluatePiece(Entry& e, const PieceDef& def, const Value& v0, const std::vector<LeftMap>& lefts,
                               const Cond& when, const ScopePtr& scope) {
  Value v = isTensorList(v0) ? Value::of(asArray(v0, def.stmt->value->span)) : v0;
  if (v.kind != Value::Kind::Array) {
    if (!e.plain || e.local) {
      fail("E0208", def.stmt->span, "an indexed equation of a tuple, list or instance is not in this version", "its value is a structure");
    }
    if (!e.structure) changed_ = true;
    e.structure = true;
    return;
  }
  for (Sym d : v.array->dims) {
    if (isDim(d)) {
      e.seenDims.insert(d);
    } else if (emit_ && boundVars_.count(d)) {
      fail("E0208", def.stmt->span, "an indexed equation below a comprehension is not in this version", "depends on `" + d.name() + "`");
    }
  }
  for (Sym d : when.vars()) {
    if (isDim(d)) e.seenDims.insert(d);
  }
  PieceResult r;
  r.def = &def;
  r.value = v.array;
  r.lefts = lefts;
  r.when = when;
  r.loc = loc(def.stmt->value->span);
  e.results.push_back(r);
}

NodeId Elaborator::nodeOf(Entry& e) {
  if (visited_.insert(e.name).second) {
    Node n;
    n.name = uniqueName(e.name);
    n.dims = dimsInOrder(e.dims);
    n.dtype = e.dtype;
    n.loc = loc(e.span);
    for (size_t k = 0; k < e.shape.size(); ++k) n.axes.push_back({uniqueVar(e.name + "_" + std::to_string(k)), e.shape[k]});
    e.node = graph_.add(std::move(n));
    roles_.push_back(e.plain ? NodeRole::Plain : NodeRole::Fixed);
  }
  return e.node;
}

/// A plain left that needs its own type: reports the circle of names.
void Elaborator::checkPlainCycle(Entry& start, Span where) {
  std::map<Entry*, Entry*> from;
  std::vector<Entry*> stack{&start};
  while (!stack.empty()) {
    Entry* e = stack.back();
    stack.pop_back();
    for (Entry* next : reads_[e]) {
      if (!next->plain || from.count(next)) continue;
      from[next] = e;
      stack.push_back(next);
    }
  }
  if (!start.plain || !from.count(&start)) return;
  std::string circle = "`" + start.name + "`";
  for (Entry* e = from[&start]; e != &start; e = from[e]) circle = "`" + e->name + "`, which reads " + circle;
  start.failed = true;
  for (auto& [e, by] : from) e->failed = true;
  fail("E0205", where, "`" + start.name + "` depends on itself through plain lefts", "`" + start.name + "` reads " + circle,
       "write the index on the left, as in `" + start.name + "[" + (dims_.empty() ? "t" : dims_[0].var.name()) + "] = ...`");
}

Arr Elaborator::readEntry(Entry& e, Span where) {
  if (current_) reads_[current_].insert(&e);
  if (!e.known) {
    if (emit_) {
      if (e.failed || e.structure) throw Reported{};
      checkPlainCycle(e, where);
      fail("E0416", where, "the type of `" + e.name + "` cannot be inferred", "read here", "write it, as in `" + e.name + " : f32[...] = ...`");
    }
    return unknownArray(e.dims);
  }
  Access acc;
  acc.node = nodeOf(e);
  for (Sym d : dimsInOrder(e.dims)) {
    Index i;
    i.ix = d;
    acc.at.push_back(i);
  }
  std::vector<Sym> holes;
  for (size_t k = 0; k < e.shape.size(); ++k) {
    holes.push_back(hole());
    Index i;
    i.ix = holes.back();
    acc.at.push_back(i);
  }
  return bounded(accessArray(acc, holes, e.dtype, e.dims, e.shape, loc(where)), e.lo, e.hi);
}

/// The pieces of the node, with all signatures known.
void Elaborator::emitEntry(Entry& e) {
  if (e.input || e.structure || e.failed || e.results.empty()) return;
  if (!e.known) {
    fail("E0416", e.span, "the type of `" + e.name + "` cannot be inferred", "defined here", "write it, as in `" + e.name + " : f32[...] = ...`");
  }
  NodeId id = nodeOf(e);
  std::vector<Ix> axes;
  for (auto& a : graph_.at(id).axes) axes.push_back(a.var);
  std::vector<Piece> pieces;
  std::optional<size_t> otherwise;
  Cond covered = Cond::truth(false);
  for (auto& r : e.results) {
    Span span = spanOf(r.loc);
    if (r.value->weak == Weak::Float && isInt(e.dtype)) fail("E0417", span, "a float where `" + e.name + "` is " + name(e.dtype));
    if (r.value->weak == Weak::None && promote(r.value->dtype, e.dtype) != e.dtype) {
      fail("E0417", span, "this is " + std::string(name(r.value->dtype)) + ", and `" + e.name + "` is " + name(e.dtype));
    }
    if (r.value->rank() != e.shape.size() && !(r.value->rank() == 0 && r.value->weak != Weak::None)) {
      fail("E0402", span, "`" + e.name + "` has " + std::to_string(e.shape.size()) + " axes, this piece " + std::to_string(r.value->rank()),
           shapeText(*r.value));
    }
    for (auto& left : r.lefts) {
      std::set<Sym> rest = e.dims;
      for (Sym d : left.used) rest.erase(d);
      Cond where = left.where && r.when.subst(left.toEquation);
      if (!e.plain) where = where && declaredRange(rest);
      {
        Saved saved(*this);
        cx_.active = where;
        for (size_t k = 0; k < r.value->rank(); ++k) {
          Ix have = r.value->shape[k].subst(left.toEquation);
          if (have.asConst() == 1 || sameLength(have, e.shape[k])) continue;
          fail("E0403", span, "axis " + std::to_string(k) + " of `" + e.name + "` has length `" + e.shape[k].str() + "`, and this piece gives `" +
                                  have.str() + "`", shapeText(*r.value));
        }
      }
      Piece p;
      p.loc = r.loc;
      p.where = where;
      p.body.value = ex::subst(atBroadcast(r.value, axes, e.shape, e.dtype), left.toEquation);
      if (r.def->stmt->otherwise) {
        if (otherwise) fail("E0306", r.def->stmt->span, "`" + e.name + "` has more than one `otherwise`");
        otherwise = pieces.size();
      } else {
        covered = covered || where;
      }
      pieces.push_back(std::move(p));
    }
  }
  if (otherwise) pieces[*otherwise].where = solver_.simplify(declaredRange(e.dims) && !covered, Cond());
  graph_.at(id).pieces = std::move(pieces);
}

}  // namespace tempo::elab
