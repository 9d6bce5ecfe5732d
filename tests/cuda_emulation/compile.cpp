#include "cuda_emulation/compile.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

extern char** environ;

namespace tempo::emulation {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string>& flags() {
  static const std::vector<std::string> f = {"-std=c++17",     "-O1",  "-w",   "-DTEMPO_EMULATE",  "-ffp-contract=off",
                                             "-fwrapv",        "-fPIC", "-shared", "-Wl,-Bsymbolic", "-x", "c++"};
  return f;
}

/// The compiler of the build; elsewhere (a bundle on another machine) $CXX or g++.
std::string compiler() {
  if (access(TEMPO_EMULATION_CXX, X_OK) == 0) return TEMPO_EMULATION_CXX;
  const char* own = std::getenv("CXX");
  return own && *own ? own : "g++";
}

fs::path cacheFolder() {
  const fs::path build = TEMPO_BINARY_DIR;
  return (fs::exists(build) ? build : fs::temp_directory_path()) / "cuda_emulation_cache";
}

uint64_t hash(const std::string& s, uint64_t h = 14695981039346656037ull) {
  for (unsigned char c : s) h = (h ^ c) * 1099511628211ull;
  return h;
}

std::string readFile(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

/// Exit status of a command whose output goes to `log`; -1 if it could not be started.
int runCommand(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> argv;
  for (const auto& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const int rc = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Files get their names by a rename, so that tests running side by side never load a half-written one.
bool build(const std::string& source, const fs::path& target, std::string* problem) {
  static std::atomic<int> counter{0};
  const std::string unique = target.string() + "." + std::to_string(getpid()) + "." + std::to_string(counter++);
  const fs::path cpp = unique + ".cpp", object = unique + ".so", log = unique + ".log";
  std::ofstream(cpp, std::ios::binary) << source;
  std::vector<std::string> command = {compiler()};
  command.insert(command.end(), flags().begin(), flags().end());
  for (const std::string& s : {cpp.string(), std::string("-o"), object.string()}) command.push_back(s);
  const int rc = runCommand(command, log);
  if (rc != 0) *problem = readFile(log);
  if (rc != 0 && problem->empty()) *problem = "could not run " + compiler();
  std::error_code ignored;
  if (rc == 0) fs::rename(object, target, ignored);
  if (rc == 0) fs::rename(cpp, target.string() + ".cpp", ignored);
  fs::remove(cpp, ignored);
  fs::remove(log, ignored);
  return rc == 0;
}

}  // namespace

Library::~Library() { dlclose(handle_); }
void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

std::shared_ptr<Library> compileLibrary(const std::string& source, std::string* problem) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t h = hash(source, hash(compiler()));
  for (const auto& f : flags()) h = hash(f, h);
  char name[32];
  std::snprintf(name, sizeof name, "%016llx.so", static_cast<unsigned long long>(h));
  const fs::path folder = cacheFolder();
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const fs::path file = folder / name;
  if (!fs::exists(file) && !build(source, file, problem)) return nullptr;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    *problem = why ? why : "dlopen failed";
    return nullptr;
  }
  return std::make_shared<Library>(handle);
}

}  // namespace tempo::emulation
