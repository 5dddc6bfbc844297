// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/reference/differential_ik.hpp"
#include "thunder/host/reference/distance.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Takes joints to the poses of a cartesian law's reference, within their limits, by steps of DifferentialIk.
///
/// A law resolves redundancy in another way, so this tells that there is a way near a posture, or that there is none.
/// Configuring thread.
class PoseFollower {
 public:
  static constexpr double kReached = 1e-3;  ///< [m, rad] from a pose
  static constexpr double kSlack = 1.01;    ///< of velocity and acceleration, for what lies between samples

  /// Throws HostError(build) if the library has no T_0_ee(q), HostError(name_not_found) for a joint law.
  PoseFollower(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits);

  /// Of the task, see DifferentialIk.
  std::size_t rows() const noexcept { return ik_.rows(); }

  /// Move q [rad or m] to the pose of a flat reference, or as near as it comes. Returns what is left of the way, see
  /// ReferenceDistance; not finite where the pose at q is not.
  double approach(double* q, const double* reference) noexcept;
  /// The way that is left [m] and the rotation vector [rad], world frame, after an approach.
  const DifferentialIk::Twist& left() const noexcept { return distance_.error(); }
  /// The smallest q̇ [rad/s or m/s] that makes most of a twist [m/s, rad/s] at q.
  const std::vector<double>& velocity(const double* q, const DifferentialIk::Twist& twist) noexcept;

 private:
  double step(double* q) noexcept;

  std::vector<double> lower_, upper_;
  ReferenceDistance distance_;
  DifferentialIk ik_;
};

}  // namespace thunder
