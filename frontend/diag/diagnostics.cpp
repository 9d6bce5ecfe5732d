#include "check.hpp"
#include "diag/diag.hpp"

namespace tempo {
namespace {

std::unique_ptr<Diagnostic> make(Severity severity, const std::string& code, Span where, std::string message,
                                 std::string label) {
  TEMPO_CHECK(findCode(code), "diagnostic code without a row in codes.def: " + code);
  auto d = std::make_unique<Diagnostic>();
  d->severity = severity;
  d->code = code;
  d->message = std::move(message);
  d->primary = {where, std::move(label)};
  return d;
}

}  // namespace

Diagnostic& Diagnostics::error(const std::string& code, Span where, std::string message, std::string label) {
  auto d = make(Severity::Error, code, where, std::move(message), std::move(label));
  // Beyond the limit the caller still gets a diagnostic to fill in, which nobody sees.
  if (++errors_ > limit) {
    overflow_ = std::move(d);
    return *overflow_;
  }
  all_.push_back(std::move(d));
  return *all_.back();
}

Diagnostic& Diagnostics::warning(const std::string& code, Span where, std::string message, std::string label) {
  all_.push_back(make(Severity::Warning, code, where, std::move(message), std::move(label)));
  return *all_.back();
}

}  // namespace tempo
