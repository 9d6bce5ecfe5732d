#include "catch.hpp"
#include "check.hpp"
#include "kernel/kir.hpp"

using namespace tempo;
using namespace tempo::kir;

namespace {

const char* kProgram = R"(sizes N, T
buffer x: f32[N * T] input
buffer w.q: bf16[(N + 1) * T] input
buffer y: f32[N] output zeroed
buffer n: i32[N] temp
kernel step(N, T, t) {
  buffer x: f32
  buffer w.q: bf16
  buffer y: f32 written
  buffer n: i32 written
  scratch s: f64[N * 2]
  grid(i in 0 .. N, j in 1 .. (T // 2) + 1) {
    let a: f32 = (x[i] * 2:f32) + exp(neg(x[j]))
    par k in 0 .. 4 {
      s[k] = f64(a)
    }
    for k in 0 .. T reverse {
      if k < 3 {
        y[i] = select(isnan(a), -inf:f32, max(a, nan:f32))
      } else {
        y[i] = if(k > t, x[k - 1], 0.100000001:f32)
      }
      poll
    }
    reduce p in 0 .. N, q in p .. T {
      let b: f32 = f32(w.q[q]) * x[p]
      sum total: f32 = b
      max best: f32 = b
    }
    reduce p in 0 .. N {
      argmax at: f32 = x[p]
    }
    check at < N site 7(at, i)
    n[i] = i32(at + (random(-12, i, t) % 7))
    y[i] = total + (best + at_v)
  }
}
host {
  for t in 0 .. T {
    let half: i64 = t // 2
    if (half % 2) == 0 {
      launch step(N, T, t)
    } else {
      launch step(N, T, half)
    }
    effect 0(t)
    progress(t + 1, T)
  }
}
)";

}  // namespace

TEST_CASE("kernel text prints as it was read") {
  Program p = parseProgram(kProgram);
  verify(p);
  const std::string once = print(p);
  CHECK(once == kProgram);
  CHECK(print(parseProgram(once)) == once);
}

TEST_CASE("names that are words of the text form are quoted") {
  Program p;
  p.sizes = {"for", "a b"};
  p.buffers.push_back({"reduce", DType::F32, var("for"), HostBuffer::Role::Output, false});
  const std::string text = print(p);
  CHECK(text.find("`for`, `a b`") != std::string::npos);
  CHECK(print(parseProgram(text)) == text);
}

TEST_CASE("builders fold with floor semantics") {
  auto value = [](const kir::ExprPtr& e) {
    REQUIRE(e->kind == kir::Expr::Kind::ConstI);
    return e->i;
  };
  CHECK(value(kir::op(Op::FloorDiv, {ci(-7), ci(2)})) == -4);
  CHECK(value(kir::op(Op::FloorDiv, {ci(7), ci(-2)})) == -4);
  CHECK(value(kir::op(Op::FloorDiv, {ci(7), ci(0)})) == 0);
  CHECK(value(kir::op(Op::FloorDiv, {ci(INT64_MIN), ci(-1)})) == INT64_MIN);
  CHECK(value(kir::op(Op::Mod, {ci(-7), ci(2)})) == 1);
  CHECK(value(kir::op(Op::Mod, {ci(7), ci(-2)})) == -1);
  CHECK(value(kir::op(Op::Mod, {ci(5), ci(0)})) == 0);
  CHECK(value(kir::op(Op::Lt, {ci(-1), ci(0)})) == 1);
  const kir::ExprPtr x = kir::var("x");
  CHECK(kir::op(Op::Add, {x, ci(0)}) == x);
  CHECK(kir::op(Op::Mul, {ci(1), x}) == x);
  CHECK(value(kir::op(Op::Mul, {x, ci(0)})) == 0);
  CHECK(select(kir::op(Op::Ge, {ci(1), ci(0)}), x, ci(3)) == x);
  CHECK(value(cast(DType::I8, ci(200))) == -56);
  CHECK(value(cast(DType::U8, cf(DType::F32, -3))) == 0);
  CHECK(cast(DType::F32, ci(3))->f == 3);
}

TEST_CASE("index expressions become kernel expressions") {
  const Ix t(Sym::get("t")), n(Sym::get("N"));
  auto text = [](const kir::ExprPtr& e) {
    Program p;
    p.sizes = {"N", "t"};
    p.buffers.push_back({"b", DType::F32, e, HostBuffer::Role::Temp, false});
    const std::string s = print(p);
    const auto from = s.find('[') + 1;
    return s.substr(from, s.find("] temp") - from);
  };
  CHECK(text(fromIx(t - 1)) == "t - 1");
  CHECK(text(fromIx(Ix::floordiv(t, Ix(2)))) == "t // 2");
  CHECK(text(fromIx(Ix::max(t - 3, Ix(0)))).substr(0, 3) == "max");
  CHECK(fromCond(Cond::truth(true))->i == 1);
}

TEST_CASE("the verifier refuses what does not add up") {
  auto broken = [](const std::string& from, const std::string& to) {
    std::string text = kProgram;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    CHECK_THROWS_AS(verify(parseProgram(text)), InternalError);
  };
  broken("buffer y: f32 written", "buffer y: f32");
  broken("let a: f32 = (x[i]", "let a: f64 = (x[i]");
  broken("launch step(N, T, t)", "launch step(N, T)");
  broken("sum total: f32 = b", "sum total: f64 = b");
  broken("check at < N", "check at + N");
  CHECK_THROWS_AS(parseProgram("sizes N\nhost { launch nothing() }"), InternalError);
}
