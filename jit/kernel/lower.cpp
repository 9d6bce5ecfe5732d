#include "kernel/lower.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>

#include "check.hpp"
#include "oracle/oracle.hpp"

namespace tempo {

using kir::Block;
using KExpr = kir::ExprPtr;
using kir::StmtPtr;

namespace {

/// Sequential loops check the stop flag once per this many iterations.
constexpr int64_t kPollEvery = 4096;

DType computeType(DType t) { return t == DType::BF16 || t == DType::F16 ? DType::F32 : t; }

std::string identifier(const std::string& name) {
  std::string s;
  for (char c : name) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return s;
}

StmtPtr makeStmt(kir::Stmt s) { return std::make_shared<kir::Stmt>(std::move(s)); }

StmtPtr loopStmt(kir::Stmt::Kind kind, kir::Loop l, Block body) {
  kir::Stmt s{};
  s.kind = kind;
  s.loop = std::move(l);
  s.body = std::move(body);
  return makeStmt(std::move(s));
}

StmtPtr letStmt(std::string name, KExpr value) {
  kir::Stmt s{};
  s.kind = kir::Stmt::Kind::Let;
  s.name = std::move(name);
  s.dtype = value->dtype;
  s.value = std::move(value);
  return makeStmt(std::move(s));
}

StmtPtr storeStmt(std::string buffer, KExpr index, KExpr value) {
  kir::Stmt s{};
  s.kind = kir::Stmt::Kind::Store;
  s.name = std::move(buffer);
  s.index = std::move(index);
  s.value = std::move(value);
  return makeStmt(std::move(s));
}

/// Where the elements of one node are: a buffer or a scratch area, with a stride per dim and axis.
struct Layout {
  std::string buffer;
  DType dtype = DType::F32;
  std::vector<DimStore> dims;
  std::vector<Ix> strides;  // dims then axes
  Ix elements;
};

Layout layoutOf(const Store& s, DType t, std::string buffer) {
  Layout l;
  l.buffer = std::move(buffer);
  l.dtype = t;
  l.dims = s.dims;
  std::vector<Ix> extents;
  for (const DimStore& d : s.dims) extents.push_back(d.kind == DimStore::Kind::Point ? Ix(1) : d.extent);
  for (const Ix& a : s.axes) extents.push_back(a);
  l.strides.resize(extents.size());
  Ix stride(1);
  for (size_t k = s.order.size(); k-- > 0;) {
    size_t at = size_t(s.order[k]);
    l.strides[at] = stride;
    Ix extent = extents[at];
    if (k + 1 == s.order.size() && s.pad > 1) extent = Ix::floordiv(extent + Ix(s.pad - 1), Ix(s.pad)) * Ix(s.pad);
    stride = stride * extent;
  }
  l.elements = stride;
  return l;
}

class Lowering {
 public:
  explicit Lowering(const Plan& p) : plan_(p), g_(p.graph) {}

  Lowered run() {
    for (const Size& s : g_.sizes) out_.program.sizes.push_back(name(s.sym));
    layouts_.resize(g_.nodes().size());
    for (const Node& n : g_.nodes()) declare(n);
    declareEffects();
    out_.program.host = host(plan_.root.children, true);
    for (const Output& o : g_.outputs) out_.outputs.push_back(outputMap(o));
    return std::move(out_);
  }

 private:
  // --- names -------------------------------------------------------------------------------------------------------------
  std::string name(Sym s) {
    auto [it, fresh] = names_.try_emplace(s, "");
    if (!fresh) return it->second;
    std::string base = identifier(s.name());
    if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = "v" + base;
    std::string unique = base;
    for (int k = 2; !used_.insert(unique).second; ++k) unique = base + "_" + std::to_string(k);
    return it->second = unique;
  }
  std::string freshName(const std::string& base) {
    for (;;) {
      std::string s = base + std::to_string(counter_++);
      if (used_.insert(s).second) return s;
    }
  }

  // --- index expressions -------------------------------------------------------------------------------------------------
  KExpr ix(const Ix& e) {
    switch (e.kind()) {
      case Ix::Kind::Var: return kir::var(name(*e.asVar()));
      case Ix::Kind::Linear: {
        KExpr sum;
        for (const auto& [c, atom] : e.terms()) {
          KExpr t = ix(atom);
          if (!sum) {
            sum = c == 1 ? t : kir::op(Op::Mul, {t, kir::ci(c)});
          } else if (c == -1) {
            sum = kir::op(Op::Sub, {sum, t});
          } else {
            sum = kir::op(Op::Add, {sum, c == 1 ? t : kir::op(Op::Mul, {t, kir::ci(c)})});
          }
        }
        if (!sum) return kir::ci(e.constant());
        return e.constant() ? kir::op(Op::Add, {sum, kir::ci(e.constant())}) : sum;
      }
      case Ix::Kind::Product: return fold(Op::Mul, e);
      case Ix::Kind::FloorDiv: return fold(Op::FloorDiv, e);
      case Ix::Kind::Mod: return fold(Op::Mod, e);
      case Ix::Kind::Min: return fold(Op::Min, e);
      case Ix::Kind::Max: return fold(Op::Max, e);
      case Ix::Kind::Select: return kir::select(cond(e.cond()), ix(e.args()[0]), ix(e.args()[1]));
    }
    internalError(__FILE__, __LINE__, "unknown index expression");
  }
  KExpr fold(Op op, const Ix& e) {
    KExpr r = ix(e.args()[0]);
    for (size_t i = 1; i < e.args().size(); ++i) r = kir::op(op, {r, ix(e.args()[i])});
    return r;
  }
  KExpr cond(const Cond& c) {
    switch (c.kind()) {
      case Cond::Kind::True: return truth(true);
      case Cond::Kind::False: return truth(false);
      case Cond::Kind::Ge0: return kir::op(Op::Ge, {ix(c.ix()), kir::ci(0)});
      case Cond::Kind::Eq0: return kir::op(Op::Eq, {ix(c.ix()), kir::ci(0)});
      case Cond::Kind::Not: return kir::op(Op::Not, {cond(c.args()[0])});
      case Cond::Kind::And:
      case Cond::Kind::Or: {
        KExpr r = cond(c.args()[0]);
        Op op = c.kind() == Cond::Kind::And ? Op::And : Op::Or;
        for (size_t i = 1; i < c.args().size(); ++i) r = kir::op(op, {r, cond(c.args()[i])});
        return r;
      }
    }
    internalError(__FILE__, __LINE__, "unknown condition");
  }
  static KExpr truth(bool v) {
    kir::Expr e{};
    e.kind = kir::Expr::Kind::ConstI;
    e.dtype = DType::Bool;
    e.i = v;
    return std::make_shared<kir::Expr>(std::move(e));
  }

  // --- buffers -----------------------------------------------------------------------------------------------------------
  int addBuffer(const std::string& base, DType t, const Ix& count, kir::HostBuffer::Role role) {
    std::string unique = base;
    for (int k = 2; !used_.insert(unique).second; ++k) unique = base + "_" + std::to_string(k);
    out_.program.buffers.push_back({unique, t, ix(count), role, false});
    return int(out_.program.buffers.size()) - 1;
  }

  void declare(const Node& n) {
    const Store& s = plan_.stores[n.id.v];
    if (s.cls == Store::Class::None) return;
    Layout& l = layouts_[n.id.v];
    l = layoutOf(s, n.dtype, "");
    if (s.cls == Store::Class::Local) {
      l.buffer = freshName("s_" + identifier(n.name) + "_");
      return;
    }
    auto role = s.cls == Store::Class::Input ? kir::HostBuffer::Role::Input
                : s.output                   ? kir::HostBuffer::Role::Output
                                             : kir::HostBuffer::Role::Temp;
    int b = addBuffer("b_" + identifier(n.name), n.dtype, l.elements, role);
    l.buffer = out_.program.buffers[size_t(b)].name;
    bufferOf_[n.id] = b;
    out_.nodeBuffers.push_back({n.id, b});
    if (s.cls != Store::Class::Input) return;
    ArrayMap m;
    m.name = n.name;
    m.node = n.id;
    m.buffer = b;
    m.dtype = n.dtype;
    for (const DimStore& d : s.dims) m.shape.push_back(d.extent);
    for (const Ix& a : s.axes) m.shape.push_back(a);
    m.strides = l.strides;
    out_.inputs.push_back(std::move(m));
  }

  void declareEffects() {
    for (size_t e = 0; e < g_.effects.size(); ++e) {
      const Effect& effect = g_.effects[e];
      EffectMap m;
      for (size_t v = 0; v < effect.values.size(); ++v) {
        DType t = effect.values[v].second->dtype;
        std::string base = "e" + std::to_string(e) + "_" + std::to_string(v);
        m.values.push_back(addBuffer(base, t, plan_.effectElements[e][v], kir::HostBuffer::Role::Temp));
        m.dtypes.push_back(t);
        std::vector<Ix> shape;
        if (v < effect.axes.size())
          for (const Axis& a : effect.axes[v]) shape.push_back(a.length);
        m.shapes.push_back(std::move(shape));
      }
      if (effect.condition)
        m.on = addBuffer("e" + std::to_string(e) + "_on", DType::Bool, Ix(1), kir::HostBuffer::Role::Temp);
      out_.effects.push_back(std::move(m));
    }
  }

  ArrayMap outputMap(const Output& o) {
    const Node& n = g_.at(o.node);
    const Store& s = plan_.stores[o.node.v];
    const Layout& l = layouts_[o.node.v];
    ArrayMap m;
    m.name = o.name;
    m.node = o.node;
    m.buffer = bufferOf_.at(o.node);
    m.dtype = n.dtype;
    m.path = o.path;
    bool input = s.cls == Store::Class::Input;
    for (size_t i = 0; i < n.dims.size(); ++i) {
      Ix base = input ? Ix(0) : s.dims[i].base;
      m.offset = m.offset + (o.box[i].lo - base) * l.strides[i];
      if (o.fixed[i]) continue;
      m.shape.push_back(Ix::max(Ix(0), o.box[i].hi - o.box[i].lo));
      m.strides.push_back(l.strides[i]);
    }
    for (size_t a = 0; a < n.axes.size(); ++a) {
      m.shape.push_back(s.axes[a]);
      m.strides.push_back(l.strides[n.dims.size() + a]);
    }
    return m;
  }

  // --- host --------------------------------------------------------------------------------------------------------------
  std::vector<kir::HostStmt> host(const std::vector<Tree>& trees, bool outermost) {
    std::vector<kir::HostStmt> out;
    for (const Tree& t : trees) hostOne(t, outermost, out);
    return out;
  }

  void hostOne(const Tree& t, bool outermost, std::vector<kir::HostStmt>& out) {
    kir::HostStmt h{};
    switch (t.kind) {
      case Tree::Kind::Block:
        for (const Tree& c : t.children) hostOne(c, outermost, out);
        return;
      case Tree::Kind::Loop: {
        h.kind = kir::HostStmt::Kind::For;
        h.loop = {name(t.var), ix(t.lo), ix(t.hi), false};
        hostVars_.push_back(t.var);
        h.body = host(t.children, false);
        hostVars_.pop_back();
        if (outermost) {
          kir::HostStmt p{};
          p.kind = kir::HostStmt::Kind::Progress;
          p.args = {kir::op(Op::Add, {kir::op(Op::Sub, {kir::var(name(t.var)), ix(t.lo)}), kir::ci(1)}),
                    kir::op(Op::Sub, {ix(t.hi), ix(t.lo)})};
          h.body.push_back(std::move(p));
        }
        break;
      }
      case Tree::Kind::If:
        h.kind = kir::HostStmt::Kind::If;
        h.cond = cond(t.cond);
        h.body = host(t.children, outermost);
        break;
      case Tree::Kind::Kernel: h = launch(t); break;
      case Tree::Kind::Effect:
        out.push_back(launchEffect(t));
        h.kind = kir::HostStmt::Kind::Effect;
        h.effect = int(t.effect);
        for (Sym d : g_.effects[t.effect].dims) h.args.push_back(ix(t.point.at(d)));
        break;
      case Tree::Kind::Stmt: internalError(__FILE__, __LINE__, "a statement outside a kernel");
    }
    out.push_back(std::move(h));
  }

  /// Opens a kernel: its parameters are all sizes and the host loop variables in scope.
  void beginKernel(std::string kernelName) {
    k_ = kir::Kernel{};
    k_.name = std::move(kernelName);
    k_.params = out_.program.sizes;
    for (Sym v : hostVars_) k_.params.push_back(name(v));
    kernelBuffers_.clear();
    kernelScratch_.clear();
    registers_.clear();
  }

  kir::HostStmt endKernel(Block body) {
    k_.body = std::move(body);
    for (const auto& [b, written] : kernelBuffers_) {
      const kir::HostBuffer& hb = out_.program.buffers[size_t(b)];
      k_.buffers.push_back({hb.name, hb.dtype, written});
    }
    kir::HostStmt h{};
    h.kind = kir::HostStmt::Kind::Launch;
    h.kernel = int(out_.program.kernels.size());
    for (const std::string& p : k_.params) h.args.push_back(kir::var(p));
    out_.program.kernels.push_back(std::move(k_));
    return h;
  }

  kir::HostStmt launch(const Tree& t) {
    beginKernel(t.name);
    const std::vector<Tree>* body = &t.children;
    for (int d = 0; d < t.gridDepth; ++d) {
      const Tree& l = (*body)[0];
      k_.grid.push_back({name(l.var), ix(l.lo), ix(l.hi), false});
      body = &l.children;
    }
    findRegisters(*body);
    return endKernel(block(*body, true));
  }

  kir::HostStmt launchEffect(const Tree& t) {
    const Effect& e = g_.effects[t.effect];
    const EffectMap& m = out_.effects[t.effect];
    beginKernel("k_effect" + std::to_string(t.effect));
    Block body;
    bind_ = t.point;
    path_ = Cond();
    if (e.condition) {
      Block inner;
      KExpr v = value(e.condition, inner);
      inner.push_back(storeStmt(buffer(m.on, true), kir::ci(0), v));
      body.push_back(once(std::move(inner)));
    }
    for (size_t v = 0; v < e.values.size(); ++v) {
      const std::vector<Axis> axes = v < e.axes.size() ? e.axes[v] : std::vector<Axis>();
      Block inner;
      KExpr val = value(e.values[v].second, inner);
      Ix at(0);
      for (const Axis& a : axes) at = at * a.length + Ix(a.var);
      inner.push_back(storeStmt(buffer(m.values[v], true), ix(at.subst(bind_)), stored(val, m.dtypes[v])));
      body.push_back(parNest(axes, {}, std::move(inner)));
    }
    return endKernel(std::move(body));
  }

  // --- kernel bodies -----------------------------------------------------------------------------------------------------
  std::string buffer(int b, bool write) {
    bool& w = kernelBuffers_[b];
    w = w || write;
    return out_.program.buffers[size_t(b)].name;
  }

  std::string storage(NodeId id, bool write) {
    const Store& s = plan_.stores[id.v];
    if (s.cls != Store::Class::Local) return buffer(bufferOf_.at(id), write);
    const Layout& l = layouts_[id.v];
    if (kernelScratch_.insert(l.buffer).second) k_.scratch.push_back({l.buffer, l.dtype, ix(l.elements)});
    return l.buffer;
  }

  Block block(const std::vector<Tree>& trees, bool top) {
    Block out;
    for (const Tree& t : trees) one(t, top, out);
    return out;
  }

  void one(const Tree& t, bool top, Block& out) {
    switch (t.kind) {
      case Tree::Kind::Block:
      case Tree::Kind::Kernel:
        for (const Tree& c : t.children) one(c, top, out);
        return;
      case Tree::Kind::Loop: return kernelLoop(t, top, out);
      case Tree::Kind::If: {
        kir::Stmt s{};
        s.kind = kir::Stmt::Kind::If;
        s.cond = cond(t.cond);
        s.body = block(t.children, top);
        out.push_back(makeStmt(std::move(s)));
        return;
      }
      case Tree::Kind::Stmt: return statement(t, out);
      case Tree::Kind::Effect: internalError(__FILE__, __LINE__, "an effect inside a kernel");
    }
  }

  static bool pure(const Tree& t) {
    return t.children.size() == 1 && t.children[0].kind == Tree::Kind::Stmt;
  }

  void kernelLoop(const Tree& t, bool top, Block& out) {
    kir::Loop l{name(t.var), ix(t.lo), ix(t.hi), false};
    if (t.parallel && pure(t)) {
      out.push_back(loopStmt(kir::Stmt::Kind::Par, l, block(t.children, false)));
      return;
    }
    Block body = block(t.children, false);
    if (!top) {
      out.push_back(loopStmt(kir::Stmt::Kind::Seq, l, std::move(body)));
      return;
    }
    // for chunk { poll; for var in chunk }
    std::string chunk = freshName("chunk");
    KExpr start = kir::op(Op::Add, {l.lo, kir::op(Op::Mul, {kir::var(chunk), kir::ci(kPollEvery)})});
    kir::Loop inner{l.var, start, kir::op(Op::Min, {kir::op(Op::Add, {start, kir::ci(kPollEvery)}), l.hi}), false};
    kir::Stmt poll{};
    poll.kind = kir::Stmt::Kind::Poll;
    KExpr chunks = kir::op(
        Op::FloorDiv, {kir::op(Op::Add, {kir::op(Op::Sub, {l.hi, l.lo}), kir::ci(kPollEvery - 1)}), kir::ci(kPollEvery)});
    out.push_back(loopStmt(kir::Stmt::Kind::Seq, {chunk, kir::ci(0), chunks, false},
                           {makeStmt(std::move(poll)), loopStmt(kir::Stmt::Kind::Seq, inner, std::move(body))}));
  }

  /// Scalars that live within one pass through a block need no memory: they become Lets.
  void findRegisters(const std::vector<Tree>& trees) {
    std::map<NodeId, int> writers;
    countWriters(trees, writers);
    markRegisters(trees, writers);
  }
  static void countWriters(const std::vector<Tree>& trees, std::map<NodeId, int>& writers) {
    for (const Tree& t : trees) {
      if (t.kind == Tree::Kind::Stmt) ++writers[t.node];
      countWriters(t.children, writers);
    }
  }
  void markRegisters(const std::vector<Tree>& trees, const std::map<NodeId, int>& writers) {
    std::map<NodeId, int> all, here;
    for (size_t i = 0; i < trees.size(); ++i) {
      const Tree& t = trees[i];
      markRegisters(t.children, writers);
      if (t.kind != Tree::Kind::Stmt) continue;
      const Node& n = g_.at(t.node);
      const Store& s = plan_.stores[t.node.v];
      bool scalar = n.axes.empty() && s.cls == Store::Class::Local && writers.at(t.node) == 1;
      for (const DimStore& d : s.dims) scalar = scalar && d.kind == DimStore::Kind::Point;
      if (!scalar) continue;
      // Every reader must come later in this block or below it: the ones before it would see an old value.
      bool before = false;
      for (size_t j = 0; j <= i; ++j) before = before || reads(trees[j], t.node);
      size_t inside = 0;
      for (size_t j = i + 1; j < trees.size(); ++j) inside += countReads(trees[j], t.node);
      if (!before && inside == totalReads(t.node)) registers_[t.node] = freshName("r_" + identifier(n.name) + "_");
    }
  }
  size_t countReads(const Tree& t, NodeId id) const {
    size_t n = 0;
    if (t.kind == Tree::Kind::Stmt)
      forEachRead(g_.at(t.node), [&](const Piece& p, const tempo::Expr& r) {
        n += r.node == id && &p == &g_.at(t.node).pieces[t.piece];
      });
    for (const Tree& c : t.children) n += countReads(c, id);
    return n;
  }
  bool reads(const Tree& t, NodeId id) const { return countReads(t, id) > 0; }
  size_t totalReads(NodeId id) const { return countReads(plan_.root, id); }

  // --- statements --------------------------------------------------------------------------------------------------------
  void statement(const Tree& t, Block& out) {
    const Node& n = g_.at(t.node);
    const Piece& p = n.pieces[t.piece];
    bind_ = t.point;
    path_ = Cond();
    node_ = &n;
    if (p.body.kind == Body::Kind::ArgSort) return argsort(t, n, p.body, out);
    for (size_t i = 0; i < t.axisBind.size(); ++i)
      if (t.axisBind[i].isPoint()) bind_[n.axes[i].var] = t.axisBind[i].lo;
    Block inner;
    KExpr v = p.body.kind == Body::Kind::Reduce ? reduction(p.body, inner) : value(p.body.value, inner);
    auto reg = registers_.find(t.node);
    if (reg != registers_.end()) {
      inner.push_back(letStmt(reg->second, v));
      for (StmtPtr& s : inner) out.push_back(std::move(s));
      return;
    }
    std::vector<Ix> at;
    for (Sym d : n.dims) at.push_back(Ix(d).subst(bind_));
    for (const Axis& a : n.axes) at.push_back(Ix(a.var).subst(bind_));
    inner.push_back(storeStmt(storage(t.node, true), address(t.node, at), stored(v, n.dtype)));
    out.push_back(parNest(n.axes, t.axisBind, std::move(inner)));
  }

  /// The value as the buffer's element type.
  static KExpr stored(KExpr v, DType t) { return v->dtype == t ? v : kir::cast(t, std::move(v)); }

  StmtPtr once(Block body) {
    return loopStmt(kir::Stmt::Kind::Par, {freshName("one"), kir::ci(0), kir::ci(1), false}, std::move(body));
  }

  StmtPtr parNest(const std::vector<Axis>& axes, const std::vector<AxisRange>& bound, Block body) {
    bool wrapped = false;
    for (size_t i = axes.size(); i-- > 0;) {
      if (i < bound.size() && bound[i].isPoint()) continue;
      kir::Loop l{name(axes[i].var), kir::ci(0), ix(axes[i].length.subst(bind_)), false};
      if (i < bound.size()) l.lo = ix(bound[i].lo), l.hi = ix(bound[i].hi);
      body = {loopStmt(kir::Stmt::Kind::Par, l, std::move(body))};
      wrapped = true;
    }
    return wrapped ? body[0] : once(std::move(body));
  }

  KExpr address(NodeId id, const std::vector<Ix>& at) {
    std::vector<KExpr> values;
    for (const Ix& a : at) values.push_back(ix(a));
    return address(id, values, &at);
  }

  KExpr address(NodeId id, const std::vector<KExpr>& at, const std::vector<Ix>* affine = nullptr) {
    const Layout& l = layouts_[id.v];
    KExpr sum;
    for (size_t i = 0; i < at.size(); ++i) {
      KExpr slot = at[i];
      if (i < l.dims.size()) {
        const DimStore& d = l.dims[i];
        if (d.kind == DimStore::Kind::Point) continue;
        slot = affine ? ix((*affine)[i] - d.base) : kir::op(Op::Sub, {slot, ix(d.base)});
        if (d.kind == DimStore::Kind::Ring) slot = kir::op(Op::Mod, {slot, ix(d.extent)});
      }
      KExpr term = l.strides[i] == Ix(1) ? slot : kir::op(Op::Mul, {slot, ix(l.strides[i])});
      sum = sum ? kir::op(Op::Add, {sum, term}) : term;
    }
    return sum ? sum : kir::ci(0);
  }

  KExpr reduction(const Body& b, Block& out) {
    kir::Stmt s{};
    s.kind = kir::Stmt::Kind::Reduce;
    Cond empty = Cond::truth(false);
    bool nested = false;
    for (const RVar& r : b.rvars) {
      Ix lo = r.lo.subst(bind_), hi = r.hi.subst(bind_);
      s.loops.push_back({name(r.var), ix(lo), ix(hi), false});
      empty = empty || Cond::ge(lo, hi);
      for (const RVar& q : b.rvars) nested = nested || lo.uses(q.var) || hi.uses(q.var);
    }
    kir::Acc acc;
    acc.name = freshName("acc");
    acc.op = b.reduce;
    bool arg = b.reduce == Reduce::ArgMax || b.reduce == Reduce::ArgMin;
    DType operand = b.value->dtype;
    acc.dtype = arg ? computeType(operand) : computeType(accumulator(operand));
    if (b.reduce == Reduce::Max || b.reduce == Reduce::Min || operand == DType::Bool) acc.dtype = computeType(operand);
    KExpr v = value(b.value, s.body);
    acc.value = v->dtype == acc.dtype ? v : kir::cast(acc.dtype, v);
    s.accs.push_back(acc);
    std::string count;
    if (b.init && nested) {
      count = freshName("n");
      s.accs.push_back({count, Reduce::Sum, DType::I64, kir::ci(1)});
    }
    out.push_back(makeStmt(std::move(s)));
    KExpr result = kir::var(acc.name, arg ? DType::I64 : acc.dtype);
    DType want = computeType(resultType(b.reduce, operand));
    if (result->dtype != want) result = kir::cast(want, result);
    if (!b.init) return result;
    KExpr isEmpty = nested ? kir::op(Op::Eq, {kir::var(count), kir::ci(0)}) : cond(empty);
    KExpr init = value(b.init, out);
    return kir::condExpr(isEmpty, init, result);
  }

  /// Position p of the result is the index of the p-th smallest key: by counting, for each element, those before it.
  void argsort(const Tree& t, const Node& n, const Body& b, Block& out) {
    const Axis& last = n.axes.back();
    std::string keys = freshName("keys");
    DType kt = computeType(b.value->dtype);
    Ix count(1), at(0);
    for (size_t i = 0; i < n.axes.size(); ++i) {
      count = count * plan_.stores[t.node.v].axes[i];
      at = at * plan_.stores[t.node.v].axes[i] + Ix(n.axes[i].var);
    }
    k_.scratch.push_back({keys, kt, ix(count)});
    Block fill;
    KExpr key = value(b.value, fill);
    fill.push_back(storeStmt(keys, ix(at), key));
    out.push_back(parNest(n.axes, {}, std::move(fill)));
    Sym other = Sym::fresh("q");
    KExpr mine = kir::load(keys, kt, ix(at)), theirs = kir::load(keys, kt, ix(at.subst({{last.var, Ix(other)}})));
    KExpr before = kir::op(b.descending ? Op::Gt : Op::Lt, {theirs, mine});
    KExpr tie = kir::op(Op::And, {kir::op(Op::Eq, {theirs, mine}),
                                    kir::op(Op::Lt, {kir::var(name(other)), kir::var(name(last.var))})});
    kir::Stmt rank{};
    rank.kind = kir::Stmt::Kind::Reduce;
    rank.loops = {{name(other), kir::ci(0), ix(last.length.subst(bind_)), false}};
    std::string r = freshName("rank");
    rank.accs = {{r, Reduce::Sum, DType::I64, kir::cast(DType::I64, kir::op(Op::Or, {before, tie}))}};
    std::vector<KExpr> where;
    for (Sym d : n.dims) where.push_back(ix(Ix(d).subst(bind_)));
    for (const Axis& a : n.axes) where.push_back(kir::var(name(a.var)));
    where.back() = kir::var(r);
    Block body{makeStmt(std::move(rank)),
               storeStmt(storage(t.node, true), address(t.node, where), kir::cast(n.dtype, kir::var(name(last.var))))};
    out.push_back(parNest(n.axes, {}, std::move(body)));
  }

  // --- scalar expressions ------------------------------------------------------------------------------------------------
  KExpr value(const tempo::ExprPtr& e, Block& out) {
    switch (e->kind) {
      case tempo::Expr::Kind::Const: {
        DType t = computeType(e->dtype);
        if (isFloat(t)) return kir::cf(t, roundTo(e->dtype, e->value));
        return kir::cast(t, kir::ci(int64_t(e->value)));
      }
      case tempo::Expr::Kind::Index: {
        KExpr v = ix(e->ix.subst(bind_));
        DType t = computeType(e->dtype);
        return t == DType::I64 ? v : kir::cast(t, v);
      }
      case tempo::Expr::Kind::Cond: return cond(e->cond.subst(bind_));
      case tempo::Expr::Kind::Op: {
        std::vector<KExpr> args;
        for (const auto& a : e->args) args.push_back(value(a, out));
        return kir::op(e->op, std::move(args));
      }
      case tempo::Expr::Kind::Select:
        return kir::select(value(e->args[0], out), value(e->args[1], out), value(e->args[2], out));
      case tempo::Expr::Kind::Guard: {
        Cond c = e->cond.subst(bind_), saved = path_;
        path_ = saved && c;
        KExpr a = value(e->args[0], out);
        path_ = saved && !c;
        KExpr b = value(e->args[1], out);
        path_ = saved;
        return kir::condExpr(cond(c), a, b);
      }
      case tempo::Expr::Kind::Cast: {
        KExpr v = value(e->args[0], out);
        DType t = computeType(e->dtype);
        if (computeType(e->dtype) != e->dtype) v = kir::cast(DType::F32, kir::cast(e->dtype, v));  // rounds
        return v->dtype == t ? v : kir::cast(t, v);
      }
      case tempo::Expr::Kind::Read: return read(*e, out);
      case tempo::Expr::Kind::Random: {
        kir::Expr r{};
        r.kind = kir::Expr::Kind::Random;
        r.dtype = DType::I64;
        r.i = int64_t(streamKey(e->stream));
        for (const Index& i : e->indices) r.args.push_back(ix(i.ix.subst(bind_)));
        return std::make_shared<kir::Expr>(std::move(r));
      }
    }
    internalError(__FILE__, __LINE__, "unknown expression");
  }

  KExpr read(const tempo::Expr& e, Block& out) {
    DType t = computeType(e.dtype);
    auto reg = registers_.find(e.node);
    if (reg != registers_.end()) {
      return kir::var(reg->second, t);
    }
    // No point of it exists, so no instance gets here: the condition on the way is never true.
    if (plan_.stores[e.node.v].cls == Store::Class::None) return kir::cast(t, kir::ci(0));
    std::vector<KExpr> at;
    std::vector<Ix> affine;
    bool allAffine = true;
    for (const Index& i : e.indices) {
      if (i.data) {
        at.push_back(gathered(e, i, out));
        affine.push_back(Ix(0));
        allAffine = false;
      } else {
        affine.push_back(i.ix.subst(bind_));
        at.push_back(ix(affine.back()));
      }
    }
    KExpr v = kir::load(storage(e.node, false), g_.at(e.node).dtype, address(e.node, at, allAffine ? &affine : nullptr));
    return v->dtype == t ? v : kir::cast(t, v);
  }

  /// A tensor-valued index, tested if nothing proved its range.
  KExpr gathered(const tempo::Expr& e, const Index& i, Block& out) {
    std::string g = freshName("g");
    KExpr v = value(i.data, out);
    out.push_back(letStmt(g, v->dtype == DType::I64 ? v : kir::cast(DType::I64, v)));
    if (!i.checked) return kir::var(g);
    KExpr lo = ix(i.lo.subst(bind_)), hi = ix(i.hi.subst(bind_));
    kir::Stmt c{};
    c.kind = kir::Stmt::Kind::Check;
    c.cond = kir::op(Op::And, {kir::op(Op::Ge, {kir::var(g), lo}), kir::op(Op::Lt, {kir::var(g), hi})});
    if (!path_.isTrue()) c.cond = kir::op(Op::Or, {cond(!path_), c.cond});
    FaultSite site;
    site.loc = e.loc;
    site.node = node_ ? node_->name : "";
    site.tensor = g_.at(e.node).name;
    site.names = {"index", "low", "high"};
    c.args = {kir::var(g), lo, hi};
    for (const auto& [s, at] : bind_) {
      if (c.args.size() == 8) break;
      site.names.push_back(s.name());
      c.args.push_back(ix(at));
    }
    c.site = int64_t(out_.sites.size());
    out_.sites.push_back(std::move(site));
    out.push_back(makeStmt(std::move(c)));
    return kir::var(g);
  }

  const Plan& plan_;
  const Graph& g_;
  Lowered out_;
  std::map<Sym, std::string> names_;
  std::set<std::string> used_{"ctx", "params", "begin", "end", "worker"};
  int counter_ = 0;
  std::vector<Layout> layouts_;
  std::map<NodeId, int> bufferOf_;
  std::vector<Sym> hostVars_;
  // of the kernel being lowered
  kir::Kernel k_;
  std::map<int, bool> kernelBuffers_;
  std::set<std::string> kernelScratch_;
  std::map<NodeId, std::string> registers_;
  // of the statement being lowered
  Subst bind_;
  Cond path_;
  const Node* node_ = nullptr;
};

}  // namespace

Lowered lower(const Plan& plan) { return Lowering(plan).run(); }

}  // namespace tempo
