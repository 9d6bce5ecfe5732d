// The oracle's memory of one node: a state and a value per point, dense where a box of moderate size holds all points, else
// by hashing.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "oracle/compiled.hpp"

namespace tempo::oracle {

enum class State : uint8_t { Absent, Active, Done };

class Memo {
 public:
  /// `box`: per coordinate, where known.
  Memo(size_t rank, std::optional<std::vector<Interval>> box);

  /// A number for the point, the same each time.
  int64_t key(const int64_t* point);
  std::vector<int64_t> point(int64_t key) const;
  State& state(int64_t key) { return states_[size_t(key)]; }
  double& value(int64_t key) { return values_[size_t(key)]; }

 private:
  struct Hash {
    size_t operator()(const std::vector<int64_t>& p) const {
      size_t h = 0;
      for (int64_t x : p) h = (h ^ size_t(x)) * 0x9E3779B97F4A7C15u ^ (h >> 29);
      return h;
    }
  };

  void allocate();  // at the first use: most nodes of a large program may never be asked

  bool dense_ = false;
  size_t denseCount_ = 0;
  std::vector<Interval> box_;
  std::vector<State> states_;
  std::vector<double> values_;
  std::unordered_map<std::vector<int64_t>, int64_t, Hash> keys_;  // of points outside the box
  std::vector<std::vector<int64_t>> points_;                      // their coordinates, by key - denseCount_
  size_t rank_ = 0;
};

}  // namespace tempo::oracle
