// Interned names. A Sym is a 32-bit id; equal names have equal ids, so comparing and hashing cost nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tempo {

class Sym {
 public:
  Sym() = default;
  /// Interns `name`. Thread safe.
  static Sym get(std::string_view name);
  /// A name nobody has interned so far, formed from `base` and a number.
  static Sym fresh(std::string_view base);

  const std::string& name() const;
  uint32_t id() const { return id_; }
  explicit operator bool() const { return id_ != 0; }
  friend auto operator<=>(Sym, Sym) = default;

 private:
  explicit Sym(uint32_t id) : id_(id) {}
  uint32_t id_ = 0;
};

}  // namespace tempo

template <>
struct std::hash<tempo::Sym> {
  size_t operator()(tempo::Sym s) const noexcept { return s.id(); }
};
