#include <algorithm>
#include <set>

#include "index/solve.hpp"
#include "plan/plan.hpp"
#include "sdg/graph.hpp"

namespace tempo {

namespace {

using Scope = std::set<Sym>;

std::string quote(const std::string& s) { return "`" + s + "`"; }

/// Rules on the form of nodes, outputs and effects.
class Structure {
 public:
  explicit Structure(const Graph& g) : g_(g) {
    for (const Size& s : g.sizes) {
      require(sizes_.insert(s.sym).second, "size-unique", "size " + quote(s.sym.name()) + " is declared twice");
    }
    for (const Dim& d : g.dims) {
      require(order_.emplace(d.var, order_.size()).second, "dim-unique",
              "dim " + quote(d.var.name()) + " is declared twice");
      sizes_.insert(d.size);
    }
  }

  void run() {
    for (const Size& s : g_.sizes) {
      if (s.value) scope("size " + quote(s.sym.name()), s.value->vars(), sizes_);
    }
    for (const Cond& f : g_.facts) scope("fact " + quote(f.str()), f.vars(), sizes_);
    for (const Node& n : g_.nodes()) {
      if (!n.pieces.empty()) node(n);
    }
    for (const Option& o : g_.options) {
      if (o.node) alive(o.node, "option " + quote(o.name.name()));
    }
    for (const InputDecl& i : g_.inputs) {
      alive(i.node, "an input");
      require(g_.at(i.node).pieces[0].body.kind == Body::Kind::Input, "input-body",
              quote(g_.at(i.node).name) + " is declared an input and has a body");
    }
    for (const Output& o : g_.outputs) output(o);
    for (const Effect& e : g_.effects) effect(e);
  }

 private:
  void require(bool ok, const char* rule, const std::string& what) const {
    if (!ok) throw GraphError(std::string(rule) + ": " + what);
  }

  void scope(const std::string& where, const std::set<Sym>& used, const Scope& known) const {
    for (Sym s : used) require(known.count(s), "scope", where + " uses " + quote(s.name()) + ", which is not in scope");
  }

  const Node& alive(NodeId id, const std::string& who) const {
    require(id.v < g_.nodes().size(), "node-exists", who + " refers to node " + std::to_string(id.v));
    const Node& n = g_.at(id);
    require(!n.pieces.empty(), "node-alive", who + " refers to the dead node " + quote(n.name));
    return n;
  }

  void node(const Node& n) const {
    const std::string who = quote(n.name);
    Scope known = sizes_;
    size_t next = 0;
    for (Sym d : n.dims) {
      auto it = order_.find(d);
      require(it != order_.end(), "dim-known", who + " has the dim " + quote(d.name()) + ", which no one declares");
      require(it->second >= next, "dim-order", who + " has its dims out of the program's order");
      next = it->second + 1;
      known.insert(d);
    }
    const Scope outer = known;
    for (const Axis& a : n.axes) {
      scope("the length of an axis of " + who, a.length.vars(), outer);
      require(known.insert(a.var).second, "axis-unique", who + " uses " + quote(a.var.name()) + " for two things");
    }
    for (const Piece& p : n.pieces) {
      scope("a condition of " + who, p.where.vars(), outer);
      body(n, p.body, known);
    }
  }

  void body(const Node& n, const Body& b, Scope known) const {
    const std::string who = quote(n.name);
    if (b.kind == Body::Kind::Input) {
      require(n.pieces.size() == 1 && !b.value, "input-body",
              "the input " + who + " has more than one piece or a value");
      return;
    }
    require(b.value != nullptr, "body-value", who + " has a body without a value");
    if (b.init) {
      expr(who, b.init, known);
      typed(n, b.init->dtype, "initial value");
    }
    for (const RVar& r : b.rvars) {
      scope("a range of " + who, r.lo.vars(), known);
      scope("a range of " + who, r.hi.vars(), known);
      require(known.insert(r.var).second, "range-unique", who + " uses " + quote(r.var.name()) + " for two things");
    }
    expr(who, b.value, known);
    switch (b.kind) {
      case Body::Kind::Map: typed(n, b.value->dtype, "value"); break;
      case Body::Kind::Reduce: reduction(n, b); break;
      case Body::Kind::ArgSort:
        require(!n.axes.empty(), "argsort-axis", who + " sorts and has no axis");
        require(n.dtype == DType::I32 || n.dtype == DType::I64, "type", who + " sorts and is " + name(n.dtype));
        break;
      case Body::Kind::Input: break;
    }
  }

  void reduction(const Node& n, const Body& b) const {
    const std::string who = quote(n.name);
    DType t = b.value->dtype;
    require(!b.rvars.empty(), "reduce-range", who + " reduces over nothing");
    bool arg = b.reduce == Reduce::ArgMax || b.reduce == Reduce::ArgMin;
    bool logic = b.reduce == Reduce::All || b.reduce == Reduce::Any;
    require(!arg || b.rvars.size() == 1, "reduce-range", who + " takes a position over more than one variable");
    require(logic == (t == DType::Bool), "type", who + " is the " + info(b.reduce).text + " of " + name(t));
    bool wide = !logic && !arg && n.dtype == accumulator(t);  // kept as it accumulates
    if (!wide && !(arg && n.dtype == DType::I64)) typed(n, resultType(b.reduce, t), "reduction");
  }

  void typed(const Node& n, DType t, const char* what) const {
    require(t == n.dtype, "type", quote(n.name) + " is " + name(n.dtype) + " and its " + what + " is " + name(t));
  }

  void expr(const std::string& who, const ExprPtr& root, const Scope& known) const {
    ex::visit(root, [&](const Expr& e) {
      scope(who, e.ix.vars(), known);
      scope(who, e.cond.vars(), known);
      for (const Index& i : e.indices) {
        scope("an index in " + who, i.ix.vars(), known);
        scope("an index in " + who, i.lo.vars(), known);
        scope("an index in " + who, i.hi.vars(), known);
      }
      if (e.kind == Expr::Kind::Read) read(who, e);
      if (e.kind == Expr::Kind::Op) {
        require(int(e.args.size()) == info(e.op).arity, "arity",
                who + " has a wrong number of operands for " + info(e.op).text);
        require(accepts(e.op, e.args[0]->dtype), "type",
                who + ": " + info(e.op).text + " does not take " + name(e.args[0]->dtype));
      }
    });
  }

  void read(const std::string& who, const Expr& e) const {
    const Node& n = alive(e.node, who);
    require(e.indices.size() == n.dims.size() + n.axes.size(), "read-rank",
            who + " reads " + quote(n.name) + " at " + std::to_string(e.indices.size()) + " indices, it has " +
                std::to_string(n.dims.size()) + " dims and " + std::to_string(n.axes.size()) + " axes");
    require(e.dtype == n.dtype, "type",
            who + " reads " + quote(n.name) + " as " + name(e.dtype) + ", it is " + name(n.dtype));
  }

  void output(const Output& o) const {
    const Node& n = alive(o.node, "output " + quote(o.name));
    require(o.box.size() == n.dims.size() && o.fixed.size() == n.dims.size(), "output-rank",
            "output " + quote(o.name) + " has " + std::to_string(o.box.size()) + " ranges, its node has " +
                std::to_string(n.dims.size()) + " dims");
    for (const RVar& r : o.box) {
      scope("output " + quote(o.name), r.lo.vars(), sizes_);
      scope("output " + quote(o.name), r.hi.vars(), sizes_);
    }
  }

  void effect(const Effect& e) const {
    Scope known = sizes_;
    for (Sym d : e.dims) {
      require(order_.count(d), "dim-known", "an effect has the dim " + quote(d.name()) + ", which no one declares");
      known.insert(d);
    }
    scope("the condition of an effect", e.where.vars(), known);
    if (e.condition) {
      expr("an effect", e.condition, known);
      require(e.condition->dtype == DType::Bool, "type",
              std::string("an effect's condition is ") + name(e.condition->dtype));
    }
    for (size_t i = 0; i < e.values.size(); ++i) {
      Scope inner = known;
      if (i < e.axes.size()) {
        for (const Axis& a : e.axes[i]) inner.insert(a.var);
      }
      expr("effect " + quote(e.values[i].first), e.values[i].second, inner);
    }
  }

  const Graph& g_;
  Scope sizes_;
  std::map<Sym, size_t> order_;  // of dims
};

/// Rules on which points exist; what integer reasoning cannot decide passes.
class Meaning {
 public:
  explicit Meaning(const Graph& g) : g_(g), context_(g.context()) {}

  void run() {
    for (const Node& n : g_.nodes()) {
      disjoint(n);
      for (const Piece& p : n.pieces) {
        for (const ReadSite& r : readSites(n, p)) defined(quote(n.name), r);
      }
    }
    for (const Effect& e : g_.effects) {
      for (const ReadSite& r : readSites(e)) defined("an effect", r);
    }
  }

 private:
  std::optional<Env> find(const Cond& c) {
    try {
      return solver_.find(c);
    } catch (const NotAffine&) {
      return std::nullopt;
    } catch (const SolveBudget&) {
      return std::nullopt;
    }
  }

  static std::string show(const Env& env) {
    std::map<std::string, int64_t> byName;
    for (const auto& [s, v] : env) byName[s.name()] = v;
    std::string out;
    for (const auto& [s, v] : byName) out += (out.empty() ? "" : ", ") + s + " = " + std::to_string(v);
    return out;
  }

  void disjoint(const Node& n) {
    for (size_t i = 0; i < n.pieces.size(); ++i) {
      for (size_t j = i + 1; j < n.pieces.size(); ++j) {
        auto env = find(context_ && n.pieces[i].where && n.pieces[j].where);
        if (!env) continue;
        throw GraphError("pieces-disjoint: pieces " + std::to_string(i) + " and " + std::to_string(j) + " of " +
                         quote(n.name) + " both define it at " + show(*env));
      }
    }
  }

  void defined(const std::string& who, const ReadSite& site) {
    const Expr& e = *site.read;
    const Node& n = g_.at(e.node);
    Cond when = context_ && site.when;
    std::vector<Ix> at;
    for (const Index& i : e.indices) {
      if (!i.data) {
        at.push_back(i.ix);
        continue;
      }
      Ix v(Sym::get("gather." + std::to_string(at.size())));  // any value of the stated range
      when = when && Cond::range(v, i.lo, i.hi);
      at.push_back(v);
    }
    Subst point;
    for (size_t k = 0; k < n.dims.size(); ++k) point[n.dims[k]] = at[k];
    Cond exists = Cond::truth(false);
    for (const Piece& p : n.pieces) exists = exists || p.where.subst(point);
    if (auto env = find(when && !exists)) {
      throw GraphError("read-defined: " + who + " reads " + quote(n.name) + ", which nothing defines, at " +
                       show(*env));
    }
    for (size_t k = 0; k < n.axes.size(); ++k) {
      const Ix& i = at[n.dims.size() + k];
      auto env = find(when && !Cond::range(i, Ix(0), n.axes[k].length.subst(point)));
      if (!env) continue;
      throw GraphError("read-in-range: " + who + " reads " + quote(n.name) + " outside axis " + std::to_string(k) +
                       " at " + show(*env));
    }
  }

  const Graph& g_;
  Cond context_;
  Solver solver_;
};

}  // namespace

void verify(const Graph& g, bool deep) {
  Structure(g).run();
  if (deep) Meaning(g).run();
}

}  // namespace tempo
