#include "runtime/io_text.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tempo {

ArrayHeader readTextHeader(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) throw FileError(path, std::strerror(errno));
  if (!S_ISREG(st.st_mode)) throw FileError(path, S_ISDIR(st.st_mode) ? "is a folder" : "is not a regular file");
  return {DType::U8, {static_cast<int64_t>(st.st_size)}};
}

Array readText(const std::string& path) {
  readTextHeader(path);
  const std::string text = readWholeFile(path);
  Array a = allocateArray(DType::U8, {static_cast<int64_t>(text.size())});
  if (!text.empty()) std::memcpy(a.data.get(), text.data(), text.size());
  return a;
}

void writeText(const std::string& path, const Array& array) {
  const int64_t n = array.count();
  if (array.dtype == DType::U8 && array.shape.size() == 1) {
    writeFileAtomically(path, {array.as<char>(), static_cast<size_t>(n)});
    return;
  }
  const int64_t columns = array.shape.size() > 1 ? array.shape.back() : 1;
  std::string text;
  for (int64_t i = 0; i < n; ++i) {
    char number[40];
    std::snprintf(number, sizeof number, array.dtype == DType::F64 ? "%.17g" : "%.9g", array.get(i));
    text += number;
    text += (i + 1) % columns == 0 ? '\n' : ' ';
  }
  writeFileAtomically(path, text);
}

}  // namespace tempo
