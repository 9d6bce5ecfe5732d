#include "cli/command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;

namespace tempo::test {
namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

std::vector<std::string> environmentWith(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> all;
  for (char** e = environ; *e; ++e) {
    const std::string item = *e;
    if (!extra.count(item.substr(0, item.find('=')))) all.push_back(item);
  }
  for (const auto& [name, value] : extra) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> p;
  for (auto& s : strings) p.push_back(s.data());
  p.push_back(nullptr);
  return p;
}

}  // namespace

Ran runTempo(const std::string& folder, const std::vector<std::string>& args, const HowToRun& how) {
  const std::string out = folder + "/.stdout", err = folder + "/.stderr";
  std::map<std::string, std::string> variables = {{"XDG_CACHE_HOME", folder + "/.cache"}};
  for (const auto& [k, v] : how.environment) variables[k] = v;
  std::vector<std::string> environment = environmentWith(variables);
  std::vector<std::string> command = {std::string(TEMPO_BINARY_DIR) + "/tempo"};
  command.insert(command.end(), args.begin(), args.end());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  pid_t child = 0;
  Ran ran;
  const int error = ::posix_spawn(&child, command[0].c_str(), &files, nullptr, pointers(command).data(),
                                  pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (error) return ran;
  if (how.interruptAfterMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(how.interruptAfterMs));
    ::kill(child, SIGINT);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = contents(out);
  ran.err = contents(err);
  return ran;
}

std::string lineWith(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  if (at == std::string::npos) return "";
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace tempo::test
