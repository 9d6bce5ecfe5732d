#include "schedule/schedule.hpp"

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/options.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/val.h>

#include "check.hpp"
#include "schedule/dependences.hpp"

namespace tempo {

using namespace poly;

namespace {

using AstNode = Handle<isl_ast_node, isl_ast_node_free, isl_ast_node_copy>;
using AstExpr = Handle<isl_ast_expr, isl_ast_expr_free, isl_ast_expr_copy>;
using Schedule = Handle<isl_schedule, isl_schedule_free, isl_schedule_copy>;

constexpr const char* kParallelMark = "parallel";

/// Splits every band into one-dimensional bands and puts a mark above each independent one, so that independence survives
/// into the generated loops.
isl_schedule_node* markBand(isl_schedule_node* node, void*) {
  if (isl_schedule_node_get_type(node) != isl_schedule_node_band) return node;
  if (isl_schedule_node_band_n_member(node) > 1) node = isl_schedule_node_band_split(node, 1);
  if (isl_schedule_node_band_member_get_coincident(node, 0) == isl_bool_true) {
    if (isl_schedule_node_has_parent(node)) {
      isl_schedule_node* parent = isl_schedule_node_parent(isl_schedule_node_copy(node));
      bool marked = isl_schedule_node_get_type(parent) == isl_schedule_node_mark;
      isl_schedule_node_free(parent);
      if (marked) return node;
    }
    isl_id* id = isl_id_alloc(isl_schedule_node_get_ctx(node), kParallelMark, nullptr);
    node = isl_schedule_node_insert_mark(node, id);
    node = isl_schedule_node_child(node, 0);
  }
  return node;
}

class FromAst {
 public:
  explicit FromAst(const Dependences& d) : d_(d) {}

  Tree node(isl_ast_node* n, bool parallel = false) {
    switch (isl_ast_node_get_type(n)) {
      case isl_ast_node_for: return loop(n, parallel);
      case isl_ast_node_if: return branch(n);
      case isl_ast_node_block: return block(n);
      case isl_ast_node_mark: {
        AstNode inner(isl_ast_node_mark_get_node(n));
        return node(inner.keep(), true);
      }
      case isl_ast_node_user: return user(n);
      default: internalError(__FILE__, __LINE__, "unexpected isl AST node");
    }
  }

  Ix ix(isl_ast_expr* e) {
    if (isl_ast_expr_get_type(e) == isl_ast_expr_int) return Ix(number(e));
    if (isl_ast_expr_get_type(e) == isl_ast_expr_id) return Ix(symbol(e));
    auto arg = [&](int i) {
      AstExpr a(isl_ast_expr_get_op_arg(e, i));
      return ix(a.keep());
    };
    int n = isl_ast_expr_get_op_n_arg(e);
    switch (isl_ast_expr_get_op_type(e)) {
      case isl_ast_op_max: {
        Ix r = arg(0);
        for (int i = 1; i < n; ++i) r = Ix::max(r, arg(i));
        return r;
      }
      case isl_ast_op_min: {
        Ix r = arg(0);
        for (int i = 1; i < n; ++i) r = Ix::min(r, arg(i));
        return r;
      }
      case isl_ast_op_minus: return Ix(0) - arg(0);
      case isl_ast_op_add: return arg(0) + arg(1);
      case isl_ast_op_sub: return arg(0) - arg(1);
      case isl_ast_op_mul: return arg(0) * arg(1);
      case isl_ast_op_div:
      case isl_ast_op_fdiv_q:
      case isl_ast_op_pdiv_q: return Ix::floordiv(arg(0), arg(1));
      case isl_ast_op_pdiv_r:
      case isl_ast_op_zdiv_r: return Ix::mod(arg(0), arg(1));
      case isl_ast_op_cond:
      case isl_ast_op_select: {
        AstExpr c(isl_ast_expr_get_op_arg(e, 0));
        return Ix::select(cond(c.keep()), arg(1), arg(2));
      }
      default: internalError(__FILE__, __LINE__, "unexpected isl AST expression");
    }
  }

  Cond cond(isl_ast_expr* e) {
    if (isl_ast_expr_get_type(e) == isl_ast_expr_int) return Cond::truth(number(e) != 0);
    auto sub = [&](int i) { return AstExpr(isl_ast_expr_get_op_arg(e, i)); };
    auto ixArg = [&](int i) {
      AstExpr a = sub(i);
      return ix(a.keep());
    };
    auto condArg = [&](int i) {
      AstExpr a = sub(i);
      return cond(a.keep());
    };
    int n = isl_ast_expr_get_op_n_arg(e);
    switch (isl_ast_expr_get_op_type(e)) {
      case isl_ast_op_and:
      case isl_ast_op_and_then: {
        Cond c;
        for (int i = 0; i < n; ++i) c = c && condArg(i);
        return c;
      }
      case isl_ast_op_or:
      case isl_ast_op_or_else: {
        Cond c = Cond::truth(false);
        for (int i = 0; i < n; ++i) c = c || condArg(i);
        return c;
      }
      case isl_ast_op_eq: return Cond::eq(ixArg(0), ixArg(1));
      case isl_ast_op_le: return Cond::le(ixArg(0), ixArg(1));
      case isl_ast_op_lt: return Cond::lt(ixArg(0), ixArg(1));
      case isl_ast_op_ge: return Cond::ge(ixArg(0), ixArg(1));
      case isl_ast_op_gt: return Cond::gt(ixArg(0), ixArg(1));
      default: internalError(__FILE__, __LINE__, "unexpected isl AST condition");
    }
  }

 private:
  static int64_t number(isl_ast_expr* e) {
    isl_val* v = isl_ast_expr_get_val(e);
    int64_t r = isl_val_get_num_si(v);
    isl_val_free(v);
    return r;
  }
  static Sym symbol(isl_ast_expr* e) {
    isl_id* id = isl_ast_expr_get_id(e);
    Sym s = Sym::get(isl_id_get_name(id));
    isl_id_free(id);
    return s;
  }

  /// Conditions `var < hi` and `var <= hi` (under min and `and`) as a half-open bound.
  Ix upperBound(isl_ast_expr* e, Sym var) {
    auto type = isl_ast_expr_get_op_type(e);
    AstExpr a(isl_ast_expr_get_op_arg(e, 0)), b(isl_ast_expr_get_op_arg(e, 1));
    if (type == isl_ast_op_and || type == isl_ast_op_and_then) {
      Ix hi = upperBound(a.keep(), var);
      for (int i = 1; i < isl_ast_expr_get_op_n_arg(e); ++i) {
        AstExpr x(isl_ast_expr_get_op_arg(e, i));
        hi = Ix::min(hi, upperBound(x.keep(), var));
      }
      return hi;
    }
    TEMPO_CHECK(ix(a.keep()).asVar() == var, "isl loop condition in an unexpected form");
    if (type == isl_ast_op_le) return ix(b.keep()) + 1;
    TEMPO_CHECK(type == isl_ast_op_lt, "isl loop condition in an unexpected form");
    return ix(b.keep());
  }

  Tree loop(isl_ast_node* n, bool parallel) {
    AstExpr it(isl_ast_node_for_get_iterator(n)), init(isl_ast_node_for_get_init(n));
    AstNode body(isl_ast_node_for_get_body(n));
    Sym isl = symbol(it.keep());
    Sym var = Sym::fresh("c");
    Ix lo = ix(init.keep()).subst(renames_);
    if (isl_ast_node_for_is_degenerate(n) == isl_bool_true) {
      renames_[isl] = lo;
      return node(body.keep());
    }
    AstExpr cond(isl_ast_node_for_get_cond(n)), inc(isl_ast_node_for_get_inc(n));
    int64_t step = number(inc.keep());
    Ix hi = upperBound(cond.keep(), isl).subst(renames_);
    Tree t;
    t.kind = Tree::Kind::Loop;
    t.var = var;
    t.parallel = parallel;
    t.lo = lo;
    t.hi = hi;
    renames_[isl] = Ix(var);
    if (step != 1) {  // count steps from 0
      t.lo = Ix(0);
      t.hi = Ix::floordiv(hi - lo + Ix(step - 1), Ix(step));
      renames_[isl] = lo + Ix(step) * Ix(var);
    }
    append(t.children, node(body.keep()));
    return t;
  }

  Tree branch(isl_ast_node* n) {
    AstExpr c(isl_ast_node_if_get_cond(n));
    AstNode then(isl_ast_node_if_get_then(n));
    Tree t;
    t.kind = Tree::Kind::If;
    t.cond = cond(c.keep()).subst(renames_);
    append(t.children, node(then.keep()));
    if (isl_ast_node_if_has_else(n) != isl_bool_true) return t;
    AstNode other(isl_ast_node_if_get_else(n));
    Tree u;
    u.kind = Tree::Kind::If;
    u.cond = !t.cond;
    append(u.children, node(other.keep()));
    Tree both;
    both.children.push_back(std::move(t));
    both.children.push_back(std::move(u));
    return both;
  }

  Tree block(isl_ast_node* n) {
    isl_ast_node_list* list = isl_ast_node_block_get_children(n);
    Tree t;
    for (int i = 0; i < isl_ast_node_list_n_ast_node(list); ++i) {
      AstNode c(isl_ast_node_list_get_ast_node(list, i));
      append(t.children, node(c.keep()));
    }
    isl_ast_node_list_free(list);
    return t;
  }

  Tree user(isl_ast_node* n) {
    AstExpr call(isl_ast_node_user_get_expr(n));
    AstExpr callee(isl_ast_expr_get_op_arg(call.keep(), 0));
    std::string tuple = symbol(callee.keep()).name();
    const Statement& s = d_.statements.at(std::stoul(tuple.substr(1)));
    Subst point;
    for (size_t i = 0; i < s.dims.size(); ++i) {
      AstExpr a(isl_ast_expr_get_op_arg(call.keep(), int(i) + 1));
      point[s.dims[i]] = ix(a.keep()).subst(renames_);
    }
    Tree t;
    t.point = point;
    if (s.isEffect()) {
      t.kind = Tree::Kind::Effect;
      t.effect = s.effect;
      return t;
    }
    Tree all;
    t.kind = Tree::Kind::Stmt;
    for (const PieceRef& m : s.members) {
      t.node = m.node;
      t.piece = m.piece;
      all.children.push_back(t);
    }
    return all;
  }

  static void append(std::vector<Tree>& out, Tree t) {
    if (t.kind != Tree::Kind::Block) {
      out.push_back(std::move(t));
      return;
    }
    for (Tree& c : t.children) out.push_back(std::move(c));
  }

  const Dependences& d_;
  Subst renames_;
};

/// A forced ring needs its readers in the writer's loop, even where they could run in parallel after it.
bool wantsFusion(const PassOptions& options) {
  for (const auto& [key, value] : options.force)
    if (key.rfind("store.", 0) == 0 && value == "ring") return true;
  return false;
}

Schedule compute(isl_ctx* ctx, const Dependences& d, const PassOptions& options) {
  bool on = options.isOn("schedule");
  isl_options_set_schedule_outer_coincidence(ctx, on && !wantsFusion(options) ? 1 : 0);
  isl_options_set_schedule_whole_component(ctx, wantsFusion(options) ? 1 : 0);
  isl_options_set_schedule_maximize_band_depth(ctx, 1);
  isl_options_set_schedule_serialize_sccs(ctx, on ? 0 : 1);
  UMap all(isl_union_map_union(d.flow.copy(), d.order.copy()));
  isl_schedule_constraints* sc = isl_schedule_constraints_on_domain(d.domain.copy());
  sc = isl_schedule_constraints_set_context(sc, d.context.copy());
  sc = isl_schedule_constraints_set_validity(sc, all.copy());
  sc = isl_schedule_constraints_set_coincidence(sc, all.copy());
  if (on) sc = isl_schedule_constraints_set_proximity(sc, d.flow.copy());
  return Schedule(isl_schedule_constraints_compute_schedule(sc));
}

}  // namespace

Tree schedule(const Graph& g, Solver& solver, const PassOptions& options) {
  isl_ctx* ctx = solver.ctx();
  Dependences d = dependences(g, solver, options);
  if (d.statements.empty()) return {};
  Schedule s = compute(ctx, d, options);
  if (!s) {
    isl_ctx_reset_error(ctx);
    throw SolveBudget("no order was found within the budget of integer reasoning");
  }
  s = Schedule(isl_schedule_map_schedule_node_bottom_up(s.release(), markBand, nullptr));
  s = Schedule(isl_schedule_intersect_domain(s.release(), d.domain.copy()));
  isl_ast_build* build = isl_ast_build_from_context(d.context.copy());
  AstNode ast(isl_ast_build_node_from_schedule(build, s.release()));
  isl_ast_build_free(build);
  if (!ast) {
    isl_ctx_reset_error(ctx);
    throw SolveBudget("no loops were found within the budget of integer reasoning");
  }
  Tree root;
  Tree top = FromAst(d).node(ast.keep());
  if (top.kind == Tree::Kind::Block)
    root = std::move(top);
  else
    root.children.push_back(std::move(top));
  return root;
}

}  // namespace tempo
