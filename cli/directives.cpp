#include "directives.hpp"

#include <cmath>
#include <cstdlib>
#include <optional>

#include "runtime/io.hpp"

namespace tempo::cli {
namespace {

std::string trimmed(const std::string& s) {
  const size_t a = s.find_first_not_of(" \t\r");
  return a == std::string::npos ? "" : s.substr(a, s.find_last_not_of(" \t\r") - a + 1);
}

/// Splits at `separator` outside brackets and strings; every piece trimmed, empty ones dropped.
std::vector<std::string> split(const std::string& s, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  bool quoted = false;
  for (const char c : s) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '(' || c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ')' || c == ']' || c == '}')) --depth;
    if (c == separator && depth == 0 && !quoted) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  parts.push_back(trimmed(part));
  std::erase(parts, "");
  return parts;
}

/// The last `needle` outside brackets, npos if there is none.
size_t findOutside(const std::string& s, const std::string& needle) {
  int depth = 0;
  size_t found = std::string::npos;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '(' || s[i] == '[') ++depth;
    if (s[i] == ')' || s[i] == ']') --depth;
    if (depth == 0 && s.compare(i, needle.size(), needle) == 0) found = i;
  }
  return found;
}

class ValueReader {
 public:
  explicit ValueReader(const std::string& s) : s_(s) {}
  bool read(Array* out) {
    if (!item(0)) return false;
    space();
    if (at_ != s_.size()) return false;
    *out = Array::zeros(DType::F64, shape_);
    for (size_t i = 0; i < values_.size(); ++i) out->set(static_cast<int64_t>(i), values_[i]);
    return true;
  }

 private:
  void space() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool item(size_t depth) {
    if (!take('[')) return leaf(depth);
    int64_t n = 0;
    if (!take(']')) {
      do {
        if (!item(depth + 1)) return false;
        ++n;
      } while (take(','));
      if (!take(']')) return false;
    }
    if (shape_.size() <= depth) shape_.resize(depth + 1, -1);
    if (shape_[depth] >= 0 && shape_[depth] != n) return false;
    shape_[depth] = n;
    return true;
  }
  bool leaf(size_t depth) {
    space();
    if (leafDepth_ && *leafDepth_ != depth) return false;
    leafDepth_ = depth;
    static const std::pair<const char*, double> words[] = {
        {"true", 1}, {"false", 0}, {"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    for (const auto& [word, v] : words) {
      const size_t n = std::char_traits<char>::length(word);
      if (s_.compare(at_, n, word) == 0) {
        at_ += n;
        values_.push_back(v);
        return true;
      }
    }
    const char* begin = s_.c_str() + at_;
    char* end = nullptr;
    const double v = std::strtod(begin, &end);
    if (end == begin) return false;
    at_ += end - begin;
    values_.push_back(v);
    return true;
  }

  const std::string& s_;
  size_t at_ = 0;
  std::vector<int64_t> shape_;
  std::vector<double> values_;
  std::optional<size_t> leafDepth_;
};

/// `T=4 x=[1, 2]`: lists are inputs (where there can be any), everything else is a setting.
bool parseBindings(const std::string& text, std::map<std::string, std::string>* settings,
                   std::map<std::string, Array>* inputs = nullptr, std::vector<std::string>* order = nullptr) {
  for (const std::string& item : split(text, ' ')) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size()) return false;
    const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
    if (value[0] != '[') {
      (*settings)[name] = value;
      if (order) order->push_back(name);
      continue;
    }
    if (!inputs || !parseValue(value, &(*inputs)[name])) return false;
  }
  return true;
}

std::optional<std::string> parseComparands(const std::string& text, Directive* d) {
  for (const std::string& part : split(text, ';')) {
    const size_t equals = findOutside(part, "==");
    if (equals == std::string::npos) return "`" + part + "` compares nothing: write `expression == value`";
    Comparand c;
    c.expression = trimmed(part.substr(0, equals));
    std::string value = trimmed(part.substr(equals + 2));
    if (const size_t tilde = findOutside(value, "~"); tilde != std::string::npos) {
      char* end = nullptr;
      const std::string number = trimmed(value.substr(tilde + 1));
      c.tolerance = std::strtod(number.c_str(), &end);
      if (*end || number.empty()) return "`" + number + "` is not a tolerance";
      value = trimmed(value.substr(0, tilde));
    }
    if (c.expression.empty()) return "there is nothing left of `==`";
    if (!parseValue(value, &c.expected)) return "`" + value + "` is not a value: numbers, or lists of one shape";
    d->comparands.push_back(std::move(c));
  }
  if (d->comparands.empty()) return "a test needs `expression == value`";
  return std::nullopt;
}

std::optional<std::string> parseGroups(const std::string& text, Directive* d) {
  for (const std::string& group : split(text, ',')) {
    std::map<std::string, std::string> settings;
    if (!parseBindings(group, &settings)) return "`" + group + "` is not a list of NAME=NUMBER";
    d->settings.push_back(std::move(settings));
  }
  if (d->settings.empty()) d->settings.emplace_back();
  return std::nullopt;
}

/// Fills a directive from its words before and after the colon; a reason if it is malformed.
std::optional<std::string> parseOne(const std::string& word, const std::string& head, const std::string& tail, Directive* d) {
  if (word == "test") {
    d->kind = Directive::Kind::Test;
    d->settings.emplace_back();
    if (!parseBindings(head, &d->settings[0], &d->inputs, &d->order)) return "`" + head + "` is not a list of NAME=VALUE";
    return parseComparands(tail, d);
  }
  if (word == "error") {
    d->kind = Directive::Kind::Error;
    d->code = head;
    if (head.size() != 5 || head[0] != 'E') return "`" + head + "` is not an error code";
    for (const std::string& s : split(tail, ';')) d->snippet += s + "\n";
    return std::nullopt;
  }
  std::string number = head;
  if (word == "peak_mem") {
    d->kind = Directive::Kind::PeakMem;
    if (number.rfind("<=", 0) != 0) return "peak_mem wants `<= BYTES`";
    number = trimmed(number.substr(2));
  } else {
    d->kind = Directive::Kind::Compiles;
  }
  char* end = nullptr;
  d->number = std::strtoll(number.c_str(), &end, 10);
  if (number.empty() || *end) return "`" + number + "` is not a number";
  return parseGroups(tail, d);
}

}  // namespace

bool parseValue(const std::string& text, Array* out) { return ValueReader(text).read(out); }

Result<std::vector<Directive>> parseDirectives(const std::string& text, const std::string& path) {
  std::vector<Directive> all;
  bool open = false;
  int line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string s = trimmed(text.substr(at, end - at));
    at = end + 1;
    ++line;
    if (open && s.rfind("##   ", 0) == 0) {
      all.back().text += " " + trimmed(s.substr(2));
      continue;
    }
    open = false;
    if (s.rfind("## ", 0) != 0) continue;
    const std::string body = trimmed(s.substr(3));
    const std::string word = body.substr(0, body.find_first_of(" :"));
    if (word != "test" && word != "error" && word != "compiles" && word != "peak_mem") continue;
    all.emplace_back();
    all.back().line = line;
    all.back().text = body;
    open = true;
  }
  for (Directive& d : all) {
    const std::string place = path + ":" + std::to_string(d.line);
    const std::string word = d.text.substr(0, d.text.find_first_of(" :"));
    const std::string rest = d.text.substr(word.size());
    size_t colon = std::string::npos;
    int depth = 0;
    for (size_t i = 0; i < rest.size() && colon == std::string::npos; ++i) {
      depth += (rest[i] == '[') - (rest[i] == ']');
      if (rest[i] == ':' && depth == 0) colon = i;
    }
    const std::string head = trimmed(rest.substr(0, colon));
    const std::string tail = colon == std::string::npos ? "" : trimmed(rest.substr(colon + 1));
    if (const auto reason = parseOne(word, head, tail, &d)) return Failure{Failure::Kind::Run, *reason, place, "`## " + d.text + "`"};
  }
  return all;
}

}  // namespace tempo::cli
