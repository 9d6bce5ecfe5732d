#include "schedule/dependences.hpp"

#include <map>
#include <set>

#include "check.hpp"
#include "cycles.hpp"

namespace tempo {

using namespace poly;

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

namespace {

/// One statement per group and per effect; `writers`: the statement and piece domains that write a node.
struct Writer {
  size_t statement;
  poly::Set domain;  // of the piece, under the statement's tuple
};

std::map<NodeId, std::vector<Writer>> addStatements(Dependences& d, const Graph& g, isl_ctx* ctx, const PassOptions& options) {
  std::map<NodeId, std::vector<Writer>> writers;
  Cond facts = g.context();
  for (std::vector<PieceRef>& members : group(g, liveNodes(g), options)) {
    const Node& first = g.at(members[0].node);
    size_t k = d.statements.size();
    Statement s;
    s.dims = first.dims;
    s.members = members;
    addStatement(d, ctx, first.pieces[members[0].piece].where && facts, std::move(s));
    for (const PieceRef& m : members) writers[m.node].push_back({k, d.statements[k].domain});
  }
  for (size_t e = 0; e < g.effects.size(); ++e) {
    Statement s;
    s.dims = g.effects[e].dims;
    s.effect = e;
    addStatement(d, ctx, g.effects[e].where && facts, std::move(s));
  }
  return writers;
}

std::vector<ReadSite> sitesOf(const Graph& g, const Statement& s) {
  if (s.isEffect()) return readSites(g.effects[s.effect]);
  std::vector<ReadSite> out;
  for (const PieceRef& m : s.members)
    for (ReadSite& r : readSites(g.at(m.node), g.at(m.node).pieces[m.piece])) out.push_back(std::move(r));
  return out;
}

/// A group's members run in order at one point: reads of the point itself are settled.
isl_map* withoutSelf(isl_map* dep) {
  isl_map* id = isl_map_identity(isl_space_map_from_set(isl_space_domain(isl_map_get_space(dep))));
  return isl_map_subtract(dep, id);
}

}  // namespace

Dependences dependences(const Graph& g, Solver& solver, const PassOptions& options) {
  isl_ctx* ctx = solver.ctx();
  Dependences d;
  Cond facts = g.context();
  auto writers = addStatements(d, g, ctx, options);
  isl_space* params = isl_space_params_alloc(ctx, 0);
  isl_union_set* domain = isl_union_set_empty(isl_space_copy(params));
  isl_union_map* flow = isl_union_map_empty(isl_space_copy(params));
  isl_union_map* order = isl_union_map_empty(params);
  for (const Statement& s : d.statements) {
    domain = isl_union_set_add_set(domain, s.domain.copy());
    auto sites = sitesOf(g, s);
    if (s.isEffect() && !s.dims.empty()) order = isl_union_map_union(order, lexicographic(s).release());
    std::set<std::string> seen;
    for (const ReadSite& site : sites) {
      auto w = writers.find(site.read->node);
      if (w == writers.end() || !seen.insert(siteKey(site)).second) continue;
      Map access = accessMap(ctx, g, s, site, facts);
      for (const Writer& k : w->second) {
        const Statement& writer = d.statements[k.statement];
        isl_map* dep = isl_map_reverse(access.copy());
        dep = isl_map_set_tuple_name(dep, isl_dim_in, writer.tuple.c_str());
        dep = isl_map_intersect_domain(dep, k.domain.copy());
        dep = isl_map_intersect_range(dep, s.domain.copy());
        if (&writer == &s && s.members.size() > 1) dep = withoutSelf(dep);
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
