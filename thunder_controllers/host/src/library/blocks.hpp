// SPDX-License-Identifier: Apache-2.0
//
// What evaluates a function at many states in blocks of as many as there are lanes, in threads. Not installed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "thunder/host/library/aligned.hpp"
#include "thunder/host/library/batch.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {

inline std::size_t size_of(const thunder_entry& entry) { return static_cast<std::size_t>(entry_size(entry)); }

/// to[c * height + r] = from[r * width + c].
void transpose(const double* from, std::size_t rows, std::size_t cols, std::size_t width, double* to,
               std::size_t height);
void transpose(const float* from, std::size_t rows, std::size_t cols, std::size_t width, float* to, std::size_t height);

/// Copy without reading the lines of the cache that are written, where the processor can: half of the traffic.
template <class Real>
void copy_past_cache(const Real* from, std::size_t size, Real* to);

/// What was copied so is there for other threads.
void finish_copies();

/// What evaluates a block, singly without lanes.
inline thunder_eval eval_of(const thunder_function& function, int lanes, double) {
  return lanes > 0 ? function.eval_lanes : function.eval;
}
inline thunder_eval_single eval_of(const thunder_function& function, int, float) { return function.eval_single_lanes; }

/// Evaluates a function in blocks of states: value k of state i of a block is at [k * width() + i] of its result.
template <class Real>
class Blocks {
 public:
  Blocks(const thunder_function& function, int lanes, const std::vector<RowsOf<Real>>& in)
      : function_(function), in_(in), eval_(eval_of(function, lanes, Real{})),
        width_(std::max<std::size_t>(static_cast<std::size_t>(lanes), 1)), arg_(in.size()),
        iw_(static_cast<std::size_t>(function.size_iw)),
        w_(aligned<Real>(width_ * static_cast<std::size_t>(function.size_w))) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      taken_.push_back(aligned<Real>(width_ * size_of(function.in[k])));
      arg_[k] = taken_[k].get();
      for (std::size_t i = 0; in[k].stride == 0 && i < width_; ++i) spread(k, 0, 1, taken_[k].get() + i);
    }
    for (int k = 0; k < function.n_out; ++k) {
      given_.push_back(aligned<Real>(width_ * size_of(function.out[k])));
      res_.push_back(given_.back().get());
    }
  }

  std::size_t width() const noexcept { return width_; }
  const Real* result(std::size_t k) const noexcept { return res_[k]; }

  /// States from `first` on, `count` of them, at most a block; the last one fills what is left of it.
  bool evaluate(std::size_t first, std::size_t count) {
    for (std::size_t k = 0; k < in_.size(); ++k) {
      if (in_[k].stride == 0) continue;
      spread(k, first, count, taken_[k].get());
      for (std::size_t i = count; i < width_; ++i) spread(k, first + count - 1, 1, taken_[k].get() + i);
    }
    return eval_(arg_.data(), res_.data(), iw_.data(), w_.get(), 0) == 0;
  }

 private:
  void spread(std::size_t k, std::size_t first, std::size_t count, Real* to) const {
    const auto& [data, stride] = in_[k];
    transpose(data + first * stride, count, size_of(function_.in[k]), stride, to, width_);
  }

  const thunder_function& function_;
  const std::vector<RowsOf<Real>>& in_;
  const decltype(eval_of(std::declval<const thunder_function&>(), 0, Real{})) eval_;
  const std::size_t width_;
  std::vector<const Real*> arg_;
  std::vector<Real*> res_;
  std::vector<AlignedOf<Real>> taken_;
  std::vector<AlignedOf<Real>> given_;
  std::vector<long long> iw_;
  AlignedOf<Real> w_;
};

/// Share `count` states in parts of whole blocks: work(part, first, last) -> bool, in a thread each. False if one was.
template <class Work>
bool in_threads(std::size_t count, std::size_t width, std::size_t threads, const Work& work) {
  const std::size_t blocks = (count + width - 1) / width;
  std::atomic<bool> succeeded = true;
  const auto part = [&](std::size_t k) {
    const std::size_t last = std::min(count, blocks * (k + 1) / threads * width);
    if (!work(k, blocks * k / threads * width, last)) succeeded = false;
  };
  std::vector<std::thread> others;
  for (std::size_t k = 1; k < threads; ++k) others.emplace_back(part, k);
  part(0);
  for (auto& other : others) other.join();
  return succeeded;
}

/// Threads that so many states are worth.
inline std::size_t worth(std::size_t threads, std::size_t count) {
  constexpr std::size_t kStatesPerThread = 512;
  return std::max<std::size_t>(1, std::min(threads, count / kStatesPerThread));
}

}  // namespace thunder
