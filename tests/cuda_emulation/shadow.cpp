#include "cuda_emulation/shadow.hpp"

namespace tempo::emulation {

void Shadow::add(std::string name, const void* data, int64_t bytes, Kind kind) {
  const char* begin = static_cast<const char*>(data);
  Region r{std::move(name), begin, begin + bytes, kind, {}};
  r.cells.resize(static_cast<size_t>(bytes));
  for (auto& c : r.cells) c.defined = kind == Kind::Buffer;
  regions_.push_back(std::move(r));
}

void Shadow::forget(const void* data) {
  if (Region* r = find(static_cast<const char*>(data))) r->cells.assign(r->cells.size(), Cell{});
}

Shadow::Region* Shadow::find(const char* address) {
  auto inside = [&](const Region& r) { return address >= r.begin && address < r.end; };
  if (last_ < regions_.size() && inside(regions_[last_])) return &regions_[last_];
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (!inside(regions_[i])) continue;
    last_ = i;
    return &regions_[i];
  }
  return nullptr;
}

namespace {
std::string thread(int t) { return t == -2 ? "several threads" : "thread " + std::to_string(t); }
bool otherBlock(uint64_t epoch, const Clock& c) { return epoch >= c.launchStart && epoch < c.blockStart; }
}  // namespace

std::string Shadow::onRead(Cell& c, int t, const Clock& clock, Kind kind) {
  if (!c.defined && kind != Kind::Buffer) return "reads what nothing has written";
  if (c.written == clock.now && c.writer != t) return "reads what " + thread(c.writer) + " wrote since the last barrier";
  if (otherBlock(c.written, clock)) return "reads what another block wrote in this launch";
  if (otherBlock(c.read, clock)) c.readByBlocks = clock.launchStart;
  c.reader = c.read == clock.now && c.reader != t ? -2 : t;
  c.read = clock.now;
  return "";
}

std::string Shadow::onWrite(Cell& c, int t, const Clock& clock) {
  if (c.written == clock.now && c.writer != t) return "writes what " + thread(c.writer) + " wrote since the last barrier";
  if (c.read == clock.now && c.reader != t) return "writes what " + thread(c.reader) + " read since the last barrier";
  if (otherBlock(c.written, clock)) return "writes what another block wrote in this launch";
  if (otherBlock(c.read, clock) || c.readByBlocks == clock.launchStart) return "writes what another block read in this launch";
  c.writer = t;
  c.written = clock.now;
  c.defined = true;
  return "";
}

std::string Shadow::access(const void* address, int64_t bytes, bool write, int t, const Clock& clock) {
  const char* p = static_cast<const char*>(address);
  Region* r = find(p);
  if (!r || p + bytes > r->end) {
    std::string where = r ? "past the end of `" + r->name + "`" : "outside every buffer of the kernel";
    if (!r) {
      for (const auto& near : regions_) {
        const int64_t before = near.begin - p, after = p - near.end;
        if ((before > 0 && before <= 4096) || (after >= 0 && after <= 4096)) {
          where = "outside `" + near.name + "`, at byte " + std::to_string(p - near.begin) + " of " +
                  std::to_string(near.end - near.begin);
        }
      }
    }
    return thread(t) + (write ? " writes " : " reads ") + where;
  }
  for (int64_t i = 0; i < bytes; ++i) {
    Cell& c = r->cells[static_cast<size_t>(p + i - r->begin)];
    const std::string problem = write ? onWrite(c, t, clock) : onRead(c, t, clock, r->kind);
    if (!problem.empty()) {
      return "`" + r->name + "` byte " + std::to_string(p + i - r->begin) + ": " + thread(t) + " " + problem;
    }
  }
  return "";
}

}  // namespace tempo::emulation
