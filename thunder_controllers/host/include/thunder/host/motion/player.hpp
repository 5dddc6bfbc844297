// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thunder/host/motion/circles.hpp"
#include "thunder/host/motion/figure.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/motion/spline.hpp"
#include "thunder/host/motion/time_laws.hpp"

namespace thunder {

/// A motion that is asked for.
struct Motion {
  PoseTarget target;
  std::shared_ptr<const SplineKnots> knots;  ///< null, as the next one: to the target
  std::shared_ptr<const Figure> figure;
  MotionLimits limits;
  double pace = 1.0;  ///< times the time that it was asked for in; to a target, that the limits ask for

  /// Whether nobody has said how long it takes: it goes to a target.
  bool has_own_time() const noexcept { return !knots && !figure; }
  /// The same way in so many times the time, from rest.
  Motion slowed(double factor) const;
};

/// On which way a motion to a pose goes.
struct PoseWay {
  explicit PoseWay(const Motion& motion) : is_straight(motion.has_own_time()), pace(motion.pace) {}

  bool is_straight;  ///< else all joints move at once
  double pace;       ///< times the time that the motion limits ask for: 1, or what the joints need
};

/// For people: "on a straight line, in 2.3 times the time that the motion limits ask for".
std::string to_string(const PoseWay& way);

/// Makes the samples of the motions, one per step, from the sample in effect; updating thread, allocates nothing.
///
/// Position, velocity and acceleration go on continuously from the sample that a motion begins with. Timed points and
/// figures have a clock σ(t) of their own: x(σ), ẋ = x' σ̇, ẍ = x'' σ̇² + x' σ̈.
class MotionPlayer {
 public:
  MotionPlayer(const SampleLayout& layout, const Circles& circles);

  /// Come to rest, if it moves. The orientation is integrated to fourth order in the step (Magnus expansion; Blanes et
  /// al., "The Magnus expansion and some of its applications", 2009, section 5).
  void stop(const double* reference, const MotionLimits& limits) noexcept;
  /// Go along timed points; or come to rest, then go along a figure, without end, or to a pose on a straight line, turning
  /// about one axis, on one time law. False, and no motion, if the first orientation is turned by more than `kLargestTurn`.
  bool begin(const double* reference, const Motion& motion) noexcept;
  /// Come to rest on the way, where it goes along timed points or a figure: the clock comes to rest, so what was rehearsed
  /// is not left, nor passed faster. False, and nothing done, if that way is not of this motion.
  bool end(const double* reference, const Motion& motion) noexcept;
  /// Make none.
  void cancel() noexcept { phase_ = Phase::none; }

  bool is_running() const noexcept { return phase_ != Phase::none; }
  /// Whether it comes to rest, with or without a motion after it.
  bool is_stopping() const noexcept { return phase_ == Phase::stop; }
  /// While running: let dt [s] pass and write the sample, at rest but for rounding if that was the last one; the motion is
  /// the one that it began with. False, and nothing written, where timed orientations overshoot so far that no orientation
  /// can be made of them.
  bool advance(double dt, const Motion& motion, double* reference) noexcept;

 private:
  enum class Phase { none, stop, go, follow, trace };
  /// From rest to rest, s on the time law: p = p₀ + s d, R = Exp(s φ) R₀.
  struct Way {
    Vector3 from, line, turn;
    Quaternion first;
  };

  /// σ(t) = from + steady t + the way of the StopShape that begins with `rate` and `change`.
  struct Clock {
    double from, steady, rate, change;
  };

  void start_at(const double* reference) noexcept;
  double stop_time(const double* reference, const MotionLimits& limits) const noexcept;
  void start_clock(Phase phase, const void* way, const Clock& clock) noexcept;
  ScalarSample advance_clock(double dt) noexcept;
  bool begin_spline(const SplineKnots& knots) noexcept;
  void go_on(const Motion& motion, const double* reference) noexcept;
  void plan_way(const Motion& motion) noexcept;
  void advance_stop(double dt, const Motion& motion, double* reference) noexcept;
  void advance_pose_stop(double begin) noexcept;
  void advance_way(double dt, const PoseTarget& target) noexcept;
  void advance_figure(const ScalarSample& clock, const Figure& figure, double* reference) noexcept;
  bool advance_spline(const ScalarSample& clock, const SplineKnots& knots, double* reference) noexcept;

  SampleLayout layout_;
  Circles circles_;
  Phase phase_ = Phase::none;
  Phase next_ = Phase::none;  ///< after coming to rest
  StopShape shape_;
  TimeLaw law_;
  double time_ = 0.0;    ///< on the shape or the law [s]
  PoseSample start_{};   ///< what the motion began with
  PoseSample sample_{};  ///< now
  std::vector<ScalarSample> joints_;  ///< what the motion began with
  std::vector<double> turns_;         ///< [rad] from timed points to the motion: the first is nearest to the start
  Way way_;
  Clock clock_{};
  ScalarSample now_{};        ///< on the clock
  const void* on_ = nullptr;  ///< the points or the figure that it goes along, to tell them apart
  SplineCursor cursor_;
};

/// Two orientations in a row of timed points may differ by this [rad]: beyond, the way between them is not clear.
inline constexpr double kLargestTurn = 2.0;

}  // namespace thunder
