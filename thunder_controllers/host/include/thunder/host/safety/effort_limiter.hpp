// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/safety/guards.hpp"

namespace thunder {

/// Cuts efforts to the rate limit against the previous command, then to the effort limit.
///
/// The previous command is always inside the effort limit, so the result satisfies both. A robot compares a command with
/// the one before it whatever time lies between: after a late cycle as well no command goes further than one period.
class EffortLimiter {
 public:
  /// [N·m or N] and [N·m/s or N/s], positive, one per joint; the period of the commands [s].
  EffortLimiter(std::vector<double> limit, std::vector<double> rate_limit, double period);

  /// The effort that the next one is compared with, cut to the effort limit. The values must be finite.
  void restart(const double* effort) noexcept;

  /// Cut the wanted effort, which must be finite, over a time dt [s], a period at most; it becomes the previous one.
  GuardBits apply(const double* wanted, double dt, double* effort) noexcept;

  const std::vector<double>& previous() const noexcept { return previous_; }
  const std::vector<double>& limit() const noexcept { return limit_; }

 private:
  std::vector<double> limit_;
  std::vector<double> rate_limit_;
  double period_;
  std::vector<double> previous_;
};

/// From the effort that held an arm at rest to the one that the law believes would, at the start.
///
/// They differ by what the model does not know, such as a payload that nobody has told of. The difference is added to the
/// law's effort and fades in the given time, in which an estimate may learn what it was for; what it learns from is the
/// effort applied, all of it. An effort that is smaller than the difference did not hold the arm, but brakes or gears did.
class Handover {
 public:
  static constexpr double kShare = 0.5;  ///< of the rate limit, at most: the other half is the law's

  /// [N·m or N] and [N·m/s or N/s], one per joint; the time that it takes, and the period of the commands [s].
  Handover(std::vector<double> limit, const std::vector<double>& rate_limit, double time, double period);

  /// Nothing is added from now on.
  void restart() noexcept;
  /// The arm rests, and was held by the first of these.
  void begin(const double* held, const double* believed) noexcept;
  /// Add what is left of the difference to an effort, over a time dt [s].
  void apply(double dt, double* effort) noexcept;

 private:
  std::vector<double> limit_;
  std::vector<double> largest_rate_;
  double time_;
  double period_;
  std::vector<double> difference_;
  std::vector<double> rate_;
  bool is_over_ = true;  ///< the difference is zero
};

/// The part of a law's effort that limits keep from the robot, as a low-pass of kTime.
///
/// An estimate that adapts meanwhile takes a limit for a wrong model. But a limit that noise meets on either side keeps
/// nothing from the robot on average: adaptation that stops at each such step starves. On the path of the demo, with
/// 0.05 rad/s of noise on the velocities, that froze 97 % of the steps, this 12 %; an adaptation thirty times as fast as
/// the demo's ran away with 20 ms and two hundredths, and does not with these.
class Shortfall {
 public:
  static constexpr double kTime = 0.01;          ///< [s]
  static constexpr double kLargestShare = 0.01;  ///< of an effort limit

  /// Effort limits [N·m or N], positive and finite, one per joint.
  explicit Shortfall(std::vector<double> limit);

  void restart() noexcept;
  /// Add a period dt [s] of efforts, all finite. Whether some joint's shortfall is above its share.
  bool update(const double* wanted, const double* given, double dt) noexcept;

 private:
  std::vector<double> limit_;
  std::vector<double> average_;
};

}  // namespace thunder
