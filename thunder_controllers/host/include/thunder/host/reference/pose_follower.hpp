// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// The inverse kinematics of a cartesian law's task: takes joints to poses of its reference, within their limits.
///
/// By damped least squares: Δq = Jᵀ(JJᵀ + λ²)⁻¹ x (Buss & Kim, Selectively damped least squares, 2005, section 1), with J_ee
/// and x a twist or a way [m, rad] in the world frame; without its rotation where the law leaves the orientation free. A law
/// resolves redundancy in another way, so this tells that there is a way near a posture, or that there is none. Allocates
/// nothing once constructed.
class PoseFollower {
 public:
  using Twist = std::array<double, 6>;

  static constexpr double kReached = 1e-3;  ///< [m, rad] from a pose
  static constexpr double kSlack = 1.01;    ///< of velocity and acceleration, for what lies between samples

  /// Throws HostError(build) if the library has no T_0_ee(q) or J_ee(q), HostError(name_not_found) for a joint law.
  PoseFollower(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits);

  /// Of the task: 6, or 3 where the law leaves the orientation free.
  std::size_t rows() const noexcept { return rows_; }

  /// Move q [rad or m] to the pose of a flat reference, or as near as it comes. Returns what is left of the way, see
  /// ReferenceDistance; not finite where the pose at q is not.
  double approach(double* q, const double* reference) noexcept;
  /// The way that is left [m] and the rotation vector [rad], world frame, after an approach.
  const Twist& left() const noexcept { return distance_.error(); }
  /// The smallest q̇ [rad/s or m/s] that makes most of a twist [m/s, rad/s] at q.
  const std::vector<double>& velocity(const double* q, const Twist& twist) noexcept;

  /// The share, 0 to 1, of x that a step from q with λ² = `damping` [m²] leaves over, with joints held that are at a limit,
  /// or nearer to it than the margin [rad or m], and would move towards it; 1 where J is not finite.
  double left_over(const double* q, const Twist& x, double damping, double margin) noexcept;
  /// Whether J was finite, and the last left_over held a joint.
  bool meets_limit() const noexcept { return meets_limit_; }

 private:
  bool find_jacobian(const double* q) noexcept;
  double solve_within_limits(const Twist& x, double damping, double margin) noexcept;
  double solve(const Twist& x, double damping, const std::vector<Twist>& jacobian) noexcept;
  double step(double* q) noexcept;

  std::size_t rows_;
  std::vector<double> lower_, upper_;
  ReferenceDistance distance_;
  PositionFunction function_;  ///< J_ee
  std::vector<double> q_;
  std::vector<Twist> jacobian_;  ///< its columns
  std::vector<Twist> free_;      ///< the same, zero for joints that are held
  std::vector<double> step_;     ///< Δq [rad or m]
  bool meets_limit_ = false;
};

}  // namespace thunder
