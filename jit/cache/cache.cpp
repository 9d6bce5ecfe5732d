#include "cache/cache.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <llvm/Support/BLAKE3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "runtime/io.hpp"

namespace tempo {
namespace {

namespace fs = std::filesystem;
constexpr char kMagic[8] = {'T', 'M', 'P', 'O', 'C', 'A', '0', '1'};
constexpr size_t kSum = 32;
constexpr const char* kSuffix = ".entry";

std::string hex(const uint8_t* p, size_t n) {
  static const char digits[] = "0123456789abcdef";
  std::string s;
  for (size_t i = 0; i < n; ++i) s += {digits[p[i] >> 4], digits[p[i] & 15]};
  return s;
}

void appendLength(std::string* out, uint64_t n) {
  for (int i = 0; i < 8; ++i) *out += static_cast<char>(n >> (8 * i));
}

uint64_t lengthAt(const std::string& s, size_t at) {
  uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | static_cast<unsigned char>(s[at + i]);
  return n;
}

std::string checksum(std::string_view bytes) {
  llvm::BLAKE3 h;
  h.update(llvm::StringRef(bytes.data(), bytes.size()));
  const auto sum = h.final<kSum>();
  return {reinterpret_cast<const char*>(sum.data()), kSum};
}

/// The GNU build id note of the main program, "" without one.
std::string linkerBuildId() {
  std::string id;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_NOTE) continue;
          const char* p = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
          const char* end = p + segment.p_memsz;
          while (p + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, p, sizeof note);
            const char* name = p + sizeof note;
            const char* data = name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
              *static_cast<std::string*>(out) = hex(reinterpret_cast<const uint8_t*>(data), note.n_descsz);
            }
            p = data + (note.n_descsz + 3) / 4 * 4;
          }
        }
        return 1;  // the first object is the program itself
      },
      &id);
  return id;
}

std::string makeBuildId() {
  const std::string id = linkerBuildId();
  if (!id.empty()) return id;
  try {
    return cacheKey({readWholeFile("/proc/self/exe")});
  } catch (const FileError&) {
    return "unknown build " __DATE__ " " __TIME__;
  }
}

struct Entry {
  fs::path path;
  int64_t bytes = 0;
  fs::file_time_type used;
};

std::vector<Entry> entriesOf(const std::string& folder) {
  std::vector<Entry> all;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code gone;
    if (it->path().extension() != kSuffix) continue;
    const auto size = it->file_size(gone);
    const auto used = it->last_write_time(gone);
    if (!gone) all.push_back({it->path(), static_cast<int64_t>(size), used});
  }
  return all;
}

bool makeFolder(const std::string& folder) {
  std::error_code ec;
  fs::create_directories(fs::path(folder).parent_path(), ec);
  if (::mkdir(folder.c_str(), 0700) == 0) return true;
  // An existing folder is trusted with compiled code only if it is ours alone.
  struct stat st {};
  return ::lstat(folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::geteuid() && (st.st_mode & 022) == 0;
}

}  // namespace

std::string cacheKey(const std::vector<std::string_view>& parts) {
  llvm::BLAKE3 h;
  for (const std::string_view part : parts) {
    std::string length;
    appendLength(&length, part.size());
    h.update(length);
    h.update(llvm::StringRef(part.data(), part.size()));
  }
  const auto sum = h.final<20>();
  return hex(sum.data(), sum.size());
}

const std::string& compilerBuildId() {
  static const std::string id = makeBuildId();
  return id;
}

DiskCache DiskCache::fromEnvironment() {
  const char* off = std::getenv("TEMPO_CACHE");
  if (off && std::strcmp(off, "0") == 0) return {};
  const char* base = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string root;
  if (base && base[0] == '/') {
    root = base;
  } else if (home && *home) {
    root = std::string(home) + "/.cache";
  } else {
    return {};
  }
  int64_t megabytes = 1024;
  if (const char* limit = std::getenv("TEMPO_CACHE_MAX_MB")) megabytes = std::max(1LL, std::atoll(limit));
  return DiskCache(root + "/tempo", megabytes << 20);
}

DiskCache::DiskCache(std::string folder, int64_t limitBytes) : folder_(std::move(folder)), limit_(limitBytes) {}

std::string DiskCache::path(const std::string& key) const { return folder_ + "/" + key + kSuffix; }

std::optional<std::vector<std::string>> DiskCache::get(const std::string& key) const {
  if (!enabled()) return std::nullopt;
  struct stat st {};
  if (::lstat(folder_.c_str(), &st) != 0 || st.st_uid != ::geteuid() || (st.st_mode & 022) != 0) return std::nullopt;
  std::string bytes;
  try {
    bytes = readWholeFile(path(key));
  } catch (const FileError&) {
    return std::nullopt;
  }
  const size_t head = sizeof kMagic + kSum;
  if (bytes.size() < head || bytes.compare(0, sizeof kMagic, kMagic, sizeof kMagic) != 0) return std::nullopt;
  const std::string_view payload = std::string_view(bytes).substr(head);
  if (checksum(payload) != bytes.substr(sizeof kMagic, kSum)) return std::nullopt;
  std::vector<std::string> sections;
  for (size_t at = head; at < bytes.size();) {
    if (bytes.size() - at < 8) return std::nullopt;
    const uint64_t n = lengthAt(bytes, at);
    if (n > bytes.size() - at - 8) return std::nullopt;
    sections.push_back(bytes.substr(at + 8, n));
    at += 8 + n;
  }
  ::utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);  // mark as used
  return sections;
}

void DiskCache::put(const std::string& key, const std::vector<std::string>& sections) const {
  if (!enabled() || !makeFolder(folder_)) return;
  std::string payload;
  for (const std::string& s : sections) {
    appendLength(&payload, s.size());
    payload += s;
  }
  const std::string bytes = std::string(kMagic, sizeof kMagic) + checksum(payload) + payload;
  try {
    writeFileAtomically(path(key), bytes);
  } catch (const FileError&) {
    return;  // a full disk costs a recompilation, nothing else
  }
  const std::string stamp = folder_ + "/pruned";
  struct stat st {};
  if (::stat(stamp.c_str(), &st) == 0 && std::time(nullptr) - st.st_mtime < 60) return;
  if (const int fd = ::open(stamp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); fd >= 0) {
    ::futimens(fd, nullptr);
    ::close(fd);
  }
  prune();
}

DiskCache::Info DiskCache::info() const {
  Info i{folder_, 0, 0, limit_};
  if (!enabled()) return i;
  for (const Entry& e : entriesOf(folder_)) ++i.entries, i.bytes += e.bytes;
  return i;
}

int64_t DiskCache::clear() const {
  int64_t removed = 0;
  if (!enabled()) return 0;
  for (const Entry& e : entriesOf(folder_)) {
    std::error_code ec;
    removed += fs::remove(e.path, ec) ? 1 : 0;
  }
  return removed;
}

void DiskCache::prune() const {
  std::vector<Entry> all = entriesOf(folder_);
  int64_t total = 0;
  for (const Entry& e : all) total += e.bytes;
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : all) {
    if (total <= limit_) return;
    std::error_code ec;
    if (fs::remove(e.path, ec)) total -= e.bytes;
  }
}

}  // namespace tempo
