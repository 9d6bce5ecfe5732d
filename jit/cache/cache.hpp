// The compile cache on disk: byte strings under content hashes, in $XDG_CACHE_HOME/tempo (or ~/.cache/tempo), mode 0700.
// Entries are renamed into place whole, carry a checksum, and are pruned, least recently used first, past a size limit.
// A damaged or truncated entry reads as absent. Nothing here fails a run: without a writable folder there is no cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tempo {

/// Hash of a list of texts, in hexadecimal; ("a", "bc") and ("ab", "c") differ.
std::string cacheKey(const std::vector<std::string_view>& parts);
/// Identifies this build of the compiler: the linker's build id of the running binary, or a hash of its contents.
const std::string& compilerBuildId();

class DiskCache {
 public:
  struct Info {
    std::string folder;
    int64_t entries = 0, bytes = 0, limit = 0;
  };

  /// The folder by environment. TEMPO_CACHE=0 disables; TEMPO_CACHE_MAX_MB sets the limit (1024).
  static DiskCache fromEnvironment();
  explicit DiskCache(std::string folder, int64_t limitBytes = int64_t{1} << 30);
  /// A cache that holds nothing.
  DiskCache() = default;

  bool enabled() const { return !folder_.empty(); }
  /// The sections put under `key`.
  std::optional<std::vector<std::string>> get(const std::string& key) const;
  void put(const std::string& key, const std::vector<std::string>& sections) const;
  Info info() const;
  /// Removes every entry; returns how many.
  int64_t clear() const;
  /// Down to the limit. `put` calls it at most once a minute.
  void prune() const;

 private:
  std::string path(const std::string& key) const;
  std::string folder_;
  int64_t limit_ = 0;
};

}  // namespace tempo
