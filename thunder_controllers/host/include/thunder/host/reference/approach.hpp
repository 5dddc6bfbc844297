// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/reference/distance.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Finds out that a pose at rest is out of reach; updating thread, allocates nothing.
///
/// It is once the robot has been further away than kAlmostThere for longer than the patience without coming nearer by
/// kProgress, and either no joint that may still move brings it nearer (every column of J is nearly orthogonal to the
/// error), or the arm has not come to rest meanwhile (as between two joint limits). An arm that is pushed away, or too
/// weak, is not out of reach.
class Approach {
 public:
  static constexpr double kAlmostThere = 0.02;  ///< [m, rad]
  static constexpr double kProgress = 0.002;    ///< [m, rad]
  static constexpr double kRestless = 0.1;      ///< [rad/s or m/s] of the fastest joint, on average
  static constexpr double kNear = 0.1;          ///< [m, rad] A stream that was given up is followed again from here.

  /// For a cartesian law. Throws HostError(build) for a library without T_0_ee(q).
  Approach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits, double patience);

  void restart() noexcept;
  /// Let dt [s] pass, at the end of which the robot is at q; true where the flat reference is out of reach.
  bool is_hopeless(const double* q, const double* reference, double dt) noexcept;
  /// See ReferenceDistance.
  double distance(const double* q, const double* reference) noexcept { return distance_.evaluate(q, reference); }

 private:
  bool is_at_boundary(const double* q) noexcept;

  int velocity_;       ///< where the flat reference has its twist
  std::size_t rows_;   ///< of the task: 6, or 3 where the law leaves the orientation free
  std::vector<double> position_lower_, position_upper_;
  double patience_;
  ReferenceDistance distance_;
  PositionFunction pose_;
  std::vector<double> moved_;
  std::vector<double> before_;  ///< q of the step before
  double nearest_ = std::numeric_limits<double>::infinity();
  double waited_ = 0.0;
  double travelled_ = 0.0;  ///< by the fastest joint of each step, meanwhile
};

}  // namespace thunder
