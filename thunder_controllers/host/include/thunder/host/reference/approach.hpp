// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/reference/differential_ik.hpp"
#include "thunder/host/reference/distance.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Leads a streamed reference to what is written: inside the limits, and no faster than the joints can follow.
///
/// Joints at half of their velocity limit, poses on a straight line, turning about one axis, at the velocities of
/// motions; or at the velocity that is written, if that is more. A pose waits for an arm that lags behind or hurries.
/// Updating thread, allocates nothing.
class Approach {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q).
  Approach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits);

  /// Joint laws: cut a flat reference to the limits of position, velocity and acceleration, positions to so many margins
  /// before, see Limits; others stay as they are. Whether something was cut.
  bool cut(double margins, double* reference) const noexcept;
  /// Cut the flat reference, positions to where a stream may be, see kStreamMargins.
  bool cut_stream(double* reference) const noexcept { return cut(kStreamMargins, reference); }
  /// Lead it from the one before, dt [s] earlier, with the robot at q, q̇. Whether it is still far from what it was.
  bool lead(const double* q, const double* qd, double dt, const MotionLimits& limits, const double* before,
            double* reference) noexcept;
  /// Whether a singularity keeps the last pose from being led.
  bool is_blocked() const noexcept { return is_blocked_; }

 private:
  static constexpr double kStreamMargins = 2.0;  ///< nearer to a limit, a soft stop would work against the law

  bool lead_joints(double dt, const double* before, double* reference) const noexcept;
  bool lead_pose(const double* q, const double* qd, double dt, const MotionLimits& limits, const double* before,
                 double* reference) noexcept;
  bool hurries(const double* qd) const noexcept;
  double pace(const double* q, const DifferentialIk::Twist& twist) noexcept;

  SampleLayout layout_;
  Limits limits_;
  ReferenceDistance lag_;
  std::optional<DifferentialIk> ik_;  ///< cartesian laws
  bool is_blocked_ = false;
};

}  // namespace thunder
