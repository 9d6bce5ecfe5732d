#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "check.hpp"
#include "oracle/compiled.hpp"
#include "oracle/memo.hpp"

namespace tempo {

namespace {

using oracle::Interval;
using oracle::Memo;
using oracle::SlotCond;
using oracle::SlotIx;
using oracle::Slots;
using oracle::State;

struct Code;

struct SlotIndex {
  SlotIx ix, lo, hi;
  std::unique_ptr<Code> data;
};

/// An expression with variables resolved.
struct Code {
  const Expr* expr = nullptr;
  double constant = 0;
  SlotIx ix;
  SlotCond cond;
  std::vector<Code> args;
  std::vector<SlotIndex> indices;
  uint64_t stream = 0;
};

struct SlotRange {
  SlotIx lo, hi;
};

struct PieceCode {
  SlotCond where;
  Code value;
  std::unique_ptr<Code> init;
  std::vector<SlotRange> ranges;
};

struct NodeCode {
  std::vector<PieceCode> pieces;
  std::vector<SlotIx> lengths;
  size_t rank = 0;
  size_t slots = 0;  // of the largest piece
};

/// A value asked for.
struct Demand {
  uint32_t node;
  int64_t key;
};

std::string showPoint(const std::vector<Sym>& dims, const std::vector<Axis>& axes, const int64_t* p) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].name() + " = " + std::to_string(p[i]);
  for (size_t i = 0; i < axes.size(); ++i) {
    out += i ? ", " : (dims.empty() ? "; " : "; ");
    out += std::to_string(p[dims.size() + i]);
  }
  return out + "]";
}

double wrapTo(DType t, double v) {
  if (!isInt(t) || t == DType::I64) return v;
  double args[2] = {v, 0};
  return evalOp(Op::Add, t, args);
}

class Interpreter {
 public:
  Interpreter(const Graph& g, const OracleOptions& o) : g_(g), o_(o) {
    for (const auto& [s, v] : o.sizes) sizes_[s] = Ix(v);
    for (const Size& s : g.sizes) {
      if (sizes_.count(s.sym) || !s.value) continue;
      Ix v = s.value->subst(sizes_);
      if (v.asConst()) sizes_[s.sym] = v;
    }
    for (const Node& n : g.nodes()) {
      codes_.push_back(compileNode(n));
      memos_.emplace_back(codes_.back().rank, boxOf(n));
      inputs_.push_back(nullptr);
    }
    bindInputs();
  }

  OracleResult run() {
    for (const Output& o : g_.outputs) result_.outputs[o.name] = output(o);
    for (size_t i = 0; i < g_.effects.size(); ++i) effect(i);
    result_.points = points_;
    return std::move(result_);
  }

 private:
  // ---- compilation

  Code compileExpr(const ExprPtr& e, const Slots& slots) const {
    Code c;
    c.expr = e.get();
    switch (e->kind) {
      case Expr::Kind::Const: c.constant = isFloat(e->dtype) ? rounded(e->dtype, e->value) : e->value; break;
      case Expr::Kind::Index: c.ix = oracle::compile(e->ix, sizes_, slots); break;
      case Expr::Kind::Cond:
      case Expr::Kind::Guard: c.cond = oracle::compile(e->cond, sizes_, slots); break;
      case Expr::Kind::Random: c.stream = streamKey(e->stream); break;
      default: break;
    }
    for (const ExprPtr& a : e->args) c.args.push_back(compileExpr(a, slots));
    for (const Index& i : e->indices) {
      SlotIndex s;
      if (i.data) {
        s.data = std::make_unique<Code>(compileExpr(i.data, slots));
        s.lo = oracle::compile(i.lo, sizes_, slots);
        s.hi = oracle::compile(i.hi, sizes_, slots);
      } else {
        s.ix = oracle::compile(i.ix, sizes_, slots);
      }
      c.indices.push_back(std::move(s));
    }
    return c;
  }

  NodeCode compileNode(const Node& n) const {
    NodeCode out;
    Slots base = n.dims;
    for (const Axis& a : n.axes) {
      out.lengths.push_back(oracle::compile(a.length, sizes_, n.dims));
      base.push_back(a.var);
    }
    out.rank = out.slots = base.size();
    for (const Piece& p : n.pieces) {
      PieceCode c;
      Slots slots = base;
      c.where = oracle::compile(p.where, sizes_, n.dims);
      if (p.body.init) c.init = std::make_unique<Code>(compileExpr(p.body.init, slots));
      for (const RVar& r : p.body.rvars) {
        c.ranges.push_back({oracle::compile(r.lo, sizes_, slots), oracle::compile(r.hi, sizes_, slots)});
        slots.push_back(r.var);
      }
      if (p.body.value) c.value = compileExpr(p.body.value, slots);
      out.slots = std::max(out.slots, slots.size());
      out.pieces.push_back(std::move(c));
    }
    return out;
  }

  std::optional<std::vector<Interval>> boxOf(const Node& n) const {
    Cond anywhere = Cond::truth(false);
    for (const Piece& p : n.pieces) anywhere = anywhere || p.where.subst(sizes_);
    auto bounds = oracle::hull(anywhere);
    if (!bounds) return std::nullopt;
    std::vector<Interval> box;
    for (Sym d : n.dims) {
      auto it = bounds->find(d);
      if (it == bounds->end()) return std::nullopt;
      box.push_back(it->second);
    }
    for (const Axis& a : n.axes) box.push_back({0, oracle::range(a.length.subst(sizes_) - Ix(1), *bounds).hi});
    return box;
  }

  void bindInputs() {
    std::map<uint32_t, const Option*> options;
    for (const Option& o : g_.options) {
      if (o.node) options[o.node.v] = &o;
    }
    for (const Node& n : g_.nodes()) {
      bool isInput = std::any_of(n.pieces.begin(), n.pieces.end(),
                                 [](const Piece& p) { return p.body.kind == Body::Kind::Input; });
      if (!isInput) continue;
      auto it = o_.inputs.find(n.name);
      if (it != o_.inputs.end()) {
        if (it->second.shape.size() != n.dims.size() + n.axes.size()) {
          throw OracleError("input `" + n.name + "` has shape " + shapeString(it->second.shape) + ", expected " +
                            std::to_string(n.dims.size() + n.axes.size()) + " lengths");
        }
        inputs_[n.id.v] = &it->second;
      } else if (auto opt = options.find(n.id.v); opt != options.end()) {
        Array a = Array::zeros(DType::F64, {});
        a.set(0, opt->second->value);
        owned_.push_back(std::make_unique<Array>(std::move(a)));
        inputs_[n.id.v] = owned_.back().get();
      }
    }
  }

  // ---- values

  double rounded(DType t, double v) const { return o_.roundToDType ? roundTo(t, v) : v; }

  /// A node's value from what its body came to: reductions accumulate wider than they store.
  double stored(DType t, double v) const { return isInt(t) ? wrapTo(t, v) : (t == DType::Bool ? v : rounded(t, v)); }

  double cast(DType from, DType to, double v) const {
    if (isInt(to)) return isFloat(from) ? roundTo(to, v) : wrapTo(to, v);
    if (to == DType::Bool) return v != 0;
    return rounded(to, v);
  }

  std::string place(const Node& n, const int64_t* p) const {
    return "`" + n.name + "` at " + showPoint(n.dims, n.axes, p);
  }

  /// The piece that defines the point; null if none.
  const PieceCode* pieceAt(uint32_t node, const int64_t* p) const {
    const NodeCode& c = codes_[node];
    const PieceCode* found = nullptr;
    for (const PieceCode& piece : c.pieces) {
      if (!piece.where.eval(p)) continue;
      if (found) throw OracleError(place(g_.nodes()[node], p) + " is defined by two pieces");
      found = &piece;
    }
    return found;
  }

  /// Throws unless the point exists.
  void checkExists(uint32_t node, const int64_t* p, const std::string& reader) const {
    const Node& n = g_.nodes()[node];
    const NodeCode& c = codes_[node];
    if (!pieceAt(node, p)) throw OracleError(reader + " reads " + place(n, p) + ", where nothing defines it");
    for (size_t k = 0; k < c.lengths.size(); ++k) {
      int64_t length = c.lengths[k].eval(p), i = p[n.dims.size() + k];
      if (i >= 0 && i < length) continue;
      throw OracleError(reader + " reads " + place(n, p) + ", where axis " + std::to_string(k) + " has length " +
                        std::to_string(length));
    }
  }

  std::string currentPlace() const { return current_ ? place(*current_, currentPoint_) : "an output or effect"; }

  /// The value of a point, or nullopt after adding it to what is missing.
  std::optional<double> lookup(uint32_t node, const int64_t* p) {
    Memo& m = memos_[node];
    int64_t key = m.key(p);
    switch (m.state(key)) {
      case State::Done: return m.value(key);
      case State::Active:
        throw OracleError(place(g_.nodes()[node], p) + " depends on itself, through " + currentPlace());
      case State::Absent: break;
    }
    checkExists(node, p, currentPlace());
    missing_.push_back({node, key});
    return std::nullopt;
  }

  std::optional<double> read(const Code& c, const int64_t* p) {
    const Expr& e = *c.expr;
    int64_t at[16];
    std::vector<int64_t> large;
    int64_t* target = at;
    if (c.indices.size() > 16) {
      large.resize(c.indices.size());
      target = large.data();
    }
    bool known = true;
    for (size_t i = 0; i < c.indices.size(); ++i) {
      const SlotIndex& ix = c.indices[i];
      if (!ix.data) {
        target[i] = ix.ix.eval(p);
        continue;
      }
      auto v = eval(*ix.data, p);
      if (!v) {
        known = false;
        continue;
      }
      int64_t lo = ix.lo.eval(p), hi = ix.hi.eval(p);
      target[i] = int64_t(*v);
      if (target[i] < lo || target[i] >= hi) {
        throw OracleError(currentPlace() + " reads `" + g_.at(e.node).name + "` at index " + std::to_string(target[i]) +
                          ", outside " + std::to_string(lo) + " : " + std::to_string(hi));
      }
    }
    if (!known) return std::nullopt;
    return lookup(e.node.v, target);
  }

  double random(const Code& c, const int64_t* p) const {
    std::vector<int64_t> at;
    for (const SlotIndex& i : c.indices) at.push_back(i.ix.eval(p));
    return philox(o_.seed, c.stream, at.data(), int(at.size()));
  }

  /// nullopt if a value it needs is missing; all that can be known to be missing is then in missing_.
  std::optional<double> eval(const Code& c, const int64_t* p) {
    const Expr& e = *c.expr;
    switch (e.kind) {
      case Expr::Kind::Const: return c.constant;
      case Expr::Kind::Index: return isInt(e.dtype) ? wrapTo(e.dtype, double(c.ix.eval(p))) : double(c.ix.eval(p));
      case Expr::Kind::Cond: return c.cond.eval(p);
      case Expr::Kind::Op: {
        double args[2] = {0, 0};
        bool known = true;
        for (size_t i = 0; i < c.args.size(); ++i) {
          auto v = eval(c.args[i], p);
          known = known && v;
          if (v) args[i] = *v;
        }
        if (!known) return std::nullopt;
        return evalOp(e.op, e.args[0]->dtype, args);
      }
      case Expr::Kind::Select: {
        auto when = eval(c.args[0], p);
        if (!when) return std::nullopt;
        return eval(c.args[*when != 0 ? 1 : 2], p);
      }
      case Expr::Kind::Guard: return eval(c.args[c.cond.eval(p) ? 0 : 1], p);
      case Expr::Kind::Cast: {
        auto v = eval(c.args[0], p);
        if (!v) return std::nullopt;
        return cast(e.args[0]->dtype, e.dtype, *v);
      }
      case Expr::Kind::Read: return read(c, p);
      case Expr::Kind::Random: return random(c, p);
    }
    return std::nullopt;
  }

  // ---- bodies

  struct Accumulator {
    double value = 0;
    double best = 0;
    int64_t count = 0;
    bool known = true;
  };

  void accumulate(const Piece& piece, Accumulator& a, double v) const {
    Reduce r = piece.body.reduce;
    DType t = accumulator(piece.body.value->dtype);
    if (auto combine = info(r).combine) {
      double args[2] = {a.value, v};
      a.value = a.count == 0 ? v : evalOp(*combine, t, args);
    } else {
      bool better = r == Reduce::ArgMax ? v > a.best : v < a.best;
      if (a.count == 0 || better || (std::isnan(v) && !std::isnan(a.best))) {  // a NaN is found first
        if (a.count == 0 || !std::isnan(a.best)) {
          a.best = v;
          a.value = double(a.count);
        }
      }
    }
    ++a.count;
  }

  void reduceOver(const Piece& piece, const PieceCode& c, size_t level, size_t rank, int64_t* p, Accumulator& a) {
    if (level == c.ranges.size()) {
      auto v = eval(c.value, p);
      a.known = a.known && v;
      if (a.known) {
        accumulate(piece, a, *v);
      } else {
        ++a.count;
      }
      return;
    }
    int64_t lo = c.ranges[level].lo.eval(p), hi = c.ranges[level].hi.eval(p);
    for (int64_t i = lo; i < hi; ++i) {
      p[rank + level] = i;
      reduceOver(piece, c, level + 1, rank, p, a);
    }
  }

  std::optional<double> reduce(const Node& n, const Piece& piece, const PieceCode& c, int64_t* p) {
    Accumulator a;
    reduceOver(piece, c, 0, codes_[n.id.v].rank, p, a);
    if (!a.known) return std::nullopt;
    if (a.count > 0) return a.value;
    if (c.init) return eval(*c.init, p);
    const ReduceInfo& r = info(piece.body.reduce);
    if (!r.hasIdentity) throw OracleError(place(n, p) + " is the " + r.text + " of an empty range");
    return r.identity;
  }

  /// Fills in all positions along the last axis.
  std::optional<double> argsort(const Node& n, const Piece& piece, const PieceCode& c, int64_t* p) {
    size_t last = codes_[n.id.v].rank - 1;
    int64_t length = codes_[n.id.v].lengths.back().eval(p);
    int64_t asked = p[last];
    std::vector<double> keys;
    bool known = true;
    for (p[last] = 0; p[last] < length; ++p[last]) {
      auto v = eval(c.value, p);
      known = known && v;
      keys.push_back(v.value_or(0));
    }
    p[last] = asked;
    if (!known) return std::nullopt;
    std::vector<int64_t> order(keys.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
    auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };  // NaN is the largest
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      double x = keys[size_t(a)], y = keys[size_t(b)];
      return piece.body.descending ? less(y, x) : less(x, y);
    });
    Memo& m = memos_[n.id.v];
    for (p[last] = 0; p[last] < length; ++p[last]) {
      int64_t key = m.key(p);
      m.value(key) = double(order[size_t(p[last])]);
      if (p[last] != asked && m.state(key) == State::Absent) {
        m.state(key) = State::Done;
        ++points_;
      }
    }
    p[last] = asked;
    return double(order[size_t(asked)]);
  }

  double inputValue(const Node& n, const int64_t* p) const {
    const Array* a = inputs_[n.id.v];
    if (!a) throw OracleError("no value for input `" + n.name + "`");
    int64_t flat = 0;
    for (size_t i = 0; i < a->shape.size(); ++i) {
      if (p[i] < 0 || p[i] >= a->shape[i]) {
        throw OracleError(place(n, p) + " is outside the array bound to it, of shape " + shapeString(a->shape));
      }
      flat = flat * a->shape[i] + p[i];
    }
    return cast(a->dtype, n.dtype, a->get(flat));
  }

  std::optional<double> compute(const Node& n, int64_t* p) {
    const PieceCode* c = pieceAt(n.id.v, p);
    const Piece& piece = n.pieces[size_t(c - codes_[n.id.v].pieces.data())];
    switch (piece.body.kind) {
      case Body::Kind::Input: return inputValue(n, p);
      case Body::Kind::Map: return eval(c->value, p);
      case Body::Kind::Reduce: return reduce(n, piece, *c, p);
      case Body::Kind::ArgSort: return argsort(n, piece, *c, p);
    }
    return std::nullopt;
  }

  /// Computes all that is demanded, innermost first, without recursion over points.
  void drain(std::vector<Demand> stack) {
    std::vector<int64_t> p;
    while (!stack.empty()) {
      Demand d = stack.back();
      Memo& m = memos_[d.node];
      if (m.state(d.key) == State::Done) {
        stack.pop_back();
        continue;
      }
      const Node& n = g_.nodes()[d.node];
      m.state(d.key) = State::Active;
      p = m.point(d.key);
      p.resize(std::max(codes_[d.node].slots, size_t{1}));
      current_ = &n;
      currentPoint_ = p.data();
      missing_.clear();
      std::optional<double> v = compute(n, p.data());
      if (!v) {
        TEMPO_CHECK(!missing_.empty(), "oracle: a value is missing that nobody asked for");
        stack.insert(stack.end(), missing_.rbegin(), missing_.rend());
        continue;
      }
      m.value(d.key) = stored(n.dtype, *v);
      m.state(d.key) = State::Done;
      stack.pop_back();
      if (++points_ > o_.maxPoints) {
        throw OracleError("more than " + std::to_string(o_.maxPoints) + " values are needed");
      }
    }
    current_ = nullptr;
  }

  double evalNow(const Code& c, const int64_t* p) {
    for (;;) {
      missing_.clear();
      if (auto v = eval(c, p)) return *v;
      drain(std::vector<Demand>(missing_.rbegin(), missing_.rend()));
    }
  }

  // ---- outputs and effects

  int64_t constant(const Ix& x, const std::string& what) const {
    auto v = x.subst(sizes_).asConst();
    if (!v) throw OracleError(what + " depends on more than sizes: " + x.str());
    return *v;
  }

  int64_t longest(const Axis& a, const std::map<Sym, Interval>& box, const std::string& what) const {
    Interval i = oracle::range(a.length.subst(sizes_), box);
    if (!i.bounded()) throw OracleError(what + " has an axis of unknown length " + a.length.str());
    return std::max<int64_t>(0, i.hi);
  }

  Array output(const Output& o) {
    const Node& n = g_.at(o.node);
    std::vector<Interval> box;
    std::map<Sym, Interval> byDim;
    std::vector<int64_t> shape;
    bool empty = false;
    for (size_t i = 0; i < o.box.size(); ++i) {
      int64_t lo = constant(o.box[i].lo, "output `" + o.name + "`");
      int64_t hi = constant(o.box[i].hi, "output `" + o.name + "`");
      box.push_back({lo, hi - 1});
      byDim[n.dims[i]] = box.back();
      empty = empty || hi <= lo;
      if (!(i < o.fixed.size() && o.fixed[i])) shape.push_back(std::max<int64_t>(0, hi - lo));
    }
    for (const Axis& a : n.axes) {
      int64_t length = empty && !a.length.subst(sizes_).asConst() ? 0 : longest(a, byDim, "output `" + o.name + "`");
      box.push_back({0, length - 1});
      shape.push_back(length);
    }
    Array out = Array::zeros(DType::F64, shape);
    int64_t flat = 0;
    forEachPoint(box, [&](const std::vector<int64_t>& p) {
      out.as<double>()[flat++] = exists(n, p.data()) ? demand(n.id.v, p.data()) : 0;
    });
    return out;
  }

  bool exists(const Node& n, const int64_t* p) const {
    if (!pieceAt(n.id.v, p)) return false;
    const NodeCode& c = codes_[n.id.v];
    for (size_t k = 0; k < c.lengths.size(); ++k) {
      if (p[n.dims.size() + k] >= c.lengths[k].eval(p)) return false;
    }
    return true;
  }

  double demand(uint32_t node, const int64_t* p) {
    for (;;) {
      missing_.clear();
      if (auto v = lookup(node, p)) return *v;
      drain(missing_);
    }
  }

  template <class F>
  static void forEachPoint(const std::vector<Interval>& box, F f) {
    std::vector<int64_t> p;
    for (const Interval& i : box) {
      if (i.lo > i.hi) return;
      p.push_back(i.lo);
    }
    for (;;) {
      f(p);
      size_t k = box.size();
      while (k > 0 && p[k - 1] == box[k - 1].hi) {
        p[k - 1] = box[k - 1].lo;
        --k;
      }
      if (k == 0) return;
      ++p[k - 1];
    }
  }

  std::vector<Interval> effectBox(const Effect& e) const {
    Cond where = e.where.subst(sizes_);
    auto bounds = oracle::hull(where);
    std::vector<Interval> box;
    for (Sym d : e.dims) {
      if (!bounds) {
        box.push_back({0, -1});
        continue;
      }
      Interval i{INT64_MIN, INT64_MAX};
      if (auto it = bounds->find(d); it != bounds->end()) i = it->second;
      if (i.lo == INT64_MIN) i.lo = 0;
      if (i.hi == INT64_MAX) i.hi = constant(Ix(g_.sizeOf(d)), "the range of `" + d.name() + "`") - 1;
      box.push_back(i);
    }
    return box;
  }

  void effect(size_t number) {
    const Effect& e = g_.effects[number];
    SlotCond where = oracle::compile(e.where, sizes_, e.dims);
    std::unique_ptr<Code> condition;
    if (e.condition) condition = std::make_unique<Code>(compileExpr(e.condition, e.dims));
    std::vector<Code> values;
    for (size_t i = 0; i < e.values.size(); ++i) {
      Slots slots = e.dims;
      if (i < e.axes.size()) {
        for (const Axis& a : e.axes[i]) slots.push_back(a.var);
      }
      values.push_back(compileExpr(e.values[i].second, slots));
    }
    forEachPoint(effectBox(e), [&](const std::vector<int64_t>& p) {
      if (!where.eval(p.data())) return;
      bool holds = !condition || evalNow(*condition, p.data()) != 0;
      if (e.kind == Effect::Kind::Assert && !holds) {
        std::string what = e.values.empty() ? "" : " `" + e.values[0].first + "`";
        throw OracleError("assertion" + what + " fails at " + showPoint(e.dims, {}, p.data()));
      }
      if (!holds) return;
      EffectRecord r{number, p, {}};
      for (size_t i = 0; i < values.size(); ++i) r.values.push_back(valuesAt(e, i, values[i], p));
      result_.effects.push_back(std::move(r));
    });
  }

  std::vector<double> valuesAt(const Effect& e, size_t i, const Code& code, const std::vector<int64_t>& p) {
    std::vector<Interval> box;
    std::map<Sym, Interval> byDim;
    for (size_t k = 0; k < p.size(); ++k) {
      box.push_back({p[k], p[k]});
      byDim[e.dims[k]] = box.back();
    }
    if (i < e.axes.size()) {
      for (const Axis& a : e.axes[i]) box.push_back({0, longest(a, byDim, "`" + e.values[i].first + "`") - 1});
    }
    std::vector<double> out;
    forEachPoint(box, [&](const std::vector<int64_t>& q) { out.push_back(evalNow(code, q.data())); });
    return out;
  }

  const Graph& g_;
  const OracleOptions& o_;
  Subst sizes_;
  std::vector<NodeCode> codes_;  // by node id, as the next two
  std::vector<Memo> memos_;
  std::vector<const Array*> inputs_;
  std::vector<std::unique_ptr<Array>> owned_;
  std::vector<Demand> missing_;
  const Node* current_ = nullptr;  // whose value is being computed, for messages
  const int64_t* currentPoint_ = nullptr;
  int64_t points_ = 0;
  OracleResult result_;
};

}  // namespace

OracleResult interpret(const Graph& g, const OracleOptions& o) {
  try {
    return Interpreter(g, o).run();
  } catch (const std::domain_error& e) {
    throw OracleError(e.what());
  } catch (const std::overflow_error& e) {
    throw OracleError(e.what());
  }
}

}  // namespace tempo
