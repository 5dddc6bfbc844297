// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/motion/figure.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/motion/spline.hpp"
#include "thunder/host/motion/time_laws.hpp"

namespace thunder {

/// Where a motion to a pose goes.
struct PoseTarget {
  Vector3 position{};                               ///< [m]
  Quaternion orientation{0.0, 0.0, 0.0, 1.0};       ///< Unit norm.
};

/// Makes the samples of the motions, one per step, from the sample in effect; updating thread, allocates nothing.
///
/// Position, velocity and acceleration go on continuously from the sample that a motion begins with.
class MotionPlayer {
 public:
  explicit MotionPlayer(const SampleLayout& layout);

  /// Come to rest, if it moves. The orientation is integrated to fourth order in the step (Magnus expansion; Blanes et
  /// al., "The Magnus expansion and some of its applications", 2009, section 5).
  void stop(const double* reference, const MotionLimits& limits) noexcept;
  /// Come to rest, then go to a pose on a straight line, turning about one axis, on one time law.
  void go(const double* reference, const PoseTarget& target, const MotionLimits& limits) noexcept;
  /// Along timed points, which must stay there until the motion is over or another begins. False, and no motion, if the
  /// first orientation is turned by more than `kLargestTurn`.
  bool follow(const double* reference, const SplineKnots& knots, const MotionLimits& limits) noexcept;
  /// Come to rest, then along a figure, which must stay there likewise; it has no end.
  void trace(const double* reference, const Figure& figure, const MotionLimits& limits) noexcept;
  /// Make none.
  void cancel() noexcept { phase_ = Phase::none; }

  bool is_running() const noexcept { return phase_ != Phase::none; }
  /// Whether it comes to rest before a figure.
  bool is_stopping() const noexcept { return phase_ == Phase::stop_then_trace; }
  /// While running: let dt [s] pass and write the sample, at rest if that was the last one; knots and figure are those
  /// that it began with, null where it has none. False, and nothing written, where timed orientations overshoot so far
  /// that no orientation can be made of them.
  bool advance(double dt, const SplineKnots* knots, const Figure* figure, double* reference) noexcept;

 private:
  enum class Phase { none, stop, stop_then_go, go, follow, stop_then_trace, trace };
  /// From rest to rest, s on the time law: p = p₀ + s d, R = Exp(s φ) R₀.
  struct Way {
    Vector3 from, line, turn;
    Quaternion first;
  };

  void begin(const double* reference, const MotionLimits& limits) noexcept;
  bool is_at_rest(const double* reference) const noexcept;
  void plan_way() noexcept;
  void begin_figure(const double* reference) noexcept;
  bool begin_pose_spline(const SplineKnots& knots) noexcept;
  void advance_stop(double dt, double* reference) noexcept;
  void advance_pose_stop(double begin) noexcept;
  void advance_joint_stop(double* reference) const noexcept;
  void advance_way(double dt) noexcept;
  void advance_figure(double dt, const Figure& figure, double* reference) noexcept;
  bool advance_spline(double dt, const SplineKnots& knots, double* reference) noexcept;
  bool advance_pose_spline(const SplineKnots& knots) noexcept;

  SampleLayout layout_;
  Phase phase_ = Phase::none;
  MotionLimits limits_;
  StopShape shape_;
  TimeLaw law_;
  double ramp_time_ = 0.0;  ///< of the figure [s]
  double time_ = 0.0;    ///< on the shape or the law [s]
  PoseSample start_{};   ///< what the motion began with
  PoseSample sample_{};  ///< now
  std::vector<double> joint_start_;
  PoseTarget target_;
  Way way_;
  SplineCursor cursor_;
};

/// Two orientations in a row of timed points may differ by this [rad]: beyond, the way between them is not clear.
inline constexpr double kLargestTurn = 2.0;

}  // namespace thunder
