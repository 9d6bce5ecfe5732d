#include "index/sym.hpp"

#include <deque>
#include <mutex>
#include <unordered_map>

namespace tempo {

namespace {

struct Table {
  std::mutex mutex;
  std::deque<std::string> names{""};  // a deque keeps references valid as it grows
  std::unordered_map<std::string_view, uint32_t> ids;

  uint32_t intern(std::string_view name) {
    if (name.empty()) return 0;
    if (auto it = ids.find(name); it != ids.end()) return it->second;
    names.emplace_back(name);
    uint32_t id = uint32_t(names.size() - 1);
    ids.emplace(names.back(), id);
    return id;
  }
};

Table& table() {
  static Table* t = new Table;  // never destroyed: names are read by other statics' destructors
  return *t;
}

}  // namespace

Sym Sym::get(std::string_view name) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  return Sym(t.intern(name));
}

Sym Sym::fresh(std::string_view base) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  for (uint32_t n = 1;; ++n) {
    std::string name = std::string(base) + "_" + std::to_string(n);
    if (!t.ids.count(name)) return Sym(t.intern(name));
  }
}

const std::string& Sym::name() const {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  return t.names[id_];
}

}  // namespace tempo
