#include "runtime/io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "check.hpp"
#include "runtime/io_csv.hpp"
#include "runtime/io_npy.hpp"
#include "runtime/io_npz.hpp"
#include "runtime/io_text.hpp"

namespace tempo {
namespace {

bool endsWith(const std::string& s, const char* tail) {
  const size_t n = std::strlen(tail);
  return s.size() >= n && std::equal(s.end() - n, s.end(), tail, [](char a, char b) { return std::tolower(a) == b; });
}

std::pair<double, double> integerRange(DType t) {
  switch (t) {
    case DType::I8: return {-128, 127};
    case DType::U8: return {0, 255};
    case DType::I32: return {-2147483648.0, 2147483647.0};
    default: return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
}

std::string lowered(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

/// Insertions, deletions, replacements and swaps of neighbours.
size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

FileError::FileError(std::string p, std::string r)
    : std::runtime_error(p + ": " + r), path(std::move(p)), reason(std::move(r)) {}

FileRef parseFileRef(const std::string& spec) {
  const size_t colon = spec.rfind(':');
  if (colon == std::string::npos) return {spec, ""};
  const std::string head = spec.substr(0, colon);
  for (const char* extension : {".npz", ".csv", ".tsv"}) {
    if (endsWith(head, extension)) return {head, spec.substr(colon + 1)};
  }
  return {spec, ""};
}

FileFormat formatOf(const std::string& path) {
  if (endsWith(path, ".npy")) return FileFormat::Npy;
  if (endsWith(path, ".npz")) return FileFormat::Npz;
  if (endsWith(path, ".csv") || endsWith(path, ".tsv")) return FileFormat::Csv;
  if (endsWith(path, ".txt")) return FileFormat::Text;
  char magic[6] = {};
  if (FILE* f = std::fopen(path.c_str(), "rb")) {
    const size_t got = std::fread(magic, 1, sizeof magic, f);
    std::fclose(f);
    if (got == 6 && std::memcmp(magic, "\x93NUMPY", 6) == 0) return FileFormat::Npy;
    if (got >= 4 && std::memcmp(magic, "PK\3\4", 4) == 0) return FileFormat::Npz;
  }
  return FileFormat::Text;
}

ArrayHeader readHeader(const FileRef& file) {
  switch (formatOf(file.path)) {
    case FileFormat::Npy: return readNpyHeader(file.path);
    case FileFormat::Npz: return readNpzHeader(file.path, file.member);
    case FileFormat::Csv: return readCsvHeader(file.path, file.member);
    case FileFormat::Text: break;
  }
  return readTextHeader(file.path);
}

Array readArray(const FileRef& file) {
  switch (formatOf(file.path)) {
    case FileFormat::Npy: return readNpy(file.path);
    case FileFormat::Npz: return readNpz(file.path, file.member);
    case FileFormat::Csv: return readCsv(file.path, file.member);
    case FileFormat::Text: break;
  }
  return readText(file.path);
}

std::string writeArray(const FileRef& file, const Array& array) {
  const bool widened = array.dtype == DType::BF16;
  if (endsWith(file.path, ".npy")) {
    writeNpy(file.path, array);
    return widened ? "bf16 is written as f32" : "";
  }
  if (endsWith(file.path, ".npz")) {
    writeNpz(file.path, {{file.member.empty() ? "data" : file.member, array}});
    return widened ? "bf16 is written as f32" : "";
  }
  if (endsWith(file.path, ".csv") || endsWith(file.path, ".tsv")) {
    writeCsv(file.path, array);
    return "";
  }
  if (endsWith(file.path, ".txt")) {
    writeText(file.path, array);
    return "";
  }
  throw FileError(file.path, "the name must end in .npy, .npz, .csv or .txt, which says how to write it");
}

bool convertArray(const Array& from, DType to, Array* out, std::string* reason) {
  if (from.dtype == to) {
    *out = from;
    return true;
  }
  const bool lossy = (isFloat(from.dtype) && !isFloat(to)) || (to == DType::Bool);
  if (lossy) {
    *reason = std::string(name(from.dtype)) + " cannot become " + name(to) + " without loss";
    return false;
  }
  Array result = allocateArray(to, from.shape);
  const auto [low, high] = integerRange(to);
  for (int64_t i = 0, n = from.count(); i < n; ++i) {
    const double v = from.get(i);
    if (isInt(to) && (v < low || v > high)) {
      char text[64];
      std::snprintf(text, sizeof text, "%.0f", v);
      *reason = std::string("value ") + text + " at position " + std::to_string(i) + " does not fit " + name(to);
      return false;
    }
    result.set(i, v);
  }
  *out = std::move(result);
  return true;
}

std::string readWholeFile(const std::string& path) {
  FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) throw FileError(path, std::strerror(errno));
  std::string bytes;
  char block[1 << 16];
  errno = 0;
  while (const size_t got = std::fread(block, 1, sizeof block, f)) bytes.append(block, got);
  const int error = std::ferror(f) ? errno : 0;
  std::fclose(f);
  if (error) throw FileError(path, std::strerror(error));
  return bytes;
}

void writeAtomically(const std::string& path, const std::function<void(const std::string&)>& fill) {
  static std::atomic<unsigned> serial{0};
  const std::string temporary = path + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(serial++);
  try {
    fill(temporary);
  } catch (const FileError& e) {
    ::unlink(temporary.c_str());
    throw FileError(path, e.reason);
  }
  int error = 0;
  const int fd = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::fsync(fd) != 0) error = errno;
  if (fd >= 0) ::close(fd);
  if (!error && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error) {
    ::unlink(temporary.c_str());
    throw FileError(path, std::strerror(error));
  }
}

void writeFileAtomically(const std::string& path, std::string_view bytes) {
  writeAtomically(path, [&](const std::string& temporary) {
    FILE* f = std::fopen(temporary.c_str(), "wbe");
    if (!f) throw FileError(temporary, std::strerror(errno));
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size();
    const int error = errno;
    const bool closed = std::fclose(f) == 0;
    if (!written || !closed) throw FileError(temporary, std::strerror(written ? errno : error));
  });
}

Array allocateArray(DType dtype, std::vector<int64_t> shape) {
  Array a;
  a.dtype = dtype;
  a.shape = std::move(shape);
  const size_t size = (static_cast<size_t>(a.sizeBytes()) + 63) / 64 * 64;
  void* p = std::aligned_alloc(64, size ? size : 64);
  TEMPO_CHECK(p, "out of memory");
  a.data = std::shared_ptr<void>(p, std::free);
  return a;
}

std::string nearestName(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  size_t bestDistance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : names) {
    const bool sameLetters = candidate.size() == name.size() && endsWith(candidate, lowered(name).c_str());
    const size_t d = sameLetters ? 0 : editDistance(name, candidate);
    // A name all of whose letters differ is another name, not a misspelt one.
    if (d < bestDistance && d < name.size()) bestDistance = d, best = candidate;
  }
  return best;
}

}  // namespace tempo
