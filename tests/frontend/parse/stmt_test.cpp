#include "catch.hpp"
#include "frontend/parse/support.hpp"

using tempo::Parsed;
using Kind = tempo::ast::Stmt::Kind;

TEST_CASE("every soft keyword may name a tensor", "[parse]") {
  for (const char* word :
       {"dim", "size",  "input",  "option", "let",     "next", "output", "report", "print",     "assert", "save",
        "use", "fn",    "module", "param",  "for",     "pure", "extern", "when",   "otherwise", "until",  "to",
        "as",  "every", "within", "from",   "batched", "over", "step",   "axis",   "None"}) {
    std::string w = word;
    CAPTURE(w);
    Parsed p(w + " = 1\n" + w + "[t] = " + w + " + 2 * " + w + "[t-1]\n" + w + " : f32 = f(" + w + ", " + w +
             ") when " + w + " > 0\n(a, " + w + ") = b\n");
    CHECK(p.errors() == "");
    REQUIRE(p.file.stmts.size() == 4);
    for (const auto& s : p.file.stmts) CHECK(s->kind == Kind::Equation);
    CHECK(p.file.stmts[0]->targets.at(0).name.text == w);
    CHECK(p.file.stmts[2]->when != nullptr);
  }
}

TEST_CASE("a newline ends a statement unless something is open", "[parse]") {
  auto count = [](const std::string& text) {
    Parsed p(text);
    CHECK(p.errors() == "");
    return p.file.stmts.size();
  };
  CHECK(count("a = 1\nb = 2\n\n\nc = 3") == 3);
  CHECK(count("a = f(1,\n  2\n)\nb = [\n1,\n2]\n") == 2);
  CHECK(count("a = 1 +\n 2 *\n\n 3\nb =\n 4") == 2);
  CHECK(count("a = b and\n c\nd = not\n e") == 2);
  CHECK(count("a[t] = 1\n  when t > 3\na[t] = 2\n  otherwise\nb = 3") == 3);
  CHECK(count("a = if b\n then c\n else d\ne = 1") == 2);
  CHECK(count("a = 1 # why\n  when t > 0 # so\nb = 2") == 2);
  CHECK(count("dim t : T,\n b : B\nx = 1") == 2);
  CHECK(count("a = 1\nwhen = 2\notherwise = 3\nwhen[t] = 4") == 4);
  CHECK(count("a = 1\r\nb = 2\r\n") == 2);
  CHECK(count("\xEF\xBB\xBF"
              "a = 1\n") == 1);
  CHECK(count("a = 1; b = 2") == 2);
  CHECK(count("") == 0);
  CHECK(count("# only a comment") == 0);
}

TEST_CASE("braces: newlines and semicolons separate", "[parse]") {
  Parsed p("fn f[t](x, n = 4, m : i32 = 1) = { a = x; b = a\n c[t+1] = b\n\n a + b }\nfn g(x) = x\n");
  REQUIRE(p.errors() == "");
  REQUIRE(p.file.stmts.size() == 2);
  const auto& f = *p.file.stmts[0];
  CHECK(f.dimParams.size() == 1);
  CHECK(f.params.size() == 3);
  CHECK(f.value->kind == tempo::ast::Expr::Kind::Block);
  CHECK(f.value->body.size() == 3);
  CHECK(f.value->args.size() == 1);
  CHECK(Parsed("fn f(x) = { y = x }").codes() == "E0114 1:19");
  CHECK(Parsed("fn f(x) = { }").codes() == "E0114 1:13");
}

TEST_CASE("statements keep to their places", "[parse]") {
  CHECK(Parsed("param w : f32").codes() == "E0218 1:1");
  CHECK(Parsed("for x in [1] { y = x }").codes() == "E0113 1:1");
  CHECK(Parsed("fn f(x) = { input y : f32; y }").codes() == "E0113 1:13");
  CHECK(Parsed("module m() { report x }").codes() == "E0113 1:14");
  CHECK(Parsed("x + 1").codes() == "E0101 1:1");
}

TEST_CASE("documentation is the comments directly above", "[parse]") {
  Parsed p(
      "# not this\n\n# Adds.\n#  One.\nfn f(x) = x + 1\n# of g\n## test f(1) == 2\nfn g(x) = { # inner\n y = x\n y }\n"
      "module m() {\n  # Calls.\n  fn call(x) = x\n}\n");
  REQUIRE(p.errors() == "");
  REQUIRE(p.file.stmts.size() == 4);
  CHECK(p.file.stmts[0]->doc == "Adds.\nOne.");
  CHECK(p.file.stmts[1]->kind == Kind::Test);
  CHECK(p.file.stmts[1]->text == "test f(1) == 2");
  CHECK(p.file.stmts[2]->doc == "");
  CHECK(p.file.stmts[3]->body.at(0)->doc == "Calls.");
  CHECK(p.file.comments.size() == 7);
}

TEST_CASE("test directives are statements in order of place", "[parse]") {
  Parsed p("dim t : T\n## test T=4 x=[1,2,3,4] : y == [1,1.5,2.5,3.5]\ny = x\n  ##tag\n### banner\nz = 1 ## no\n##\n");
  REQUIRE(p.errors() == "");
  std::string kinds;
  for (const auto& s : p.file.stmts) kinds += s->kind == Kind::Test ? "T(" + s->text + ")" : ".";
  CHECK(kinds == ".T(test T=4 x=[1,2,3,4] : y == [1,1.5,2.5,3.5]).T(tag).T()");
}

TEST_CASE("left sides", "[parse]") {
  Parsed p("(cell, head)[i+1] = f\n(a, b[t]) = g\nx[t = 0, b] = 1");
  REQUIRE(p.errors() == "");
  CHECK(p.file.stmts[0]->targets.size() == 2);
  CHECK(p.file.stmts[0]->targets[1].indexed);
  CHECK(p.file.stmts[0]->targets[1].name.text == "head");
  CHECK_FALSE(p.file.stmts[1]->targets[0].indexed);
  CHECK(p.file.stmts[1]->targets[1].indexed);
  CHECK(p.file.stmts[2]->targets[0].indices.at(0).dim->text == "t");
  CHECK(Parsed("x + 1 = 3").codes() == "E0109 1:1");
  CHECK(Parsed("f(x) = 3").codes() == "E0109 1:1");
  CHECK(Parsed("(a, 3) = 3").codes() == "E0109 1:5");
  CHECK(Parsed("x[t; 0] = 3").codes() == "E0109 1:1");
}

TEST_CASE("names of keywords may be called and used as values", "[parse]") {
  Parsed p(
      "fn f(size) = { size - 1 }\nfn g(next) = { next(3) }\nfn h(input) = { input * 2 }\nprint (a + b)\nprint -a\n");
  REQUIRE(p.errors() == "");
  CHECK(p.file.stmts[3]->kind == Kind::Print);
  CHECK(p.file.stmts[4]->kind == Kind::Print);
}

TEST_CASE("is the text a prefix of something longer", "[parse]") {
  for (const char* yes : {"x = (", "x = [1,", "x = 1 +", "x =", "fn f(x) = {", "module m() {\n", "x = if a then b",
                          "x = f(1,\n", "x = a and", "x = 1 + # why"}) {
    CAPTURE(yes);
    CHECK(tempo::isIncomplete(yes));
  }
  for (const char* no :
       {"", "x = 1", "x = (1]", "x = \"a", "x = if a then b else c", "x = f(1)", "}", "x = 3 ^", "\xff("}) {
    CAPTURE(no);
    CHECK_FALSE(tempo::isIncomplete(no));
  }
}

TEST_CASE("types and modules", "[parse]") {
  Parsed p(
      "x : f32 = 1\ny : f32[] = 1\nz : [8, D] = 1\noption s : string = \"a\" \"help\"\nuse nn, env.cartpole as env, "
      "\"m.tempo\"");
  REQUIRE(p.errors() == "");
  CHECK_FALSE(p.file.stmts[0]->type->shape);
  CHECK(p.file.stmts[1]->type->shape->empty());
  CHECK_FALSE(p.file.stmts[2]->type->dtype);
  CHECK(p.file.stmts[3]->text == "help");
  REQUIRE(p.file.stmts.size() == 7);
  CHECK(p.file.stmts[4]->text == "nn");
  CHECK(p.file.stmts[5]->text == "env.cartpole");
  CHECK(p.file.stmts[5]->name.text == "env");
  CHECK(p.file.stmts[5]->value == nullptr);
  CHECK(p.file.stmts[6]->text == "m.tempo");
  CHECK(p.file.stmts[6]->value != nullptr);
  CHECK(Parsed("x : float32 = 1").codes() == "E0112 1:5");
}
