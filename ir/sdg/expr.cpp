#include <cmath>
#include <cstring>
#include <unordered_map>

#include "check.hpp"
#include "sdg/graph.hpp"

namespace tempo::ex {

namespace {

Expr make(Expr::Kind kind, DType t, Loc l) {
  Expr e;
  e.kind = kind;
  e.dtype = t;
  e.loc = l;
  return e;
}

ExprPtr share(Expr e) { return std::make_shared<const Expr>(std::move(e)); }

void mix(size_t& h, size_t v) { h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2); }

size_t hashOf(const Ix& x) { return std::hash<std::string>()(x.str()); }

bool sameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool sameIndex(const Index& a, const Index& b) {
  if (!a.data != !b.data) return false;
  if (!a.data) return a.ix == b.ix;
  return a.checked == b.checked && a.lo == b.lo && a.hi == b.hi && equal(a.data, b.data);
}

}  // namespace

ExprPtr constant(DType t, double v, Loc l) {
  Expr e = make(Expr::Kind::Const, t, l);
  e.value = v;
  return share(std::move(e));
}

ExprPtr index(const Ix& ix, DType t, Loc l) {
  TEMPO_CHECK(t != DType::Bool, "an index expression read as a bool");
  Expr e = make(Expr::Kind::Index, t, l);
  e.ix = ix;
  return share(std::move(e));
}

ExprPtr cond(const Cond& c, Loc l) {
  Expr e = make(Expr::Kind::Cond, DType::Bool, l);
  e.cond = c;
  return share(std::move(e));
}

ExprPtr op(Op op, std::vector<ExprPtr> args, Loc l) {
  const OpInfo& o = info(op);
  TEMPO_CHECK(int(args.size()) == o.arity, std::string("wrong number of operands for ") + o.text);
  for (const ExprPtr& a : args) {
    TEMPO_CHECK(a != nullptr, std::string("null operand of ") + o.text);
    TEMPO_CHECK(a->dtype == args[0]->dtype, std::string("operands of ") + o.text + " are " + name(args[0]->dtype) +
                                                " and " + name(a->dtype));
  }
  TEMPO_CHECK(accepts(op, args[0]->dtype), std::string(o.text) + " does not take " + name(args[0]->dtype));
  Expr e = make(Expr::Kind::Op, resultType(op, args[0]->dtype), l);
  e.op = op;
  e.args = std::move(args);
  return share(std::move(e));
}

ExprPtr select(ExprPtr c, ExprPtr a, ExprPtr b, Loc l) {
  TEMPO_CHECK(c && a && b, "null operand of select");
  TEMPO_CHECK(c->dtype == DType::Bool, std::string("select on ") + name(c->dtype));
  TEMPO_CHECK(a->dtype == b->dtype, std::string("select between ") + name(a->dtype) + " and " + name(b->dtype));
  Expr e = make(Expr::Kind::Select, a->dtype, l);
  e.args = {std::move(c), std::move(a), std::move(b)};
  return share(std::move(e));
}

ExprPtr guard(const Cond& c, ExprPtr a, ExprPtr b, Loc l) {
  TEMPO_CHECK(a && b, "null operand of guard");
  TEMPO_CHECK(a->dtype == b->dtype, std::string("guard between ") + name(a->dtype) + " and " + name(b->dtype));
  Expr e = make(Expr::Kind::Guard, a->dtype, l);
  e.cond = c;
  e.args = {std::move(a), std::move(b)};
  return share(std::move(e));
}

ExprPtr cast(DType t, ExprPtr a, Loc l) {
  TEMPO_CHECK(a != nullptr, "null operand of cast");
  Expr e = make(Expr::Kind::Cast, t, l);
  e.args = {std::move(a)};
  return share(std::move(e));
}

ExprPtr read(NodeId n, DType t, std::vector<Index> at, Loc l) {
  TEMPO_CHECK(bool(n), "read of no node");
  for (const Index& i : at) TEMPO_CHECK(!i.data || isInt(i.data->dtype), "gather by a value that is not an integer");
  Expr e = make(Expr::Kind::Read, t, l);
  e.node = n;
  e.indices = std::move(at);
  return share(std::move(e));
}

ExprPtr random(std::string stream, std::vector<Ix> at, Loc l) {
  Expr e = make(Expr::Kind::Random, DType::I64, l);
  e.stream = std::move(stream);
  for (Ix& x : at) e.indices.push_back(Index{.ix = std::move(x)});
  return share(std::move(e));
}

std::vector<ExprPtr> children(const Expr& e) {
  std::vector<ExprPtr> out = e.args;
  for (const Index& i : e.indices) {
    if (i.data) out.push_back(i.data);
  }
  return out;
}

ExprPtr withChildren(const Expr& e, std::vector<ExprPtr> children) {
  Expr out = e;
  size_t next = 0;
  auto take = [&] {
    TEMPO_CHECK(next < children.size(), "too few children");
    return std::move(children[next++]);
  };
  for (ExprPtr& a : out.args) a = take();
  for (Index& i : out.indices) {
    if (i.data) i.data = take();
  }
  TEMPO_CHECK(next == children.size(), "too many children");
  return share(std::move(out));
}

ExprPtr rewrite(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& f) {
  std::unordered_map<const Expr*, ExprPtr> done;  // shared subexpressions are rewritten once
  std::function<ExprPtr(const ExprPtr&)> go = [&](const ExprPtr& x) -> ExprPtr {
    if (auto it = done.find(x.get()); it != done.end()) return it->second;
    std::vector<ExprPtr> kids = children(*x);
    bool changed = false;
    for (ExprPtr& k : kids) {
      ExprPtr n = go(k);
      changed = changed || n != k;
      k = std::move(n);
    }
    ExprPtr out = f(changed ? withChildren(*x, std::move(kids)) : x);
    done.emplace(x.get(), out);
    return out;
  };
  return e ? go(e) : e;
}

ExprPtr subst(const ExprPtr& e, const Subst& s) {
  if (s.empty()) return e;
  return rewrite(e, [&](const ExprPtr& x) -> ExprPtr {
    switch (x->kind) {
      case Expr::Kind::Index: {
        Ix ix = x->ix.subst(s);
        return ix == x->ix ? x : index(ix, x->dtype, x->loc);
      }
      case Expr::Kind::Cond: return cond(x->cond.subst(s), x->loc);
      case Expr::Kind::Guard: return guard(x->cond.subst(s), x->args[0], x->args[1], x->loc);
      case Expr::Kind::Read:
      case Expr::Kind::Random: {
        Expr out = *x;
        for (Index& i : out.indices) {
          i.ix = i.ix.subst(s);
          i.lo = i.lo.subst(s);
          i.hi = i.hi.subst(s);
        }
        return share(std::move(out));
      }
      default: return x;
    }
  });
}

void visit(const ExprPtr& e, const std::function<void(const Expr&)>& f) {
  if (!e) return;
  f(*e);
  for (const ExprPtr& k : children(*e)) visit(k, f);
}

bool equal(const ExprPtr& a, const ExprPtr& b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->dtype != b->dtype) return false;
  if (a->args.size() != b->args.size() || a->indices.size() != b->indices.size()) return false;
  switch (a->kind) {
    case Expr::Kind::Const: return sameBits(a->value, b->value);
    case Expr::Kind::Index: return a->ix == b->ix;
    case Expr::Kind::Cond: return a->cond == b->cond;
    case Expr::Kind::Op:
      if (a->op != b->op) return false;
      break;
    case Expr::Kind::Guard:
      if (!(a->cond == b->cond)) return false;
      break;
    case Expr::Kind::Read:
      if (a->node != b->node) return false;
      break;
    case Expr::Kind::Random:
      if (a->stream != b->stream) return false;
      break;
    case Expr::Kind::Select:
    case Expr::Kind::Cast: break;
  }
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!equal(a->args[i], b->args[i])) return false;
  }
  for (size_t i = 0; i < a->indices.size(); ++i) {
    if (!sameIndex(a->indices[i], b->indices[i])) return false;
  }
  return true;
}

size_t hash(const ExprPtr& e) {
  if (!e) return 0;
  size_t h = size_t(e->kind) * 16 + size_t(e->dtype);
  switch (e->kind) {
    case Expr::Kind::Const: mix(h, std::hash<double>()(e->value)); break;
    case Expr::Kind::Index: mix(h, hashOf(e->ix)); break;
    case Expr::Kind::Cond:
    case Expr::Kind::Guard: mix(h, std::hash<std::string>()(e->cond.str())); break;
    case Expr::Kind::Op: mix(h, size_t(e->op)); break;
    case Expr::Kind::Read: mix(h, e->node.v); break;
    case Expr::Kind::Random: mix(h, std::hash<std::string>()(e->stream)); break;
    default: break;
  }
  for (const ExprPtr& a : e->args) mix(h, hash(a));
  for (const Index& i : e->indices) mix(h, i.data ? hash(i.data) : hashOf(i.ix));
  return h;
}

int cost(const ExprPtr& e) {
  int total = 0;
  visit(e, [&](const Expr& x) {
    switch (x.kind) {
      case Expr::Kind::Op: total += info(x.op).cost; break;
      case Expr::Kind::Select:
      case Expr::Kind::Guard:
      case Expr::Kind::Cast:
      case Expr::Kind::Read:
      case Expr::Kind::Index:
      case Expr::Kind::Cond: total += 1; break;
      case Expr::Kind::Random: total += 40; break;  // ten rounds of two multiplications and four exclusive ors
      case Expr::Kind::Const: break;
    }
  });
  return total;
}

}  // namespace tempo::ex
