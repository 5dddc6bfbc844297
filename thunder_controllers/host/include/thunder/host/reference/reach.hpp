// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "thunder/host/reference/place.hpp"
#include "thunder/host/reference/pose_follower.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Finds out that a reference at rest will not be reached; updating thread, allocates nothing.
///
/// A pose is out of reach once the robot has been further away than kAlmostThere for longer than the patience
/// without coming nearer by kProgress, and the joints that may still move cannot make most of the way, see
/// PoseFollower. An arm that is pushed away, or too weak, is not. One that is further away than kNoticed as a joint
/// at its limit would have to move on stays as near as it is, which `is_beyond` says. Any reference is given up
/// where the arm, without coming nearer, moves on for three times the patience and does not become calmer, as
/// between two joint limits. It is not the arm that moves on where its joints take in work, a twentieth of what
/// they exchange at least: then somebody guides it.
class Reach {
 public:
  /// Positions, velocities and efforts of the joints beyond gravity, n each.
  struct Motion {
    const double* q;
    const double* qd;
    const double* effort;
  };

  static constexpr double kNoticed = 0.005;     ///< [m, rad]
  static constexpr double kAlmostThere = 0.02;  ///< [m, rad]
  static constexpr double kProgress = 0.002;    ///< [m, rad]

  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q) or J_ee(q). Patience [s].
  Reach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits, double patience);

  void restart() noexcept;
  /// Let dt [s] pass, at the end of which the robot moves so; true where the flat reference will not be reached.
  /// `is_unknown`: nobody has shown that it can be reached.
  bool is_hopeless(const Motion& motion, const double* reference, double dt, bool is_unknown) noexcept;
  /// Whether the last reference is not reached as it is out of reach, or behind a joint limit.
  bool is_beyond() const noexcept { return is_beyond_; }
  /// Whether that is for want of rest.
  bool is_restless() const noexcept { return is_restless_; }
  /// See ReferenceDistance.
  double distance(const double* q, const double* reference) noexcept { return distance_.evaluate(q, reference); }

 private:
  void travel(const Motion& motion, double dt) noexcept;
  void judge_rest() noexcept;
  void forget_travel() noexcept;
  bool is_at_boundary(const double* q) noexcept;

  int velocity_;      ///< where the flat reference has its velocity
  std::size_t rows_;  ///< of the task: n, 6, or 3 where the law leaves the orientation free
  double patience_;
  ReferenceDistance distance_;
  std::optional<PoseFollower> kinematics_;  ///< cartesian laws
  std::vector<double> before_;        ///< q where the window began
  double nearest_ = std::numeric_limits<double>::infinity();
  double waited_ = 0.0;
  double window_ = 0.0;            ///< [s]
  double period_ = 0.0;            ///< [s] of some windows
  double travelled_ = 0.0;         ///< by the fastest joint of each window, in this period
  double travelled_before_ = 0.0;  ///< in the period before
  double work_ = 0.0;              ///< of the efforts in this period [J]
  double exchanged_ = 0.0;         ///< its parts without their signs
  int restless_periods_ = 0;       ///< on end
  bool is_restless_ = false;
  bool is_beyond_ = false;
};

}  // namespace thunder
