// The elaborator: one object per compilation. Work goes in rounds: each round evaluates every equation with the signatures
// (dims, shape, dtype) the round before found, until none changes; only the last round emits nodes. Earlier rounds report
// to a scratch list, so an error is reported once, with all types known.
#pragma once

#include <array>
#include <unordered_map>

#include "elab/elaborate.hpp"
#include "elab/value.hpp"

namespace tempo::elab {

/// Thrown after a diagnostic was given; caught where elaboration can go on.
struct Reported {};

enum class NodeRole : uint8_t {
  Fixed,  // pieces say where it exists
  Plain,  // exists wherever all it reads exists
  Aux,    // exists where its readers need it
};

struct BoundVar {
  Ix lo, hi;
  Sym standsFor;  // the dim named in its bounds, if one
  Sym outer;
};

class Elaborator {
 public:
  Elaborator(const ast::File& main, Diagnostics& diags, Solver& solver, const ElabOptions& options);
  std::optional<Elaborated> run();

 private:
  // -- elaborate.cpp: rounds
  void round(bool emit);
  void declareProgram();
  void bindSize(const ast::Name& n);
  void evaluateStatement(const ast::Stmt& st);
  bool updateSignatures(bool fallBack);
  bool updateSignature(Entry& e, bool fallBack);
  std::string signatureText(const Entry& e) const;
  void finish();
  void collectTypes(Elaborated& out);
  std::string typeText(const Entry& e) const;

  // -- decls.cpp: dims, sizes, inputs, options, modules' files
  void declareFile(const ast::File& f, const ScopePtr& scope, bool program);
  void declareDim(const ast::DimDecl& d, const ast::Stmt& st, const ScopePtr& scope);
  void declareSize(const ast::Name& name, const ast::ExprPtr& value, const ast::ExprPtr& atLeast, const ScopePtr& scope);
  void bindInputFiles();
  void bindInputFile(const ast::InputItem& item);
  void fileSize(const std::string& size, int64_t value, const std::string& input, Span where);
  void declareInput(const ast::InputItem& item, const ScopePtr& scope);
  void declareOption(const ast::Stmt& st, const ScopePtr& scope);
  void declareUse(const ast::Stmt& st, const ScopePtr& scope);
  void declareEquation(const ast::Stmt& st, const ScopePtr& scope, const std::string& prefix, bool local);
  ScopePtr loadModule(const std::string& name, Span where);
  void fillSizes();
  std::optional<int64_t> sizeValue(Sym s);
  void checkOptionNames();
  static void filePath(const ast::ExprPtr& value, std::string& path, std::string& member);

  // -- equations.cpp: left sides and pieces
  void evaluateEquation(const ast::Stmt& st, const ScopePtr& scope, const std::string& prefix, bool local);
  void evaluatePiece(Entry& e, const PieceDef& def, const Value& v, const std::vector<LeftMap>& lefts, const Cond& when,
                     const ScopePtr& scope);
  std::vector<LeftMap> leftMaps(Entry& e, const PieceDef& def, const ScopePtr& scope);
  LeftMap indexedLeft(Entry& e, const PieceDef& def, const ScopePtr& scope);
  std::vector<LeftMap> nextLefts(Entry& e, const PieceDef& def, const ScopePtr& scope);
  Sym leftDim(Entry& e, const ast::Target& t, size_t position, const ScopePtr& scope);
  Value part(const Value& v, size_t i, size_t n, Span where);
  void emitEntry(Entry& e);
  Cond declaredRange(Sym dim);
  Cond declaredRange(const std::set<Sym>& dims);
  NodeId nodeOf(Entry& e);
  Arr readEntry(Entry& e, Span where);
  void checkPlainCycle(Entry& start, Span where);
  Value force(LazyEquation& lazy, const Binding& b, Span where);

  // -- expr.cpp
  Value eval(const ast::Expr& e, const ScopePtr& s);
  Arr evalArray(const ast::Expr& e, const ScopePtr& s);
  Arr asArray(const Value& v, Span where);
  Value evalName(const ast::Expr& e, const ScopePtr& s);
  Value evalMember(const ast::Expr& e, const ScopePtr& s);
  Value evalBinary(const ast::Expr& e, const ScopePtr& s);
  Value evalIf(const ast::Expr& e, const ScopePtr& s);
  Value merge(const Arr& c, const Value& a, const Value& b, Span where);
  Value evalComprehension(const ast::Expr& e, const ScopePtr& s);
  Value evalList(const ast::Expr& e, const ScopePtr& s);
  Arr bindVariable(const ast::Expr::Binder& b, const ScopePtr& outer, const ScopePtr& inner, Sym& var, Ix& lo, Ix& hi);
  Ix evalIx(const ast::Expr& e, const ScopePtr& s, const char* what);
  Cond evalCond(const ast::Expr& e, const ScopePtr& s);
  int64_t evalInt(const ast::Expr& e, const ScopePtr& s, const char* what);
  Binding* lookup(const std::string& name, const ScopePtr& s);
  [[noreturn]] void unknownName(const std::string& name, Span where, const ScopePtr& s);
  Value bindingValue(Binding& b, const std::string& name, Span where);

  // -- index.cpp
  struct IndexValue {
    bool range = false, whole = false;
    Arr lo, hi, step;      // a point has `lo`; data when !lo->ix
    std::optional<Ix> withinLo, withinHi;
    std::set<Sym> mention;
    Sym dim;               // named or resolved
    bool named = false;
    Span span;
    bool data() const { return !range && lo && !lo->ix; }
  };
  Value evalIndex(const ast::Expr& e, const ScopePtr& s);
  Value indexValue(const Value& base, const ast::Expr& e, const ScopePtr& s);
  IndexValue readIndex(const ast::Index& i, const ScopePtr& s);
  void resolveDims(const Arr& a, std::vector<IndexValue>& ix, Span where);
  Arr indexDims(const Arr& a, const std::vector<IndexValue>& ix, Span where);
  Arr indexAxes(const Arr& a, const std::vector<ast::Index>& ix, const ScopePtr& s, Span where);
  Arr gatherAxis(const Arr& a, size_t axis, const IndexValue& iv, Span where);
  Arr gatherDims(Arr a, const std::vector<IndexValue>& ix, Span where);
  Arr withDims(const Arr& a, const std::vector<Ix>& used);
  Index dataIndex(const Arr& idx, const ExprPtr& value, const IndexValue& iv, Span where);
  Ix rangeLength(const Ix& lo, const Ix& hi, int64_t step);
  int64_t stepOf(const IndexValue& iv);
  std::vector<Sym> dimsInOrder(const std::set<Sym>& dims) const;
  std::set<Sym> mentionOf(const Arr& a) const;

  // -- array.cpp
  Arr fromIx(const Ix& v, std::set<Sym> mention = {}, Loc l = {});
  Arr number(double v, Loc l = {});
  Arr truth(const Cond& c, Loc l = {});
  Arr unknownArray(std::set<Sym> dims);
  Arr accessArray(Access a, std::vector<Sym> holes, DType t, std::set<Sym> dims, std::vector<Ix> shape, Loc l);
  Arr composite(DType t, Weak w, std::set<Sym> dims, std::vector<Ix> shape, Gen gen);
  ExprPtr at(const Arr& a, const std::vector<Ix>& pos, DType want);
  ExprPtr atBroadcast(const Arr& a, const std::vector<Ix>& pos, const std::vector<Ix>& shape, DType want);
  Arr strong(const Arr& a);
  Arr cast(const Arr& a, DType t);
  Arr elementwise(Op op, const std::vector<Arr>& args, Span where);
  std::optional<Arr> indexArithmetic(Op op, const std::vector<Arr>& args, Span where);
  std::optional<Arr> laterArithmetic(Op op, const std::vector<Arr>& args, Span where);
  Arr settled(const Arr& a);
  Arr bounded(const Arr& a, std::optional<Ix> lo, std::optional<Ix> hi);
  void propagateBounds(Op op, const std::vector<Arr>& args, Array& out);
  Arr selectArray(const Arr& c, const Arr& a, const Arr& b, Span where);
  std::pair<DType, Weak> joinTypes(const std::vector<Arr>& args, Span where, const char* what);
  std::vector<Ix> joinShapes(const std::vector<Arr>& args, Span where, const Cond* split = nullptr);
  bool sameLength(const Ix& a, const Ix& b);
  std::string shapeText(const Array& a) const;
  Arr substArray(const Arr& a, const Subst& s);
  Value substValue(const Value& v, const Subst& s);
  Arr mapAxes(const Arr& a, std::vector<Ix> shape, std::function<std::vector<Ix>(const std::vector<Ix>&)> f);
  Ix mulIx(const Ix& a, const Ix& b, Span where);
  Ix divIx(const Ix& a, const Ix& b, bool mod, Span where);
  std::optional<Ix> quotient(const Ix& a, const Ix& n);
  void markSpecialised(Sym s);
  Ix specialise(const Ix& a, Span where);
  Ix hiddenSize(const std::string& text, const Ix& value);
  bool sizesOnly(const Ix& a) const;

  // -- nodes.cpp
  Arr materialise(const Arr& a, const std::string& suffix);
  Arr makeNode(const std::string& name, const std::vector<Ix>& shape, DType t, std::set<Sym> dims,
               const std::function<Body(const std::vector<Ix>&)>& body, Loc l);
  Arr reduceAxes(Reduce r, const Arr& a, const std::vector<size_t>& axes, bool keep, const Arr& init,
                 const std::string& name, Span where);
  Arr reduceVars(Reduce r, const Arr& a, const std::vector<RVar>& vars, const Arr& init, const std::string& name, Span where);
  Arr matmul(const Arr& a, const Arr& b, Span where);
  std::string uniqueName(const std::string& base);
  std::string inlinePath(const std::string& name);
  Sym uniqueVar(const std::string& base);
  Sym hole() { return Sym::get("%" + std::to_string(holes_++)); }

  // -- calls.cpp, builtins.cpp, random.cpp, shapes.cpp
  struct Args {
    std::vector<Value> positional;
    std::map<std::string, Value> named;
    std::vector<Span> spans;
    std::map<std::string, Span> namedSpans;
    const ast::Expr* call = nullptr;
    ScopePtr scope;
  };
  Value evalCall(const ast::Expr& e, const ScopePtr& s);
  Value apply(const Value& f, Args& args, Span where);
  Value inlineFunction(const Callable& c, Args& args, Span where);
  void bindParameters(const ast::Stmt& decl, Args& args, const ScopePtr& scope, const ast::Expr* body, Span where);
  void bindDims(const ast::Stmt& decl, const Callable& c, const ScopePtr& scope, size_t& used, Span where);
  Value evalBlock(const ast::Expr& body, const ScopePtr& scope, const std::string& path);
  Arr conform(const Arr& a, const ast::TypeExpr& type, Span where);
  Value instantiate(const Callable& c, Args& args, Span where);
  void declareMembers(const std::vector<ast::StmtPtr>& body, const ScopePtr& scope, const std::string& path,
                      const std::set<Sym>& dims, std::vector<std::string>& order);
  Value member(const Instance& inst, const std::string& name, Span where);
  bool isBuiltin(const std::string& name) const;
  using Builtin = Value (Elaborator::*)(Args&, Span);
  static const std::map<std::string, Builtin>& builtins();
  Value callBuiltin(const std::string& name, Args& args, Span where);
  Arr argument(Args& a, size_t i, const std::string& name, Span where);
  Arr optionalArgument(Args& a, size_t i, const std::string& name);
  const Value* argValue(Args& a, size_t i, const std::string& name) const;
  void expectArgs(Args& a, size_t lo, size_t hi, const std::string& what, std::initializer_list<const char*> names, Span where);
  std::vector<size_t> axisArgument(Args& a, const Arr& x, bool allByDefault, Span where);
  size_t axisNumber(const Value& v, const Arr& x, Span where);
  std::vector<Ix> shapeArgument(const Value& v, Span where);
  Value reduction(const std::string& name, Args& args, Span where);
  Arr reduceOver(const std::string& name, const Arr& x, Args& args, const Arr& init, Span where);
  Arr meanOf(const Arr& sum, const std::vector<Ix>& lengths, const Arr& init, Span where);
  Value bStack(Args&, Span), bConcat(Args&, Span), bTranspose(Args&, Span), bReshape(Args&, Span), bZeros(Args&, Span);
  Value bOnes(Args&, Span), bFull(Args&, Span), bArange(Args&, Span), bSteps(Args&, Span), bEye(Args&, Span);
  Value bShape(Args&, Span), bLen(Args&, Span), bSort(Args&, Span), bArgsort(Args&, Span), bStop(Args&, Span);
  Value bMap(Args&, Span), bUniform(Args&, Span), bNormal(Args&, Span), bBernoulli(Args&, Span);
  Value bCategorical(Args&, Span), bRandint(Args&, Span), bPermutation(Args&, Span), bBroadcast(Args&, Span);
  std::vector<Ix> drawShape(Args& a, const std::vector<Arr>& params, Span where);
  Arr filled(const Value& shape, double v, Args& args, Span where);
  Arr argsortOf(const Arr& x, bool descending, Span where);
  ExprPtr uniformBits(const std::string& stream, const std::vector<Ix>& point, DType t, bool open);
  Arr draw(const std::string& kind, DType t, const std::vector<Ix>& shape, const std::set<Sym>& dims,
           const std::function<ExprPtr(const std::string& stream, const std::vector<Ix>& point, const std::vector<Ix>& pos)>& f);
  Value mapStructures(const Value& f, const std::vector<Value>& items, Args& args, Span where);

  // -- domains.cpp
  void computeDomains();
  Cond domainOf(NodeId id);
  Cond naturalDomain(const Node& n, const Piece& p);
  Cond readDefined(const Node& n, const Piece& p, const Expr& read, const Cond& guard);
  void boundPlain(Node& n, Cond& c);
  void computeNeeds();
  void relaxConstants();
  Cond need(const Node& consumer, const Cond& where, const std::vector<Axis>& axes, const std::vector<RVar>& rvars,
            const Expr& read, const Cond& guard, const Node& target);
  void walkReads(const ExprPtr& e, const Cond& guard, const std::function<void(const Expr&, const Cond&)>& f);
  void foldCopies();
  void checkEmpty();
  void checkEmptyReduce(const Node& n, const Piece& p);
  Cond sizeFacts();
  Cond factsOn(const std::set<Sym>& vars);

  // -- effects.cpp
  void elaborateOutput(const ast::Stmt& st);
  void elaborateReport(const ast::Stmt& st);
  void elaboratePrint(const ast::Stmt& st);
  void elaborateAssert(const ast::Stmt& st);
  void addEffects();
  struct PendingEffect {
    Effect effect;
    Cond when = Cond();
  };
  void effectValue(Effect& f, const std::string& name, const Arr& a, std::set<Sym>& dims);
  void effectCondition(PendingEffect& p, const ast::ExprPtr& when, const char* name, std::set<Sym>& dims);

  // -- shared
  [[noreturn]] void fail(const std::string& code, Span where, const std::string& message, const std::string& label = "",
                         const std::string& help = "");
  Diagnostic& report(const std::string& code, Span where, const std::string& message, const std::string& label = "");
  Loc loc(Span s);
  Span spanOf(Loc l) const { return diags_.sources().span(l); }
  bool isDim(Sym s) const { return dimIndex_.count(s) != 0; }
  Ix sizeIx(Sym size);
  Ix dimSize(Sym dim) { return sizeIx(sizeOf_.at(dim)); }
  Entry& entry(const std::string& name);
  Size* findSize(Sym s);

  struct Saved {          // restores the context
    Elaborator& e;
    Context old;
    explicit Saved(Elaborator& el) : e(el), old(el.cx_) {}
    ~Saved() { e.cx_ = old; }
  };

  struct Calling {        // a function being inlined
    Elaborator& e;
    Calling(Elaborator& el, const ast::Stmt& decl, Span where) : e(el) {
      e.calling_.push_back(&decl);
      e.callSpans_.push_back(where);
    }
    ~Calling() {
      e.calling_.pop_back();
      e.callSpans_.pop_back();
    }
  };

  const ast::File& main_;
  Diagnostics& diags_;
  Diagnostics* out_ = nullptr;  // the real list in the last round, else a scratch list
  Solver& solver_;
  const ElabOptions& options_;
  Context cx_;
  bool emit_ = false;
  bool changed_ = false;
  bool inSizeDecl_ = false;
  bool firstRound_ = true;

  ScopePtr root_, program_;
  std::map<std::string, ScopePtr> modules_;
  std::vector<std::string> loading_;
  std::map<std::string, std::shared_ptr<ast::File>> moduleFiles_;
  std::vector<const ast::Stmt*> calling_;        // functions being inlined
  std::vector<Span> callSpans_;                  // and where they are called

  std::vector<Dim> dims_;
  std::map<Sym, int> dimIndex_;
  std::map<Sym, Sym> sizeOf_;                    // dim -> size
  std::map<Sym, std::vector<Sym>> dimsOfSize_;
  std::vector<Size> sizes_;
  std::map<Sym, Span> sizeSpans_;
  std::map<Sym, std::pair<int64_t, std::string>> fileSizes_;  // value, input that gave it
  std::vector<Cond> facts_;
  std::set<Sym> specialised_;
  std::map<Sym, BoundVar> boundVars_;

  std::map<std::string, std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> order_;                    // entries seen this round
  std::set<std::string> visited_;
  Entry* current_ = nullptr;                     // whose equation is evaluated
  std::map<Entry*, std::set<Entry*>> reads_;
  std::map<const ast::Stmt*, std::shared_ptr<LazyEquation>> lazies_;  // structures of the program
  std::map<std::string, FileShape> fileShapes_;  // by input

  Graph graph_;
  std::vector<NodeRole> roles_;
  std::map<uint32_t, Cond> domains_;
  std::set<uint32_t> computing_;
  std::vector<PendingEffect> effects_;
  std::set<uint32_t> needNonEmpty_;
  std::map<std::string, int> nameCounts_;
  std::map<std::string, int> drawCounts_, pathCounts_;
  std::set<std::string> usedVars_;
  std::map<std::array<uint32_t, 3>, Loc> locs_;
  std::map<std::pair<std::string, std::string>, bool> lengthCache_;
  uint64_t holes_ = 0;
};

/// The closest of `known` to `name` within two edits, or "".
std::string closest(const std::string& name, const std::vector<std::string>& known);
/// How many times the name occurs below `e`.
int countUses(const ast::Expr& e, const std::string& name);

}  // namespace tempo::elab
