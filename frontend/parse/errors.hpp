// What the parser does at a syntax error: say it in the language's terms, then leave the statement. For
// frontend/parse/*.cpp only.
#pragma once

#include <antlr4-runtime.h>

#include "diag/diag.hpp"

namespace tempo::parse {

/// One diagnostic per statement. Errors unwind to the innermost `line` by ParseCancellationException; its catch clause
/// calls recover(), which skips to the end of the statement.
class ErrorStrategy : public antlr4::DefaultErrorStrategy {
 public:
  /// With `silent`, errors are only counted.
  ErrorStrategy(uint32_t source, Diagnostics& diags, bool silent) : source_(source), diags_(diags), silent_(silent) {}

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override;
  void recover(antlr4::Parser* parser, std::exception_ptr e) override;
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void sync(antlr4::Parser*) override {}
  bool failed() const { return failed_; }

 private:
  struct Situation {
    antlr4::Token* found;
    antlr4::misc::IntervalSet expected;
    antlr4::ParserRuleContext* context;
  };
  void report(const Situation& s);
  bool reportSpecial(const Situation& s);
  Span span(antlr4::Token* t) const;

  uint32_t source_;
  Diagnostics& diags_;
  bool silent_;
  bool failed_ = false;
};

}  // namespace tempo::parse
