// The .npy format, versions 1 to 3: f64 f32 f16 i64 i32 i8 u8 bool and bf16 (as ml_dtypes stores it, `V2`), little-endian,
// C or Fortran order. Big-endian files are refused. bf16 is written as f32, which every reader knows.
#pragma once

#include <string>
#include <string_view>

#include "runtime/io.hpp"

namespace tempo {

struct NpyHeader {
  ArrayHeader array;
  bool fortranOrder = false;
  size_t dataOffset = 0;
};

/// Parses the head of a file; `bytes` may end anywhere after the header. `path` is for messages. Throws FileError.
NpyHeader parseNpyHeader(std::string_view bytes, const std::string& path);
ArrayHeader readNpyHeader(const std::string& path);
/// Large files are mapped, not read.
Array readNpy(const std::string& path);
/// The array in the bytes of a whole .npy file.
Array parseNpy(std::string_view bytes, const std::string& path);
/// The bytes before the data, padded to a multiple of 64.
std::string npyHeaderText(DType dtype, const std::vector<int64_t>& shape);
/// The array as written: bf16 becomes f32.
Array npyWritable(const Array& array);
void writeNpy(const std::string& path, const Array& array);

}  // namespace tempo
