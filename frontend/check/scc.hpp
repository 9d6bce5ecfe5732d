// Strongly connected components of a small graph.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace tempo::check {

/// The number of the component of each of `n` vertices; components are numbered in reverse topological order.
inline std::vector<size_t> stronglyConnected(size_t n, const std::vector<std::pair<size_t, size_t>>& edges) {
  std::vector<std::vector<size_t>> next(n);
  for (const auto& [from, to] : edges) next[from].push_back(to);
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> component(n, kNone), index(n, kNone), low(n), at(n, 0), stack, path;
  size_t count = 0, found = 0;
  for (size_t root = 0; root < n; ++root) {
    if (index[root] != kNone) continue;
    path.push_back(root);
    while (!path.empty()) {
      size_t v = path.back();
      if (index[v] == kNone) {
        index[v] = low[v] = count++;
        stack.push_back(v);
      }
      bool descended = false;
      while (at[v] < next[v].size() && !descended) {
        size_t w = next[v][at[v]++];
        if (index[w] == kNone) {
          path.push_back(w);
          descended = true;
        } else if (component[w] == kNone) {
          low[v] = std::min(low[v], low[w]);
        }
      }
      if (descended) continue;
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[v]);
      if (low[v] != index[v]) continue;
      for (size_t w = kNone; w != v;) {
        w = stack.back();
        stack.pop_back();
        component[w] = found;
      }
      ++found;
    }
  }
  return component;
}

}  // namespace tempo::check
