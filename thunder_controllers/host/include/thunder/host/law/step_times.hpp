// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thunder {

/// Running statistics and a histogram of the duration of updates, [ns], of fixed size.
///
/// Bins are four to the octave, so a percentile read from them is at most 25 % too high.
class StepTimes {
 public:
  static constexpr std::size_t kBins = 136;

  void record(std::uint64_t ns) noexcept {
    last_ = ns;
    max_ = ns > max_ ? ns : max_;
    sum_ += ns;
    ++count_;
    const std::size_t bin = bin_of(ns);
    ++bins_[bin < kBins ? bin : kBins - 1];
  }
  void clear() noexcept { *this = StepTimes(); }

  std::uint64_t last_ns() const noexcept { return last_; }
  std::uint64_t max_ns() const noexcept { return max_; }
  std::uint64_t count() const noexcept { return count_; }
  double mean_ns() const noexcept {
    return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  const std::array<std::uint64_t, kBins>& bins() const noexcept { return bins_; }

  /// The first duration that falls into a bin.
  static std::uint64_t lower_edge(std::size_t bin) noexcept {
    if (bin < 4) return bin;
    return static_cast<std::uint64_t>(4 + bin % 4) << (bin / 4 - 1);
  }

  /// The bin of a duration: 0 to 3 ns have their own, then the top two bits below the leading one choose.
  static std::size_t bin_of(std::uint64_t ns) noexcept {
    if (ns < 4) return static_cast<std::size_t>(ns);
    std::size_t shift = 0;
    while ((ns >> shift) >= 8) ++shift;
    return 4 * (shift + 1) + static_cast<std::size_t>(ns >> shift) - 4;
  }

 private:
  std::uint64_t last_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t count_ = 0;
  std::array<std::uint64_t, kBins> bins_{};
};

}  // namespace thunder
