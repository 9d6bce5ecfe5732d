#include "diag/diag.hpp"

#include <set>

#include "catch.hpp"
#include "check.hpp"

using namespace tempo;

TEST_CASE("every code explains itself", "[diag]") {
  std::set<std::string> seen;
  std::string previous;
  for (const CodeInfo& c : allCodes()) {
    std::string code = c.code, text = c.explanation;
    CAPTURE(code);
    CHECK(seen.insert(code).second);
    CHECK(code.size() == 5);
    CHECK((code[0] == 'E' || code[0] == 'W'));
    CHECK(previous < code);
    CHECK(std::string(c.title) != "");
    CHECK(text.size() > 80);
    CHECK(text.front() != '\n');
    CHECK(text.back() == '\n');
    CHECK(text.find("\n    ") != std::string::npos);  // an indented example
    previous = code;
  }
  REQUIRE(findCode("E0301"));
  CHECK(std::string(findCode("E0301")->code) == "E0301");
  CHECK(findCode("E9999") == nullptr);
}

TEST_CASE("a code without a row is a bug", "[diag]") {
  Sources s;
  Diagnostics d(s);
  CHECK_THROWS_AS(d.error("E9999", {}, "x"), InternalError);
}

TEST_CASE("lines and columns", "[diag]") {
  SourceFile f{"f", "ab\n\xC3\xA9x\r\n\ty"};
  CHECK(f.lineColumn(0) == std::pair(1, 1));
  CHECK(f.lineColumn(2) == std::pair(1, 3));
  CHECK(f.lineColumn(3) == std::pair(2, 1));
  CHECK(f.lineColumn(5) == std::pair(2, 2));
  CHECK(f.lineColumn(9) == std::pair(3, 2));
  CHECK(f.lineColumn(1000) == std::pair(3, 3));
  CHECK(f.line(2) == "\xC3\xA9x");
  CHECK(f.line(3) == "\ty");
  CHECK(f.line(4) == "");
}

TEST_CASE("places are numbered", "[diag]") {
  Sources s;
  uint32_t f = s.addFile("rnn.tempo", "a = 1\nb = a\n");
  Loc l = s.loc({f, 10, 11});
  CHECK(l.id != 0);
  CHECK(s.place(l) == "rnn.tempo:2:5");
  CHECK(s.place(Loc{}) == "<unknown>");
  CHECK(s.text({f, 10, 11}) == "a");
  CHECK(s.text({f, 10, 100}) == "a\n");
  CHECK(s.text({7, 0, 1}) == "");
}

TEST_CASE("a diagnostic as a person reads it", "[diag]") {
  Sources s;
  std::string text(8, '\n');
  text += "h[t] = tanh(x @ wx + h[t-1] @ wh)\n";
  uint32_t f = s.addFile("rnn.tempo", text);
  Diagnostics d(s);
  auto& e = d.error("E0301", {f, 8 + 21, 8 + 27}, "`h` is read where nothing defines it",
                    "at t = 0 this reads h[-1]; h is defined for 0 <= t < T");
  e.secondary.push_back({{f, 8, 12}, "defined here"});
  e.notes.push_back("two\nlines");
  e.fixes.push_back({"define the step before the first: `h[-1] = zeros`", {}});
  CHECK(renderHuman(d, false) ==
        "error[E0301]: `h` is read where nothing defines it\n"
        "  --> rnn.tempo:9:22\n"
        " 9 | h[t] = tanh(x @ wx + h[t-1] @ wh)\n"
        "   | ---- defined here\n"
        "   |                      ^^^^^^ at t = 0 this reads h[-1]; h is defined for 0 <= t < T\n"
        "   note: two\n"
        "         lines\n"
        "   help: define the step before the first: `h[-1] = zeros`\n");
  CHECK(renderHuman(d, true).find("\x1b[1;31merror[E0301]\x1b[0m") == 0);
}

TEST_CASE("tabs, other files, several lines", "[diag]") {
  Sources s;
  uint32_t a = s.addFile("a.tempo", "x =\ty\nz = (1,\n 2)\n");
  uint32_t b = s.addFile("b.tempo", "\n\nfn y() = 1\n");
  Diagnostics d(s);
  d.warning("W0602", {a, 10, 18}, "second");
  d.error("E0201", {a, 4, 5}, "first").secondary.push_back({{b, 2, 10}, "there"});
  CHECK(renderHuman(d, false) ==
        "error[E0201]: first\n"
        "  --> a.tempo:1:5\n"
        " 1 | x = y\n"
        "   |     ^\n"
        "  --> b.tempo:3\n"
        " 3 | fn y() = 1\n"
        "   | -------- there\n"
        "\n"
        "warning[W0602]: second\n"
        "  --> a.tempo:2:5\n"
        " 2 | z = (1,\n"
        "   |     ^^^\n");
}

TEST_CASE("a terminal obeys nothing that was quoted from a file", "[diag]") {
  Sources s;
  uint32_t f = s.addFile("a.tempo", "x = \x1b[2J \xFF\n");
  Diagnostics d(s);
  d.error("E0105", {f, 4, 5}, "`\x1b` has no meaning", "\x07");
  std::string text = renderHuman(d, false);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK(text.find("x = ?[2J \xEF\xBF\xBD\n") != std::string::npos);
}

TEST_CASE("a diagnostic as a program reads it", "[diag]") {
  Sources s;
  uint32_t f = s.addFile("a\"b.tempo", "x\ny");
  Diagnostics d(s);
  auto& e = d.error("E0201", {f, 2, 3}, "tab\tquote\" back\\ \x01 \xFF", "l");
  e.notes = {"n"};
  e.fixes.push_back({"h", {{{f, 2, 3}, "z\n"}}});
  std::string place =
      "\"file\":\"a\\\"b.tempo\",\"begin\":{\"line\":2,\"column\":1,\"offset\":2},"
      "\"end\":{\"line\":2,\"column\":2,\"offset\":3}";
  CHECK(renderJson(d) ==
        "{\"severity\":\"error\",\"code\":\"E0201\",\"message\":\"tab\\tquote\\\" back\\\\ \\u0001 \xEF\xBF\xBD\","
        "\"primary\":{" +
            place +
            ",\"text\":\"l\"},\"secondary\":[],\"notes\":[\"n\"],"
            "\"fixes\":[{\"help\":\"h\",\"edits\":[{" +
            place + ",\"replacement\":\"z\\n\"}]}]}\n");
}

TEST_CASE("at most `limit` errors are kept, all are counted", "[diag]") {
  Sources s;
  uint32_t f = s.addFile("a", "x");
  Diagnostics d(s);
  d.limit = 2;
  for (int i = 0; i < 5; ++i) d.error("E0101", {f, 0, 1}, "m").notes.push_back("n");
  d.warning("W0602", {f, 0, 1}, "w");
  CHECK(d.errorCount() == 5);
  CHECK(d.all().size() == 3);
  CHECK(renderHuman(d, false).find("3 more errors are not shown\n") != std::string::npos);
}
