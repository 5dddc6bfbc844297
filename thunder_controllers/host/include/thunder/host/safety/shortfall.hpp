// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace thunder {

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
