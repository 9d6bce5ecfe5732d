// The emulator must find what a GPU would leave to chance. Kernels here are wrong on purpose: Kernel IR that breaks its
// rules, and texts that break the printer's.
#include "catch.hpp"
#include "cuda/common.hpp"
#include "cuda/emit.hpp"

namespace tempo::cudatest {
namespace {

using emulation::EmulationError;

std::string failure(Emulator& e, const std::function<void()>& f) {
  std::string message;
  try {
    f();
  } catch (const EmulationError& error) {
    message = error.what();
  }
  return message;
}

/// A kernel over y: i64[64] with the given body.
kir::Program over64(const std::string& body, const std::string& grid = "") {
  return parse("sizes N\nbuffer y: i64[64] output zeroed\nkernel k(N) {\n  buffer y: i64 written\n  scratch s: i64[64]\n  grid(" +
               grid + ") {\n" + body + "\n  }\n}\nhost {\n  launch k(N)\n}\n");
}

std::string runs(const std::string& body, Order order, const std::string& grid = "") {
  Emulator e;
  e.options.order = order;
  e.compile(over64(body, grid));
  return failure(e, [&] { e.run({{"N", 64}}, {}); });
}

/// The text of a correct program with something cut out.
std::string runsWithout(const std::string& body, const std::string& cut, const std::string& instead, Order order) {
  const auto p = over64(body);
  auto emitted = cuda::emit(p);
  const size_t kernels = std::string(cuda::deviceHeader()).size();
  const size_t at = emitted.source.find(cut, kernels);
  REQUIRE(at != std::string::npos);
  emitted.source.replace(at, cut.size(), instead);
  Emulator e;
  e.options.order = order;
  e.compile(p, emitted);
  return failure(e, [&] { e.run({{"N", 64}}, {}); });
}

const Order kOrders[] = {Order::Forward, Order::Reversed, Order::Shuffled};

bool has(const std::string& s, const char* part) { return s.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("threads that write one element race") {
  for (Order o : kOrders) {
    const auto m = runs("par i in 0 .. N {\n y[0] = i\n }", o);
    INFO(m);
    CHECK(has(m, "`y` byte 0"));
    CHECK(has(m, "wrote since the last barrier"));
    CHECK(has(m, "kernel `k`"));
  }
}

TEST_CASE("a thread that reads what its neighbour writes races") {
  for (Order o : kOrders) {
    const auto m = runs("par i in 0 .. N - 1 {\n y[i] = y[i + 1] + 1\n }", o);
    INFO(m);
    CHECK(has(m, "since the last barrier"));
  }
}

TEST_CASE("the same through scratch in shared memory") {
  for (Order o : kOrders) {
    const auto m = runs("par i in 0 .. N {\n s[i] = i\n y[i] = s[(N - 1) - i]\n }", o);
    INFO(m);
    CHECK(!m.empty());
    CHECK(has(m, "`shared memory`"));
  }
}

TEST_CASE("one barrier less than the printer puts is a race") {
  const std::string body = "par i in 0 .. N {\n s[i] = i\n }\n par i in 0 .. N {\n y[i] = s[(N - 1) - i]\n }";
  for (Order o : kOrders) {
    CHECK(runs(body, o).empty());
    const auto m = runsWithout(body, "TEMPO_BARRIER();", ";", o);
    INFO(m);
    CHECK(!m.empty());
  }
}

TEST_CASE("the barrier before a write of what all threads have read is needed") {
  const std::string body = "let a: i64 = y[0]\n par i in 0 .. N {\n y[i] = a + i\n }";
  for (Order o : kOrders) {
    CHECK(runs(body, o).empty());
    const auto m = runsWithout(body, "TEMPO_BARRIER();", ";", o);
    INFO(m);
    CHECK(has(m, "since the last barrier"));
  }
  // As well when the read is at the end of the step before.
  const std::string loop = "for t in 0 .. 3 {\n par i in 0 .. N {\n y[i] = i + t\n }\n let a: i64 = y[5]\n if a == 100 {\n poll\n }\n }";
  for (Order o : kOrders) CHECK(runs(loop, o).empty());
}

TEST_CASE("instances that touch one element race, whatever their blocks") {
  for (Order o : kOrders) {
    const auto write = runs("par i in 0 .. 1 {\n y[0] = n\n }", o, "n in 0 .. 2");
    CHECK(has(write, "another block wrote"));
    const auto read = runs("par i in 0 .. 1 {\n y[n] = y[0] + n\n }", o, "n in 1 .. 3");
    CHECK(read.empty());
    const auto after = runs("par i in 0 .. 1 {\n y[n] = y[n + 1] + n\n }", o, "n in 0 .. 3");
    CHECK(has(after, "another block read"));
  }
}

TEST_CASE("barriers that not all threads reach are found") {
  const std::string body = "par i in 0 .. N {\n y[i] = i\n }";
  for (Order o : kOrders) {
    const auto ended = runsWithout(body, "TEMPO_BARRIER();", "if (TEMPO_THREAD == 3) return; TEMPO_BARRIER();", o);
    INFO(ended);
    CHECK(has(ended, "divergent barrier"));
    CHECK(has(ended, "thread 3 has ended"));
    const auto apart =
        runsWithout(body, "TEMPO_BARRIER();", "if (TEMPO_THREAD == 3) { TEMPO_BARRIER();\n } else { TEMPO_BARRIER(); }", o);
    INFO(apart);
    CHECK(has(apart, "divergent barrier: threads wait at line"));
  }
}

TEST_CASE("reads of undefined scratch and accesses outside buffers are found") {
  CHECK(has(runs("par i in 0 .. N {\n y[i] = s[i]\n }", Order::Forward), "reads what nothing has written"));
  const auto past = runs("par i in 0 .. N + 1 {\n y[i] = i\n }", Order::Forward);
  INFO(past);
  CHECK(has(past, "writes outside `y`, at byte 512 of 512"));
  CHECK(has(runs("par i in 0 .. 1 {\n y[i] = y[-1]\n }", Order::Forward), "reads outside `y`, at byte -8"));
}

TEST_CASE("text that is not C++ is reported with the compiler's words") {
  const auto p = over64("");
  auto emitted = cuda::emit(p);
  emitted.source += "\nnonsense\n";
  Emulator e;
  CHECK(has(failure(e, [&] { e.compile(p, emitted); }), "nonsense"));
}

}  // namespace tempo::cudatest
