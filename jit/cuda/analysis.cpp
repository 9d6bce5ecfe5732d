#include "cuda/analysis.hpp"

#include <algorithm>
#include <functional>

namespace tempo::cuda {
namespace {

using kir::Block;
using kir::Stmt;

constexpr int64_t kShortReduction = 16;
constexpr int64_t kSharedScratchBytes = 32 * 1024;
constexpr int kMinThreads = 32, kMaxThreads = 256;

void visit(const Block& b, const std::function<void(const Stmt&)>& f) {
  for (const auto& s : b) {
    f(*s);
    visit(s->body, f);
    visit(s->orelse, f);
  }
}

bool uses(const kir::ExprPtr& e, const std::set<std::string>& names) {
  if (!e) return false;
  if (e->kind == kir::Expr::Kind::Var && names.count(e->name)) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const auto& a) { return uses(a, names); });
}

/// The outermost Par nests and the block-wide reductions.
void visitBlockWide(const Block& b, const std::function<void(const Stmt&)>& f) {
  for (const auto& s : b) {
    if (s->kind == Stmt::Kind::Par || (s->kind == Stmt::Kind::Reduce && !isShort(*s))) {
      f(*s);
    } else if (s->kind != Stmt::Kind::Reduce) {
      visitBlockWide(s->body, f);
      visitBlockWide(s->orelse, f);
    }
  }
}

}  // namespace

std::optional<int64_t> literalExtent(const kir::Loop& l) {
  if (l.lo->kind != kir::Expr::Kind::ConstI || l.hi->kind != kir::Expr::Kind::ConstI) return std::nullopt;
  return std::max<int64_t>(0, l.hi->i - l.lo->i);
}

std::optional<int64_t> literalExtent(const std::vector<kir::Loop>& loops) {
  int64_t n = 1;
  for (const auto& l : loops) {
    auto extent = literalExtent(l);
    if (!extent) return std::nullopt;
    n *= *extent;
  }
  return n;
}

size_t boxPrefix(const std::vector<kir::Loop>& loops) {
  std::set<std::string> vars;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (uses(loops[i].lo, vars) || uses(loops[i].hi, vars)) return i;
    vars.insert(loops[i].var);
  }
  return loops.size();
}

ParNest parNest(const Stmt& par) {
  ParNest nest{{par.loop}, &par.body};
  while (nest.body->size() == 1 && nest.body->front()->kind == Stmt::Kind::Par) {
    const Stmt& inner = *nest.body->front();
    nest.loops.push_back(inner.loop);
    nest.body = &inner.body;
  }
  return nest;
}

void collectLoads(const kir::ExprPtr& e, std::set<std::string>& out) {
  if (!e) return;
  if (e->kind == kir::Expr::Kind::Load) out.insert(e->name);
  for (const auto& a : e->args) collectLoads(a, out);
}

void collectAccesses(const Stmt& s, Accesses& out) {
  for (const auto& e : {s.loop.lo, s.loop.hi, s.cond, s.value, s.index}) collectLoads(e, out.reads);
  for (const auto& e : s.args) collectLoads(e, out.reads);
  for (const auto& a : s.accs) collectLoads(a.value, out.reads);
  for (const auto& l : s.loops) {
    collectLoads(l.lo, out.reads);
    collectLoads(l.hi, out.reads);
  }
  if (s.kind == Stmt::Kind::Store) out.writes.insert(s.name);
  for (const auto& inner : s.body) collectAccesses(*inner, out);
  for (const auto& inner : s.orelse) collectAccesses(*inner, out);
}

bool contains(const Block& b, Stmt::Kind kind) {
  bool found = false;
  visit(b, [&](const Stmt& s) { found = found || s.kind == kind; });
  return found;
}

bool isShort(const Stmt& reduce) {
  auto n = literalExtent(reduce.loops);
  return n && *n <= kShortReduction;
}

bool isArg(tempo::Reduce r) { return r == tempo::Reduce::ArgMax || r == tempo::Reduce::ArgMin; }

bool threadPerInstance(const kir::Kernel& k) {
  if (!k.scratch.empty()) return false;
  bool blockWide = false;
  visitBlockWide(k.body, [&](const Stmt&) { blockWide = true; });
  return !blockWide;
}

int blockSize(const kir::Kernel& k) {
  if (threadPerInstance(k)) return 128;
  int64_t most = kMinThreads;
  visitBlockWide(k.body, [&](const Stmt& s) {
    const auto n = literalExtent(s.kind == Stmt::Kind::Par ? parNest(s).loops : s.loops);
    most = std::max(most, n ? *n : int64_t{kMaxThreads});
  });
  int threads = kMinThreads;
  while (threads < most && threads < kMaxThreads) threads *= 2;
  return threads;
}

int reduceSlotBytes(const kir::Kernel& k) {
  int widest = 0;
  visitBlockWide(k.body, [&](const Stmt& s) {
    for (const auto& a : s.accs) widest = std::max(widest, isArg(a.op) ? 16 : bytes(a.dtype));
  });
  return widest;
}

std::vector<ScratchPlace> placeScratch(const kir::Kernel& k, int64_t& sharedBytes) {
  std::vector<ScratchPlace> places;
  int64_t used = 0;
  for (const auto& s : k.scratch) {
    const bool literal = s.count->kind == kir::Expr::Kind::ConstI;
    const int64_t size = literal ? align16(s.count->i * bytes(s.dtype)) : 0;
    if (!literal || used + size > kSharedScratchBytes) {
      places.push_back({false, 0});
      continue;
    }
    places.push_back({true, sharedBytes});
    used += size;
    sharedBytes += size;
  }
  return places;
}

}  // namespace tempo::cuda
