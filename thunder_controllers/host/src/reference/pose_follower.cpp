// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/pose_follower.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thunder {
namespace {

constexpr double kConverged = 1e-6;   // [m, rad]
constexpr int kMostSteps = 50;        // to one pose
constexpr double kLongestStep = 0.2;  // [rad or m] of a joint
constexpr double kDamping = 1e-6;     // [m²]

}  // namespace

PoseFollower::PoseFollower(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits)
    : lower_(limits.position_lower),
      upper_(limits.position_upper),
      distance_(library, law.name),
      ik_(std::move(library), law, limits) {}

double PoseFollower::approach(double* q, const double* reference) noexcept {
  double left = distance_.evaluate(q, reference);
  for (int i = 0; i < kMostSteps && left > kConverged; ++i) {
    const bool is_stuck = step(q) <= kConverged;
    left = distance_.evaluate(q, reference);
    if (is_stuck) break;
  }
  return left;
}

const std::vector<double>& PoseFollower::velocity(const double* q, const DifferentialIk::Twist& twist) noexcept {
  ik_.find_jacobian(q);
  ik_.solve_within_limits(twist, kDamping, 0.0);
  return ik_.step();
}

/// One step of damped least squares, with the joints in their limits. How far the fastest joint moves [rad or m].
double PoseFollower::step(double* q) noexcept {
  if (!ik_.find_jacobian(q)) return 0.0;
  ik_.solve_within_limits(distance_.error(), kDamping, 0.0);
  double furthest = kConverged;
  for (const double step : ik_.step()) furthest = std::max(furthest, std::abs(step));
  const double share = std::min(1.0, kLongestStep / furthest);
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    q[i] = std::clamp(q[i] + share * ik_.step()[i], lower_[i], upper_[i]);
  }
  return share * furthest;
}

}  // namespace thunder
