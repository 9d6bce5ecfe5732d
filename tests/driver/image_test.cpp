#include "catch.hpp"

#include <cmath>

#include "driver/image_codec.hpp"

using namespace tempo;

namespace {

Ix v(const char* name) { return Ix(Sym::get(name)); }

}  // namespace

TEST_CASE("index expressions and conditions come back equal", "[image]") {
  const Ix t = v("t"), T = v("T"), D = v("D");
  const Cond c = (Cond::lt(t, T) && Cond::ge(t, 0)) || !Cond::eq(T, D);
  const Ix expressions[] = {Ix(0),
                            Ix(-1),
                            Ix(INT64_MIN),
                            t,
                            3 * t - 2 * T + 7,
                            T * D,
                            T * D * T - t,
                            Ix::floordiv(t + 3, 4),
                            Ix::mod(t, T) + 1,
                            Ix::min(t, Ix::min(T, D)) - Ix::max(Ix(0), t - 5),
                            Ix::select(c, t + 1, Ix::floordiv(T, 2))};
  const Cond conditions[] = {Cond(), Cond::truth(false), Cond::ge0(t), Cond::eq0(t - T), c, !c, c && Cond::ne(t, 3)};
  ImageWriter w;
  for (const Ix& e : expressions) w.ix(e);
  for (const Cond& k : conditions) w.cond(k);
  ImageReader r(w.bytes());
  for (const Ix& e : expressions) {
    INFO(e.str());
    CHECK(r.ix() == e);
  }
  for (const Cond& k : conditions) {
    INFO(k.str());
    CHECK(r.cond() == k);
  }
  CHECK(r.atEnd());
}

TEST_CASE("numbers, reals and texts come back", "[image]") {
  ImageWriter w;
  const int64_t numbers[] = {0, 1, -1, 63, 64, -64, -65, 1 << 20, INT64_MAX, INT64_MIN};
  for (const int64_t n : numbers) w.number(n);
  w.real(-0.0);
  w.real(NAN);
  w.text(std::string("a\0b", 3));
  w.text("");
  ImageReader r(w.bytes());
  for (const int64_t n : numbers) CHECK(r.number() == n);
  CHECK(std::signbit(r.real()));
  CHECK(std::isnan(r.real()));
  CHECK(r.text() == std::string("a\0b", 3));
  CHECK(r.text().empty());
  CHECK(r.atEnd());
}

TEST_CASE("cut images are refused", "[image]") {
  ImageWriter w;
  w.ix(Ix::select(Cond::ge0(v("t")), 2 * v("T"), Ix::mod(v("t"), Ix(3))));
  for (size_t n = 0; n < w.bytes().size(); ++n) {
    const std::string cut = w.bytes().substr(0, n);
    ImageReader r(cut);
    CHECK_THROWS_AS(r.ix(), ImageError);
  }
}
