// Host arrays: dense, row-major, 64-byte aligned. The currency of inputs, outputs, the oracle and the runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sdg/dtype.hpp"

namespace tempo {

struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::shared_ptr<void> data;  // may map a file

  static Array zeros(DType t, std::vector<int64_t> shape);
  int64_t count() const;
  int64_t sizeBytes() const { return count() * bytes(dtype); }
  /// Element by flat position, converted.
  double get(int64_t i) const;
  void set(int64_t i, double v);
  template <class T>
  T* as() const {
    return static_cast<T*>(data.get());
  }
};

std::string shapeString(const std::vector<int64_t>& shape);  // "[3, 4]"

}  // namespace tempo
