// Where each node exists. Indexed equations say so; a plain left exists wherever all it reads exists; the nodes made along
// the way exist where their readers need them.
#include <algorithm>

#include "elab/elaborator.hpp"

namespace tempo::elab {

namespace {

bool usesAny(const std::set<Sym>& vars, const std::vector<Sym>& some) {
  return std::any_of(some.begin(), some.end(), [&](Sym s) { return vars.count(s) != 0; });
}

/// Range conditions of those axes and reduction variables that `vars` uses (with what their bounds use), added to `vars`.
Cond rangesOf(std::set<Sym>& vars, const std::vector<Axis>& axes, const std::vector<RVar>& rvars, std::vector<Sym>& gone) {
  Cond c;
  for (size_t k = rvars.size(); k-- > 0;) {
    if (!vars.count(rvars[k].var)) continue;
    c = c && Cond::range(rvars[k].var, rvars[k].lo, rvars[k].hi);
    gone.push_back(rvars[k].var);
    rvars[k].lo.collect(vars);
    rvars[k].hi.collect(vars);
  }
  for (auto& a : axes) {
    if (!vars.count(a.var)) continue;
    c = c && Cond::range(a.var, Ix(0), a.length);
    gone.push_back(a.var);
  }
  return c;
}

}  // namespace

void Elaborator::walkReads(const ExprPtr& e, const Cond& guard, const std::function<void(const Expr&, const Cond&)>& f) {
  if (!e) return;
  if (e->kind == Expr::Kind::Guard) {
    walkReads(e->args[0], guard && e->cond, f);
    walkReads(e->args[1], guard && !e->cond, f);
    return;
  }
  for (auto& a : e->args) walkReads(a, guard, f);
  for (auto& i : e->indices) walkReads(i.data, guard, f);
  if (e->kind == Expr::Kind::Read) f(*e, guard);
}

/// The facts about the sizes among `vars`.
Cond Elaborator::factsOn(const std::set<Sym>& vars) {
  Cond c;
  for (auto& f : facts_) {
    std::set<Sym> mine = f.vars();
    if (std::any_of(mine.begin(), mine.end(), [&](Sym s) { return vars.count(s) != 0; })) c = c && f;
  }
  return c;
}

Cond Elaborator::domainOf(NodeId id) {
  auto it = domains_.find(id.v);
  if (it != domains_.end()) return it->second;
  Node& n = graph_.at(id);
  Cond c = Cond::truth(false);
  if (roles_[id.v] == NodeRole::Fixed) {
    for (auto& p : n.pieces) c = c || p.where;
    if (n.pieces.size() > 1) c = solver_.simplify(c, sizeFacts());
    return domains_[id.v] = c;
  }
  if (!computing_.insert(id.v).second) {
    report("E0205", spanOf(n.loc), "`" + n.name + "` depends on itself through plain lefts", "on this cycle")
        .fixes.push_back({"write the index on the left, as in `" + n.name + "[t] = ...`", {}});
    throw Reported{};
  }
  if (n.pieces.empty()) {
    c = Cond();
  } else {
    Piece p = n.pieces[0];
    c = p.where && naturalDomain(n, p);
  }
  Node& m = graph_.at(id);
  if (roles_[id.v] == NodeRole::Plain) {
    boundPlain(m, c);
    if (!m.pieces.empty()) m.pieces[0].where = c;
  }
  computing_.erase(id.v);
  return domains_[id.v] = c;
}

/// The points at which every read of the piece finds its value.
Cond Elaborator::naturalDomain(const Node& n0, const Piece& p) {
  Node n = n0;  // the graph's storage may move while other domains are computed
  Cond c;
  std::vector<std::pair<const Expr*, Cond>> reads;
  auto collect = [&](const Expr& r, const Cond& g) { reads.push_back({&r, g}); };
  walkReads(p.body.value, Cond(), collect);
  walkReads(p.body.init, Cond(), collect);
  std::vector<Cond> seen;
  for (auto& [r, g] : reads) {
    Cond ok = readDefined(n, p, *r, g);
    if (std::find(seen.begin(), seen.end(), ok) != seen.end()) continue;
    seen.push_back(ok);
    c = c && ok;
  }
  return c.isTrue() ? c : solver_.simplify(c, factsOn(c.vars()));
}

Cond Elaborator::readDefined(const Node& n, const Piece& p, const Expr& read, const Cond& guard) {
  const Node& target = graph_.at(read.node);
  std::vector<Sym> dims = target.dims;
  Cond domain = domainOf(read.node);
  Subst s;
  Cond inside;
  std::vector<Sym> gone;
  for (size_t k = 0; k < dims.size(); ++k) {
    const Index& i = read.indices[k];
    if (i.data) {
      Sym v = Sym::get("@" + std::to_string(k));
      s[dims[k]] = Ix(v);
      inside = inside && Cond::range(v, i.lo, i.hi);
      gone.push_back(v);
    } else {
      s[dims[k]] = i.ix;
    }
  }
  Cond found = domain.subst(s);
  std::set<Sym> vars = found.vars();
  if (!guard.isTrue() && gone.empty()) {
    // A guard on positions in the shape chooses among reads of the same points.
    std::set<Sym> about = vars;
    std::vector<Sym> positions;
    rangesOf(about, n.axes, p.body.rvars, positions);
    if (positions.empty() && !usesAny(guard.vars(), n.dims)) return found;
  }
  guard.collect(vars);
  inside.collect(vars);
  inside = inside && rangesOf(vars, n.axes, p.body.rvars, gone);
  if (gone.empty()) return guard.isTrue() ? found : !guard || found;
  Cond bad = guard && inside && !found;
  return !solver_.project(bad && factsOn(bad.vars()), gone);
}

/// A plain left whose reads do not bound a dim takes the dim's declared range on that side.
void Elaborator::boundPlain(Node& n, Cond& c) {
  Cond given = c && sizeFacts();
  Cond extra;
  for (Sym d : n.dims) {
    if (!c.vars().count(d)) {
      extra = extra && declaredRange(d);
      continue;
    }
    if (!solver_.min(Ix(d), n.dims, given)) extra = extra && Cond::ge(Ix(d), 0);
    if (!solver_.max(Ix(d), n.dims, given)) extra = extra && Cond::lt(Ix(d), dimSize(d));
  }
  c = c && extra;
  Cond declared = declaredRange(std::set<Sym>(n.dims.begin(), n.dims.end()));
  if (c == declared || n.dims.empty()) return;
  if (solver_.implies(c && sizeFacts(), declared) && solver_.implies(declared && sizeFacts(), c)) c = declared;
}

void Elaborator::computeDomains() {
  domains_.clear();
  computing_.clear();
  for (size_t k = 0; k < graph_.nodes().size(); ++k) {
    if (roles_[k] != NodeRole::Plain) continue;
    try {
      domainOf(graph_.nodes()[k].id);
    } catch (const Reported&) {
      return;
    }
  }
  for (auto& e : effects_) {
    Node shell;
    shell.dims = e.effect.dims;
    Piece p;
    Cond c = declaredRange(std::set<Sym>(e.effect.dims.begin(), e.effect.dims.end())) && e.when;
    for (size_t k = 0; k < e.effect.values.size(); ++k) {
      shell.axes = e.effect.axes[k];
      p.body.value = e.effect.values[k].second;
      c = c && naturalDomain(shell, p);
    }
    if (e.effect.condition) {
      shell.axes.clear();
      p.body.value = e.effect.condition;
      c = c && naturalDomain(shell, p);
    }
    e.effect.where = solver_.simplify(c, sizeFacts());
  }
}

/// The points of `target` that one read needs.
Cond Elaborator::need(const Node& consumer, const Cond& where, const std::vector<Axis>& axes, const std::vector<RVar>& rvars,
                      const Expr& read, const Cond& guard, const Node& target) {
  Cond c = where && guard;
  bool identity = true;
  for (size_t k = 0; k < target.dims.size(); ++k) {
    identity &= !read.indices[k].data && read.indices[k].ix == Ix(target.dims[k]);
  }
  std::set<Sym> vars = c.vars();
  std::vector<Sym> gone;
  Cond link;
  Subst back;
  if (!identity) {
    for (size_t k = 0; k < target.dims.size(); ++k) {
      Sym fresh = Sym::get("@" + target.dims[k].name());
      back[fresh] = Ix(target.dims[k]);
      const Index& i = read.indices[k];
      Cond at = i.data ? Cond::range(fresh, i.lo, i.hi) : Cond::eq(Ix(fresh), i.ix);
      at.collect(vars);
      link = link && at;
    }
  }
  c = c && link && rangesOf(vars, axes, rvars, gone);
  std::set<Sym> keep(target.dims.begin(), target.dims.end());
  for (Sym d : consumer.dims) {
    if ((!identity || !keep.count(d)) && vars.count(d)) gone.push_back(d);
  }
  if (!gone.empty() && usesAny(c.vars(), gone)) {
    Cond facts = factsOn(c.vars());
    c = solver_.simplify(solver_.project(c && facts, gone), facts);
  }
  return back.empty() ? c : c.subst(back);
}

void Elaborator::computeNeeds() {
  struct Use {
    uint32_t node;       // consumer, or an effect
    size_t piece;
    const Expr* read;
    Cond guard;
    const PendingEffect* effect = nullptr;
    size_t value = 0;
  };
  std::map<uint32_t, std::vector<Use>> uses;
  for (auto& n : graph_.nodes()) {
    for (size_t k = 0; k < n.pieces.size(); ++k) {
      auto add = [&, k](const Expr& r, const Cond& g) {
        if (roles_[r.node.v] == NodeRole::Aux) uses[r.node.v].push_back({n.id.v, k, &r, g});
      };
      walkReads(n.pieces[k].body.value, Cond(), add);
      walkReads(n.pieces[k].body.init, Cond(), add);
    }
  }
  for (auto& e : effects_) {
    for (size_t k = 0; k <= e.effect.values.size(); ++k) {
      const ExprPtr& x = k < e.effect.values.size() ? e.effect.values[k].second : e.effect.condition;
      walkReads(x, Cond(), [&](const Expr& r, const Cond& g) {
        if (roles_[r.node.v] == NodeRole::Aux) uses[r.node.v].push_back({0, 0, &r, g, &e, k});
      });
    }
  }
  for (size_t k = graph_.nodes().size(); k-- > 0;) {
    Node& n = graph_.nodes()[k];
    if (roles_[k] != NodeRole::Aux || n.pieces.empty()) continue;
    std::vector<Cond> parts;
    for (auto& u : uses[n.id.v]) {
      Cond c;
      if (u.effect) {
        Node shell;
        shell.dims = u.effect->effect.dims;
        auto axes = u.value < u.effect->effect.axes.size() ? u.effect->effect.axes[u.value] : std::vector<Axis>{};
        c = need(shell, u.effect->effect.where, axes, {}, *u.read, u.guard, n);
      } else {
        const Node& consumer = graph_.nodes()[u.node];
        if (consumer.pieces.empty()) continue;
        const Piece& p = consumer.pieces[u.piece];
        c = need(consumer, p.where, consumer.axes, p.body.rvars, *u.read, u.guard, n);
      }
      if (std::find(parts.begin(), parts.end(), c) == parts.end()) parts.push_back(c);
    }
    if (parts.empty()) {
      n.pieces.clear();
      continue;
    }
    Cond all = parts[0];
    for (size_t j = 1; j < parts.size(); ++j) all = all || parts[j];
    n.pieces[0].where = parts.size() == 1 ? all : solver_.simplify(all, sizeFacts());
  }
  relaxConstants();
}

/// What reads nothing that depends on steps exists whatever the sizes are: parameters, tables.
void Elaborator::relaxConstants() {
  for (auto& n : graph_.nodes()) {
    if (roles_[n.id.v] != NodeRole::Aux || n.pieces.empty() || !n.dims.empty()) continue;
    bool free = true;
    forEachRead(n, [&](const Piece&, const Expr& r) {
      const Node& t = graph_.at(r.node);
      free &= t.dims.empty() && t.pieces.size() == 1 && t.pieces[0].where.isTrue();
    });
    if (free) n.pieces[0].where = Cond();
  }
}

/// An equation that is only a copy of a node made for it takes that node's body.
void Elaborator::foldCopies() {
  std::map<uint32_t, int> readers;
  for (auto& n : graph_.nodes()) {
    forEachRead(n, [&](const Piece&, const Expr& r) { ++readers[r.node.v]; });
  }
  for (auto& e : effects_) {
    for (auto& [name, x] : e.effect.values) {
      walkReads(x, Cond(), [&](const Expr& r, const Cond&) { readers[r.node.v] += 2; });
    }
    walkReads(e.effect.condition, Cond(), [&](const Expr& r, const Cond&) { readers[r.node.v] += 2; });
  }
  for (auto& n : graph_.nodes()) {
    if (roles_[n.id.v] == NodeRole::Aux) continue;
    for (auto& p : n.pieces) {
      if (p.body.kind != Body::Kind::Map || !p.body.value || p.body.value->kind != Expr::Kind::Read) continue;
      const Expr& r = *p.body.value;
      Node& from = graph_.at(r.node);
      if (roles_[r.node.v] != NodeRole::Aux || readers[r.node.v] != 1 || from.dtype != n.dtype || from.pieces.size() != 1) continue;
      Subst s;
      bool plain = from.axes.size() == n.axes.size();
      for (size_t k = 0; plain && k < r.indices.size(); ++k) {
        plain &= !r.indices[k].data;
        if (!plain) break;
        if (k < from.dims.size()) {
          s[from.dims[k]] = r.indices[k].ix;
        } else {
          plain &= r.indices[k].ix == Ix(n.axes[k - from.dims.size()].var);
          s[from.axes[k - from.dims.size()].var] = r.indices[k].ix;
        }
      }
      if (!plain) continue;
      Body b = from.pieces[0].body;
      if (b.value) b.value = ex::subst(b.value, s);
      if (b.init) b.init = ex::subst(b.init, s);
      for (auto& v : b.rvars) {
        v.lo = v.lo.subst(s);
        v.hi = v.hi.subst(s);
      }
      if (needNonEmpty_.count(r.node.v)) continue;
      p.body = b;
      from.pieces.clear();
    }
  }
}

namespace {

bool hasNoIdentity(const Body& b) {
  return b.kind == Body::Kind::Reduce && !b.init && !info(b.reduce).hasIdentity;
}

}  // namespace

/// `max`, `mean`, `argmax` of a range that is empty at some point. What hangs on sizes alone becomes a fact that is
/// checked when the program starts.
void Elaborator::checkEmptyReduce(const Node& n, const Piece& p) {
  Cond nonEmpty;
  for (auto& v : p.body.rvars) nonEmpty = nonEmpty && Cond::lt(v.lo, v.hi);
  Cond empty = p.where && sizeFacts() && !nonEmpty;
  std::set<Sym> vars = empty.vars();
  std::vector<Sym> gone;
  empty = empty && rangesOf(vars, n.axes, p.body.rvars, gone);
  for (auto& v : p.body.rvars) gone.erase(std::remove(gone.begin(), gone.end(), v.var), gone.end());
  auto point = solver_.find(empty, n.dims);
  if (!point) return;
  gone.insert(gone.end(), n.dims.begin(), n.dims.end());
  Cond sizes = solver_.project(empty, gone);
  // With the sizes of this run (large ones where none is known) the range must not be empty anywhere.
  Env env;
  for (Sym v : sizes.vars()) env[v] = sizeValue(v).value_or(1 << 20);
  const char* what = p.body.reduce == Reduce::Sum ? "mean" : info(p.body.reduce).text;
  bool now = true;
  try {
    now = sizes.eval(env);
  } catch (const std::exception&) {
  }
  if (!now) {
    Cond fact = solver_.simplify(!sizes, sizeFacts());
    facts_.push_back(fact);
    graph_.facts.push_back(fact);
    graph_.reasons.resize(graph_.facts.size());
    graph_.reasons.back() = std::string("`") + what + "` at " + diags_.sources().place(p.loc) + " needs at least one element";
    return;
  }
  std::string at;
  for (Sym d : n.dims) {
    if (point->count(d)) at += (at.empty() ? " at " : ", ") + d.name() + " = " + std::to_string(point->at(d));
  }
  for (Sym v : sizes.vars()) {
    if (point->count(v) && sizeValue(v)) at += (at.empty() ? " when " : ", ") + v.name() + " = " + std::to_string(point->at(v));
  }
  report("E0406", spanOf(p.loc), std::string("`") + what + "` of a range that may be empty", "the range is empty" + at)
      .fixes.push_back({std::string("give the value of the empty range: `") + what + "(..., init = ...)`, or leave the point out by `when` or `if`", {}});
}

void Elaborator::checkEmpty() {
  for (auto& n : graph_.nodes()) {
    for (auto& p : n.pieces) {
      if (hasNoIdentity(p.body) || (needNonEmpty_.count(n.id.v) && p.body.kind == Body::Kind::Reduce)) checkEmptyReduce(n, p);
    }
  }
}

}  // namespace tempo::elab
