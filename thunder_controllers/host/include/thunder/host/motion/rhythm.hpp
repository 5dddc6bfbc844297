// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace thunder {

/// Learns how far apart the samples of a stream are, and so how long to wait for the next one; updating thread,
/// allocates nothing.
///
/// Samples that are at most kPrompt apart form a stream at once. A longer gap, up to kLongest, belongs to the stream
/// once it is known: the motion went on through it, and a gap of that length came before. Slow policies make such gaps
/// between all samples, and policies that infer between chunks of actions make one after each chunk. A single gap, or a
/// target that is stepped to, extends no time.
class Rhythm {
 public:
  static constexpr double kPrompt = 0.2;   ///< [s]
  static constexpr double kLongest = 1.0;  ///< [s] Nothing is waited for longer, so this bounds how long an arm moves on.

  /// Forget all gaps.
  void begin() noexcept;
  /// Take a gap [s] between two samples. `goes_on`: the second lies where the motion before the gap leads. False if the
  /// second sample is a step.
  bool take(double gap, bool goes_on) noexcept;
  /// Longest gap of late [s], which fades; 0 while it is not known.
  double longest() const noexcept { return longest_; }
  /// Silence [s] that the known gaps explain, at most kLongest.
  double patience() const noexcept;
  /// Time [s] for which a sample is carried on.
  double horizon() const noexcept;

 private:
  double seen_ = 0.0;     ///< [s] Longest gap of late, of any kind.
  double known_ = 0.0;    ///< [s] Longest known gap of late.
  double longest_ = 0.0;  ///< [s] Longest gap of late that belongs to the stream.
};

}  // namespace thunder
