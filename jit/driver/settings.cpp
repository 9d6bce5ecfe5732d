#include "driver/settings.hpp"

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <vector>

#include "runtime/io.hpp"
#include "sdg/ops.hpp"

namespace tempo {
namespace {

struct Declared {
  enum class Kind : uint8_t { Size, DefinedSize, Option };
  Kind kind = Kind::Size;
  DType dtype = DType::I64;
};

bool namesSomething(const ast::ExprPtr& e) {
  if (!e) return false;
  if (e->kind == ast::Expr::Kind::NameRef || e->kind == ast::Expr::Kind::Member) return true;
  for (const auto& a : e->args) {
    if (namesSomething(a)) return true;
  }
  for (const auto& a : e->callArgs) {
    if (namesSomething(a.value)) return true;
  }
  return false;
}

std::map<std::string, Declared> declarations(const ast::File& file) {
  std::map<std::string, Declared> all;
  for (const auto& s : file.stmts) {
    for (const auto& d : s->dims) all[d.size.text] = {};
    for (const auto& d : s->sizeDecls) {
      all[d.name.text].kind = namesSomething(d.value) ? Declared::Kind::DefinedSize : Declared::Kind::Size;
    }
    if (s->kind == ast::Stmt::Kind::Option) {
      DType dtype = DType::F32;
      if (s->type && s->type->dtype) {
        dtype = *s->type->dtype;
      } else if (s->value && s->value->kind == ast::Expr::Kind::Bool) {
        dtype = DType::Bool;
      } else if (s->value && s->value->kind == ast::Expr::Kind::Number && !s->value->isFloat) {
        dtype = DType::I64;
      }
      all[s->name.text] = {Declared::Kind::Option, dtype};
    }
  }
  return all;
}

bool parseInteger(const std::string& s, int64_t* out) {
  char* end = nullptr;
  errno = 0;
  *out = std::strtoll(s.c_str(), &end, 10);
  return !s.empty() && !std::isspace(static_cast<unsigned char>(s[0])) && *end == 0 && errno == 0;
}

bool parseFloat(const std::string& s, double* out) {
  char* end = nullptr;
  *out = std::strtod(s.c_str(), &end);
  return !s.empty() && !std::isspace(static_cast<unsigned char>(s[0])) && *end == 0;
}

Failure usage(const std::string& name, const std::string& value, std::string message, std::string help = "") {
  return {Failure::Kind::Usage, std::move(message), "-s " + name + "=" + value, std::move(help)};
}

Failure unknownName(const std::string& name, const std::string& value, const std::map<std::string, Declared>& all) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& [n, d] : all) {
    if (d.kind == Declared::Kind::DefinedSize) continue;
    names.push_back(n);
    list += (list.empty() ? "`" : ", `") + n + "`";
  }
  const std::string near = nearestName(name, names);
  const std::string help = !near.empty()  ? "did you mean `" + near + "`?"
                           : list.empty() ? "the program has nothing to set"
                                          : "it has " + list;
  return usage(name, value, "the program has no size or option `" + name + "`", help);
}

}  // namespace

Result<TypedSettings> typeSettings(const ast::File& file, const std::map<std::string, std::string>& settings) {
  const auto all = declarations(file);
  TypedSettings typed;
  for (const auto& [name, value] : settings) {
    const auto it = all.find(name);
    if (it == all.end()) return unknownName(name, value, all);
    const Declared& d = it->second;
    int64_t integer = 0;
    double real = 0;
    if (d.kind == Declared::Kind::DefinedSize) {
      return usage(name, value, "`" + name + "` is computed from other sizes and cannot be set");
    }
    if (d.kind == Declared::Kind::Size) {
      if (!parseInteger(value, &integer)) return usage(name, value, "`" + name + "` is a size: an integer, not `" + value + "`");
      if (integer < 0) return usage(name, value, "`" + name + "` is a size: at least 0");
      typed.sizes[name] = integer;
    } else if (d.dtype == DType::Bool) {
      if (value != "true" && value != "false") {
        return usage(name, value, "`" + name + "` is a bool: true or false, not `" + value + "`");
      }
      typed.options[name] = value == "true";
    } else if (isInt(d.dtype)) {
      if (!parseInteger(value, &integer) || roundTo(d.dtype, static_cast<double>(integer)) != static_cast<double>(integer)) {
        return usage(name, value, "`" + name + "` is an integer (" + tempo::name(d.dtype) + "), not `" + value + "`");
      }
      typed.options[name] = static_cast<double>(integer);
    } else {
      if (!parseFloat(value, &real)) return usage(name, value, "`" + name + "` is a number, not `" + value + "`");
      typed.options[name] = real;
    }
  }
  return typed;
}

}  // namespace tempo
