// Numbers, strings and index expressions as bytes, for images of compiled programs in the cache. A reader of damaged bytes
// throws ImageError; the cache's checksum makes that a matter of bugs, not of disks.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "index/ix.hpp"

namespace tempo {

struct ImageError : std::runtime_error {
  using runtime_error::runtime_error;
};

class ImageWriter {
 public:
  void number(int64_t v);
  void text(const std::string& s);
  void real(double v);
  void ix(const Ix& e);
  void cond(const Cond& c);
  template <class T, class F>
  void list(const std::vector<T>& items, F&& each) {
    number(static_cast<int64_t>(items.size()));
    for (const T& item : items) each(item);
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

class ImageReader {
 public:
  explicit ImageReader(const std::string& bytes) : in_(bytes) {}
  int64_t number();
  std::string text();
  double real();
  Ix ix();
  Cond cond();
  /// Calls `each` as often as the list is long.
  template <class F>
  void list(F&& each) {
    for (int64_t n = count(); n > 0; --n) each();
  }
  bool atEnd() const { return at_ == in_.size(); }

 private:
  int64_t count();
  const std::string& in_;
  size_t at_ = 0;
};

}  // namespace tempo
