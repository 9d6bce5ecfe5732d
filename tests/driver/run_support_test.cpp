// Progress, metrics, interrupts and the compile cache.
#include "catch.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "cache/cache.hpp"
#include "driver/scratch.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/io.hpp"
#include "runtime/metrics.hpp"
#include "runtime/progress.hpp"

using namespace tempo;
using tempo::test::Scratch;

namespace {

std::vector<std::string> lines(const std::string& text, char end = '\n') {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = std::min(text.find(end, at), text.size());
    all.push_back(text.substr(at, stop - at));
    at = stop + 1;
  }
  return all;
}

}  // namespace

TEST_CASE("progress text has count, rate and time left", "[progress]") {
  CHECK(Progress::describe("i", 0, 1000, 0.4) == "i 0/1000  0s");
  CHECK(Progress::describe("i", 250, 1000, 10) == "i 250/1000  25/s  10s, 30s left");
  CHECK(Progress::describe("i", 1, 3601, 1) == "i 1/3601  1/s  1s, 1h00m left");
  CHECK(Progress::describe("t", 3, -1, 75) == "t running  1m15s");
}

TEST_CASE("a terminal is told before the first step ends, in order", "[progress]") {
  const Scratch s;
  std::FILE* out = std::fopen(s.path("log").c_str(), "w");
  {
    ProgressOptions o;
    o.terminal = true;
    o.out = out;
    o.label = "i";
    o.total = 5;
    o.terminalPeriod = 0.02;
    Progress p(o);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    for (int i = 1; i <= 5; ++i) {
      p.update(i, 5);
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
  }
  std::fclose(out);
  std::vector<int> shown;
  for (const std::string& line : lines(readWholeFile(s.path("log")), '\r')) {
    const size_t at = line.find("i ");
    if (at != std::string::npos) shown.push_back(std::atoi(line.c_str() + at + 2));
  }
  REQUIRE(shown.size() > 5);
  CHECK(shown.front() == 0);
  CHECK(shown.back() == 5);
  CHECK(std::is_sorted(shown.begin(), shown.end()));
}

TEST_CASE("a file gets plain lines, and none when the run is short or quiet", "[progress]") {
  const Scratch s;
  const auto run = [&](bool enabled, double period, int ms) {
    std::FILE* out = std::fopen(s.path("log").c_str(), "w");
    {
      ProgressOptions o;
      o.enabled = enabled;
      o.out = out;
      o.label = "i";
      o.plainPeriod = period;
      Progress p(o);
      p.update(2, 4);
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    }
    std::fclose(out);
    return readWholeFile(s.path("log"));
  };
  CHECK(run(false, 0.01, 50).empty());
  CHECK(run(true, 10, 20).empty());
  const std::string text = run(true, 0.02, 120);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(lines(text).size() >= 2);
  CHECK(lines(text)[0].rfind("i 2/4", 0) == 0);
}

TEST_CASE("records in words and in files", "[metrics]") {
  const Scratch s;
  MetricRecord a;
  a.point = {{"i", 3}};
  a.values = {{"loss", {{}, {0.5}, false}}, {"w", {{2}, {1, NAN}, false}}};
  CHECK(formatRecord(a) == "i=3  loss=0.5  w=[1, nan]");
  MetricRecord b;
  b.point = {{"i", 3}};
  b.values = {{"n", {{}, {7}, true}}};
  MetricRecord c;
  c.point = {{"i", 4}};
  c.values = {{"loss", {{}, {INFINITY}, false}}};
  const auto write = [&](LogFile& f) {
    f.write(a, 1);
    f.write(b, 1.5);
    f.write(c, 2);
    f.close();
  };
  write(*openJsonl(s.path("m.jsonl")));
  const auto json = lines(readWholeFile(s.path("m.jsonl")));
  REQUIRE(json.size() == 3);
  CHECK(json[0] == R"({"i": 3, "loss": 0.5, "w": [1, "nan"], "seconds": 1.000000})");
  CHECK(json[2] == R"({"i": 4, "loss": "inf", "seconds": 2.000000})");
  write(*openCsvLog(s.path("m.csv"), {"i"}, {"loss", "w", "n"}));
  const auto csv = lines(readWholeFile(s.path("m.csv")));
  REQUIRE(csv.size() == 3);
  CHECK(csv[0] == "i,loss,w,n,seconds");
  CHECK(csv[1] == "3,0.5,\"[1, nan]\",7,1.500000");
  CHECK(csv[2] == "4,inf,,,2.000000");
  CHECK_THROWS_AS(openJsonl(s.path("no/folder.jsonl")), FileError);
}

TEST_CASE("long values are cut", "[metrics]") {
  CHECK(formatValue({{2, 2}, {1, 2, 3, 4}, true}) == "[[1, 2], [3, 4]]");
  CHECK(formatValue({{5}, {1, 2, 3, 4, 5}, true}, 2) == "[1, 2, ...]");
  CHECK(formatValue({{0}, {}, true}) == "[]");
}

TEST_CASE("the first interrupt sets the stop flag of the innermost run", "[interrupt]") {
  std::atomic<int32_t> outer{0}, inner{0};
  {
    const InterruptScope a(&outer);
    {
      const InterruptScope b(&inner);
      CHECK_FALSE(b.interrupted());
      ::raise(SIGINT);
      CHECK(b.interrupted());
      CHECK(inner == 1);
    }
    CHECK(outer == 0);
    CHECK_FALSE(a.interrupted());
  }
}

TEST_CASE("cache keys depend on every part and its length", "[cache]") {
  CHECK(cacheKey({"ab", "c"}) == cacheKey({"ab", "c"}));
  CHECK(cacheKey({"ab", "c"}) != cacheKey({"a", "bc"}));
  CHECK(cacheKey({"ab"}) != cacheKey({"ab", ""}));
  CHECK(compilerBuildId().size() >= 16);
}

TEST_CASE("cache entries come back, private to the user", "[cache]") {
  const Scratch s;
  const DiskCache cache(s.path("tempo"));
  CHECK_FALSE(cache.get("k").has_value());
  const std::vector<std::string> sections = {"object", "", std::string("\0\1\2", 3)};
  cache.put("k", sections);
  REQUIRE(cache.get("k").has_value());
  CHECK(*cache.get("k") == sections);
  struct stat st {};
  REQUIRE(::stat(s.path("tempo").c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0700);
  CHECK(cache.info().entries == 1);
  CHECK(cache.clear() == 1);
  CHECK_FALSE(cache.get("k").has_value());
}

TEST_CASE("damaged cache entries read as absent and are replaced", "[cache]") {
  const Scratch s;
  const DiskCache cache(s.path("tempo"));
  cache.put("k", {"payload"});
  const std::string path = s.path("tempo/k.entry");
  const std::string whole = readWholeFile(path);
  for (size_t n = 0; n < whole.size(); ++n) {
    writeFileAtomically(path, whole.substr(0, n));
    CHECK_FALSE(cache.get("k").has_value());
  }
  for (size_t n = 0; n < whole.size(); ++n) {
    std::string flipped = whole;
    flipped[n] ^= 1;
    writeFileAtomically(path, flipped);
    CHECK_FALSE(cache.get("k").has_value());
  }
  cache.put("k", {"payload"});
  CHECK(cache.get("k").has_value());
}

TEST_CASE("a cache folder others can write is not trusted", "[cache]") {
  const Scratch s;
  const DiskCache cache(s.path("tempo"));
  cache.put("k", {"payload"});
  REQUIRE(::chmod(s.path("tempo").c_str(), 0777) == 0);
  CHECK_FALSE(cache.get("k").has_value());
}

TEST_CASE("the cache forgets what was used longest ago", "[cache]") {
  const Scratch s;
  const DiskCache cache(s.path("tempo"), 2500);
  for (const char* key : {"a", "b", "c"}) {
    cache.put(key, {std::string(1000, 'x')});
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
  REQUIRE(cache.get("a").has_value());  // used again
  cache.prune();
  CHECK(cache.get("a").has_value());
  CHECK_FALSE(cache.get("b").has_value());
  CHECK(cache.get("c").has_value());
}

TEST_CASE("a cache by environment can be off", "[cache]") {
  ::setenv("TEMPO_CACHE", "0", 1);
  CHECK_FALSE(DiskCache::fromEnvironment().enabled());
  ::unsetenv("TEMPO_CACHE");
  const DiskCache none;
  none.put("k", {"x"});
  CHECK_FALSE(none.get("k").has_value());
}
