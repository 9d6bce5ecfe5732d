// `tempo run` and `tempo check`.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "command.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/io_npz.hpp"

namespace tempo::cli {
namespace {

/// `--log csv,jsonl` or `--log csv=loss.csv`; default names are formed from the program's.
Result<std::vector<LogRequest>> logRequests(const Command& c) {
  std::vector<LogRequest> all;
  const std::string stem = std::filesystem::path(c.file).stem().string();
  for (size_t at = 0; at < c.log.size();) {
    const size_t comma = std::min(c.log.find(',', at), c.log.size());
    const std::string item = c.log.substr(at, comma - at);
    const size_t equals = item.find('=');
    const std::string kind = item.substr(0, equals);
    if (kind != "csv" && kind != "jsonl") {
      return Failure{Failure::Kind::Usage, "`" + kind + "` is not a kind of log", "--log", "csv, jsonl, or csv=FILE,jsonl=FILE"};
    }
    all.push_back({kind, equals == std::string::npos ? stem + ".metrics." + kind : item.substr(equals + 1)});
    at = comma + 1;
  }
  return all;
}

struct Destination {
  std::string output;
  FileRef file;
};

/// --out, checked against the program's outputs before anything runs.
Result<std::vector<Destination>> destinations(const Command& c, const Graph& g) {
  auto given = assignments("--out", c.outputs);
  if (!given) return given.failure();
  std::vector<std::string> names;
  for (const Output& o : g.outputs) names.push_back(o.name);
  std::vector<Destination> all;
  for (const auto& [name, path] : *given) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string near = nearestName(name, names);
      std::string list;
      for (const auto& n : names) list += (list.empty() ? "`" : ", `") + n + "`";
      return Failure{Failure::Kind::Usage, "the program has no output `" + name + "`", "--out " + name + "=" + path,
                     near.empty() ? "it has " + list : "did you mean `" + near + "`?"};
    }
    const std::string extension = std::filesystem::path(parseFileRef(path).path).extension().string();
    if (extension != ".npy" && extension != ".npz" && extension != ".csv" && extension != ".tsv" && extension != ".txt") {
      return Failure{Failure::Kind::Usage, "`" + path + "` does not say how to write it", "--out " + name,
                     "end the name in .npy, .npz, .csv or .txt"};
    }
    all.push_back({name, parseFileRef(path)});
  }
  return all;
}

/// Writes what was asked for; arrays that go to one npz go together.
void writeOutputs(const RunResult& result, std::vector<Destination> to, bool quiet) {
  std::map<std::string, std::vector<std::pair<std::string, Array>>> archives;
  for (const NamedArray& o : result.outputs) {
    bool written = false;
    for (const Destination& d : to) {
      if (d.output != o.name) continue;
      written = true;
      if (formatOf(d.file.path) == FileFormat::Npz) {
        archives[d.file.path].emplace_back(d.file.member.empty() ? o.name : d.file.member, o.array);
        continue;
      }
      const std::string note = writeArray(d.file, o.array);
      if (!note.empty() && !quiet) std::fprintf(stderr, "note: %s: %s\n", d.file.path.c_str(), note.c_str());
    }
    if (!o.path.empty()) {
      writeArray(parseFileRef(o.path), o.array);
    } else if (!written && !quiet) {
      std::printf("%s\n", summary(o.name, o.array).c_str());
    }
  }
  for (const auto& [path, members] : archives) writeNpz(path, members);
}

void tellCompilations(const RunStats& s) {
  std::fprintf(stderr, "compiled %d kernel%s, %d cached (%.2f s)\n", s.kernelsCompiled, s.kernelsCompiled == 1 ? "" : "s",
               s.kernelsCached, s.compileSeconds);
}

int programHelp(const Command& c) {
  if (c.file.empty()) return kDone;
  Loaded l;
  int code = 0;
  Command open = c;
  if (!load(open, &l, &code)) return code;
  printProgramHelp(l.program->signature(), c.file);
  return kDone;
}

int runLoaded(const Command& c, Loaded& l) {
  const auto logs = logRequests(c);
  if (!logs) return tell(logs.failure(), nullptr, c.diagnosticFormat());
  const auto to = destinations(c, l.program->graph());
  if (!to) return tell(to.failure(), nullptr, c.diagnosticFormat());
  try {
    Console console({c.quiet, *logs}, l.program->graph());
    std::atomic<int32_t> stop{0};
    RunOptions run;
    run.seed = c.seed;
    run.threads = c.threads;
    run.stop = &stop;
    run.listener = &console;
    RunResult result;
    bool interrupted = false;
    {
      const InterruptScope scope(&stop);
      result = l.program->run(run);
      interrupted = scope.interrupted();
    }
    console.finish();
    const bool stopped = result.failure && result.failure->kind == Failure::Kind::Interrupted;
    if (result.failure && !stopped) return tell(*result.failure, &l.diags, c.diagnosticFormat());
    writeOutputs(result, *to, c.quiet);
    std::fflush(stdout);
    if (c.timePhases) printPhases(*l.program);
    if (!c.quiet) tellCompilations(result.stats);
    if (stopped) return tell(*result.failure, nullptr, c.diagnosticFormat());
    return interrupted ? kInterrupted : kDone;
  } catch (const FileError& e) {
    return tell({Failure::Kind::Run, e.reason, e.path, ""}, nullptr, c.diagnosticFormat());
  }
}

std::string positionText(const std::vector<int64_t>& at) {
  std::string s;
  for (const int64_t i : at) s += (s.empty() ? "" : ", ") + std::to_string(i);
  return "[" + s + "]";
}

/// Sizes small enough for the oracle: dims with a larger default are cut to a few steps, unless files fix them.
std::map<std::string, std::string> smallSizes(const Command& c, const Program& program) {
  std::map<std::string, std::string> small;
  const Graph& g = program.graph();
  for (const InputDecl& i : g.inputs) {
    if (!i.path.empty()) return small;
  }
  if (!c.inputs.empty()) return small;
  for (const Size& s : g.sizes) {
    const bool dim = std::any_of(g.dims.begin(), g.dims.end(), [&](const Dim& d) { return d.size == s.sym; });
    const bool given = std::any_of(c.settings.begin(), c.settings.end(),
                                   [&](const std::string& t) { return t.compare(0, s.sym.name().size() + 1, s.sym.name() + "=") == 0; });
    if (!dim || given || s.derived || s.specialised) continue;
    const auto value = s.value ? s.value->asConst() : std::nullopt;
    if (!value || *value > 6) small[s.sym.name()] = std::to_string(std::max<int64_t>(s.atLeast, 5));
  }
  return small;
}

int checkWithOracle(const Command& c, Loaded& l) {
  RunOptions run;
  run.settings = smallSizes(c, *l.program);
  run.sampleInputs = true;
  run.seed = c.seed;
  run.threads = c.threads;
  const auto all = l.program->compareWithOracle(run);
  if (!all) return tell(all.failure(), &l.diags, c.diagnosticFormat());
  int wrong = 0;
  for (const Comparison& k : *all) {
    std::string line = k.output + (k.agrees ? ": agrees with the oracle" : ": DIFFERS from the oracle");
    if (!k.at.empty() || k.worst > 0) {
      line += "; largest difference " + formatNumber(k.worst) + " at " + positionText(k.at) + ": " + formatNumber(k.value) +
              ", oracle " + formatNumber(k.expected);
    }
    std::printf("%s\n", line.c_str());
    wrong += !k.agrees;
  }
  return wrong ? kFailed : kDone;
}

}  // namespace

int runCommand(const Command& c) {
  if (c.help) return programHelp(c);
  Loaded l;
  int code = 0;
  if (!load(c, &l, &code)) return code;
  return runLoaded(c, l);
}

int checkCommand(const Command& c) {
  Loaded l;
  int code = 0;
  if (!load(c, &l, &code)) return code;
  if (c.oracle) return checkWithOracle(c, l);
  if (!c.quiet) {
    for (const TypeInfo& t : l.program->types()) std::printf("%s : %s\n", t.name.c_str(), t.type.c_str());
  }
  if (c.timePhases) printPhases(*l.program);
  return kDone;
}

void printProgramHelp(const Signature& s, const std::string& file) {
  std::printf("\n%s\n", file.c_str());
  if (!s.description.empty()) std::printf("  %s\n", s.description.c_str());
  const auto row = [](const std::string& head, const std::string& text) {
    std::printf("  %-28s %s\n", head.c_str(), text.c_str());
  };
  if (!s.sizes.empty()) std::puts("\nsizes (-s NAME=N)");
  for (const auto& z : s.sizes) {
    std::string text = z.value.empty() ? "from the inputs, or required" : (z.settable ? "default " : "= ") + z.value;
    if (!z.help.empty()) text += "  " + z.help;
    if (z.specialised) text += "  (compiled per value)";
    row(z.name, text);
  }
  if (!s.options.empty()) std::puts("\noptions (-s NAME=VALUE)");
  for (const auto& o : s.options) row(o.name + " : " + o.dtype, "default " + o.value + (o.help.empty() ? "" : "  " + o.help));
  if (!s.inputs.empty()) std::puts("\ninputs (--in NAME=FILE)");
  for (const auto& i : s.inputs) row(i.name + " : " + i.type, i.path.empty() ? "required" : "default " + i.path);
  if (!s.outputs.empty()) std::puts("\noutputs (--out NAME=FILE)");
  for (const auto& o : s.outputs) row(o.name + " : " + o.type, o.path.empty() ? "" : "written to " + o.path);
}

}  // namespace tempo::cli
