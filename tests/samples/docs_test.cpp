// Everything a reader can copy runs: the programs in docs/, the tests in the library's comments, the samples themselves.
#include "catch.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

struct Outcome {
  int code = -1;
  std::string text;  // of stdout and stderr
};

Outcome shell(const std::string& command) {
  Outcome o;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe);
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) o.text.append(buffer, n);
  const int status = pclose(pipe);
  o.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return o;
}

std::string tempo(const std::string& arguments) { return std::string(TEMPO_COMMAND) + " " + arguments; }

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The fenced blocks of a language in a Markdown file, in order, and what follows each if it is a block of `text`.
struct Block {
  std::string program, expected;
};

std::vector<Block> blocks(const std::string& markdown) {
  std::vector<Block> all;
  std::string* into = nullptr;
  bool follows = false;
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    const bool fence = line.rfind("```", 0) == 0;
    if (into && fence) {
      into = nullptr;
    } else if (into) {
      *into += line + "\n";
    } else if (line == "```tempo") {
      all.emplace_back();
      into = &all.back().program;
      follows = true;
    } else if (line == "```text" && follows) {
      into = &all.back().expected;
      follows = false;
    } else if (fence || !line.empty()) {
      follows = false;
    }
  }
  return all;
}

fs::path scratch() {
  const fs::path folder = fs::path(TEMPO_BINARY_DIR) / "docs_blocks";
  fs::create_directories(folder);
  return folder;
}

std::vector<fs::path> files(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TEMPO_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == extension) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool hasDirective(const std::string& text) {
  return text.rfind("## ", 0) == 0 || text.find("\n## test") != std::string::npos || text.find("\n## error") != std::string::npos;
}

}  // namespace

TEST_CASE("the programs in the documentation run as they stand", "[docs]") {
  size_t count = 0;
  for (const auto& doc : files("docs", ".md")) {
    for (const auto& block : blocks(contents(doc))) {
      const std::string name = doc.stem().string() + std::to_string(++count) + ".tempo";
      std::ofstream(scratch() / name) << block.program;
      INFO(doc.filename().string() << ", block:\n" << block.program);
      const std::string verb = hasDirective(block.program) ? "test" : block.expected.empty() ? "run --quiet" : "check";
      const Outcome o = shell("cd " + scratch().string() + " && " + tempo(verb + " --no-cache " + name));
      INFO(o.text);
      if (block.expected.empty()) {
        CHECK(o.code == 0);
        continue;
      }
      // A block followed by one of `text` is wrong, and that is what it prints; there the file is called f.tempo.
      std::ofstream(scratch() / "f.tempo") << block.program;
      const Outcome wrong = shell("cd " + scratch().string() + " && " + tempo("check --no-cache f.tempo"));
      CHECK(wrong.code == 1);
      CHECK(wrong.text.find(block.expected) != std::string::npos);
    }
  }
  CHECK(count >= 17);
}

TEST_CASE("the library's own tests pass", "[docs]") {
  size_t tested = 0;
  for (const auto& module : files("stdlib", ".tempo")) {
    if (!hasDirective(contents(module))) continue;
    ++tested;
    const Outcome o = shell(tempo("test --no-cache " + module.string()));
    INFO(module.filename().string() << "\n" << o.text);
    CHECK(o.code == 0);
  }
  CHECK(tested >= 4);
}

TEST_CASE("every definition of the library says what it is", "[docs]") {
  for (const auto& module : files("stdlib", ".tempo")) {
    std::istringstream lines(contents(module));
    std::string above;
    for (std::string line; std::getline(lines, line);) {
      const bool definition = line.rfind("fn ", 0) == 0 || line.rfind("module ", 0) == 0;
      if (definition) {
        INFO(module.filename().string() << ": " << line);
        CHECK(above.rfind("# ", 0) == 0);
      }
      above = line;
    }
  }
}

TEST_CASE("every sample runs from any folder on its own data", "[docs]") {
  for (const auto& sample : files("samples", ".tempo")) {
    const Outcome o = shell("cd / && " + tempo("run --quiet --no-cache " + sample.string()));
    INFO(sample.string() << "\n" << o.text);
    CHECK(o.code == 0);
    std::istringstream lines(contents(sample));
    long count = 0;
    for (std::string line; std::getline(lines, line);) ++count;
    CHECK(count < 20);
  }
}
