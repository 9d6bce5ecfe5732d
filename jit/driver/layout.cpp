#include "driver/layout.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/emit.hpp"
#include "driver/memory.hpp"

namespace tempo {
namespace {

cuda::Values valuesOf(const kir::Program& p, const std::vector<int64_t>& sizes) {
  cuda::Values values;
  for (size_t i = 0; i < p.sizes.size(); ++i) values[p.sizes[i]] = sizes[i];
  return values;
}

/// Calls `f(dense, strided)` for runs of elements: element positions in the array and in the buffer.
template <class F>
void forEachElement(const ArrayPlace& p, F&& f) {
  const size_t rank = p.shape.size();
  std::vector<int64_t> at(rank, 0);
  int64_t strided = p.offset;
  for (int64_t i = 0; i < p.count; ++i) {
    f(i, strided);
    for (size_t k = rank; k-- > 0;) {
      strided += p.strides[k];
      if (++at[k] < p.shape[k]) break;
      strided -= p.strides[k] * p.shape[k];
      at[k] = 0;
    }
  }
}

}  // namespace

BufferPlan planBuffers(const Lowered& lowered, const Graph& g, const Env& sizes) {
  BufferPlan plan;
  for (const Size& s : g.sizes) plan.sizes.push_back(sizes.at(s.sym));
  const cuda::Values values = valuesOf(lowered.program, plan.sizes);
  for (const kir::HostBuffer& b : lowered.program.buffers) {
    const int64_t elements = std::max<int64_t>(0, cuda::evaluate(b.count, values));
    plan.bytes.push_back(elements * bytes(b.dtype));
    if (b.role != kir::HostBuffer::Role::Input) plan.plannedBytes += alignedBytes(plan.bytes.back());
  }
  return plan;
}

ArrayPlace placeOf(const ArrayMap& m, const Env& sizes) {
  ArrayPlace p;
  for (const Ix& e : m.shape) p.shape.push_back(std::max<int64_t>(0, e.eval(sizes)));
  for (const Ix& e : m.strides) p.strides.push_back(e.eval(sizes));
  p.offset = m.offset.eval(sizes);
  p.plain = p.offset == 0;
  for (size_t k = p.shape.size(); k-- > 0;) {
    p.plain = p.plain && (p.shape[k] == 1 || p.strides[k] == p.count);
    p.count *= p.shape[k];
  }
  if (p.count == 0) p.plain = true;
  return p;
}

void pack(const ArrayPlace& p, DType t, const void* array, void* buffer) {
  const size_t width = bytes(t);
  const char* from = static_cast<const char*>(array);
  char* to = static_cast<char*>(buffer);
  forEachElement(p, [&](int64_t i, int64_t at) { std::memcpy(to + at * width, from + i * width, width); });
}

void unpack(const ArrayPlace& p, DType t, const void* buffer, void* array) {
  const size_t width = bytes(t);
  const char* from = static_cast<const char*>(buffer);
  char* to = static_cast<char*>(array);
  forEachElement(p, [&](int64_t i, int64_t at) { std::memcpy(to + i * width, from + at * width, width); });
}

namespace {

/// The dim that a loop variable stands for in the first statement below it.
std::string dimOfLoop(const Tree& t, Sym var) {
  for (const auto& [dim, at] : t.point) {
    if (at.uses(var)) return dim.name();
  }
  for (const Tree& c : t.children) {
    const std::string name = dimOfLoop(c, var);
    if (!name.empty()) return name;
  }
  return "";
}

/// Loops over effects alone take no time.
bool computes(const Tree& t) {
  return t.kind == Tree::Kind::Kernel || std::any_of(t.children.begin(), t.children.end(), computes);
}

void collectLoops(const Tree& t, std::vector<OuterLoop>* out) {
  if (t.kind == Tree::Kind::Loop) {
    if (computes(t)) out->push_back({dimOfLoop(t, t.var), t.hi - t.lo});
    return;
  }
  if (t.kind == Tree::Kind::Kernel) return;
  for (const Tree& c : t.children) collectLoops(c, out);
}

}  // namespace

std::vector<OuterLoop> outerLoops(const Plan& plan) {
  std::vector<OuterLoop> all;
  collectLoops(plan.root, &all);
  return all;
}

ProgressTeller::ProgressTeller(const std::vector<OuterLoop>& loops, const Env& sizes, RunListener* listener)
    : listener_(listener) {
  std::string dim;
  for (const OuterLoop& l : loops) {
    const int64_t n = l.length.eval(sizes);
    if (n > total_) total_ = n, dim = l.dim;
  }
  if (listener_) listener_->started(dim, total_);
}

void ProgressTeller::step(int64_t done, int64_t total) {
  if (!listener_ || finished_ || total != total_) return;
  listener_->progress(done, total);
  finished_ = done >= total;
}

Failure faultFailure(const Lowered& lowered, const Sources& sources, int64_t site, const int64_t* values, int64_t count) {
  if (site < 0 || site >= static_cast<int64_t>(lowered.sites.size())) {
    return {Failure::Kind::Run, "the run stopped at a fault nobody has described", "", ""};
  }
  const FaultSite& s = lowered.sites[static_cast<size_t>(site)];
  std::string index, low, high, where;
  for (size_t i = 0; i < s.names.size() && i < static_cast<size_t>(count); ++i) {
    const std::string value = std::to_string(values[i]);
    if (s.names[i] == "index") {
      index = value;
    } else if (s.names[i] == "low") {
      low = value;
    } else if (s.names[i] == "high") {
      high = value;
    } else {
      where += (where.empty() ? " at " : ", ") + s.names[i] + " = " + value;
    }
  }
  std::string message = "`" + s.node + "` reads `" + s.tensor + "` at " + index;
  if (!low.empty()) message += ", outside " + low + " .. " + (high.empty() ? "?" : std::to_string(std::atoll(high.c_str()) - 1));
  return {Failure::Kind::Run, message + where, sources.place(s.loc), ""};
}

bool StagedEffects::occur(int effect, const int64_t* point, const Bytes& buffer) {
  if (failure_) return false;
  const Effect& e = graph_.effects[static_cast<size_t>(effect)];
  const EffectMap& m = lowered_.effects[static_cast<size_t>(effect)];
  const bool on = m.on < 0 || *static_cast<const uint8_t*>(buffer(m.on)) != 0;
  const bool isAssert = e.kind == Effect::Kind::Assert;
  if (isAssert == on) return true;
  const std::vector<int64_t> at(point, point + e.dims.size());
  std::vector<std::vector<double>> values;
  Env env = sizes_;
  for (size_t i = 0; i < e.dims.size(); ++i) env[e.dims[i]] = at[i];
  for (size_t v = 0; v < m.values.size(); ++v) {
    Array staged;
    staged.dtype = m.dtypes[v];
    for (const Ix& n : m.shapes[v]) staged.shape.push_back(n.eval(env));
    staged.data = std::shared_ptr<void>(const_cast<void*>(buffer(m.values[v])), [](void*) {});
    values.emplace_back();
    for (int64_t i = 0, n = staged.count(); i < n; ++i) values.back().push_back(staged.get(i));
  }
  failure_ = sink_.occur(static_cast<size_t>(effect), at, std::move(values));
  return !failure_;
}

}  // namespace tempo
