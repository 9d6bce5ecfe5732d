// Declarations: dims, sizes, inputs, options, modules' files.
#include <algorithm>

#include "elab/elaborator.hpp"
#include "parse/parse.hpp"

namespace tempo::elab {

Size* Elaborator::findSize(Sym s) {
  for (auto& z : sizes_) {
    if (z.sym == s) return &z;
  }
  return nullptr;
}

/// What is known of a size's value before the program runs: command line, files, then the declaration.
std::optional<int64_t> Elaborator::sizeValue(Sym s) {
  if (auto it = options_.sizes.find(s.name()); it != options_.sizes.end()) return it->second;
  if (auto it = fileSizes_.find(s); it != fileSizes_.end()) return it->second.first;
  Size* z = findSize(s);
  if (!z || !z->value) return std::nullopt;
  Env env;
  for (Sym v : z->value->vars()) {
    if (v == s) return std::nullopt;
    auto value = sizeValue(v);
    if (!value) return std::nullopt;
    env[v] = *value;
  }
  try {
    return z->value->eval(env);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

Ix Elaborator::sizeIx(Sym size) {
  if (specialised_.count(size)) {
    if (auto v = sizeValue(size)) return Ix(*v);
  }
  return Ix(size);
}

Cond Elaborator::sizeFacts() {
  Cond c;
  for (auto& f : facts_) c = c && f;
  return c;
}

void Elaborator::declareSize(const ast::Name& name, const ast::ExprPtr& value, const ast::ExprPtr& atLeast,
                             const ScopePtr& scope) {
  Sym s = Sym::get(name.text);
  Size* z = findSize(s);
  if (!z) {
    Size fresh;
    fresh.sym = s;
    fresh.loc = loc(name.span);
    sizes_.push_back(fresh);
    z = &sizes_.back();
    sizeSpans_[s] = name.span;
  } else if (value && z->value) {
    fail("E0202", name.span, "the size `" + name.text + "` is given a value twice");
  }
  if (value) {
    inSizeDecl_ = true;
    Ix v;
    try {
      v = evalIx(*value, scope, "the value of a size");
    } catch (...) {
      inSizeDecl_ = false;
      throw;
    }
    inSizeDecl_ = false;
    for (Sym d : v.vars()) {
      if (isDim(d)) fail("E0409", value->span, "the value of a size cannot depend on a dim", "`" + d.name() + "` is a dim");
    }
    z = findSize(s);
    z->value = v;
    z->derived = !v.asConst();
  }
  if (atLeast) {
    z->atLeast = std::max(z->atLeast, evalInt(*atLeast, scope, "a bound of a size"));
  }
}

/// Values and facts of all sizes; once, before the rounds.
void Elaborator::fillSizes() {
  for (auto& z : sizes_) {
    facts_.push_back(Cond::ge(z.sym, z.atLeast));
    auto v = sizeValue(z.sym);
    if (v && *v < z.atLeast) {
      Diagnostic& d = report("E0502", sizeSpans_[z.sym], "the size `" + z.sym.name() + "` is " + std::to_string(*v) + ", and must be at least " +
                                               std::to_string(z.atLeast), "declared here");
      if (auto it = fileSizes_.find(z.sym); it != fileSizes_.end()) d.notes.push_back("the value comes from the file of `" + it->second.second + "`");
    }
  }
}

void Elaborator::checkOptionNames() {
  std::vector<std::string> known;
  std::set<std::string> options;
  for (auto& z : sizes_) known.push_back(z.sym.name());
  for (auto& st : main_.stmts) {
    if (st->kind != ast::Stmt::Kind::Option) continue;
    known.push_back(st->name.text);
    options.insert(st->name.text);
  }
  auto check = [&](const std::string& n) {
    if (std::count(known.begin(), known.end(), n)) return;
    std::string near = closest(n, known);
    Diagnostic& d = report("E0506", Span{main_.source, 0, 0}, "the program has no size or option `" + n + "`", "");
    if (!near.empty()) d.fixes.push_back({"did you mean `" + near + "`?", {}});
  };
  for (auto& [n, v] : options_.sizes) {
    check(n);
    Size* z = findSize(Sym::get(n));
    if (!z || !z->derived) continue;
    auto saved = *z->value;
    std::optional<int64_t> own;
    Env env;
    bool all = true;
    for (Sym s : saved.vars()) {
      auto sv = sizeValue(s);
      if (sv) env[s] = *sv;
      all &= sv.has_value();
    }
    if (all) own = saved.eval(env);
    if (own && *own != v) {
      report("E0505", sizeSpans_[z->sym], "`" + n + "` is defined as `" + saved.str() + "`, which is " + std::to_string(*own) + ", and was set to " +
                              std::to_string(v), "defined here");
    }
  }
  for (auto& [n, v] : options_.optionValues) check(n);
}

void Elaborator::filePath(const ast::ExprPtr& value, std::string& path, std::string& member) {
  if (!value) return;
  if (value->kind == ast::Expr::Kind::String) path = value->text;
  if (value->kind != ast::Expr::Kind::Call) return;
  for (auto& a : value->callArgs) {
    if (!a.value || a.value->kind != ast::Expr::Kind::String) continue;
    (a.name || !path.empty() ? member : path) = a.value->text;
  }
}

void Elaborator::fileSize(const std::string& size, int64_t value, const std::string& input, Span where) {
  Sym s = Sym::get(size);
  Size* z = findSize(s);
  if (!z) return;
  auto known = sizeValue(s);
  if (known && *known != value) {
    std::string other = "the program";
    if (options_.sizes.count(size)) other = "`-s " + size + "=" + std::to_string(*known) + "`";
    if (auto it = fileSizes_.find(s); it != fileSizes_.end()) other = "the file of `" + it->second.second + "`";
    report("E0505", where, "the file of `" + input + "` makes `" + size + "` " + std::to_string(value) + ", and " + other + " makes it " +
                               std::to_string(*known), "`" + input + "` is declared here");
    return;
  }
  if (!known) fileSizes_[s] = {value, input};
}

void Elaborator::bindInputFile(const ast::InputItem& item) {
  if (!options_.inputShape) return;
  std::string path, member;
  filePath(item.value, path, member);
  auto shape = options_.inputShape(item.name.text, path, member);
  if (!shape) return;
  fileShapes_[item.name.text] = *shape;
  size_t k = 0, n = shape->shape.size();
  size_t axes = item.type && item.type->shape ? item.type->shape->size() : 0;
  bool exact = item.type && item.type->shape;
  if (n < item.dims.size() || (exact && n != item.dims.size() + axes)) {
    std::string s = "[";
    for (size_t j = 0; j < n; ++j) s += (j ? ", " : "") + std::to_string(shape->shape[j]);
    report("E0504", item.name.span, "the file of `" + item.name.text + "` has shape " + s + "], " + std::to_string(item.dims.size()) +
                                        " dims and " + std::to_string(axes) + " axes are declared", "declared here");
    return;
  }
  for (auto& d : item.dims) {
    auto it = sizeOf_.find(Sym::get(d.text));
    if (it != sizeOf_.end()) fileSize(it->second.name(), shape->shape[k], item.name.text, item.name.span);
    ++k;
  }
  if (!exact) return;
  for (auto& e : *item.type->shape) {
    int64_t length = shape->shape[k++];
    if (e->kind == ast::Expr::Kind::NameRef) {
      fileSize(e->text, length, item.name.text, item.name.span);
    } else if (e->kind == ast::Expr::Kind::Number && e->integer != length) {
      report("E0504", e->span, "the file of `" + item.name.text + "` has length " + std::to_string(length) + " here, not " +
                                   std::to_string(e->integer), "declared here");
    }
  }
}

void Elaborator::bindInputFiles() {
  for (auto& st : main_.stmts) {
    if (st->kind != ast::Stmt::Kind::Input) continue;
    for (auto& item : st->inputItems) bindInputFile(item);
  }
}

void Elaborator::declareDim(const ast::DimDecl& d, const ast::Stmt& st, const ScopePtr& scope) {
  if (st.until) fail("E0208", st.until->span, "`until` is not in this version", "loops run to their size");
  Sym v = Sym::get(d.dim.text), s = Sym::get(d.size.text);
  if (!isDim(v)) {
    dimIndex_[v] = static_cast<int>(dims_.size());
    dims_.push_back({v, s});
    sizeOf_[v] = s;
    dimsOfSize_[s].push_back(v);
  } else if (scope->names.count(d.dim.text)) {
    fail("E0202", d.dim.span, "the dim `" + d.dim.text + "` is declared twice");
  }
  Binding b;
  b.kind = Binding::Kind::Dim;
  b.dim = v;
  scope->names[d.dim.text] = b;
}

void Elaborator::declareInput(const ast::InputItem& item, const ScopePtr& scope) {
  if (scope->names.count(item.name.text)) fail("E0202", item.name.span, "`" + item.name.text + "` is defined twice");
  if (item.value && item.value->kind != ast::Expr::Kind::String) {
    static const std::set<std::string> kinds = {"npy", "npz", "csv", "safetensors", "gguf", "text"};
    bool reader = item.value->kind == ast::Expr::Kind::Call && item.value->args[0]->kind == ast::Expr::Kind::NameRef &&
                  kinds.count(item.value->args[0]->text);
    if (!reader) fail("E0208", item.value->span, "an input comes from `npy npz csv safetensors gguf text` in this version");
  }
  Entry& e = entry(item.name.text);
  e.input = true;
  e.span = item.name.span;
  Binding b;
  b.kind = Binding::Kind::Tensor;
  b.entry = &e;
  scope->names[item.name.text] = b;
  order_.push_back(&e);
  e.dims.clear();
  for (auto& d : item.dims) {
    Binding* db = lookup(d.text, scope);
    if (!db || db->kind != Binding::Kind::Dim) fail("E0219", d.span, "`" + d.text + "` is no dim", "a dim is needed");
    e.dims.insert(db->dim);
  }
  std::vector<Sym> ordered = dimsInOrder(e.dims);
  for (size_t k = 0; k < item.dims.size(); ++k) {
    if (Sym::get(item.dims[k].text) != ordered[k]) {
      fail("E0219", item.dims[k].span, "the dims of an input are written in the order of their declaration", "`" + ordered[k].name() + "` comes here");
    }
  }
  e.shape.clear();
  e.dtype = DType::F32;
  auto file = fileShapes_.find(item.name.text);
  if (item.type && item.type->dtype) {
    e.dtype = *item.type->dtype;
  } else if (file != fileShapes_.end()) {
    e.dtype = file->second.dtype;
  }
  if (item.type && item.type->shape) {
    for (auto& x : *item.type->shape) e.shape.push_back(evalIx(*x, scope, "a length"));
  } else if (file != fileShapes_.end()) {
    for (size_t k = item.dims.size(); k < file->second.shape.size(); ++k) e.shape.push_back(Ix(file->second.shape[k]));
  }
  e.known = true;
  NodeId id = nodeOf(e);
  Piece p;
  p.where = declaredRange(e.dims);
  p.body.kind = Body::Kind::Input;
  p.loc = loc(item.name.span);
  graph_.at(id).pieces.push_back(p);
  InputDecl decl;
  decl.node = id;
  filePath(item.value, decl.path, decl.member);
  decl.loc = p.loc;
  graph_.inputs.push_back(decl);
}

void Elaborator::declareOption(const ast::Stmt& st, const ScopePtr& scope) {
  if (scope->names.count(st.name.text)) fail("E0202", st.name.span, "`" + st.name.text + "` is defined twice");
  if (!st.value) fail("E0510", st.span, "an option needs a default");
  Value v = eval(*st.value, scope);
  Binding b;
  if (v.kind == Value::Kind::String) {
    b.value = v;
    scope->names[st.name.text] = b;
    return;
  }
  Arr a = asArray(v, st.value->span);
  double value = 0;
  if (a->number) {
    value = *a->number;
  } else if (a->cond && (a->cond->isTrue() || a->cond->isFalse())) {
    value = a->cond->isTrue();
  } else {
    fail("E0510", st.value->span, "the default of an option must be a constant");
  }
  Entry& e = entry(st.name.text);
  e.input = true;
  e.known = true;
  e.span = st.name.span;
  e.dtype = st.type && st.type->dtype ? *st.type->dtype : a->cond ? DType::Bool : a->weak == Weak::Int ? DType::I32 : DType::F32;
  b.kind = Binding::Kind::Tensor;
  b.entry = &e;
  scope->names[st.name.text] = b;
  NodeId id = nodeOf(e);
  Piece p;
  p.body.kind = Body::Kind::Input;
  p.loc = loc(st.name.span);
  graph_.at(id).pieces.push_back(p);
  Option o;
  o.name = Sym::get(st.name.text);
  o.dtype = e.dtype;
  auto it = options_.optionValues.find(st.name.text);
  o.value = it != options_.optionValues.end() ? it->second : value;
  o.help = st.text;
  o.node = id;
  o.loc = p.loc;
  graph_.options.push_back(o);
}

ScopePtr Elaborator::loadModule(const std::string& name, Span where) {
  if (auto it = modules_.find(name); it != modules_.end()) return it->second;
  if (std::count(loading_.begin(), loading_.end(), name)) {
    fail("E0212", where, "the module `" + name + "` uses itself, over " + std::to_string(loading_.size()) + " steps");
  }
  auto& file = moduleFiles_[name];
  if (!file) {
    auto text = options_.stdlib ? options_.stdlib(name) : std::nullopt;
    if (!text) fail("E0206", where, "there is no module `" + name + "`", "not in the standard library");
    uint32_t source = diags_.sources().addFile("<" + name + ">", *text);
    size_t before = diags_.errorCount();
    file = std::make_shared<ast::File>(parseSource(source, diags_));
    if (diags_.errorCount() > before) throw Reported{};
  }
  auto scope = std::make_shared<Scope>();
  scope->parent = root_;
  loading_.push_back(name);
  modules_[name] = scope;
  declareFile(*file, scope, false);
  loading_.pop_back();
  return scope;
}

void Elaborator::declareUse(const ast::Stmt& st, const ScopePtr& scope) {
  std::vector<ast::Name> names = st.names;
  if (names.empty()) names.push_back({st.text, st.span});
  for (auto& n : names) {
    std::string alias = !st.name.text.empty() && names.size() == 1 ? st.name.text : n.text;
    if (auto dot = alias.rfind('/'); dot != std::string::npos) alias = alias.substr(dot + 1);
    if (alias.size() > 6 && alias.ends_with(".tempo")) alias = alias.substr(0, alias.size() - 6);
    if (auto dot = alias.rfind('.'); dot != std::string::npos) alias = alias.substr(dot + 1);
    Binding b;
    b.value.kind = Value::Kind::Namespace;
    b.value.scope = loadModule(n.text, n.span);
    scope->names[alias] = b;
  }
}

/// Binds every name of a file, whatever the order of its statements.
void Elaborator::declareFile(const ast::File& f, const ScopePtr& scope, bool program) {
  using S = ast::Stmt::Kind;
  auto guarded = [&](auto&& what) {
    try {
      what();
    } catch (const Reported&) {
      if (!program) throw;
    }
  };
  for (auto& st : f.stmts) {
    guarded([&] {
      if (st->kind == S::Use) declareUse(*st, scope);
      if (st->kind == S::Extern) fail("E0208", st->span, "`extern` is not in this version");
      if (st->kind == S::Save) fail("E0208", st->span, "`save` is not in this version");
      if (st->kind == S::Param) fail("E0218", st->span, "`param` stands in a module only");
      if (st->kind == S::Dim) {
        if (!program) fail("E0208", st->span, "a module declares no dims", "", "make the dim a parameter of its functions, in brackets");
        for (auto& d : st->dims) declareDim(d, *st, scope);
      }
    });
  }
  std::vector<ast::StmtPtr> members;
  for (auto& st : f.stmts) {
    bool equation = st->kind == S::Equation && !program;
    bool shared = st->kind == S::Fn || st->kind == S::Module || st->kind == S::Let || equation;
    if (shared || (!program && st->kind == S::Size)) members.push_back(st);
  }
  guarded([&] {
    std::vector<std::string> order;
    std::string path = program || loading_.empty() ? "" : loading_.back();
    declareMembers(members, scope, path, {}, order);
  });
}

}  // namespace tempo::elab
