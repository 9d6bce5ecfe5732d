#include <random>

#include "catch.hpp"
#include "frontend/parse/support.hpp"

using tempo::Parsed;

TEST_CASE("syntax errors: code and place", "[parse]") {
  const std::pair<const char*, const char*> cases[] = {
      {"y = softmax(k[0 : t+1] @ q\nz = 3", "E0102 1:12"},
      {"module m() {\n x = 1\n", "E0102 1:12"},
      {"y = (x[t)", "E0103 1:9"},
      {"y = x)", "E0103 1:6"},
      {"}", "E0103 1:1"},
      {"y = \"abc", "E0104 1:5"},
      {"y = 3 ^ 2", "E0105 1:7"},
      {"y = 'a'", "E0105 1:5"},
      {"let in = 3", "E0108 1:5"},
      {"y = x.if", "E0108 1:7"},
      {"in[t] = 3", "E0108 1:1"},
      {"true = 3", "E0108 1:1"},
      {"if = 3", "E0108 1:1"},
      {"y = 0 < x < 1", "E0110 1:5"},
      {"y = if a then b", "E0111 1:16"},
      {"y = if a b else c", "E0111 1:10"},
      {"y = 1 * / 2", "E0101 1:9"},
      {"y = 3 4", "E0101 1:7"},
      {"y = x in z", "E0101 1:5"},
      {"dim t T", "E0101 1:7"},
      {"x = a\n  + b", "E0101 2:3"},
      {"use nn.", "E0101 1:8"},
      {"output y to z", "E0101 1:13"},
  };
  for (auto [text, codes] : cases) {
    CAPTURE(text);
    CHECK(Parsed(text).codes() == codes);
  }
}

TEST_CASE("a mistake does not hide what follows it", "[parse]") {
  Parsed p("a = 3 4\nb = (1,\n  2]\nc = 1\nd = f(\ne = 2 ^ 2\nf = 4\nfn g(x) = { y = 3 3; z = 1 1; y }\nh = * 2\n");
  CHECK(p.codes() == "E0103 3:4; E0105 6:7; E0102 5:6; E0101 1:7; E0101 8:19; E0101 8:28; E0101 9:5");
  std::string names;
  for (const auto& s : p.file.stmts) names += s->targets.empty() ? s->name.text : s->targets[0].name.text;
  CHECK(names == "cfg");
}

TEST_CASE("what was expected is told in words", "[parse]") {
  auto label = [](const std::string& text) { return Parsed(text).diags.all().at(0)->primary.text; };
  CHECK(label("y = *") == "expected an expression");
  CHECK(label("y = 3 4") == "expected an operator or the end of the line");
  CHECK(label("y = f(3 4)") == "expected an operator, `,` or `)`");
  CHECK(label("y = [3 4]") == "expected an operator, `,` or `]`");
  CHECK(label("dim t T") == "expected `:`");
  CHECK(label("size 4") == "expected a name");
  CHECK(label("use 4") == "expected a name or a string in quotes");
  CHECK(label("y = if a then b") == "expected `else` before end of line");
}

TEST_CASE("columns count characters", "[parse]") {
  CHECK(Parsed("x = \"\xC3\xA9\xE2\x82\xAC\" 3").codes() == "E0101 1:10");
  CHECK(Parsed("\ty =\t3 4").codes() == "E0101 1:8");
  CHECK(Parsed("\xEF\xBB\xBFy = 3 4").codes() == "E0101 1:8");
  Parsed p("a = 1\r\ny = \xC3\xA9 + 1\r\n");
  CHECK(p.codes() == "E0105 2:5");
  CHECK(p.diags.all()[0]->message == "`\xC3\xA9` has no meaning here");
}

TEST_CASE("what is not text is refused", "[parse]") {
  using namespace std::string_literals;
  CHECK(Parsed("x = 1\ny = \xFF\n").codes() == "E0106 2:5");
  CHECK(Parsed("x = \xC0\x80").codes() == "E0106 1:5");
  CHECK(Parsed("x = \xED\xA0\x80").codes() == "E0106 1:5");
  CHECK(Parsed("x = \"\0\""s).codes() == "E0106 1:6");
}

TEST_CASE("deep nesting is a diagnostic", "[parse]") {
  auto times = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  const std::string deep[] = {"y = " + times("(", 10000) + "x" + times(")", 10000),
                              "y = " + times("-", 10000) + "x",
                              "y = x" + times(" ** x", 10000),
                              "y = x" + times(" + x", 10000),
                              "y = " + times("if a then b else ", 10000) + "c",
                              "y = x" + times("[0]", 10000),
                              "y = " + times("f(", 10000) + times(")", 10000),
                              "y = " + times("sum[s in 0 : 3] ", 10000) + "x"};
  for (const std::string& text : deep) {
    Parsed p(text + "\nz = 3\n");
    CHECK(p.codes().substr(0, 5) == "E0190");
    CHECK(p.diags.errorCount() == 1);
    CHECK(p.file.stmts.size() == 1);
  }
  CHECK(Parsed("y = " + times("(", 190) + "x" + times(")", 190)).codes() == "");
  CHECK(Parsed("y = x" + times(" + x", 450)).codes() == "");
  CHECK(Parsed("y = [" + times("-1, 2 * f(3), ", 5000) + "0]").codes() == "");
}

TEST_CASE("token soup never crashes, and whatever is built prints", "[parse]") {
  const std::vector<std::string> words = {"x",
                                          "t",
                                          "in",
                                          "if",
                                          "then",
                                          "else",
                                          "sum",
                                          "[",
                                          "]",
                                          "(",
                                          ")",
                                          "{",
                                          "}",
                                          ";",
                                          ",",
                                          "\n",
                                          "\n",
                                          ":",
                                          "=",
                                          "==",
                                          "<",
                                          "+",
                                          "-",
                                          "*",
                                          "**",
                                          "@",
                                          "//",
                                          ".",
                                          "...",
                                          "->",
                                          "1",
                                          "2.5",
                                          "\"s\"",
                                          "\"",
                                          "fn",
                                          "module",
                                          "param",
                                          "dim",
                                          "size",
                                          "input",
                                          "let",
                                          "next",
                                          "output",
                                          "report",
                                          "every",
                                          "when",
                                          "otherwise",
                                          "until",
                                          "to",
                                          "as",
                                          "within",
                                          "for",
                                          "use",
                                          "extern",
                                          "pure",
                                          "from",
                                          "not",
                                          "and",
                                          "true",
                                          "over",
                                          "None",
                                          "0x1",
                                          "^",
                                          "#c\n",
                                          "## t\n",
                                          "\t",
                                          "f32",
                                          "s'",
                                          "x = ",
                                          "fn f(x) = {",
                                          "module m() {",
                                          "sum[s in 0:3]",
                                          "\xC3\xA9",
                                          "\xFF"};
  std::mt19937 random(20240607);
  int clean = 0;
  for (int n = 0; n < 2000; ++n) {
    std::string text;
    for (size_t i = 0, length = random() % 30; i < length; ++i)
      text += words[random() % words.size()] + (random() % 3 ? " " : "");
    Parsed p(text);
    p.tree();
    p.errors();
    tempo::renderJson(p.diags);
    tempo::isIncomplete(text);
    clean += !p.diags.hasErrors();
    for (const auto& d : p.diags.all()) {
      REQUIRE(d->primary.span.begin <= d->primary.span.end);
      REQUIRE(d->primary.span.end <= text.size());
      REQUIRE_FALSE(d->message.empty());
    }
  }
  CHECK(clean > 20);
}

TEST_CASE("a damaged program gives diagnostics, never a crash", "[parse]") {
  const std::string program =
      "use nn, optim\ndim i : I = 200, t : T until done\ninput x[t] : f32[1] = csv(\"series.csv\")\nh[i, 0] = zeros\n"
      "h[i, t+1] = cell(x, h) when t < 3\nloss = mean(mean((head(h[t+1]) - x[t+1]) ** 2), over = t in 0 : T-1)\n"
      "(cell, head)[i+1] = optim.adam[i](lr = 3e-3)((cell, head), grad(loss, (cell, head)))\n"
      "fn f[t](x) = { s[0] = x[; None, 0:3]; s[t+1] = sum[k in 0 : t] x[k]\n s }\n"
      "module m(n) {\n param w : f32[n] = zeros\n fn call(x) = if n > 3 then x else w\n}\nreport every 10 i : loss\n";
  REQUIRE(Parsed(program).errors() == "");
  std::mt19937 random(7);
  for (int n = 0; n < 1000; ++n) {
    std::string text = program;
    for (int edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size(), length = random() % 4;
      std::string moved = text.substr(random() % text.size(), random() % 6);
      text.replace(at, std::min(length, text.size() - at), random() % 2 ? moved : "");
    }
    Parsed p(text);
    p.tree();
    p.errors();
    for (const auto& d : p.diags.all()) REQUIRE(d->primary.span.end <= text.size());
  }
}
