#include "runtime/io_npy.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>

namespace tempo {
namespace {

constexpr size_t kMapFrom = 1 << 20;
constexpr size_t kMaxHeader = 1 << 20;

/// A reader of the Python dict literal in the header: strings, True, False and tuples of integers.
class DictReader {
 public:
  DictReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  [[noreturn]] void fail() const { throw FileError(path_, "the npy header is damaged"); }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string string() {
    space();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"') fail();
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail();
    std::string s(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    space();
    if (text_.substr(at_, 4) == "True") return at_ += 4, true;
    if (text_.substr(at_, 5) == "False") return at_ += 5, false;
    fail();
  }
  int64_t integer() {
    space();
    int64_t v = 0;
    size_t digits = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_, ++digits) {
      if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, text_[at_] - '0', &v)) fail();
    }
    if (!digits) fail();
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return v;
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!take(')')) {
      values.push_back(integer());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  /// A descr that is not a string describes a record.
  bool atString() {
    space();
    return at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
  }

 private:
  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

DType dtypeOfDescr(const std::string& descr, const std::string& path) {
  if (descr.size() >= 2 && descr[0] == '>' && descr.substr(1) != "i1" && descr.substr(1) != "u1") {
    throw FileError(path, "the values are big-endian (`" + descr + "`); save them with a.astype(a.dtype.newbyteorder('<'))");
  }
  static const std::pair<const char*, DType> kinds[] = {
      {"f8", DType::F64}, {"f4", DType::F32}, {"f2", DType::F16}, {"V2", DType::BF16}, {"i8", DType::I64},
      {"i4", DType::I32}, {"i1", DType::I8},  {"u1", DType::U8},  {"b1", DType::Bool}};
  const std::string kind = descr.empty() ? "" : descr.substr(1);
  for (const auto& [text, dtype] : kinds) {
    if (kind == text || (descr == "?" && dtype == DType::Bool)) return dtype;
  }
  throw FileError(path, "numpy dtype `" + descr + "` is none of f64 f32 bf16 f16 i64 i32 i8 u8 bool; convert it with astype");
}

const char* descrOf(DType t) {
  switch (t) {
    case DType::F64: return "<f8";
    case DType::F32: return "<f4";
    case DType::F16: return "<f2";
    case DType::BF16: return "<V2";
    case DType::I64: return "<i8";
    case DType::I32: return "<i4";
    case DType::I8: return "|i1";
    case DType::U8: return "|u1";
    case DType::Bool: return "|b1";
  }
  return "";
}

NpyHeader parseDict(std::string_view text, const std::string& path) {
  DictReader in(text, path);
  std::optional<DType> dtype;
  std::optional<bool> fortran;
  std::optional<std::vector<int64_t>> shape;
  in.expect('{');
  while (!in.take('}')) {
    const std::string key = in.string();
    in.expect(':');
    if (key == "descr") {
      if (!in.atString()) throw FileError(path, "the array holds records; save its fields as arrays of their own");
      dtype = dtypeOfDescr(in.string(), path);
    } else if (key == "fortran_order") {
      fortran = in.boolean();
    } else if (key == "shape") {
      shape = in.tuple();
    } else {
      in.fail();
    }
    if (!in.take(',')) {
      in.expect('}');
      break;
    }
  }
  if (!dtype || !fortran || !shape) in.fail();
  return {{*dtype, *shape}, *fortran, 0};
}

/// Bytes of the data, refusing a shape whose size does not fit.
size_t dataBytes(const ArrayHeader& h, const std::string& path) {
  int64_t total = bytes(h.dtype);
  for (const int64_t n : h.shape) {
    if (__builtin_mul_overflow(total, n, &total)) throw FileError(path, "the shape in the header is too large");
  }
  return static_cast<size_t>(total);
}

void checkLength(size_t have, size_t want, const ArrayHeader& h, const std::string& path) {
  if (have == want) return;
  const std::string promise = std::string(name(h.dtype)) + shapeString(h.shape) + ", which takes " + std::to_string(want) +
                              " bytes; there are " + std::to_string(have);
  throw FileError(path, (have < want ? "the file is cut short: the header promises " : "the header promises ") + promise);
}

/// Column-major to row-major.
Array fromFortran(const char* data, const ArrayHeader& h) {
  Array out = allocateArray(h.dtype, h.shape);
  const size_t rank = h.shape.size(), width = bytes(h.dtype);
  std::vector<int64_t> stride(rank, 1), at(rank, 0);
  for (size_t k = 1; k < rank; ++k) stride[k] = stride[k - 1] * h.shape[k - 1];
  char* to = out.as<char>();
  int64_t from = 0;
  for (int64_t i = 0, n = out.count(); i < n; ++i) {
    std::memcpy(to + i * width, data + from * width, width);
    for (size_t k = rank; k-- > 0;) {
      from += stride[k];
      if (++at[k] < h.shape[k]) break;
      from -= stride[k] * h.shape[k];
      at[k] = 0;
    }
  }
  return out;
}

Array fromData(const char* data, const NpyHeader& h) {
  if (h.fortranOrder && h.array.shape.size() > 1) return fromFortran(data, h.array);
  Array out = allocateArray(h.array.dtype, h.array.shape);
  if (out.sizeBytes()) std::memcpy(out.data.get(), data, out.sizeBytes());
  return out;
}

struct Descriptor {
  int fd = -1;
  size_t size = 0;
  explicit Descriptor(const std::string& path) {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat st {};
    if (fd < 0 || ::fstat(fd, &st) != 0) throw FileError(path, std::strerror(errno));
    if (!S_ISREG(st.st_mode)) {
      ::close(fd);
      throw FileError(path, S_ISDIR(st.st_mode) ? "is a folder" : "is not a regular file");
    }
    size = static_cast<size_t>(st.st_size);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd); }
};

std::string readHead(const Descriptor& file, size_t limit, const std::string& path) {
  std::string head(std::min(file.size, limit), '\0');
  size_t got = 0;
  while (got < head.size()) {
    const ssize_t n = ::pread(file.fd, head.data() + got, head.size() - got, got);
    if (n < 0) throw FileError(path, std::strerror(errno));
    if (n == 0) break;
    got += n;
  }
  head.resize(got);
  return head;
}

NpyHeader headerOf(const Descriptor& file, const std::string& path) {
  const std::string head = readHead(file, kMaxHeader + 16, path);
  NpyHeader h = parseNpyHeader(head, path);
  checkLength(file.size - h.dataOffset, dataBytes(h.array, path), h.array, path);
  return h;
}

}  // namespace

NpyHeader parseNpyHeader(std::string_view bytes, const std::string& path) {
  if (bytes.size() < 6 || bytes.substr(0, 6) != "\x93NUMPY") throw FileError(path, "is not an npy file");
  if (bytes.size() < 10) throw FileError(path, "the file is cut short in the npy header");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) throw FileError(path, "npy version " + std::to_string(version) + " is not known");
  const size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) throw FileError(path, "the file is cut short in the npy header");
  size_t length = 0;
  for (size_t i = start; i-- > 8;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kMaxHeader) throw FileError(path, "the npy header is damaged");
  if (bytes.size() < start + length) throw FileError(path, "the file is cut short in the npy header");
  NpyHeader h = parseDict(bytes.substr(start, length), path);
  h.dataOffset = start + length;
  return h;
}

ArrayHeader readNpyHeader(const std::string& path) {
  const Descriptor file(path);
  return headerOf(file, path).array;
}

Array readNpy(const std::string& path) {
  const Descriptor file(path);
  const NpyHeader h = headerOf(file, path);
  const bool transposed = h.fortranOrder && h.array.shape.size() > 1;
  if (file.size < kMapFrom) return fromData(readHead(file, file.size, path).data() + h.dataOffset, h);
  void* base = ::mmap(nullptr, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd, 0);
  if (base == MAP_FAILED) throw FileError(path, std::strerror(errno));
  std::shared_ptr<void> map(base, [size = file.size](void* p) { ::munmap(p, size); });
  char* data = static_cast<char*>(base) + h.dataOffset;
  if (transposed || h.dataOffset % 64 != 0) return fromData(data, h);
  Array out;
  out.dtype = h.array.dtype;
  out.shape = h.array.shape;
  out.data = std::shared_ptr<void>(map, data);
  return out;
}

Array parseNpy(std::string_view bytes, const std::string& path) {
  const NpyHeader h = parseNpyHeader(bytes, path);
  checkLength(bytes.size() - h.dataOffset, dataBytes(h.array, path), h.array, path);
  return fromData(bytes.data() + h.dataOffset, h);
}

std::string npyHeaderText(DType dtype, const std::vector<int64_t>& shape) {
  std::string dict = std::string("{'descr': '") + descrOf(dtype) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) dict += (i ? ", " : "") + std::to_string(shape[i]);
  dict += shape.size() == 1 ? ",), }" : "), }";
  const bool wide = dict.size() + 64 > 65535;
  const size_t start = wide ? 12 : 10;
  const size_t total = (start + dict.size() + 1 + 63) / 64 * 64;
  dict.append(total - start - dict.size() - 1, ' ');
  dict += '\n';
  std::string head = "\x93NUMPY";
  head += wide ? '\2' : '\1';
  head += '\0';
  for (size_t i = 0; i < start - 8; ++i) head += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return head + dict;
}

Array npyWritable(const Array& array) {
  if (array.dtype != DType::BF16) return array;
  Array wide = allocateArray(DType::F32, array.shape);
  for (int64_t i = 0, n = array.count(); i < n; ++i) wide.set(i, array.get(i));
  return wide;
}

void writeNpy(const std::string& path, const Array& array) {
  const Array a = npyWritable(array);
  const std::string head = npyHeaderText(a.dtype, a.shape);
  writeAtomically(path, [&](const std::string& temporary) {
    FILE* f = std::fopen(temporary.c_str(), "wbe");
    if (!f) throw FileError(temporary, std::strerror(errno));
    const size_t size = static_cast<size_t>(a.sizeBytes());
    const bool written = std::fwrite(head.data(), 1, head.size(), f) == head.size() &&
                         std::fwrite(a.data.get(), 1, size, f) == size;
    const int error = errno;
    const bool closed = std::fclose(f) == 0;
    if (!written || !closed) throw FileError(temporary, std::strerror(written ? errno : error));
  });
}

}  // namespace tempo
