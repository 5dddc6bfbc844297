// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

namespace thunder {

/// Bounds of the motions that a controller makes itself, SI units, positive and finite.
///
/// On the way to a pose all of the linear and angular ones are kept. Coming to rest keeps the acceleration (up to what
/// the motion before leaves over); timed points keep what their times ask for.
struct MotionLimits {
  double linear_velocity = 0.25;      ///< [m/s]
  double linear_acceleration = 1.0;   ///< [m/s²]
  double linear_jerk = 10.0;          ///< [m/s³]
  double angular_velocity = 1.0;      ///< [rad/s]
  double angular_acceleration = 4.0;  ///< [rad/s²]
  double angular_jerk = 40.0;         ///< [rad/s³]
  double joint_acceleration = 4.0;    ///< [rad/s² or m/s²]
};

/// Throws HostError(law) that names the bound that is not positive and finite.
void check_limits(const MotionLimits& limits);

/// A pose of the end effector in the world frame, and when it is passed.
struct TimedPose {
  double time = 0.0;                                          ///< [s] from the start of the motion.
  std::array<double, 3> position{};                           ///< [m]
  std::array<double, 4> orientation{0.0, 0.0, 0.0, 1.0};      ///< Quaternion x, y, z, w, norm 1 to 1e-3.
  std::optional<std::array<double, 6>> twist{};               ///< [m/s, rad/s], linear part first.
  std::optional<std::array<double, 6>> acceleration{};        ///< [m/s², rad/s²], time derivative of the twist.
};

/// Where a motion to a pose goes, in the base frame.
struct PoseTarget {
  std::array<double, 3> position{};                       ///< [m]
  std::array<double, 4> orientation{0.0, 0.0, 0.0, 1.0};  ///< Quaternion x, y, z, w of unit norm.
};

/// Positions of all joints, and when they are passed. Empty velocities or accelerations are not given.
struct TimedJoints {
  double time = 0.0;           ///< [s] from the start of the motion.
  std::vector<double> q;       ///< [rad or m]
  std::vector<double> qd{};    ///< [rad/s or m/s]
  std::vector<double> qdd{};   ///< [rad/s² or m/s²]
};

/// What the reference of a law follows.
enum class ReferenceSource {
  hold,     ///< A place: where the robot was found, or where a motion has ended.
  stream,   ///< What is written.
  motion,   ///< A motion of the controller's own.
  stopping  ///< To rest: until it rests after a request, until the next request after a lost stream.
};

/// "hold", "stream", "motion" or "stopping".
const char* to_string(ReferenceSource source) noexcept;

}  // namespace thunder
