#include "command.hpp"

#include <cstdio>

#include "cache/cache.hpp"

namespace tempo::cli {

Result<std::map<std::string, std::string>> assignments(const std::string& flag, const std::vector<std::string>& list) {
  std::map<std::string, std::string> all;
  for (const std::string& item : list) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Failure{Failure::Kind::Usage, "wants NAME=VALUE, not `" + item + "`", flag, ""};
    }
    const auto [it, fresh] = all.emplace(item.substr(0, equals), item.substr(equals + 1));
    if (!fresh) return Failure{Failure::Kind::Usage, "`" + it->first + "` is given twice", flag, ""};
  }
  return all;
}

Result<CompileOptions> compileOptions(const Command& c) {
  CompileOptions o;
  auto settings = assignments("-s", c.settings);
  if (!settings) return settings.failure();
  auto inputs = assignments("--in", c.inputs);
  if (!inputs) return inputs.failure();
  auto forces = assignments("--force", c.forces);
  if (!forces) return forces.failure();
  o.settings = *settings;
  for (const auto& [name, file] : *inputs) o.inputs[name] = parseFileRef(file);
  o.force = *forces;
  o.device = c.device == "oracle" ? Device::Oracle : c.device == "cuda" ? Device::Cuda : Device::Cpu;
  o.targetCpu = c.targetCpu;
  o.passesOff = {c.passesOff.begin(), c.passesOff.end()};
  o.cache = !c.noCache;
  o.verify = c.verify;
  return o;
}

bool load(const Command& c, Loaded* out, int* code) {
  auto options = compileOptions(c);
  if (!options) {
    *code = tell(options.failure(), nullptr, c.diagnosticFormat());
    return false;
  }
  options->runOnly = c.verb == "run" && !c.help;
  auto program = Program::load({c.file, std::nullopt}, *options, out->diags);
  if (!program) {
    *code = tell(program.failure(), &out->diags, c.diagnosticFormat());
    return false;
  }
  tellWarnings(out->diags, c.diagnosticFormat());
  out->program = *program;
  return true;
}

void printPhases(const Program& program) {
  double total = 0;
  for (const PhaseTime& p : program.phaseTimes()) {
    std::fprintf(stderr, "  %-12s %9.3f ms\n", p.name.c_str(), p.seconds * 1e3);
    total += p.seconds;
  }
  std::fprintf(stderr, "  %-12s %9.3f ms\n", "total", total * 1e3);
}

int emitCommand(const Command& c) {
  static const std::pair<const char*, EmitStage> kStages[] = {
      {"ast", EmitStage::Ast},   {"sdg", EmitStage::Sdg}, {"plan", EmitStage::Plan}, {"kir", EmitStage::Kir},
      {"llvm", EmitStage::Llvm}, {"asm", EmitStage::Asm}, {"cuda", EmitStage::Cuda}, {"ptx", EmitStage::Ptx}};
  std::vector<EmitStage> wanted;
  for (const auto& [name, stage] : kStages) {
    const auto it = c.stages.find(name);
    if (it != c.stages.end() && it->second) wanted.push_back(stage);
  }
  if (wanted.size() != 1) {
    return wrongCommand("emit", wanted.empty() ? "say what to print" : "one stage at a time",
                        "--ast, --sdg, --plan, --kir, --llvm, --asm, --cuda or --ptx", c.diagnosticFormat());
  }
  Loaded l;
  int code = 0;
  if (!load(c, &l, &code)) return code;
  const auto text = l.program->emit(wanted[0]);
  if (!text) return tell(text.failure(), &l.diags, c.diagnosticFormat());
  std::fputs(text->c_str(), stdout);
  if (!text->empty() && text->back() != '\n') std::fputc('\n', stdout);
  if (c.timePhases) printPhases(*l.program);
  return kDone;
}

int planCommand(const Command& c) {
  Loaded l;
  int code = 0;
  if (!load(c, &l, &code)) return code;
  const auto text = c.format == "json" ? l.program->planJson() : l.program->planText();
  if (!text) return tell(text.failure(), &l.diags, c.diagnosticFormat());
  std::fputs(text->c_str(), stdout);
  if (c.timePhases) printPhases(*l.program);
  return kDone;
}

int explainCommand(const Command& c) {
  const CodeInfo* info = findCode(c.file);
  if (!info) {
    std::vector<std::string> codes;
    for (const CodeInfo& i : allCodes()) codes.emplace_back(i.code);
    const std::string near = nearestName(c.file, codes);
    return wrongCommand("explain", "there is no error code `" + c.file + "`",
                        near.empty() ? "codes look like E0301" : "did you mean " + near + "?", c.diagnosticFormat());
  }
  std::printf("%s: %s\n\n%s\n", info->code, info->title, info->explanation);
  return kDone;
}

int cacheCommand(const Command& c) {
  const DiskCache cache = DiskCache::fromEnvironment();
  if (!cache.enabled()) {
    std::puts("the cache is off (TEMPO_CACHE=0, or no home folder)");
    return kDone;
  }
  if (c.file == "clear") {
    std::printf("removed %lld entries\n", static_cast<long long>(cache.clear()));
    return kDone;
  }
  const DiskCache::Info i = cache.info();
  std::printf("folder   %s\nentries  %lld\nsize     %.1f MB of at most %.0f MB\n", i.folder.c_str(),
              static_cast<long long>(i.entries), static_cast<double>(i.bytes) / 1e6, static_cast<double>(i.limit) / 1e6);
  return kDone;
}

}  // namespace tempo::cli
