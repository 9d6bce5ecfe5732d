#include "oracle/memo.hpp"

namespace tempo::oracle {

namespace {
constexpr int64_t kDenseLimit = int64_t{1} << 24;  // 150 MB of values and states
}

Memo::Memo(size_t rank, std::optional<std::vector<Interval>> box) : rank_(rank) {
  if (!box) return;
  int64_t count = 1;
  for (const Interval& i : *box) {
    if (!i.bounded() || i.lo > i.hi) return;
    int64_t extent;
    if (__builtin_sub_overflow(i.hi, i.lo, &extent) || extent >= kDenseLimit) return;
    count *= extent + 1;
    if (count > kDenseLimit) return;
  }
  dense_ = true;
  box_ = std::move(*box);
  denseCount_ = size_t(count);
}

void Memo::allocate() {
  if (!states_.empty()) return;
  states_.assign(denseCount_, State::Absent);
  values_.assign(denseCount_, 0);
}

int64_t Memo::key(const int64_t* point) {
  allocate();
  if (dense_) {
    int64_t k = 0;
    bool inside = true;
    for (size_t i = 0; i < rank_ && inside; ++i) {
      inside = point[i] >= box_[i].lo && point[i] <= box_[i].hi;
      k = k * (box_[i].hi - box_[i].lo + 1) + (point[i] - box_[i].lo);
    }
    if (inside) return k;
  }
  auto [it, isNew] = keys_.emplace(std::vector<int64_t>(point, point + rank_), int64_t(states_.size()));
  if (isNew) {
    states_.push_back(State::Absent);
    values_.push_back(0);
    points_.push_back(it->first);
  }
  return it->second;
}

std::vector<int64_t> Memo::point(int64_t key) const {
  if (size_t(key) >= denseCount_) return points_[size_t(key) - denseCount_];
  std::vector<int64_t> out(rank_);
  for (size_t i = rank_; i-- > 0;) {
    int64_t extent = box_[i].hi - box_[i].lo + 1;
    out[i] = box_[i].lo + key % extent;
    key /= extent;
  }
  return out;
}

}  // namespace tempo::oracle
