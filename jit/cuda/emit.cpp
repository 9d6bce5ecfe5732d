#include "cuda/emit.hpp"

#include <algorithm>
#include <sstream>

#include "check.hpp"
#include "cuda/analysis.hpp"
#include "cuda/emit_expr.hpp"

namespace tempo::cuda {
namespace {

using kir::Block;
using kir::Stmt;

/// Who executes the code being printed: all threads of the block alike, or each thread its own iterations.
enum class Mode { Uniform, Thread };

class KernelEmitter {
 public:
  KernelEmitter(const kir::Program& p, const kir::Kernel& k, bool checkFaults)
      : program_(p), kernel_(k), checkFaults_(checkFaults) {}

  EmittedKernel run();
  std::string text() const { return out_.str(); }

 private:
  std::ostream& line();
  void open(const std::string& head);
  void close(const std::string& tail = "}");
  std::string expr(const kir::ExprPtr& e, bool index = false);

  void prologue(EmittedKernel& k);
  void scratch(const std::vector<ScratchPlace>& places);
  void gridVariables();
  void block(const Block& b);
  void statement(const Stmt& s);
  void seq(const Stmt& s);
  void par(const Stmt& s);
  void ifElse(const Stmt& s);
  void let(const Stmt& s);
  void store(const Stmt& s);
  void reduce(const Stmt& s);
  void check(const Stmt& s);
  void poll();

  int openLoops(const std::vector<kir::Loop>& loops, bool strided);
  int openStrided(const std::vector<kir::Loop>& loops, size_t box);
  void openSerial(const kir::Loop& l);
  void nestVariables(const std::vector<kir::Loop>& loops, const std::vector<std::string>& extents, std::string rest);
  void declareAcc(const kir::Acc& a, std::vector<std::string>& ids);
  void foldAcc(const kir::Acc& a, const std::string& id, const kir::Loop& loop);
  void finishAcc(const kir::Acc& a, const std::string& id, bool blockWide);

  void barrier();
  void noBarrierPending();
  void order(const Accesses& next);
  void orderReads(const std::vector<kir::ExprPtr>& exprs);

  const kir::Program& program_;
  const kir::Kernel& kernel_;
  const bool checkFaults_;
  std::ostringstream out_;
  int indent_ = 0;
  Scopes scopes_;
  Mode mode_ = Mode::Uniform;
  Accesses pending_;                    // by any thread, since the last barrier
  std::string faultLabel_;              // where a failed check in a Par nest goes; empty: it returns
  std::string faultFlag_;
  int labels_ = 0;
};

std::ostream& KernelEmitter::line() { return out_ << std::string(indent_ * 2, ' '); }

void KernelEmitter::open(const std::string& head) {
  line() << head << "\n";
  ++indent_;
  scopes_.push();
}

void KernelEmitter::close(const std::string& tail) {
  scopes_.pop();
  --indent_;
  line() << tail << "\n";
}

std::string KernelEmitter::expr(const kir::ExprPtr& e, bool index) {
  TEMPO_CHECK(e != nullptr, "kernel IR statement lacks an expression");
  return emitExpr(*e, scopes_, index);
}

void KernelEmitter::barrier() {
  line() << "TEMPO_BARRIER();\n";
  noBarrierPending();
}

void KernelEmitter::noBarrierPending() { pending_ = {}; }

/// Puts a barrier where threads may still be at work on what comes next, and notes what comes next as pending.
void KernelEmitter::order(const Accesses& next) {
  if (mode_ == Mode::Thread) return;
  auto meet = [](const std::set<std::string>& a, const std::set<std::string>& b) {
    return std::any_of(a.begin(), a.end(), [&](const auto& name) { return b.count(name) != 0; });
  };
  if (meet(next.reads, pending_.writes) || meet(next.writes, pending_.writes) || meet(next.writes, pending_.reads)) barrier();
  pending_.add(next);
}

void KernelEmitter::orderReads(const std::vector<kir::ExprPtr>& exprs) {
  Accesses a;
  for (const auto& e : exprs) collectLoads(e, a.reads);
  order(a);
}

EmittedKernel KernelEmitter::run() {
  EmittedKernel k;
  k.name = kernel_.name;
  k.symbol = "k_" + cIdentifier(kernel_.name);
  k.threads = blockSize(kernel_);
  k.threadPerInstance = threadPerInstance(kernel_);
  k.params = kernel_.params.size();
  mode_ = k.threadPerInstance ? Mode::Thread : Mode::Uniform;
  std::ostringstream args;
  args << "TempoArgs<" << std::max<size_t>(1, k.params) << ", " << std::max<size_t>(1, kernel_.buffers.size()) << ">";
  open("TEMPO_KERNEL(" + k.symbol + ", " + std::to_string(k.threads) + ", " + args.str() + ") {");
  prologue(k);
  if (checkFaults_) {
    line() << (k.threadPerInstance ? "if (tempo_has_faulted(args.fault)) return;\n"
                                   : "if (TEMPO_BARRIER_OR(TEMPO_THREAD == 0 && tempo_has_faulted(args.fault))) return;\n");
  }
  const std::string i = scopes_.fresh("instance");
  const std::string first = k.threadPerInstance ? "TEMPO_BLOCK * TEMPO_THREADS + TEMPO_THREAD" : "TEMPO_BLOCK";
  const std::string step = k.threadPerInstance ? "TEMPO_BLOCKS * TEMPO_THREADS" : "TEMPO_BLOCKS";
  open("for (i64 " + i + " = " + first + "; " + i + " < args.instances; " + i + " += " + step + ") {");
  if (kernel_.grid.empty()) {
    line() << "(void)" << i << ";\n";
  } else {
    std::vector<std::string> extents;
    for (const auto& l : kernel_.grid) extents.push_back("tempo_extent(" + expr(l.lo, true) + ", " + expr(l.hi, true) + ")");
    nestVariables(kernel_.grid, extents, i);
  }
  block(kernel_.body);
  if (!pending_.empty()) barrier();  // the block's next instance uses the same scratch
  close();
  close();
  return k;
}

void KernelEmitter::prologue(EmittedKernel& k) {
  k.sharedBytes = align16(int64_t{reduceSlotBytes(kernel_)} * k.threads);
  const auto places = placeScratch(kernel_, k.sharedBytes);
  if (k.sharedBytes > 0) line() << "TEMPO_SHARED(" << k.sharedBytes << ");\n";
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const std::string id = scopes_.declare(kernel_.params[i]);
    line() << "const i64 " << id << " = args.params[" << i << "];\n";
  }
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const auto& b = kernel_.buffers[i];
    const std::string type = std::string(b.written ? "" : "const ") + storageName(b.dtype) + "*";
    line() << type << " __restrict__ const " << scopes_.declare(b.name) << " = (" << type << ")args.buffers[" << i << "];\n";
    int index = -1;
    for (size_t j = 0; j < program_.buffers.size(); ++j) {
      if (program_.buffers[j].name == b.name) index = static_cast<int>(j);
    }
    TEMPO_CHECK(index >= 0, "kernel `" + kernel_.name + "` names buffer `" + b.name + "`, which the program lacks");
    k.buffers.push_back(index);
  }
  scratch(places);
  for (const auto& p : places) k.scratchInGlobal = k.scratchInGlobal || !p.shared;
}

void KernelEmitter::scratch(const std::vector<ScratchPlace>& places) {
  std::string arena;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& s = kernel_.scratch[i];
    const std::string type = std::string(storageName(s.dtype)) + "*";
    if (places[i].shared) {
      line() << type << " const " << scopes_.declare(s.name) << " = (" << type << ")(tempo_shared + " << places[i].offset
             << ");\n";
      continue;
    }
    if (arena.empty()) {
      arena = scopes_.fresh("arena");
      line() << "u8* " << arena << " = args.scratch + TEMPO_BLOCK * args.scratch_stride;\n";
    }
    const std::string count = expr(s.count, true);
    line() << type << " const " << scopes_.declare(s.name) << " = (" << type << ")" << arena << ";\n";
    line() << arena << " += ((" << count << ") * " << bytes(s.dtype) << " + 15) / 16 * 16;\n";
  }
}

bool isZero(const kir::ExprPtr& e) { return e->kind == kir::Expr::Kind::ConstI && e->i == 0; }

/// Takes the position `rest` in a box apart, last loop fastest.
void KernelEmitter::nestVariables(const std::vector<kir::Loop>& loops, const std::vector<std::string>& extents,
                                  std::string rest) {
  std::vector<std::string> values(loops.size());
  for (size_t n = loops.size(); n-- > 0;) {
    if (n == 0) {
      values[n] = rest;
      continue;
    }
    const std::string extent = scopes_.fresh("n_" + cIdentifier(loops[n].var));
    const std::string above = scopes_.fresh("above_" + cIdentifier(loops[n].var));
    line() << "const i64 " << extent << " = " << extents[n] << ";\n";
    line() << "const i64 " << above << " = tempo_split(" << rest << ", " << extent << ");\n";
    values[n] = rest + " - " + above + " * " + extent;
    rest = above;
  }
  for (size_t n = 0; n < loops.size(); ++n) {
    const std::string lo = expr(loops[n].lo, true);
    const std::string sum = isZero(loops[n].lo) ? values[n] : lo + " + (" + values[n] + ")";
    line() << "const i64 " << scopes_.declare(loops[n].var) << " = " << sum << ";\n";
  }
}

/// A loop bound that need not be held in a variable: it is a literal or a name.
bool isAtom(const kir::ExprPtr& e) { return e->kind == kir::Expr::Kind::ConstI || e->kind == kir::Expr::Kind::Var; }

void KernelEmitter::openSerial(const kir::Loop& l) {
  const std::string lo = expr(l.lo, true), hi = expr(l.hi, true);
  scopes_.push();
  const kir::ExprPtr& bound = l.reverse ? l.lo : l.hi;
  const std::string value = l.reverse ? lo : hi, first = l.reverse ? "(" + hi + ") - 1" : lo;
  const std::string end = isAtom(bound) ? value : scopes_.fresh(cIdentifier(l.var) + "_end"), v = scopes_.declare(l.var);
  line() << "for (i64 " << v << " = " << first << (isAtom(bound) ? "" : ", " + end + " = " + value) << "; " << v
         << (l.reverse ? " >= " : " < ") << end << "; " << (l.reverse ? "--" : "++") << v << ") {\n";
  ++indent_;
}

/// Returns the number of braces to close.
int KernelEmitter::openStrided(const std::vector<kir::Loop>& loops, size_t box) {
  if (box == 1) {
    const kir::Loop& l = loops[0];
    const std::string lo = expr(l.lo, true), hi = expr(l.hi, true);
    scopes_.push();
    const std::string end = isAtom(l.hi) ? hi : scopes_.fresh(cIdentifier(l.var) + "_end"), v = scopes_.declare(l.var);
    line() << "for (i64 " << v << " = " << (isZero(l.lo) ? "" : "(" + lo + ") + ") << "TEMPO_THREAD"
           << (isAtom(l.hi) ? "" : ", " + end + " = " + hi) << "; " << v << " < " << end << "; " << v
           << " += TEMPO_THREADS) {\n";
    ++indent_;
    return 1;
  }
  open("{");
  std::vector<kir::Loop> prefix(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(box));
  std::vector<std::string> extents;
  std::string total;
  for (const auto& l : prefix) {
    extents.push_back(scopes_.fresh("extent_" + cIdentifier(l.var)));
    const std::string lo = expr(l.lo, true), hi = expr(l.hi, true);
    line() << "const i64 " << extents.back() << " = tempo_extent(" << lo << ", " << hi << ");\n";
    total += (total.empty() ? "" : " * ") + extents.back();
  }
  const std::string i = scopes_.fresh("flat");
  open("for (i64 " + i + " = TEMPO_THREAD; " + i + " < " + total + "; " + i + " += TEMPO_THREADS) {");
  nestVariables(prefix, extents, i);
  return 2;
}

int KernelEmitter::openLoops(const std::vector<kir::Loop>& loops, bool strided) {
  const size_t box = strided ? boxPrefix(loops) : 0;
  int braces = box > 0 ? openStrided(loops, box) : 0;
  const Mode outer = mode_;
  if (strided) mode_ = Mode::Thread;
  for (size_t n = box; n < loops.size(); ++n, ++braces) openSerial(loops[n]);
  mode_ = outer;
  return braces;
}

void KernelEmitter::block(const Block& b) {
  scopes_.push();
  for (size_t i = 0; i < b.size(); ++i) {
    const bool storeByOne = mode_ == Mode::Uniform && b[i]->kind == Stmt::Kind::Store;
    if (!storeByOne) {
      statement(*b[i]);
      continue;
    }
    size_t end = i;
    Accesses accesses;
    for (; end < b.size() && b[end]->kind == Stmt::Kind::Store; ++end) collectAccesses(*b[end], accesses);
    order(accesses);
    open("if (TEMPO_THREAD == 0) {");
    mode_ = Mode::Thread;
    for (; i < end; ++i) store(*b[i]);
    --i;
    mode_ = Mode::Uniform;
    close();
  }
  scopes_.pop();
}

void KernelEmitter::statement(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::Seq: return seq(s);
    case Stmt::Kind::Par: return par(s);
    case Stmt::Kind::If: return ifElse(s);
    case Stmt::Kind::Let: return let(s);
    case Stmt::Kind::Store: return store(s);
    case Stmt::Kind::Reduce: return reduce(s);
    case Stmt::Kind::Check: return check(s);
    case Stmt::Kind::Poll: return poll();
    case Stmt::Kind::Call: break;
  }
  internalError(__FILE__, __LINE__, "cuda: library call `" + s.name + "` is not supported");
}

void KernelEmitter::seq(const Stmt& s) {
  orderReads({s.loop.lo, s.loop.hi});
  const Accesses before = pending_;
  openSerial(s.loop);
  block(s.body);
  // The next iteration may touch what this one wrote, and write what it read.
  Accesses next;
  collectAccesses(s, next);
  if (!pending_.writes.empty() || (!next.writes.empty() && !pending_.reads.empty())) barrier();
  close();
  pending_.add(before);
}

void KernelEmitter::par(const Stmt& s) {
  if (mode_ == Mode::Thread) {
    openSerial(s.loop);
    block(s.body);
    return close();
  }
  const ParNest nest = parNest(s);
  Accesses accesses;
  collectAccesses(s, accesses);
  order(accesses);
  const bool checks = contains(*nest.body, Stmt::Kind::Check);
  open("{");
  if (checks) {
    faultFlag_ = scopes_.fresh("failed");
    faultLabel_ = "tempo_end_" + std::to_string(labels_++);
    line() << "i32 " << faultFlag_ << " = 0;\n";
  }
  int braces = openLoops(nest.loops, true);
  mode_ = Mode::Thread;
  block(*nest.body);
  mode_ = Mode::Uniform;
  for (; braces > 0; --braces) close();
  if (checks) {
    line() << faultLabel_ << ":\n";
    line() << "if (TEMPO_BARRIER_OR(" << faultFlag_ << ")) return;\n";
    faultLabel_.clear();
  }
  close();
  if (checks) noBarrierPending();
}

void KernelEmitter::ifElse(const Stmt& s) {
  orderReads({s.cond});
  const Accesses before = pending_;
  open("if (" + expr(s.cond) + ") {");
  block(s.body);
  Accesses after = before;
  std::swap(after, pending_);
  if (!s.orelse.empty()) {
    close("} else {");
    ++indent_;
    scopes_.push();
    block(s.orelse);
  }
  close();
  pending_.add(after);
}

void KernelEmitter::let(const Stmt& s) {
  orderReads({s.value});
  const std::string v = expr(s.value);
  line() << "const " << typeName(s.value->dtype) << " " << scopes_.declare(s.name) << " = " << v << ";\n";
}

void KernelEmitter::store(const Stmt& s) {
  const std::string i = expr(s.index, true), v = expr(s.value);
  const DType t = s.value->dtype;
  line() << "tempo_store(" << scopes_.find(s.name) << ", " << i << ", "
         << (t == DType::Bool ? "u8(" + v + ")" : v) << ");\n";
}

const char* foldName(tempo::Reduce r) {
  switch (r) {
    case tempo::Reduce::Sum: return "TempoSum";
    case tempo::Reduce::Prod: return "TempoProd";
    case tempo::Reduce::Max: return "TempoMax";
    case tempo::Reduce::Min: return "TempoMin";
    case tempo::Reduce::All: return "TempoAll";
    case tempo::Reduce::Any: return "TempoAny";
    case tempo::Reduce::ArgMax: return "TempoArgMax";
    case tempo::Reduce::ArgMin: return "TempoArgMin";
  }
  return "";
}

std::string foldType(const kir::Acc& a) { return std::string(foldName(a.op)) + "<" + typeName(a.dtype) + ">"; }

std::string identityText(const kir::Acc& a) {
  const std::string t = typeName(a.dtype);
  switch (a.op) {
    case tempo::Reduce::Sum: return t + "(0)";
    case tempo::Reduce::Prod: return t + "(1)";
    case tempo::Reduce::Max:
    case tempo::Reduce::ArgMax: return "tempo_lowest<" + t + ">()";
    case tempo::Reduce::Min:
    case tempo::Reduce::ArgMin: return "tempo_highest<" + t + ">()";
    case tempo::Reduce::All: return "true";
    case tempo::Reduce::Any: return "false";
  }
  return "";
}

void KernelEmitter::declareAcc(const kir::Acc& a, std::vector<std::string>& ids) {
  const std::string t = typeName(a.dtype);
  TEMPO_CHECK(a.dtype != DType::BF16 && a.dtype != DType::F16, "accumulators are not bf16 or f16");
  ids.push_back(scopes_.fresh(cIdentifier(a.name) + (isArg(a.op) ? "_best" : "_acc")));
  if (isArg(a.op)) {
    line() << "TempoBest<" << t << "> " << ids.back() << " = {" << identityText(a) << ", -1};\n";
  } else {
    line() << t << " " << ids.back() << " = " << identityText(a) << ";\n";
  }
}

void KernelEmitter::foldAcc(const kir::Acc& a, const std::string& id, const kir::Loop& loop) {
  std::string v = expr(a.value);
  if (isArg(a.op)) {
    v = "TempoBest<" + std::string(typeName(a.dtype)) + ">{" + v + ", " + scopes_.find(loop.var) + " - (" +
        expr(loop.lo, true) + ")}";
  }
  line() << id << " = " << foldType(a) << "::fold(" << id << ", " << v << ");\n";
}

void KernelEmitter::finishAcc(const kir::Acc& a, const std::string& id, bool blockWide) {
  if (blockWide) line() << id << " = tempo_block_reduce<" << foldType(a) << ">(" << id << ", tempo_shared);\n";
  if (!isArg(a.op)) {
    line() << "const " << typeName(a.dtype) << " " << scopes_.declare(a.name) << " = " << id << ";\n";
    return;
  }
  line() << "const i64 " << scopes_.declare(a.name) << " = " << id << ".at < 0 ? 0 : " << id << ".at;\n";
  line() << "const " << typeName(a.dtype) << " " << scopes_.declare(a.name + "_v") << " = " << id << ".v;\n";
}

void KernelEmitter::reduce(const Stmt& s) {
  const bool blockWide = mode_ == Mode::Uniform && !isShort(s);
  Accesses accesses;
  collectAccesses(s, accesses);
  order(accesses);
  std::vector<std::string> ids;
  for (const auto& a : s.accs) {
    TEMPO_CHECK(!isArg(a.op) || s.loops.size() == 1, "argmax and argmin run along one loop");
    declareAcc(a, ids);
  }
  int braces = openLoops(s.loops, blockWide);
  const Mode outer = mode_;
  if (blockWide) mode_ = Mode::Thread;
  scopes_.push();
  for (const auto& l : s.body) {
    TEMPO_CHECK(l->kind == Stmt::Kind::Let, "the body of a Reduce holds Lets only");
    let(*l);
  }
  for (size_t i = 0; i < s.accs.size(); ++i) foldAcc(s.accs[i], ids[i], s.loops.front());
  scopes_.pop();
  mode_ = outer;
  for (; braces > 0; --braces) close();
  for (size_t i = 0; i < s.accs.size(); ++i) finishAcc(s.accs[i], ids[i], blockWide);
  if (blockWide && !s.accs.empty()) noBarrierPending();
}

void KernelEmitter::check(const Stmt& s) {
  TEMPO_CHECK(s.args.size() <= 8, "a fault reports at most 8 values");
  std::vector<kir::ExprPtr> read = s.args;
  read.push_back(s.cond);
  orderReads(read);
  open("if (!" + expr(s.cond) + ") {");
  if (mode_ == Mode::Uniform) open("if (TEMPO_THREAD == 0) {");
  const std::string values = scopes_.fresh("values");
  line() << "const i64 " << values << "[] = {";
  for (size_t i = 0; i < s.args.size(); ++i) {
    out_ << (i ? ", " : "") << (s.args[i]->dtype == DType::I64 ? "" : "tempo_cast<i64>") << "(" << expr(s.args[i]) << ")";
  }
  out_ << (s.args.empty() ? "0};\n" : "};\n");
  line() << "tempo_report(args.fault, args.stop, " << s.site << ", " << values << ", " << s.args.size() << ");\n";
  if (mode_ == Mode::Uniform) close();
  if (faultLabel_.empty()) {
    line() << "return;\n";
  } else {
    line() << faultFlag_ << " = 1;\n";
    line() << "goto " << faultLabel_ << ";\n";
  }
  close();
}

void KernelEmitter::poll() {
  if (mode_ == Mode::Uniform) {
    line() << "if (TEMPO_BARRIER_OR(TEMPO_THREAD == 0 && *args.stop != 0)) return;\n";
    noBarrierPending();
  } else if (threadPerInstance(kernel_)) {
    line() << "if (*args.stop != 0) return;\n";
  }  // inside a Par nest state is whole only after the nest
}

Emitted emitAll(const kir::Program& p) {
  bool checks = false;
  for (const auto& k : p.kernels) checks = checks || contains(k.body, Stmt::Kind::Check);
  Emitted e;
  for (const auto& k : p.kernels) {
    KernelEmitter emitter(p, k, checks);
    e.kernels.push_back(emitter.run());
    e.source += (e.source.empty() ? "" : "\n") + emitter.text();
  }
  return e;
}

}  // namespace

const char* deviceHeader() {
  return
#include "cuda/device.inc"
      ;
}

Emitted emit(const kir::Program& p) {
  Emitted e = emitAll(p);
  e.source = std::string(deviceHeader()) + "\n" + e.source;
  return e;
}

std::string emitKernels(const kir::Program& p) { return emitAll(p).source; }

}  // namespace tempo::cuda
