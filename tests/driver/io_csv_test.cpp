#include "catch.hpp"

#include <cmath>

#include "driver/scratch.hpp"
#include "runtime/io_csv.hpp"
#include "runtime/io_text.hpp"

using namespace tempo;
using tempo::test::Scratch;

namespace {

std::vector<double> values(const Array& a) {
  std::vector<double> v;
  for (int64_t i = 0; i < a.count(); ++i) v.push_back(a.get(i));
  return v;
}

std::string reason(const std::string& text, const std::string& columns) {
  try {
    parseCsv(text, columns, "t.csv");
  } catch (const FileError& e) {
    return e.reason;
  }
  return "";
}

using V = std::vector<double>;
using S = std::vector<int64_t>;

}  // namespace

TEST_CASE("csv tables and columns", "[io]") {
  const std::string text = "day,price,n\n1,2.5,7\n2,-1e3,8\n";
  CHECK(parseCsv(text, "", "t.csv").shape == S{2, 3});
  CHECK(values(parseCsv(text, "", "t.csv")) == V{1, 2.5, 7, 2, -1000, 8});
  CHECK(parseCsv(text, "price", "t.csv").shape == S{2});
  CHECK(values(parseCsv(text, "price", "t.csv")) == V{2.5, -1000});
  CHECK(values(parseCsv(text, "2", "t.csv")) == V{7, 8});
  CHECK(values(parseCsv(text, "n,day", "t.csv")) == V{7, 1, 8, 2});
  CHECK(parseCsv(text, "n,day", "t.csv").shape == S{2, 2});
}

TEST_CASE("csv without a header, other delimiters, comments, ends of lines", "[io]") {
  CHECK(values(parseCsv("1,2\n3,4", "", "t.csv")) == V{1, 2, 3, 4});
  CHECK(values(parseCsv("a;b\r\n1;2\r\n", "b", "t.csv")) == V{2});
  CHECK(values(parseCsv("a\tb\n1\t2\n\n", "b", "t.csv")) == V{2});
  CHECK(values(parseCsv("# made by hand\n\nx\n1\n# half way\n2\n", "x", "t.csv")) == V{1, 2});
  CHECK(values(parseCsv("\xEF\xBB\xBFx\n3\n", "x", "t.csv")) == V{3});
}

TEST_CASE("csv quotes", "[io]") {
  const std::string text = "\"a, b\",\"say \"\"hi\"\"\"\n\"1\",2\n";
  CHECK(values(parseCsv(text, "a, b", "t.csv")) == V{1});
  CHECK(values(parseCsv(text, "say \"hi\"", "t.csv")) == V{2});
  CHECK(reason("a\n\"1\n", "") == "line 2: a quote is not closed");
}

TEST_CASE("csv words for numbers", "[io]") {
  const Array a = parseCsv("x\nnan\ninf\n-inf\ntrue\nFALSE\n+4\n", "x", "t.csv");
  CHECK(std::isnan(a.get(0)));
  CHECK(a.get(1) == INFINITY);
  CHECK(a.get(2) == -INFINITY);
  CHECK(a.get(3) == 1);
  CHECK(a.get(4) == 0);
  CHECK(a.get(5) == 4);
}

TEST_CASE("csv errors name line and column", "[io]") {
  CHECK(reason("a,b\n1,2\n3,\n", "") == "line 3, column 2 (`b`): the value is missing");
  CHECK(reason("a,b\n1,2\n3,\n", "a") == "");  // the missing value is not asked for
  CHECK(reason("a,b\n1,2\n3,x\n", "b") == "line 3, column 2 (`b`): `x` is not a number");
  CHECK(reason("a,b\n1,2\n3\n", "") == "line 3 has 1 cells; the first row has 2");
  CHECK(reason("1,2\n,4\n", "0") == "line 2, column 1: the value is missing");
  CHECK(reason("price,n\n1,2\n", "prise") == "has no column `prise`; did you mean `price`?");
  CHECK(reason("1,2\n", "price") == "has no header row, so no column `price`; give its number, from 0");
  CHECK(reason("1,2\n", "5") == "has 2 columns; there is no column 5 (they count from 0)");
  CHECK(reason("", "") == "holds no rows");
}

TEST_CASE("csv shapes are known without values", "[io]") {
  const Scratch s;
  const std::string path = s.write("t.csv", "a,b\n1,oops\n2,3\n4,5\n");
  CHECK(readCsvHeader(path, "").shape == S{3, 2});
  CHECK(readCsvHeader(path, "a").shape == S{3});
  CHECK(values(readCsv(path, "a")) == V{1, 2, 4});
}

TEST_CASE("csv and text are written so that they read back", "[io]") {
  const Scratch s;
  Array a = Array::zeros(DType::F64, {2, 2});
  a.set(0, 0.1);
  a.set(3, -1e300);
  writeArray({s.path("a.csv"), ""}, a);
  CHECK(values(readCsv(s.path("a.csv"), "")) == values(a));
  CHECK_THROWS_AS(writeArray({s.path("b.csv"), ""}, Array::zeros(DType::F32, {1, 1, 1})), FileError);
  Array text = Array::zeros(DType::U8, {3});
  for (int i = 0; i < 3; ++i) text.set(i, "abc"[i]);
  writeArray({s.path("c.txt"), ""}, text);
  CHECK(readWholeFile(s.path("c.txt")) == "abc");
  CHECK(values(readText(s.path("c.txt"))) == V{97, 98, 99});
  CHECK(readHeader({s.path("c.txt"), ""}).shape == S{3});
}
