// `tempo test`: runs the directives of a file.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "command.hpp"
#include "directives.hpp"
#include "parse/parse.hpp"

namespace tempo::cli {
namespace {

/// A program made of the file's text and what a directive adds; errors in it are told at the directive.
struct Trial {
  std::string text;
  std::map<std::string, Array> inputs;
  std::set<std::string> outputs;
};

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\''; }

/// Is the bracket at `i` the start of a list that is a tensor? Not an index (it follows a name or a closing bracket), not a
/// keyword argument (it follows `name =`).
bool startsTensor(const std::string& s, size_t i) {
  size_t k = i;
  while (k > 0 && s[k - 1] == ' ') --k;
  if (k == 0) return true;
  const char before = s[k - 1];
  if (before == '=') return k >= 2 && (s[k - 2] == '=' || s[k - 2] == '<' || s[k - 2] == '>' || s[k - 2] == '!');
  return !isWord(before) && before != ')' && before != ']';
}

/// Replaces lists in an expression by inputs that hold them.
std::string hoistLists(const std::string& expression, Trial* t) {
  std::string out;
  for (size_t i = 0; i < expression.size();) {
    if (expression[i] != '[' || !startsTensor(expression, i)) {
      out += expression[i++];
      continue;
    }
    size_t end = i;
    int depth = 0;
    do {
      depth += (expression[end] == '[') - (expression[end] == ']');
      ++end;
    } while (end < expression.size() && depth > 0);
    const std::string list = expression.substr(i, end - i);
    Array value;
    if (!parseValue(list, &value)) {
      out += list;
    } else {
      const std::string name = "test_list" + std::to_string(t->inputs.size());
      std::string shape;
      for (const int64_t n : value.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
      const bool integers = list.find_first_of(".ea") == std::string::npos;
      const bool booleans = list.find('t') != std::string::npos || list.find("fal") != std::string::npos;
      t->text += "input " + name + " : " + (booleans ? "bool" : integers ? "i32" : "f32") + "[" + shape + "]\n";
      t->inputs[name] = value;
      out += name;
    }
    i = end;
  }
  return out;
}

std::string outputName(size_t i) { return "test_value" + std::to_string(i); }

/// Sizes, options, dims and inputs a file declares.
std::set<std::string> declaredNames(const std::string& path, const std::string& text) {
  Sources sources;
  Diagnostics ignored(sources);
  const ast::File file = parseSource(sources.addFile(path, text), ignored);
  std::set<std::string> names;
  for (const auto& s : file.stmts) {
    for (const auto& d : s->dims) names.insert({d.dim.text, d.size.text});
    for (const auto& z : s->sizeDecls) names.insert(z.name.text);
    for (const auto& i : s->inputItems) names.insert(i.name.text);
    if (s->kind == ast::Stmt::Kind::Option) names.insert(s->name.text);
  }
  return names;
}

std::string lowered(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

/// Declares the dims and inputs of a directive that the file does not have.
void declareMissing(const Directive& d, const std::set<std::string>& declared, Trial* t) {
  std::vector<std::pair<std::string, int64_t>> dims;
  for (const std::string& name : d.order) {
    if (declared.count(name)) continue;
    dims.emplace_back(lowered(name), std::atoll(d.settings[0].at(name).c_str()));
    t->text += "dim " + lowered(name) + " : " + name + "\n";
  }
  for (const auto& [name, array] : d.inputs) {
    if (declared.count(name)) continue;
    std::string over, shape;
    size_t axis = 0;
    for (const auto& [dim, size] : dims) {
      if (axis >= array.shape.size() || array.shape[axis] != size) continue;
      over += (over.empty() ? "" : ", ") + dim;
      ++axis;
    }
    for (; axis < array.shape.size(); ++axis) shape += (shape.empty() ? "" : ", ") + std::to_string(array.shape[axis]);
    t->text += "input " + name + (over.empty() ? "" : "[" + over + "]") + " : f32" + (shape.empty() ? "" : "[" + shape + "]") + "\n";
  }
}

Trial trialOf(const std::string& text, const Directive& d, const std::set<std::string>& declared) {
  Trial t;
  t.text = text + "\n";
  declareMissing(d, declared, &t);
  for (size_t i = 0; i < d.comparands.size(); ++i) {
    const std::string value = hoistLists(d.comparands[i].expression, &t);
    t.text += outputName(i) + " = " + value + "\noutput " + outputName(i) + "\n";
    t.outputs.insert(outputName(i));
  }
  for (const auto& [name, array] : d.inputs) t.inputs[name] = array;
  return t;
}

/// Arrays of a directive are f64; integers and bools must fit what the program declares.
std::map<std::string, Array> typedInputs(const Graph& g, const std::map<std::string, Array>& inputs) {
  std::map<std::string, Array> typed;
  for (const auto& [name, array] : inputs) {
    const Node* node = g.find(name);
    Array a = array;
    if (node && node->dtype != a.dtype) {
      a = allocateArray(node->dtype, array.shape);
      for (int64_t i = 0; i < array.count(); ++i) a.set(i, array.get(i));
    }
    typed[name] = std::move(a);
  }
  return typed;
}

std::string indexText(const std::vector<int64_t>& shape, int64_t flat) {
  std::string s;
  for (size_t k = shape.size(); k-- > 0; flat /= shape[k]) {
    s = std::to_string(flat % shape[k]) + (s.empty() ? "" : ", ") + s;
  }
  return s.empty() ? "" : "[" + s + "]";
}

/// Why two arrays disagree, nothing if they do not.
std::optional<std::string> difference(const Array& got, const Comparand& c) {
  if (got.shape != c.expected.shape) {
    return "has shape " + shapeString(got.shape) + ", expected " + shapeString(c.expected.shape);
  }
  for (int64_t i = 0, n = got.count(); i < n; ++i) {
    const double a = got.get(i), b = c.expected.get(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::abs(a - b) <= c.tolerance * (1 + std::abs(b))) continue;
    char text[96];
    std::snprintf(text, sizeof text, " is %.9g, expected %.9g", a, b);
    return indexText(got.shape, i) + text;
  }
  return std::nullopt;
}

std::string oneLine(const Failure& f, const Diagnostics& diags) {
  if (f.kind == Failure::Kind::Compile && diags.hasErrors()) return "does not compile:\n" + renderHuman(diags, false);
  return (f.place.empty() ? "" : f.place + ": ") + f.message + (f.help.empty() ? "" : " (" + f.help + ")");
}

/// Runs directives of one file. Each returns the reason it fails, if it does.
class Runner {
 public:
  Runner(const Command& c, std::string text, CompileOptions options)
      : command_(c), text_(std::move(text)), options_(std::move(options)) {
    options_.keepEffects = false;
    declared_ = declaredNames(command_.file, text_);
  }

  std::optional<std::string> run(const Directive& d) {
    switch (d.kind) {
      case Directive::Kind::Test: return test(d);
      case Directive::Kind::Error: return error(d);
      case Directive::Kind::Compiles: return compiles(d);
      case Directive::Kind::PeakMem: return peak(d);
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> test(const Directive& d) {
    const Trial t = trialOf(text_, d, declared_);
    CompileOptions options = options_;
    options.onlyOutputs = t.outputs;
    for (const auto& [name, value] : d.settings[0]) options.settings[name] = value;
    for (const auto& [name, array] : t.inputs) options.shapes[name] = {DType::F32, array.shape};
    Sources sources;
    Diagnostics diags(sources);
    auto program = Program::load({command_.file, t.text}, options, diags);
    if (!program) return oneLine(program.failure(), diags);
    RunOptions run;
    run.seed = command_.seed;
    run.threads = command_.threads;
    run.arrays = typedInputs((*program)->graph(), t.inputs);
    const RunResult result = (*program)->run(run);
    if (result.failure) return oneLine(*result.failure, diags);
    for (size_t i = 0; i < d.comparands.size(); ++i) {
      const Array* got = nullptr;
      for (const NamedArray& o : result.outputs) {
        if (o.name == outputName(i)) got = &o.array;
      }
      if (!got) return "`" + d.comparands[i].expression + "` has no value";
      if (const auto why = difference(*got, d.comparands[i])) return "`" + d.comparands[i].expression + "` " + *why;
    }
    return std::nullopt;
  }

  /// The file's statements, those with a left side of the snippet's replaced, then the snippet. A plain left replaces all
  /// pieces of its name; a new left adds a piece.
  std::string replaced(const std::string& snippet) const {
    Sources sources;
    Diagnostics ignored(sources);
    const ast::File old = parseSource(sources.addFile(command_.file, text_), ignored);
    const ast::File added = parseSource(sources.addFile("directive", snippet), ignored);
    std::set<std::string> lefts;
    for (const auto& s : added.stmts) lefts.merge(leftsOf(*s, sources));
    std::string text = text_;
    for (size_t i = old.stmts.size(); i-- > 0;) {
      const ast::Stmt& s = *old.stmts[i];
      const std::set<std::string> mine = leftsOf(s, sources);
      const bool hit = std::any_of(mine.begin(), mine.end(), [&](const std::string& left) {
        return lefts.count(left) || lefts.count(left.substr(0, left.find('[')));
      });
      if (hit) text.replace(s.span.begin, s.span.end - s.span.begin, std::string(s.span.end - s.span.begin, ' '));
    }
    return text + "\n" + snippet;
  }

  /// `s[t]` for an equation, names for declarations; without spaces.
  static std::set<std::string> leftsOf(const ast::Stmt& s, const Sources& sources) {
    std::set<std::string> lefts;
    for (const auto& t : s.targets) {
      std::string left = sources.text(t.span);
      std::erase(left, ' ');
      lefts.insert(left);
    }
    for (const auto& i : s.inputItems) lefts.insert(i.name.text);
    for (const auto& z : s.sizeDecls) lefts.insert(z.name.text);
    for (const auto& z : s.dims) lefts.insert(z.dim.text);
    return lefts;
  }

  std::optional<std::string> error(const Directive& d) {
    Sources sources;
    Diagnostics diags(sources);
    auto program = Program::load({command_.file, replaced(d.snippet)}, options_, diags);
    std::string seen;
    for (const auto& e : diags.all()) {
      if (e->severity != Severity::Error) continue;
      if (e->code == d.code) return std::nullopt;
      seen += (seen.empty() ? "" : ", ") + e->code;
    }
    if (!seen.empty()) return "has " + seen + " instead:\n" + renderHuman(diags, false);
    return program ? "has no error" : oneLine(program.failure(), diags);
  }

  std::optional<std::string> compiles(const Directive& d) {
    Sources sources;
    Diagnostics diags(sources);
    CompileOptions options = options_;
    for (const auto& [name, value] : d.settings[0]) options.settings[name] = value;
    auto program = Program::load({command_.file, text_}, options, diags);
    if (!program) return oneLine(program.failure(), diags);
    for (const auto& group : d.settings) {
      RunOptions run;
      run.settings = group;
      run.sampleInputs = true;
      const RunResult result = (*program)->run(run);
      if (result.failure) return oneLine(*result.failure, diags);
    }
    const int64_t n = (*program)->stats().compilations;
    if (n == d.number) return std::nullopt;
    return "compiled " + std::to_string(n) + " times, expected " + std::to_string(d.number);
  }

  std::optional<std::string> peak(const Directive& d) {
    Sources sources;
    Diagnostics diags(sources);
    CompileOptions options = options_;
    for (const auto& [name, value] : d.settings[0]) options.settings[name] = value;
    auto program = Program::load({command_.file, text_}, options, diags);
    if (!program) return oneLine(program.failure(), diags);
    RunOptions run;
    run.sampleInputs = true;
    const RunResult result = (*program)->run(run);
    if (result.failure) return oneLine(*result.failure, diags);
    if (result.stats.allocatedBytes <= d.number) return std::nullopt;
    return "takes " + std::to_string(result.stats.allocatedBytes) + " bytes, at most " + std::to_string(d.number) + " expected";
  }

  const Command& command_;
  std::string text_;
  CompileOptions options_;
  std::set<std::string> declared_;
};

}  // namespace

int testCommand(const Command& c) {
  const auto options = compileOptions(c);
  if (!options) return tell(options.failure(), nullptr, c.diagnosticFormat());
  std::string text;
  try {
    text = readWholeFile(c.file);
  } catch (const FileError& e) {
    return tell({Failure::Kind::Usage, e.reason, e.path, ""}, nullptr, c.diagnosticFormat());
  }
  const auto directives = parseDirectives(text, c.file);
  if (!directives) return tell(directives.failure(), nullptr, c.diagnosticFormat());
  if (directives->empty()) {
    return tell({Failure::Kind::Run, "has no `## test` line", c.file, "tests are comments: ## test T=4 : y == [1, 2]"}, nullptr,
                c.diagnosticFormat());
  }
  Runner runner(c, text, *options);
  int failed = 0;
  for (const Directive& d : *directives) {
    const auto why = runner.run(d);
    if (!why) continue;
    ++failed;
    std::printf("%s:%d: FAILED: %s\n    ## %s\n", c.file.c_str(), d.line, why->c_str(), d.text.c_str());
  }
  const size_t passed = directives->size() - failed;
  if (!c.quiet || failed) std::printf("%s: %zu passed, %d failed\n", c.file.c_str(), passed, failed);
  return failed ? kFailed : kDone;
}

}  // namespace tempo::cli
