// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/rhythm.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/motion/time_laws.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Follows a stream of samples, between them and past the newest one; updating thread, allocates nothing.
///
///     r(t) = c(t) + Δ(t)
///
/// c is the newest sample, carried on (or back, before it is due) by its own velocity and acceleration; once it is older
/// than the horizon of the stream's rhythm, it comes to rest. Δ is what the reference before was away from
/// c when the sample came. It falls to zero on a quintic, so r is twice continuously differentiable whatever comes. It
/// takes one period, or until the sample is due, or what is left of the one before and then as long as a jump takes at
/// half of the velocity of motions; and so long that their acceleration makes the change of c. A jump is what changes
/// more than the sample's velocity makes in a period. So what comes with every update is followed exactly, and what jumps
/// is approached. Of a stream that gives no rates, see StreamRates, they are estimates, and Δ takes longer.
class Stream {
 public:
  static constexpr double kSpeedShare = 0.5;     ///< of a joint's velocity limit: the law needs room to catch up
  static constexpr double kInstant = 1e-9;       ///< [s] far below a period, far above its rounding
  static constexpr double kAtRest = 1e-9;        ///< [m/s, rad/s] rounding of what a stream computes

  Stream(const thunder_law& law, const SampleLayout& layout, const Options& options, const Limits& limits);

  /// What comes next belongs to nothing before.
  void begin() noexcept;
  /// A flat sample that is due at a time [s] comes now, dt [s] after the reference that is given. Δ takes at
  /// least `settle` [s].
  void take(const double* sample, double due, double now, double dt, const Rhythm& rhythm, const MotionLimits& limits,
            const double* reference, double settle) noexcept;
  /// Write the reference now; where it is not finite it stays.
  void advance(double now, double* reference) noexcept;

  /// Whether Δ is there, and takes longer than samples of a stream may be apart.
  bool is_far() const noexcept { return is_far_ && !is_over_; }
  /// Whether the newest sample is at rest, and reached soon, see Rhythm::kLongest.
  bool is_settling(double now) const noexcept { return !moves_ && begun_ + duration_ - now <= Rhythm::kLongest; }
  /// Whether the stream is late, and what moved comes to rest.
  bool is_late() const noexcept { return is_late_; }

 private:
  using Columns = std::vector<ScalarSample>;  ///< of joints, or PoseColumns

  template <class Visit>
  void visit_groups(const MotionLimits& limits, Visit visit) const noexcept;
  void read(const double* reference, Columns& columns) const noexcept;
  void write(const Columns& columns, double* reference) const noexcept;
  double speed_of_sample(std::size_t first, std::size_t last) const noexcept;
  void plan_stop(const MotionLimits& limits) noexcept;
  void plan_approach(const MotionLimits& limits, double left) noexcept;
  ScalarSample approach(std::size_t i, double elapsed) const noexcept;
  void carry(double age) noexcept;

  SampleLayout layout_;
  bool approaches_jumps_;
  bool turns_;                 ///< the law uses the orientation
  std::vector<double> speed_;  ///< [rad/s or m/s] of joints
  std::vector<double> flat_;   ///< the sample
  PoseSample pose_{};          ///< the same
  Columns sample_;             ///< the same
  Columns carried_;            ///< c
  Columns away_;               ///< Δ when the sample came, but for
  Columns next_;               ///< r
  std::vector<double> news_;   ///< value of c before, less that of c, then
  std::vector<double> jolt_;   ///< what the sample changes of the acceleration, which a long Δ would go on with for long
  std::vector<double> kept_;   ///< acceleration of Δ before
  StopShape shape_;
  std::optional<double> due_;  ///< [s]
  double period_ = 0.0;        ///< [s] of the stream, the longest of late; 0 while it is not known
  double horizon_ = 0.0;       ///< [s] for which the sample is carried on
  double begun_ = 0.0;         ///< [s] when Δ was away_
  double duration_ = 0.0;      ///< [s] of Δ
  double soonest_ = 0.0;       ///< [s] of jolt_
  bool moves_ = false;         ///< the sample
  bool is_far_ = false, is_late_ = false, is_over_ = true;
};

}  // namespace thunder
