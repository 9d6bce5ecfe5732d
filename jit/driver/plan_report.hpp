// What `tempo plan` and `tempo run FILE --help` tell, in the program's names.
#pragma once

#include <string>

#include "ast/ast.hpp"
#include "driver/driver.hpp"
#include "kernel/lower.hpp"
#include "plan/plan.hpp"

namespace tempo {

Signature signatureOf(const ast::File& file, const Sources& sources, const Graph& g);

/// Order of evaluation, where every tensor is kept and in how many bytes (closed forms in the sizes), why, and which sizes
/// are specialised. JSON: {"order", "stores": [{"tensor", "type", "kept", "bytes"}], "bytes", "kernels", "decisions": [{
/// "pass", "subject", "text"}], "specialised"}.
std::string reportPlan(const Plan& plan, const Lowered& lowered, const Sources& sources, bool json);

/// `s` as a JSON string, with quotes.
std::string jsonString(const std::string& s);

}  // namespace tempo
