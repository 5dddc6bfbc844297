// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/reference/distance.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Finds out that a reference at rest will not be reached; updating thread, allocates nothing.
///
/// A pose is out of reach once the robot has been further away than kAlmostThere for longer than the patience without
/// coming nearer by kProgress, and no joint that may still move brings it nearer: every column of J is nearly orthogonal
/// to the error. An arm that is pushed away, or too weak, is not. Any reference is given up where the arm, without coming
/// nearer, has not come to rest for three times the patience, as between two joint limits.
class Approach {
 public:
  static constexpr double kAlmostThere = 0.02;  ///< [m, rad]
  static constexpr double kProgress = 0.002;    ///< [m, rad]
  static constexpr double kRestless = 0.1;      ///< [rad/s or m/s] of the fastest joint, on average
  static constexpr double kNear = 0.1;          ///< [m, rad] A stream that was given up is followed again from here.

  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q).
  Approach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits, double patience);

  void restart() noexcept;
  /// Let dt [s] pass, at the end of which the robot is at q; true where the flat reference will not be
  /// reached. `is_blocked`: its pace is zero.
  bool is_hopeless(const double* q, const double* reference, double dt, bool is_blocked) noexcept;
  /// Whether that is for want of rest.
  bool is_restless() const noexcept;
  /// Cartesian laws: the share of a twist [m/s, rad/s] at which no joint needs more than a share of its velocity limit,
  /// at the q that the distance was found for last: at most 1, and 0 instead of less than 0.1, or where the joints can make
  /// less than half of it.
  double pace(const double* q, const std::array<double, 6>& twist, double share_of_limit) noexcept;
  /// See ReferenceDistance.
  double distance(const double* q, const double* reference) noexcept { return distance_.evaluate(q, reference); }

 private:
  void travel(const double* q, double dt) noexcept;
  bool is_at_boundary(const double* q) noexcept;
  bool find_jacobian(const double* q) noexcept;

  int velocity_;       ///< where the flat reference has its velocity
  std::size_t rows_;   ///< of the task: n, 6, or 3 where the law leaves the orientation free
  std::vector<double> position_lower_, position_upper_, velocity_limit_;
  double patience_;
  ReferenceDistance distance_;
  std::optional<PositionFunction> pose_;  ///< cartesian laws
  std::vector<double> moved_;
  std::vector<std::array<double, 6>> jacobian_;  ///< its columns, by differences
  std::vector<double> before_;  ///< q where the window began
  double nearest_ = std::numeric_limits<double>::infinity();
  double waited_ = 0.0;
  double travelled_ = 0.0;  ///< by the fastest joint of each window, meanwhile
  double window_ = 0.0;     ///< [s]
};

}  // namespace thunder
