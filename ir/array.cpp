#include "array.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>

#include "check.hpp"
#include "sdg/float_bits.hpp"
#include "sdg/ops.hpp"

namespace tempo {

Array Array::zeros(DType t, std::vector<int64_t> shape) {
  Array a;
  a.dtype = t;
  a.shape = std::move(shape);
  for (int64_t n : a.shape) TEMPO_CHECK(n >= 0, "negative length in array shape " + shapeString(a.shape));
  size_t size = (size_t(a.sizeBytes()) + 63) / 64 * 64;
  if (size == 0) size = 64;
  void* p = std::aligned_alloc(64, size);
  if (!p) throw std::bad_alloc();
  std::memset(p, 0, size);
  a.data = std::shared_ptr<void>(p, std::free);
  return a;
}

int64_t Array::count() const {
  int64_t n = 1;
  for (int64_t k : shape) TEMPO_CHECK(!__builtin_mul_overflow(n, k, &n), "array too large: " + shapeString(shape));
  return n;
}

double Array::get(int64_t i) const {
  switch (dtype) {
    case DType::F64: return as<double>()[i];
    case DType::F32: return as<float>()[i];
    case DType::BF16: return bf16ToFloat(as<uint16_t>()[i]);
    case DType::F16: return f16ToFloat(as<uint16_t>()[i]);
    case DType::I64: return double(as<int64_t>()[i]);
    case DType::I32: return as<int32_t>()[i];
    case DType::I8: return as<int8_t>()[i];
    case DType::U8: return as<uint8_t>()[i];
    case DType::Bool: return as<uint8_t>()[i] != 0;
  }
  return 0;
}

void Array::set(int64_t i, double v) {
  v = roundTo(dtype, v);
  switch (dtype) {
    case DType::F64: as<double>()[i] = v; break;
    case DType::F32: as<float>()[i] = float(v); break;
    case DType::BF16: as<uint16_t>()[i] = floatToBf16(float(v)); break;
    case DType::F16: as<uint16_t>()[i] = floatToF16(float(v)); break;
    case DType::I64: as<int64_t>()[i] = v >= 0x1p63 ? std::numeric_limits<int64_t>::max() : int64_t(v); break;
    case DType::I32: as<int32_t>()[i] = int32_t(v); break;
    case DType::I8: as<int8_t>()[i] = int8_t(v); break;
    case DType::U8: as<uint8_t>()[i] = uint8_t(v); break;
    case DType::Bool: as<uint8_t>()[i] = v != 0; break;
  }
}

std::string shapeString(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

}  // namespace tempo
