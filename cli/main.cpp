#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "command.hpp"
#include "pipeline.hpp"
#include "runtime/io.hpp"

namespace tempo::cli {
namespace {

void addProgramFlags(CLI::App* app, Command* c) {
  app->add_option("file", c->file, "the program")->type_name("FILE");
  app->add_option("-s,--set", c->settings, "a size or an option of the program")->type_name("NAME=VALUE")->take_all()->allow_extra_args(false);
  app->add_option("--in", c->inputs, "the file of an input: x=x.npy, x=f.npz:member, x=f.csv:column")
      ->type_name("NAME=FILE")
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--device", c->device, "cpu, cuda, or oracle (a slow interpreter, for finding bugs)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"cpu", "cuda", "oracle"}));
  app->add_option("--target-cpu", c->targetCpu, "compile for this CPU (an LLVM name) instead of this machine's")->type_name("NAME");
  app->add_option("--force", c->forces, "take a decision from the planner: store.v=ring,tile.t=4")
      ->type_name("WHAT=HOW,...")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--format", c->format, "of messages and reports: human or json")
      ->type_name("KIND")
      ->check(CLI::IsMember({"human", "json"}));
  app->add_flag("--time-phases", c->timePhases, "print the seconds of each stage on stderr");
  app->add_flag("--no-cache", c->noCache, "do not use the compile cache on disk");
  app->add_flag("--verify", c->verify, "check the compiler's own invariants after every pass");
  app->add_flag("-q,--quiet", c->quiet, "results and errors only");
  for (const std::string& pass : passNames()) {
    app->add_flag_callback("--no-" + pass, [c, pass] { c->passesOff.push_back(pass); }, "switch the pass `" + pass + "` off")
        ->group("Passes");
  }
}

void addRunFlags(CLI::App* app, Command* c) {
  app->add_option("--seed", c->seed, "of all random draws (0)")->type_name("N");
  app->add_option("--threads", c->threads, "worker threads (all); results do not depend on it")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
}

/// Help of `run` is printed by us, because it goes on with what the program takes.
CLI::App* addRun(CLI::App& app, Command* c) {
  CLI::App* run = app.add_subcommand("run", "run a program");
  addProgramFlags(run, c);
  addRunFlags(run, c);
  run->add_option("--out", c->outputs, "write an output: y=y.npy, y=f.npz:member, y=y.csv, y=y.txt")
      ->type_name("NAME=FILE")
      ->take_all()
      ->allow_extra_args(false);
  run->add_option("--log", c->log, "write reports to files: csv,jsonl or csv=FILE,jsonl=FILE")->type_name("KINDS");
  run->set_help_flag();
  run->add_flag("-h,--help", c->help, "this text, and with FILE the sizes, options, inputs and outputs it has");
  return run;
}

void addVerbs(CLI::App& app, Command* c) {
  addRun(app, c);
  CLI::App* check = app.add_subcommand("check", "check a program and print the types of its equations");
  addProgramFlags(check, c);
  addRunFlags(check, c);
  check->add_flag("--oracle", c->oracle, "run it on small sizes and compare every output with the interpreter's");
  CLI::App* emit = app.add_subcommand("emit", "print a stage of the compilation");
  addProgramFlags(emit, c);
  for (const char* stage : {"ast", "sdg", "plan", "kir", "llvm", "asm", "cuda", "ptx"}) {
    emit->add_flag(std::string("--") + stage, c->stages[stage])->group("Stages");
  }
  addProgramFlags(app.add_subcommand("plan", "order, stores and memory of a program, in its own names"), c);
  CLI::App* test = app.add_subcommand("test", "run the `## test` lines of a file");
  addProgramFlags(test, c);
  addRunFlags(test, c);
  app.add_subcommand("explain", "what an error code means and how to mend it")
      ->add_option("code", c->file, "E0301")
      ->required();
  app.add_subcommand("cache", "the compile cache on disk")
      ->add_option("action", c->file, "info or clear")
      ->required()
      ->check(CLI::IsMember({"info", "clear"}));
  app.add_subcommand("repl", "not in this version");
}

/// The option nearest to an unknown one.
std::string nearestFlag(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands()) {
    for (const CLI::Option* o : sub->get_options()) {
      for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
    }
  }
  return nearestName(flag, names);
}

int parseFailure(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  if (e.get_exit_code() == 0) {
    std::fputs(app.help().c_str(), stdout);
    return kDone;
  }
  std::string help = "tempo --help";
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (app.get_subcommands().empty() && i == 1) {
      const std::string near = nearestName(arg, {"run", "check", "emit", "plan", "test", "explain", "cache", "repl"});
      if (!near.empty() && near != arg) help = "did you mean `tempo " + near + "`?";
      if (arg.size() > 6 && arg.substr(arg.size() - 6) == ".tempo") help = "did you mean `tempo run " + arg + "`?";
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&e) && arg.rfind("--", 0) == 0) {
      const std::string flag = arg.substr(0, arg.find('='));
      const std::string near = nearestFlag(app, flag);
      if (!near.empty() && near != flag) help = "did you mean `" + near + "`?";
    }
  }
  std::string message = e.what();
  for (char& ch : message) ch = ch == '\n' ? ' ' : ch;
  return wrongCommand("command line", message, help, Format::Human);
}

int dispatch(const CLI::App& app, Command& c) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    std::fputs(app.help().c_str(), stdout);
    return kDone;
  }
  c.verb = chosen[0]->get_name();
  if (c.help) std::fputs(chosen[0]->help().c_str(), stdout);
  if (c.verb == "repl") return wrongCommand("repl", "there is no REPL in this version", "put the equations in a file: tempo run FILE", Format::Human);
  if (c.verb == "explain") return explainCommand(c);
  if (c.verb == "cache") return cacheCommand(c);
  if (c.file.empty() && !c.help) return wrongCommand(c.verb, "says no program", "tempo " + c.verb + " FILE", c.diagnosticFormat());
  if (c.verb == "run") return runCommand(c);
  if (c.verb == "check") return checkCommand(c);
  if (c.verb == "emit") return emitCommand(c);
  if (c.verb == "plan") return planCommand(c);
  return testCommand(c);
}

int main(int argc, char** argv) {
  CLI::App app("Tempo: programs of equations over time, compiled.", "tempo");
  app.set_version_flag("--version", "tempo " TEMPO_VERSION);
  Command c;
  addVerbs(app, &c);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    std::puts("tempo " TEMPO_VERSION);
    return kDone;
  } catch (const CLI::ParseError& e) {
    return parseFailure(app, e, argc, argv);
  }
  return dispatch(app, c);
}

}  // namespace
}  // namespace tempo::cli

int main(int argc, char** argv) {
  try {
    return tempo::cli::main(argc, argv);
  } catch (const tempo::FileError& e) {
    std::fprintf(stderr, "error: %s: %s\n", e.path.c_str(), e.reason.c_str());
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: this is a bug in Tempo: %s\n", e.what());
  }
  return tempo::cli::kFailed;
}
