#include "driver/image.hpp"

#include "check.hpp"
#include "driver/image_codec.hpp"

namespace tempo {
namespace {

// --- writing ---

class Encoder {
 public:
  Encoder(const Variant& v, const Sources& sources) : v_(v), sources_(sources) {}

  void probes(const Probes& p) {
    w_.list(p.modules, [&](const Probes::Module& m) {
      w_.text(m.name);
      w_.text(m.text);
    });
    w_.list(p.inputs, [&](const Probes::Input& i) {
      w_.text(i.name);
      w_.text(i.path);
      w_.text(i.member);
      w_.number(i.shape.has_value());
      if (!i.shape) return;
      w_.number(static_cast<int64_t>(i.shape->dtype));
      w_.list(i.shape->shape, [&](int64_t n) { w_.number(n); });
    });
  }

  std::string all(const Probes& p) {
    probes(p);
    graph();
    effects();
    lowered();
    w_.list(v_.loops, [&](const OuterLoop& l) {
      w_.text(l.dim);
      w_.ix(l.length);
    });
    w_.number(static_cast<int64_t>(v_.program.sizesFromFiles.size()));
    for (const auto& [name, n] : v_.program.sizesFromFiles) {
      w_.text(name);
      w_.number(n);
    }
    w_.list(v_.specialised, [&](const auto& s) {
      w_.text(s.first.name());
      w_.number(s.second);
    });
    return w_.bytes();
  }

 private:
  void loc(Loc l) {
    const Span s = l.id ? sources_.span(l) : Span{};
    w_.number(l.id != 0);
    w_.number(s.file);
    w_.number(s.begin);
    w_.number(s.end);
  }
  void syms(const std::vector<Sym>& all) {
    w_.list(all, [&](Sym s) { w_.text(s.name()); });
  }
  void ixs(const std::vector<Ix>& all) {
    w_.list(all, [&](const Ix& e) { w_.ix(e); });
  }

  /// Sizes and the nodes that inputs, options and outputs name; no equations.
  void graph() {
    const Graph& g = v_.program.graph;
    w_.list(g.dims, [&](const Dim& d) {
      w_.text(d.var.name());
      w_.text(d.size.name());
    });
    w_.list(g.sizes, [&](const Size& s) {
      w_.text(s.sym.name());
      w_.number(s.value.has_value());
      if (s.value) w_.ix(*s.value);
      w_.number(s.derived);
      w_.number(s.atLeast);
    });
    w_.list(g.facts, [&](const Cond& c) { w_.cond(c); });
    w_.list(g.reasons, [&](const std::string& s) { w_.text(s); });
    w_.list(g.options, [&](const Option& o) {
      w_.text(o.name.name());
      w_.number(static_cast<int64_t>(o.dtype));
      w_.real(o.value);
      w_.text(o.help);
      node(o.node);
    });
    w_.list(g.inputs, [&](const InputDecl& i) {
      node(i.node);
      w_.text(i.path);
      w_.text(i.member);
    });
    w_.list(g.outputs, [&](const Output& o) {
      node(o.node);
      w_.text(o.name);
      w_.text(o.path);
    });
  }
  void node(NodeId id) {
    const Node& n = v_.program.graph.at(id);
    w_.text(n.name);
    syms(n.dims);
    w_.list(n.axes, [&](const Axis& a) {
      w_.text(a.var.name());
      w_.ix(a.length);
    });
    w_.number(static_cast<int64_t>(n.dtype));
  }
  void effects() {
    w_.list(v_.plan->graph.effects, [&](const Effect& e) {
      w_.number(static_cast<int64_t>(e.kind));
      syms(e.dims);
      loc(e.loc);
      w_.text(e.text);
      w_.list(e.values, [&](const auto& value) {
        w_.text(value.first);
        w_.number(static_cast<int64_t>(value.second->dtype));
      });
      w_.list(e.axes, [&](const std::vector<Axis>& axes) {
        w_.list(axes, [&](const Axis& a) {
          w_.text(a.var.name());
          w_.ix(a.length);
        });
      });
    });
  }
  void lowered() {
    const Lowered& l = *v_.lowered;
    w_.text(kir::print(l.program));
    for (const auto* maps : {&l.inputs, &l.outputs}) w_.list(*maps, [&](const ArrayMap& m) { arrayMap(m); });
    w_.list(l.effects, [&](const EffectMap& m) {
      w_.list(m.values, [&](int b) { w_.number(b); });
      w_.list(m.dtypes, [&](DType t) { w_.number(static_cast<int64_t>(t)); });
      w_.list(m.shapes, [&](const std::vector<Ix>& s) { ixs(s); });
      w_.number(m.on);
    });
    w_.list(l.sites, [&](const FaultSite& s) {
      loc(s.loc);
      w_.text(s.node);
      w_.text(s.tensor);
      w_.list(s.names, [&](const std::string& n) { w_.text(n); });
    });
  }
  void arrayMap(const ArrayMap& m) {
    w_.text(m.name);
    w_.number(m.buffer);
    w_.number(static_cast<int64_t>(m.dtype));
    ixs(m.shape);
    ixs(m.strides);
    w_.ix(m.offset);
    w_.text(m.path);
  }

  const Variant& v_;
  const Sources& sources_;
  ImageWriter w_;
};

// --- reading ---

class Decoder {
 public:
  explicit Decoder(const std::string& image) : r_(image) {}

  Probes probes() {
    Probes p;
    r_.list([&] {
      std::string name = r_.text();
      p.modules.push_back({std::move(name), r_.text()});
    });
    r_.list([&] {
      Probes::Input i;
      i.name = r_.text();
      i.path = r_.text();
      i.member = r_.text();
      if (r_.number()) {
        i.shape.emplace();
        i.shape->dtype = dtype();
        r_.list([&] { i.shape->shape.push_back(r_.number()); });
      }
      p.inputs.push_back(std::move(i));
    });
    return p;
  }

  std::unique_ptr<Variant> variant(Sources& sources) {
    sources_ = &sources;
    auto v = std::make_unique<Variant>();
    graph(&v->program.graph);
    r_.list([&] { v->program.graph.effects.push_back(effect()); });
    v->lowered = lowered();
    r_.list([&] {
      std::string dim = r_.text();
      v->loops.push_back({std::move(dim), r_.ix()});
    });
    r_.list([&] {
      const std::string name = r_.text();
      v->program.sizesFromFiles[name] = r_.number();
    });
    r_.list([&] {
      const Sym s = Sym::get(r_.text());
      v->specialised.emplace_back(s, r_.number());
    });
    for (Size& s : v->program.graph.sizes) {
      for (const auto& [sym, value] : v->specialised) s.specialised = s.specialised || s.sym == sym;
    }
    if (!r_.atEnd()) throw ImageError("length");
    v->fromImage = true;
    return v;
  }

 private:
  DType dtype() {
    const int64_t t = r_.number();
    if (t < 0 || t >= kDTypeCount) throw ImageError("dtype");
    return static_cast<DType>(t);
  }
  Loc loc() {
    const bool somewhere = r_.number() != 0;
    Span s;
    s.file = static_cast<uint32_t>(r_.number());
    s.begin = static_cast<uint32_t>(r_.number());
    s.end = static_cast<uint32_t>(r_.number());
    if (!somewhere) return {};
    if (s.file >= sources_->fileCount()) throw ImageError("file");
    return sources_->loc(s);
  }
  std::vector<Ix> ixs() {
    std::vector<Ix> all;
    r_.list([&] { all.push_back(r_.ix()); });
    return all;
  }
  std::vector<Sym> syms() {
    std::vector<Sym> all;
    r_.list([&] { all.push_back(Sym::get(r_.text())); });
    return all;
  }
  std::vector<Axis> axes() {
    std::vector<Axis> all;
    r_.list([&] {
      const Sym var = Sym::get(r_.text());
      all.push_back({var, r_.ix()});
    });
    return all;
  }
  NodeId node(Graph* g) {
    Node n;
    n.name = r_.text();
    n.dims = syms();
    n.axes = axes();
    n.dtype = dtype();
    if (const Node* known = g->find(n.name)) return known->id;
    Piece input;
    input.body.kind = Body::Kind::Input;
    n.pieces.push_back(input);
    return g->add(std::move(n));
  }
  void graph(Graph* g) {
    r_.list([&] {
      const Sym var = Sym::get(r_.text());
      g->dims.push_back({var, Sym::get(r_.text())});
    });
    r_.list([&] {
      Size s;
      s.sym = Sym::get(r_.text());
      if (r_.number()) s.value = r_.ix();
      s.derived = r_.number() != 0;
      s.atLeast = r_.number();
      g->sizes.push_back(std::move(s));
    });
    r_.list([&] { g->facts.push_back(r_.cond()); });
    r_.list([&] { g->reasons.push_back(r_.text()); });
    r_.list([&] {
      Option o;
      o.name = Sym::get(r_.text());
      o.dtype = dtype();
      o.value = r_.real();
      o.help = r_.text();
      o.node = node(g);
      g->options.push_back(std::move(o));
    });
    r_.list([&] {
      InputDecl i;
      i.node = node(g);
      i.path = r_.text();
      i.member = r_.text();
      g->inputs.push_back(std::move(i));
    });
    r_.list([&] {
      Output o;
      o.node = node(g);
      o.name = r_.text();
      o.path = r_.text();
      g->outputs.push_back(std::move(o));
    });
  }
  Effect effect() {
    Effect e;
    e.kind = static_cast<Effect::Kind>(r_.number());
    e.dims = syms();
    e.loc = loc();
    e.text = r_.text();
    r_.list([&] {
      std::string name = r_.text();
      e.values.emplace_back(std::move(name), ex::constant(dtype(), 0));
    });
    r_.list([&] { e.axes.push_back(axes()); });
    return e;
  }
  ArrayMap arrayMap() {
    ArrayMap m;
    m.name = r_.text();
    m.buffer = static_cast<int>(r_.number());
    m.dtype = dtype();
    m.shape = ixs();
    m.strides = ixs();
    m.offset = r_.ix();
    m.path = r_.text();
    return m;
  }
  Lowered lowered() {
    Lowered l;
    l.program = kir::parseProgram(r_.text());
    r_.list([&] { l.inputs.push_back(arrayMap()); });
    r_.list([&] { l.outputs.push_back(arrayMap()); });
    r_.list([&] {
      EffectMap m;
      r_.list([&] { m.values.push_back(static_cast<int>(r_.number())); });
      r_.list([&] { m.dtypes.push_back(dtype()); });
      r_.list([&] { m.shapes.push_back(ixs()); });
      m.on = static_cast<int>(r_.number());
      l.effects.push_back(std::move(m));
    });
    r_.list([&] {
      FaultSite s;
      s.loc = loc();
      s.node = r_.text();
      s.tensor = r_.text();
      r_.list([&] { s.names.push_back(r_.text()); });
      l.sites.push_back(std::move(s));
    });
    return l;
  }

  ImageReader r_;
  Sources* sources_ = nullptr;
};

}  // namespace

std::string imageKey(const CompileOptions& o, const std::string& path, const std::string& text) {
  const Machine m = describeMachine(o);
  ImageWriter w;
  w.text("image 1");
  w.text(compilerBuildId());
  w.text(path);
  w.text(text);
  w.number(static_cast<int64_t>(o.device));
  w.text(o.targetCpu);
  w.number(m.threads);
  w.number(m.vectorBytes);
  w.number(m.l1Bytes);
  w.number(m.l2Bytes);
  w.number(o.keepEffects);
  for (const auto* table : {&o.settings, &o.force}) {
    w.number(static_cast<int64_t>(table->size()));
    for (const auto& [name, value] : *table) {
      w.text(name);
      w.text(value);
    }
  }
  for (const auto* names : {&o.passesOff, &o.onlyOutputs}) {
    w.number(static_cast<int64_t>(names->size()));
    for (const auto& name : *names) w.text(name);
  }
  return cacheKey({w.bytes()});
}

std::string encodeImage(const Variant& v, const Probes& probes, const Sources& sources) {
  TEMPO_CHECK(v.lowered && v.plan, "only a lowered program has an image");
  return Encoder(v, sources).all(probes);
}

Probes imageProbes(const std::string& image) { return Decoder(image).probes(); }

std::unique_ptr<Variant> decodeImage(const std::string& image, Sources& sources) {
  Decoder d(image);
  d.probes();
  return d.variant(sources);
}

}  // namespace tempo
