// The rounds: evaluate all equations until no signature changes, then once more to emit the graph.
#include "elab/elaborate.hpp"

#include <algorithm>

#include "elab/elaborator.hpp"
#include "parse/parse.hpp"
#include "check/check.hpp"

namespace tempo::elab {

namespace {
constexpr int kMaxRounds = 40;
}

Elaborator::Elaborator(const ast::File& main, Diagnostics& diags, Solver& solver, const ElabOptions& options)
    : main_(main), diags_(diags), solver_(solver), options_(options) {}

Diagnostic& Elaborator::report(const std::string& code, Span where, const std::string& message, const std::string& label) {
  // A mistake met inside a library function is told at the user's call, the place inside coming second.
  if (where.file != main_.source) {
    for (Span call : callSpans_) {
      if (call.file != main_.source || call.end == 0) continue;
      Diagnostic& d = out_->error(code, call, message, "in this call");
      d.secondary.push_back({where, label.empty() ? "met here" : label});
      return d;
    }
  }
  return out_->error(code, where, message, label);
}

void Elaborator::fail(const std::string& code, Span where, const std::string& message, const std::string& label,
                      const std::string& help) {
  Diagnostic& d = report(code, where, message, label);
  if (!help.empty()) d.fixes.push_back({help, {}});
  throw Reported{};
}

Loc Elaborator::loc(Span s) {
  if (s.end == 0) return {};
  auto& l = locs_[{s.file, s.begin, s.end}];
  if (l.id == 0) l = diags_.sources().loc(s);
  return l;
}

void Elaborator::declareProgram() {
  using S = ast::Stmt::Kind;
  auto guarded = [&](auto&& what) {
    try {
      what();
    } catch (const Reported&) {
    }
  };
  declareFile(main_, program_, true);
  for (auto& st : main_.stmts) {
    if (st->kind == S::Dim) {
      for (auto& d : st->dims) bindSize(d.size);
    }
    if (st->kind == S::Size) {
      for (auto& d : st->sizeDecls) bindSize(d.name);
    }
  }
  if (firstRound_) {
    for (auto& st : main_.stmts) {
      if (st->kind == S::Dim) {
        for (auto& d : st->dims) guarded([&] { declareSize(d.size, d.value, d.atLeast, program_); });
      }
      if (st->kind == S::Size) {
        for (auto& d : st->sizeDecls) guarded([&] { declareSize(d.name, d.value, d.atLeast, program_); });
      }
    }
    bindInputFiles();
    fillSizes();
    checkOptionNames();
  }
  for (auto& st : main_.stmts) {
    if (st->kind == S::Option) guarded([&] { declareOption(*st, program_); });
  }
  for (auto& st : main_.stmts) {
    if (st->kind != S::Input) continue;
    for (auto& item : st->inputItems) guarded([&] { declareInput(item, program_); });
  }
  for (auto& st : main_.stmts) {
    if (st->kind == S::Equation || st->kind == S::Next) guarded([&] { declareEquation(*st, program_, "", false); });
  }
}

/// A size as a name: a dim is mentioned by its size if it is the only one to use it.
void Elaborator::bindSize(const ast::Name& n) {
  Sym s = Sym::get(n.text);
  if (!findSize(s)) {
    Size z;
    z.sym = s;
    z.loc = loc(n.span);
    sizes_.push_back(z);
    sizeSpans_[s] = n.span;
  }
  std::set<Sym> mention;
  if (auto it = dimsOfSize_.find(s); it != dimsOfSize_.end() && it->second.size() == 1) mention.insert(it->second[0]);
  program_->names[n.text].value = Value::of(fromIx(sizeIx(s), mention));
}

void Elaborator::evaluateStatement(const ast::Stmt& st) {
  using S = ast::Stmt::Kind;
  try {
    if (st.kind == S::Equation || st.kind == S::Next) evaluateEquation(st, program_, "", false);
    if (st.kind == S::Output) elaborateOutput(st);
    if (st.kind == S::Report) elaborateReport(st);
    if (st.kind == S::Print) elaboratePrint(st);
    if (st.kind == S::Assert) elaborateAssert(st);
  } catch (const Reported&) {
  }
}

void Elaborator::round(bool emit) {
  emit_ = emit;
  Diagnostics scratch(diags_.sources());
  scratch.limit = 1000000;
  out_ = emit || firstRound_ ? &diags_ : &scratch;
  graph_ = Graph();
  roles_.clear();
  modules_.clear();
  order_.clear();
  visited_.clear();
  lazies_.clear();
  nameCounts_.clear();
  drawCounts_.clear();
  pathCounts_.clear();
  usedVars_.clear();
  boundVars_.clear();
  effects_.clear();
  needNonEmpty_.clear();
  calling_.clear();
  callSpans_.clear();
  loading_.clear();
  cx_ = Context();
  for (auto& d : dims_) {
    usedVars_.insert(d.var.name());
    usedVars_.insert(d.size.name());
  }
  for (auto& z : sizes_) usedVars_.insert(z.sym.name());
  root_ = std::make_shared<Scope>();
  if (options_.stdlib && options_.stdlib("prelude")) {
    try {
      root_ = loadModule("prelude", Span{});
    } catch (const Reported&) {
    }
  }
  program_ = std::make_shared<Scope>();
  program_->parent = root_;
  declareProgram();
  if (firstRound_) return;
  for (auto& st : main_.stmts) evaluateStatement(*st);
}

std::string Elaborator::signatureText(const Entry& e) const {
  std::string s = e.known ? name(e.dtype) : "?";
  for (Sym d : dimsInOrder(e.dims)) s += " " + d.name();
  s += " [";
  for (auto& n : e.shape) s += n.str() + ",";
  s += "]";
  if (e.lo) s += " lo " + e.lo->str();
  if (e.hi) s += " hi " + e.hi->str();
  if (e.structure) s += " structure";
  return s;
}

/// The signature from this round's pieces; `fallBack` gives a tensor of weak pieces alone its default dtype.
bool Elaborator::updateSignature(Entry& e, bool fallBack) {
  if (e.input) return false;
  e.dims.insert(e.seenDims.begin(), e.seenDims.end());
  std::vector<Arr> known;
  bool unknown = e.results.empty();
  for (auto& r : e.results) {
    if (r.value->unknown) {
      unknown = true;
    } else {
      known.push_back(r.value);
    }
  }
  bool ranged = !unknown;
  std::optional<Ix> lo, hi;
  bool written = e.declared && e.declared->dtype;
  try {
    if (written && e.declared->shape) {
      e.dtype = *e.declared->dtype;
      e.shape.clear();
      for (auto& x : *e.declared->shape) e.shape.push_back(evalIx(*x, e.scope, "a length"));
      e.known = true;
    } else if (known.empty() && written && fallBack) {
      // A written dtype alone: the shape is found from here on, a scalar when nothing else says otherwise.
      e.dtype = *e.declared->dtype;
      e.known = true;
    } else if (!known.empty()) {
      auto [t, weak] = joinTypes(known, e.span, "=");
      if (weak == Weak::None || !unknown || fallBack || written) {
        e.dtype = written ? *e.declared->dtype : t;
        e.known = true;
        e.shape.clear();
        for (auto& r : e.results) {
          if (r.value->unknown || r.value->rank() == 0) continue;
          for (auto& n : r.value->shape) e.shape.push_back(n.subst(r.lefts[0].toEquation));
          break;
        }
        if (e.declared && e.declared->shape) {
          e.shape.clear();
          for (auto& x : *e.declared->shape) e.shape.push_back(evalIx(*x, e.scope, "a length"));
        }
      }
    }
  } catch (const Reported&) {
    e.failed = true;
  }
  // Bounds of integer values travel through names; a recurrence that keeps changing them loses them.
  for (auto& r : e.results) {
    auto usable = [&](const std::optional<Ix>& b) { return b && r.lefts.size() == 1; };
    if (!usable(r.value->lo) || !usable(r.value->hi)) ranged = false;
    if (!ranged) break;
    Ix l = r.value->lo->subst(r.lefts[0].toEquation), h = r.value->hi->subst(r.lefts[0].toEquation);
    lo = lo ? Ix::min(*lo, l) : l;
    hi = hi ? Ix::max(*hi, h) : h;
  }
  if (!ranged || isFloat(e.dtype) || e.boundChanges > 4) lo = hi = std::nullopt;
  if (lo && hi) {
    for (const Ix* b : {&*lo, &*hi}) {
      for (Sym v : b->vars()) ranged &= !boundVars_.count(v) && (!isDim(v) || e.dims.count(v));
    }
    if (!ranged) lo = hi = std::nullopt;
  }
  if (e.lo != lo || e.hi != hi) {
    if (e.lo || e.hi) ++e.boundChanges;
    e.lo = lo;
    e.hi = hi;
  }
  std::string now = signatureText(e);
  if (now == e.signature) return false;
  e.signature = now;
  return true;
}

bool Elaborator::updateSignatures(bool fallBack) {
  bool any = false;
  for (Entry* e : order_) any |= updateSignature(*e, fallBack);
  return any;
}

std::string Elaborator::typeText(const Entry& e) const {
  std::string s = name(e.dtype);
  if (!e.shape.empty()) {
    s += "[";
    for (size_t k = 0; k < e.shape.size(); ++k) s += (k ? ", " : "") + e.shape[k].str();
    s += "]";
  }
  auto dims = dimsInOrder(e.dims);
  if (!dims.empty()) {
    s += " over (";
    for (size_t k = 0; k < dims.size(); ++k) s += (k ? ", " : "") + dims[k].name();
    s += ")";
  }
  return s;
}

void Elaborator::collectTypes(Elaborated& out) {
  for (Entry* e : order_) {
    if (e->input || e->local || e->structure || !e->known) continue;
    out.types.push_back({e->name, typeText(*e), e->span});
  }
  std::stable_sort(out.types.begin(), out.types.end(), [](auto& a, auto& b) { return a.span.begin < b.span.begin; });
}

/// Sizes, facts and effects of the graph, and where each node exists.
void Elaborator::finish() {
  graph_.dims = dims_;
  graph_.sizes = sizes_;
  graph_.facts = facts_;
  for (auto& z : graph_.sizes) {
    if (!specialised_.count(z.sym)) continue;
    z.specialised = true;
    if (auto v = sizeValue(z.sym)) {
      if (!z.derived) z.value = Ix(*v);
      graph_.facts.push_back(Cond::eq(Ix(z.sym), *v));
    }
  }
  for (Entry* e : order_) {
    try {
      emitEntry(*e);
    } catch (const Reported&) {
      e->failed = true;
    }
  }
  if (diags_.hasErrors()) return;
  foldCopies();
  computeDomains();
  if (diags_.hasErrors()) return;
  computeNeeds();
  addEffects();
  checkEmpty();
}

std::optional<Elaborated> Elaborator::run() {
  firstRound_ = true;
  round(false);
  firstRound_ = false;
  if (diags_.hasErrors()) return std::nullopt;
  for (int k = 0; k < kMaxRounds; ++k) {
    changed_ = false;
    round(false);
    bool any = updateSignatures(false);
    if (any || changed_) continue;
    if (!updateSignatures(true)) break;
  }
  round(true);
  if (!diags_.hasErrors()) finish();
  if (diags_.hasErrors()) return std::nullopt;
  for (Entry* e : order_) {
    if (e->failed && !e->structure) return std::nullopt;
  }
#if __has_include("check/check.hpp")
  checkGraph(graph_, diags_, solver_, options_.checkCausal);
  if (diags_.hasErrors()) return std::nullopt;
#endif
  Elaborated out;
  collectTypes(out);
  for (auto& [s, v] : fileSizes_) out.sizesFromFiles[s.name()] = v.first;
  out.graph = std::move(graph_);
  return out;
}

}  // namespace tempo::elab

namespace tempo {

std::optional<Elaborated> elaborate(const ast::File& main, Diagnostics& diags, Solver& solver, const ElabOptions& options) {
  elab::Elaborator e(main, diags, solver, options);
  Span whole{main.source, 0, 0};
  try {
    return e.run();
  } catch (const SolveBudget& b) {
    diags.error("E0390", whole, std::string("the budget of integer reasoning is spent: ") + b.what());
  } catch (const NotAffine& n) {
    diags.error("E0390", whole, "an index is not affine: `" + n.what.str() + "`");
  } catch (const elab::Reported&) {
  }
  return std::nullopt;
}

}  // namespace tempo
