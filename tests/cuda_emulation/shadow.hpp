// Shadow memory: who last touched each byte, to find accesses that no barrier orders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempo::emulation {

/// Time is counted in epochs: one begins with every block and after every barrier. Blocks run one after the other, so an
/// epoch also says which block it belongs to.
struct Clock {
  uint64_t now = 1;
  uint64_t blockStart = 1;
  uint64_t launchStart = 1;
};

class Shadow {
 public:
  enum class Kind { Buffer, Scratch, Shared };

  void clear() { regions_.clear(); }
  /// Bytes [data, data + bytes) may be accessed. Scratch and shared memory start out undefined.
  void add(std::string name, const void* data, int64_t bytes, Kind kind);
  /// Makes the bytes of a scratch or shared region undefined again.
  void forget(const void* data);
  /// Notes an access of `thread`. Returns what is wrong with it, or an empty string.
  std::string access(const void* address, int64_t bytes, bool write, int thread, const Clock& clock);

 private:
  struct Cell {
    uint64_t written = 0, read = 0;     // epochs of the last ones
    uint64_t readByBlocks = 0;          // start of the launch in which several blocks have read it
    int32_t writer = -1, reader = -1;   // threads; reader -2: several
    bool defined = false;
  };
  struct Region {
    std::string name;
    const char* begin;
    const char* end;
    Kind kind;
    std::vector<Cell> cells;
  };
  Region* find(const char* address);
  std::string onRead(Cell& c, int thread, const Clock& clock, Kind kind);
  std::string onWrite(Cell& c, int thread, const Clock& clock);

  std::vector<Region> regions_;
  size_t last_ = 0;
};

}  // namespace tempo::emulation
