#include "plan/plan.hpp"

#include <functional>
#include <sstream>

namespace tempo {

namespace {

Cond axisRanges(const std::vector<Axis>& axes) {
  Cond c;
  for (const Axis& a : axes) c = c && Cond::range(Ix(a.var), Ix(0), a.length);
  return c;
}

void collect(const ExprPtr& e, const Cond& when, const std::vector<Sym>& inner, std::vector<ReadSite>& out) {
  if (!e) return;
  if (e->kind == Expr::Kind::Guard) {
    collect(e->args[0], when && e->cond, inner, out);
    collect(e->args[1], when && !e->cond, inner, out);
    return;
  }
  if (e->kind == Expr::Kind::Read) out.push_back({e.get(), when, inner});
  for (const ExprPtr& c : ex::children(*e)) collect(c, when, inner, out);
}

}  // namespace

std::vector<ReadSite> readSites(const Node& n, const Piece& p) {
  std::vector<ReadSite> out;
  std::vector<Sym> inner;
  for (const Axis& a : n.axes) inner.push_back(a.var);
  Cond when = p.where && axisRanges(n.axes);
  collect(p.body.init, when, inner, out);
  for (const RVar& r : p.body.rvars) {
    inner.push_back(r.var);
    when = when && Cond::range(Ix(r.var), r.lo, r.hi);
  }
  collect(p.body.value, when, inner, out);
  return out;
}

std::vector<ReadSite> readSites(const Effect& e) {
  std::vector<ReadSite> out;
  collect(e.condition, e.where, {}, out);
  for (size_t i = 0; i < e.values.size(); ++i) {
    std::vector<Sym> inner;
    Cond when = e.where;
    if (i < e.axes.size()) {
      for (const Axis& a : e.axes[i]) inner.push_back(a.var);
      when = when && axisRanges(e.axes[i]);
    }
    collect(e.values[i].second, when, inner, out);
  }
  return out;
}

Ix Store::elements() const {
  std::vector<Ix> extents;
  for (const DimStore& d : dims) extents.push_back(d.kind == DimStore::Kind::Point ? Ix(1) : d.extent);
  for (const Ix& a : axes) extents.push_back(a);
  if (extents.empty()) return Ix(1);
  size_t last = order.empty() ? extents.size() - 1 : size_t(order.back());
  if (pad > 1) extents[last] = Ix::floordiv(extents[last] + Ix(pad - 1), Ix(pad)) * Ix(pad);
  Ix n(1);
  for (const Ix& e : extents) n = n * e;
  return n;
}

const char* name(Store::Class c) {
  switch (c) {
    case Store::Class::None: return "none";
    case Store::Class::Input: return "input";
    case Store::Class::Full: return "full";
    case Store::Class::Ring: return "ring";
    case Store::Class::Point: return "point";
    case Store::Class::Local: return "local";
    case Store::Class::Recomputed: return "recomputed";
  }
  return "?";
}

namespace {

void printTree(const Graph& g, const Tree& t, int depth, std::ostringstream& os) {
  std::string pad(size_t(depth) * 2, ' ');
  int next = depth + 1;
  switch (t.kind) {
    case Tree::Kind::Block: next = depth; break;
    case Tree::Kind::Loop:
      os << pad << (t.parallel ? "for parallel " : "for ") << t.var.name() << " in " << t.lo.str() << " : " << t.hi.str()
         << "\n";
      break;
    case Tree::Kind::If: os << pad << "if " << t.cond.str() << "\n"; break;
    case Tree::Kind::Stmt: {
      const Node& n = g.at(t.node);
      os << pad << n.name;
      if (n.pieces.size() > 1) os << "#" << t.piece;
      os << "[";
      for (size_t i = 0; i < n.dims.size(); ++i) os << (i ? ", " : "") << t.point.at(n.dims[i]).str();
      if (!t.axisBind.empty()) {
        os << ";";
        for (const AxisRange& a : t.axisBind) os << " " << a.lo.str() << (a.isPoint() ? "" : " : " + a.hi.str());
      }
      os << "]\n";
      break;
    }
    case Tree::Kind::Effect: os << pad << "effect " << t.effect << "\n"; break;
    case Tree::Kind::Kernel: os << pad << "kernel " << t.name << " grid " << t.gridDepth << "\n"; break;
  }
  for (const Tree& c : t.children) printTree(g, c, next, os);
}

}  // namespace

std::string printTree(const Graph& g, const Tree& t) {
  std::ostringstream os;
  printTree(g, t, 0, os);
  return os.str();
}

std::string print(const Plan& p) {
  std::ostringstream os;
  os << printTree(p.graph, p.root);
  for (const Node& n : p.graph.nodes()) {
    if (n.pieces.empty() || n.id.v >= p.stores.size()) continue;
    const Store& s = p.stores[n.id.v];
    if (s.cls == Store::Class::None) continue;
    os << "store " << n.name << " " << name(s.cls);
    for (size_t i = 0; i < s.dims.size(); ++i) {
      const DimStore& d = s.dims[i];
      os << " " << n.dims[i].name();
      if (d.kind == DimStore::Kind::Full) os << "=full(" << d.extent.str() << ")";
      if (d.kind == DimStore::Kind::Ring) os << "=ring(" << d.extent.str() << ")";
      if (d.kind == DimStore::Kind::Point) os << "=point";
    }
    if (s.pad > 1) os << " pad " << s.pad;
    os << " elements " << s.elements().str() << " " << name(n.dtype) << "\n";
  }
  return os.str();
}

}  // namespace tempo
