// Why something did not happen, as data. Diagnostics of source text are in `Diagnostics`; everything else is a Failure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tempo {

struct Failure {
  enum class Kind : uint8_t {
    Usage,        // what the user asked for makes no sense: a setting, an input, a file name
    Compile,      // the program has errors (they are in the Diagnostics) or cannot be compiled for the device
    Run,          // the program failed while it ran: an assert, an index, a file
    Interrupted,  // stopped by a signal; outputs hold what was computed
  };
  Kind kind = Kind::Run;
  std::string message;      // lower case, one sentence, no full stop
  std::string place;        // `f.tempo:9:3`, an input, a file; "" if there is none
  std::string help;         // what to do; may be empty
};

/// A value or the reason there is none.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}             // NOLINT(google-explicit-constructor)
  Result(Failure failure) : state_(std::move(failure)) {}   // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

}  // namespace tempo
