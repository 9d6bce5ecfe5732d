#include "catch.hpp"

#include <cmath>
#include <cstring>

#include "driver/scratch.hpp"
#include "runtime/io_npy.hpp"
#include "runtime/io_npz.hpp"

using namespace tempo;
using tempo::test::Scratch;

namespace {

/// An npy file of version 1 made by hand, so that reader and writer are not only tested against each other.
std::string npy(const std::string& descr, const std::string& order, const std::string& shape, const std::string& data,
                char version = 1) {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  const size_t start = version == 1 ? 10 : 12;
  while ((start + dict.size() + 1) % 64) dict += ' ';
  dict += '\n';
  std::string head = std::string("\x93NUMPY") + version + '\0';
  for (size_t i = 0; i < start - 8; ++i) head += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return head + dict + data;
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string s;
  for (const T v : values) s.append(reinterpret_cast<const char*>(&v), sizeof v);
  return s;
}

std::string reasonOf(const std::string& path) {
  try {
    readArray({path, ""});
  } catch (const FileError& e) {
    CHECK(e.path == path);
    return e.reason;
  }
  return "";
}

}  // namespace

TEST_CASE("npy files of every dtype are read", "[io]") {
  const Scratch s;
  struct Row {
    const char* descr;
    DType dtype;
    std::string bytes;
    double first, second;
  };
  const Row rows[] = {
      {"<f8", DType::F64, raw<double>({1.5, -2}), 1.5, -2},
      {"<f4", DType::F32, raw<float>({1.5f, -2}), 1.5, -2},
      {"<f2", DType::F16, raw<uint16_t>({0x3e00, 0xc000}), 1.5, -2},   // IEEE half: 1.5, -2
      {"<V2", DType::BF16, raw<uint16_t>({0x3fc0, 0xc000}), 1.5, -2},  // upper half of the f32 1.5, -2
      {"<i8", DType::I64, raw<int64_t>({7, -9}), 7, -9},
      {"<i4", DType::I32, raw<int32_t>({7, -9}), 7, -9},
      {"|i1", DType::I8, raw<int8_t>({7, -9}), 7, -9},
      {"|u1", DType::U8, raw<uint8_t>({7, 250}), 7, 250},
      {"|b1", DType::Bool, raw<uint8_t>({1, 0}), 1, 0},
  };
  for (const Row& r : rows) {
    INFO(r.descr);
    const std::string path = s.write("x.npy", npy(r.descr, "False", "(2,)", r.bytes));
    const ArrayHeader h = readHeader({path, ""});
    CHECK(h.dtype == r.dtype);
    CHECK(h.shape == std::vector<int64_t>{2});
    const Array a = readArray({path, ""});
    CHECK(a.dtype == r.dtype);
    CHECK(a.get(0) == r.first);
    CHECK(a.get(1) == r.second);
  }
}

TEST_CASE("npy versions 2 and 3, scalars and empty arrays", "[io]") {
  const Scratch s;
  for (const char version : {char(2), char(3)}) {
    CHECK(readArray({s.write("v.npy", npy("<f4", "False", "(1,)", raw<float>({3}), version)), ""}).get(0) == 3);
  }
  const Array scalar = readArray({s.write("s.npy", npy("<f8", "False", "()", raw<double>({2.5}))), ""});
  CHECK(scalar.shape.empty());
  CHECK(scalar.get(0) == 2.5);
  CHECK(readArray({s.write("e.npy", npy("<f4", "False", "(0, 3)", "")), ""}).shape == std::vector<int64_t>{0, 3});
}

TEST_CASE("Fortran order becomes row-major", "[io]") {
  const Scratch s;
  // The 2 x 3 matrix 1 2 3 / 4 5 6, stored by columns.
  const Array a = readArray({s.write("f.npy", npy("<f4", "True", "(2, 3)", raw<float>({1, 4, 2, 5, 3, 6}))), ""});
  for (int i = 0; i < 6; ++i) CHECK(a.get(i) == i + 1);
  // A 2 x 1 x 3 array in the same way.
  const Array b = readArray({s.write("g.npy", npy("<i4", "True", "(2, 1, 3)", raw<int32_t>({1, 4, 2, 5, 3, 6}))), ""});
  for (int i = 0; i < 6; ++i) CHECK(b.get(i) == i + 1);
}

TEST_CASE("large npy files are mapped and aligned", "[io]") {
  const Scratch s;
  Array a = allocateArray(DType::F32, {300, 1000});
  for (int64_t i = 0; i < a.count(); ++i) a.set(i, static_cast<double>(i % 1000));
  writeArray({s.path("big.npy"), ""}, a);
  const Array b = readArray({s.path("big.npy"), ""});
  CHECK(reinterpret_cast<uintptr_t>(b.data.get()) % 64 == 0);
  CHECK(std::memcmp(a.data.get(), b.data.get(), a.sizeBytes()) == 0);
  b.as<float>()[0] = 5;  // private to this process
  CHECK(readArray({s.path("big.npy"), ""}).get(0) == 0);
}

TEST_CASE("bad npy files are refused with a reason", "[io]") {
  const Scratch s;
  const std::string good = npy("<f4", "False", "(4,)", raw<float>({1, 2, 3, 4}));
  CHECK(reasonOf(s.path("absent.npy")) == "No such file or directory");
  CHECK(reasonOf(s.write("a.npy", "hello, world")) == "is not an npy file");
  CHECK(reasonOf(s.write("b.npy", "")) == "is not an npy file");
  CHECK(reasonOf(s.write("c.npy", good.substr(0, 40))) == "the file is cut short in the npy header");
  CHECK(reasonOf(s.write("d.npy", good.substr(0, good.size() - 3))) ==
        "the file is cut short: the header promises f32[4], which takes 16 bytes; there are 13");
  CHECK(reasonOf(s.write("e.npy", good + "x")) == "the header promises f32[4], which takes 16 bytes; there are 17");
  CHECK_THAT(reasonOf(s.write("f.npy", npy(">f4", "False", "(1,)", raw<float>({1})))), Catch::Contains("big-endian"));
  CHECK_THAT(reasonOf(s.write("g.npy", npy("<c8", "False", "(1,)", raw<double>({1})))), Catch::Contains("`<c8`"));
  CHECK_THAT(reasonOf(s.write("h.npy", npy("<u4", "False", "(1,)", raw<float>({1})))), Catch::Contains("astype"));
  CHECK(reasonOf(s.write("i.npy", npy("<f4", "Maybe", "(1,)", raw<float>({1})))) == "the npy header is damaged");
  CHECK(reasonOf(s.write("j.npy", npy("<f4", "False", "(99999999999999999999,)", ""))) == "the npy header is damaged");
  CHECK(reasonOf(s.write("k.npy", npy("<f8", "False", "(4611686018427387904, 4)", ""))) ==
        "the shape in the header is too large");
  std::string version = good;
  version[6] = 9;
  CHECK(reasonOf(s.write("l.npy", version)) == "npy version 9 is not known");
  CHECK_THAT(reasonOf(s.path()), Catch::Contains("folder"));
}

TEST_CASE("every cut of an npy file is refused", "[io]") {
  const Scratch s;
  const std::string good = npy("<f4", "False", "(2, 2)", raw<float>({1, 2, 3, 4}));
  for (size_t n = 0; n < good.size(); ++n) {
    INFO(n);
    CHECK(reasonOf(s.write("cut.npy", good.substr(0, n))) != "");
  }
}

TEST_CASE("written npy files have the bytes numpy would write", "[io]") {
  const Scratch s;
  Array a = allocateArray(DType::F32, {2});
  a.set(0, 1);
  a.set(1, -3);
  writeArray({s.path("w.npy"), ""}, a);
  CHECK(readWholeFile(s.path("w.npy")) == npy("<f4", "False", "(2,)", raw<float>({1, -3})));
  CHECK(s.files() == 1);
  Array b = allocateArray(DType::BF16, {1});
  b.set(0, 1.5);
  CHECK(writeArray({s.path("b.npy"), ""}, b) == "bf16 is written as f32");
  CHECK(readHeader({s.path("b.npy"), ""}).dtype == DType::F32);
  CHECK(readArray({s.path("b.npy"), ""}).get(0) == 1.5);
}

TEST_CASE("a file that cannot be written leaves nothing behind", "[io]") {
  const Scratch s;
  const Array a = Array::zeros(DType::F32, {2});
  CHECK_THROWS_AS(writeArray({s.path("no/such/folder.npy"), ""}, a), FileError);
  CHECK_THROWS_AS(writeArray({s.path("x.weird"), ""}, a), FileError);
  CHECK_THROWS_AS(writeFileAtomically(s.path(), "text"), FileError);  // the name is a folder
  CHECK(s.files() == 0);
}

TEST_CASE("npz members by name", "[io]") {
  const Scratch s;
  Array a = Array::zeros(DType::F32, {2, 3}), b = Array::zeros(DType::I32, {4});
  a.set(5, 9);
  b.set(1, -7);
  const std::string path = s.path("m.npz");
  writeNpz(path, {{"weights", a}, {"steps", b}});
  CHECK(npzMembers(path) == std::vector<std::string>{"weights", "steps"});
  CHECK(readHeader({path, "weights"}).shape == std::vector<int64_t>{2, 3});
  CHECK(readArray({path, "weights"}).get(5) == 9);
  CHECK(readArray({path, "steps"}).get(1) == -7);
  const auto reason = [](const std::string& file, const std::string& member) -> std::string {
    try {
      readArray({file, member});
    } catch (const FileError& e) {
      return e.reason;
    }
    return "";
  };
  CHECK(reason(path, "step") == "holds no array `step`; did you mean `steps`?");
  CHECK_THAT(reason(path, ""), Catch::Contains("`weights`, `steps`"));
  CHECK(reason(s.write("bad.npz", "PK\3\4 not a zip"), "x") == "is not a readable npz (zip) file");
  CHECK(reason(s.path("none.npz"), "x") == "No such file or directory");
  writeNpz(s.path("one.npz"), {{"only", b}});
  CHECK(readArray({s.path("one.npz"), ""}).get(1) == -7);
}

TEST_CASE("file references", "[io]") {
  CHECK(parseFileRef("x.npy").path == "x.npy");
  CHECK(parseFileRef("a/b.npz:w.0").path == "a/b.npz");
  CHECK(parseFileRef("a/b.npz:w.0").member == "w.0");
  CHECK(parseFileRef("t.csv:temperature").member == "temperature");
  CHECK(parseFileRef("odd:name.npy").path == "odd:name.npy");
}

TEST_CASE("conversions keep every value or say which does not fit", "[io]") {
  Array out;
  std::string reason;
  Array ints = Array::zeros(DType::I64, {2});
  ints.set(1, 300);
  CHECK(convertArray(ints, DType::I32, &out, &reason));
  CHECK(out.get(1) == 300);
  CHECK(convertArray(ints, DType::F32, &out, &reason));
  CHECK_FALSE(convertArray(ints, DType::U8, &out, &reason));
  CHECK(reason == "value 300 at position 1 does not fit u8");
  Array reals = Array::zeros(DType::F64, {1});
  CHECK(convertArray(reals, DType::F32, &out, &reason));
  CHECK_FALSE(convertArray(reals, DType::I32, &out, &reason));
  CHECK(reason == "f64 cannot become i32 without loss");
}
