#include "stream/stream.hpp"

#include <algorithm>

namespace tempo {

namespace {

constexpr int64_t kInner = 512, kOuter = 256;

/// Does the length grow with a dim of the program?
bool isLong(const Graph& g, const RVar& r) {
  Ix length = r.hi - r.lo;
  return std::any_of(g.dims.begin(), g.dims.end(), [&](const Dim& d) { return length.uses(d.size); });
}

bool applies(const Graph& g, const Node& n) {
  if (!n.dims.empty() || !n.axes.empty() || n.pieces.size() != 1) return false;
  const Body& b = n.pieces[0].body;
  return b.kind == Body::Kind::Reduce && info(b.reduce).combine && !b.init && isLong(g, b.rvars.back());
}

/// Takes the last reduction variable of `id` out into a new axis of partial results; `id` reduces those.
NodeId partial(Graph& g, NodeId id, int64_t length, const std::string& suffix) {
  const Node whole = g.at(id);
  const Piece& p = whole.pieces[0];
  RVar last = p.body.rvars.back();
  Ix n(length), parts = Ix::floordiv(Ix::max(Ix(0), last.hi - last.lo) + n - Ix(1), n);
  DType wide = whole.dtype;
  bool sums = p.body.reduce == Reduce::Sum || p.body.reduce == Reduce::Prod;
  if (sums) wide = accumulator(p.body.value->dtype);
  Sym c = Sym::fresh("part"), r = Sym::fresh("part");
  Node part;
  part.name = whole.name + suffix;
  part.dtype = wide;
  part.loc = whole.loc;
  part.axes = {{c, parts}};
  Piece q = p;
  RVar& inner = q.body.rvars.back();
  inner.hi = Ix::min(last.lo + n * Ix(c) + n, last.hi);
  inner.lo = last.lo + n * Ix(c);
  if (q.body.value->dtype != wide) q.body.value = ex::cast(wide, q.body.value);
  part.pieces = {q};
  NodeId made = g.add(std::move(part));
  Body rest;
  rest.kind = Body::Kind::Reduce;
  rest.reduce = p.body.reduce;
  rest.rvars = {{r, Ix(0), parts}};
  rest.value = ex::read(made, wide, {{Ix(r), nullptr, {}, {}, false}}, whole.loc);
  g.at(id).pieces[0].body = rest;
  return made;
}

/// A node that reduces wide parts has the wide type; the name the program knows keeps its own, rounded once.
void keepType(Graph& g, NodeId id) {
  Node& n = g.at(id);
  Body& b = n.pieces[0].body;
  if (resultType(b.reduce, b.value->dtype) == n.dtype) return;
  Node wide = n;
  wide.name = n.name + ".wide";
  wide.dtype = b.value->dtype;
  NodeId w = g.add(std::move(wide));
  Node& back = g.at(id);
  back.pieces[0].body = Body{};
  back.pieces[0].body.value = ex::cast(back.dtype, ex::read(w, g.at(w).dtype, {}, back.loc));
}

}  // namespace

Graph stream(Graph g, const PassOptions& options, std::vector<Decision>& log) {
  if (!options.isOn("stream")) return g;
  size_t count = g.nodes().size();
  for (size_t i = 0; i < count; ++i) {
    NodeId id{uint32_t(i)};
    if (!applies(g, g.at(id))) continue;
    log.push_back({"stream", g.at(id).name, "reduced in parts of " + std::to_string(kInner)});
    partial(g, id, kInner, ".part");
    if (g.at(id).pieces[0].body.reduce == Reduce::Sum) partial(g, id, kOuter, ".parts");
    keepType(g, id);
  }
  return g;
}

}  // namespace tempo
