#include "schedule/dependences.hpp"

#include <map>
#include <set>

#include "check.hpp"

namespace tempo {

using namespace poly;

std::vector<bool> liveNodes(const Graph& g) {
  std::vector<bool> live(g.nodes().size(), false);
  std::vector<NodeId> work;
  auto need = [&](NodeId id) {
    if (!live[id.v]) {
      live[id.v] = true;
      work.push_back(id);
    }
  };
  for (const Output& o : g.outputs) need(o.node);
  for (const Effect& e : g.effects)
    for (const ReadSite& s : readSites(e)) need(s.read->node);
  while (!work.empty()) {
    const Node& n = g.at(work.back());
    work.pop_back();
    forEachRead(n, [&](const Piece&, const Expr& r) { need(r.node); });
  }
  return live;
}

namespace {

/// { S[dims] -> N<node>[read dims] }, axes, reduction variables and gathered values projected out.
Map accessMap(isl_ctx* ctx, const Graph& g, const Statement& s, const ReadSite& site, const Cond& facts) {
  const Node& target = g.at(site.read->node);
  std::vector<Sym> from = s.dims;
  from.insert(from.end(), site.inner.begin(), site.inner.end());
  Cond when = site.when && facts;
  std::vector<Ix> to;
  for (size_t i = 0; i < target.dims.size(); ++i) {
    const Index& ix = site.read->indices[i];
    if (!ix.data) {
      to.push_back(ix.ix);
      continue;
    }
    Sym any = Sym::fresh("any");
    from.push_back(any);
    when = when && Cond::range(Ix(any), ix.lo, ix.hi);
    to.push_back(Ix(any));
  }
  isl_map* m = toMap(ctx, s.tuple, from, when, "N" + std::to_string(target.id.v), to).release();
  unsigned keep = unsigned(s.dims.size());
  m = isl_map_project_out(m, isl_dim_in, keep, unsigned(from.size()) - keep);
  return Map(isl_map_coalesce(isl_map_set_tuple_name(m, isl_dim_in, s.tuple.c_str())));
}

/// Every earlier instance before every later one.
UMap lexicographic(const Statement& s) {
  isl_map* lt = isl_map_lex_lt(isl_set_get_space(s.domain.keep()));
  lt = isl_map_intersect_domain(lt, s.domain.copy());
  lt = isl_map_intersect_range(lt, s.domain.copy());
  return UMap(isl_union_map_from_map(lt));
}

void addStatement(Dependences& d, isl_ctx* ctx, const Cond& where, Statement s) {
  s.tuple = "S" + std::to_string(d.statements.size());
  s.domain = toSet(ctx, s.tuple, s.dims, where);
  d.statements.push_back(std::move(s));
}

std::string siteKey(const ReadSite& s) {
  std::string key = std::to_string(s.read->node.v) + "|" + s.when.str();
  for (const Index& i : s.read->indices)
    key += "|" + (i.data ? "{" + i.lo.str() + ":" + i.hi.str() + "}" : i.ix.str());
  return key;
}

}  // namespace

Dependences dependences(const Graph& g, Solver& solver) {
  isl_ctx* ctx = solver.ctx();
  Dependences d;
  Cond facts = g.context();
  std::vector<bool> live = liveNodes(g);
  std::map<NodeId, std::vector<size_t>> writers;
  for (const Node& n : g.nodes()) {
    if (!live[n.id.v]) continue;
    for (size_t p = 0; p < n.pieces.size(); ++p) {
      if (n.pieces[p].body.kind == Body::Kind::Input) continue;
      writers[n.id].push_back(d.statements.size());
      Statement s;
      s.dims = n.dims;
      s.node = n.id;
      s.piece = p;
      addStatement(d, ctx, n.pieces[p].where && facts, std::move(s));
    }
  }
  for (size_t e = 0; e < g.effects.size(); ++e) {
    Statement s;
    s.dims = g.effects[e].dims;
    s.effect = e;
    addStatement(d, ctx, g.effects[e].where && facts, std::move(s));
  }
  isl_space* params = isl_space_params_alloc(ctx, 0);
  isl_union_set* domain = isl_union_set_empty(isl_space_copy(params));
  isl_union_map* flow = isl_union_map_empty(isl_space_copy(params));
  isl_union_map* order = isl_union_map_empty(params);
  for (const Statement& s : d.statements) {
    domain = isl_union_set_add_set(domain, s.domain.copy());
    auto sites = s.isEffect() ? readSites(g.effects[s.effect]) : readSites(g.at(s.node), g.at(s.node).pieces[s.piece]);
    if (s.isEffect() && !s.dims.empty()) order = isl_union_map_union(order, lexicographic(s).release());
    std::set<std::string> seen;
    for (const ReadSite& site : sites) {
      auto w = writers.find(site.read->node);
      if (w == writers.end() || !seen.insert(siteKey(site)).second) continue;
      Map access = accessMap(ctx, g, s, site, facts);
      for (size_t k : w->second) {
        const Statement& writer = d.statements[k];
        isl_map* dep = isl_map_reverse(access.copy());
        dep = isl_map_set_tuple_name(dep, isl_dim_in, writer.tuple.c_str());
        dep = isl_map_intersect_domain(dep, writer.domain.copy());
        dep = isl_map_intersect_range(dep, s.domain.copy());
        flow = isl_union_map_add_map(flow, dep);
      }
    }
  }
  d.domain = USet(domain);
  d.flow = UMap(isl_union_map_coalesce(flow));
  d.order = UMap(order);
  isl_set* context = toSet(ctx, "", {}, facts).release();
  d.context = Set(isl_set_params(context));
  return d;
}

}  // namespace tempo
