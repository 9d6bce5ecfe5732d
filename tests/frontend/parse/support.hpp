// One source text, parsed.
#pragma once

#include <string>

#include "parse/parse.hpp"

namespace tempo {

struct Parsed {
  explicit Parsed(const std::string& text, const std::string& path = "test.tempo")
      : diags(sources), file(parseSource(sources.addFile(path, text), diags)) {}

  std::string tree() const { return ast::print(file, sources); }
  std::string errors() const { return renderHuman(diags, false); }
  /// `E0101 1:5` of each diagnostic, in the order of reporting, separated by `; `.
  std::string codes() const {
    std::string out;
    for (const auto& d : diags.all()) {
      auto [line, column] = sources.file(0).lineColumn(d->primary.span.begin);
      out += (out.empty() ? "" : "; ") + d->code + " " + std::to_string(line) + ":" + std::to_string(column);
    }
    return out;
  }

  Sources sources;
  Diagnostics diags;
  ast::File file;
};

/// The value of the only equation of `y = text`, printed.
inline std::string value(const std::string& text) {
  Parsed p("y = " + text);
  if (p.diags.hasErrors()) return p.errors();
  std::string tree = p.tree();
  size_t begin = tree.find("  value ") + 8;
  return tree.substr(begin, tree.find('\n', begin) - begin);
}

}  // namespace tempo
