// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/rhythm.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Finds the velocity of a stream of places, as policies and people's hands give them, whose samples have no rates;
/// updating thread, allocates nothing.
///
///     v ← v + (1 − e^{−(t − t')/T}) ((s − s')/(t − t') − v)
///
/// s' at t' is the sample before. The low-pass is there because samples come early and late. A sample is then due half a
/// period of the stream after its time: where it is on the way lies between it and the one before when it comes, and as
/// far beyond it when the next one comes. What is faster than motions may be is a jump, a sample with every update needs
/// no velocity between, and a place that is repeated is at rest: they are left as they are.
class StreamRates {
 public:
  StreamRates(const thunder_law& law, const SampleLayout& layout, const Options& options, const Limits& limits);

  /// What comes next belongs to nothing before.
  void begin() noexcept;
  /// Write the velocity into a flat sample of a time [s], dt [s] between updates; how much later it is due [s], none if
  /// it was left as it is.
  std::optional<double> derive(double* sample, double time, double dt, const MotionLimits& limits) noexcept;
  /// How long errors of the velocity are to be spread over [s], see Stream.
  double settle() const noexcept;
  /// Whether the stream is silent now, for so long that its last place is meant to be its end, or `is_over`; true once.
  bool has_paused(double now, bool is_over) noexcept;
  /// Rhythm of the samples, also of those that have rates.
  const Rhythm& rhythm() const noexcept { return rhythm_; }

 private:
  bool follow(const double* sample, double gap, double dt, const MotionLimits& limits) noexcept;
  bool find_way(const double* sample, double gap, const MotionLimits& limits) noexcept;
  bool goes_on(double gap) const noexcept;

  SampleLayout layout_;
  bool acts_;                  ///< where jumps are approached
  bool turns_;                 ///< the law uses the orientation
  std::vector<double> speed_;  ///< [rad/s or m/s] of joints
  std::vector<double> last_;   ///< the sample before
  std::vector<double> way_;    ///< from it
  std::vector<double> rate_;   ///< v, as the flat sample has it, or that of a sample that has rates
  Rhythm rhythm_;
  std::optional<double> time_; ///< [s] of the sample before
  double period_ = 0.0;        ///< [s] of the stream, the mean of some; 0 while it is not known
  bool has_rates_ = false;     ///< the sample before
  bool is_moving_ = false;     ///< the last sample was given a velocity
};

}  // namespace thunder
