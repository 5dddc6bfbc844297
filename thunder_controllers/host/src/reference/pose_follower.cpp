// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/pose_follower.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "thunder/host/motion/sample.hpp"

namespace thunder {
namespace {

constexpr double kConverged = 1e-6;   // [m, rad]
constexpr int kMostSteps = 50;        // to one pose
constexpr double kLongestStep = 0.2;  // [rad or m] of a joint
constexpr double kDamping = 1e-6;     // [m²]

}  // namespace

PoseFollower::PoseFollower(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits)
    : rows_(uses_orientation(law) ? 6 : 3),
      lower_(limits.position_lower),
      upper_(limits.position_upper),
      distance_(library, law.name),
      function_(library, "J_ee", 6 * library->n_joints()),
      q_(lower_.size()),
      jacobian_(lower_.size()),
      free_(lower_.size()),
      step_(lower_.size()) {}

double PoseFollower::approach(double* q, const double* reference) noexcept {
  double left = distance_.evaluate(q, reference);
  for (int i = 0; i < kMostSteps && left > kConverged; ++i) {
    const bool is_stuck = step(q) <= kConverged;
    left = distance_.evaluate(q, reference);
    if (is_stuck) break;
  }
  return left;
}

const std::vector<double>& PoseFollower::velocity(const double* q, const Twist& twist) noexcept {
  find_jacobian(q);
  solve_within_limits(twist, kDamping, 0.0);
  return step_;
}

/// One step of damped least squares, with the joints in their limits. How far the fastest joint moves [rad or m].
double PoseFollower::step(double* q) noexcept {
  if (!find_jacobian(q)) return 0.0;
  solve_within_limits(distance_.error(), kDamping, 0.0);
  double furthest = kConverged;
  for (const double value : step_) furthest = std::max(furthest, std::abs(value));
  const double share = std::min(1.0, kLongestStep / furthest);
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    q[i] = std::clamp(q[i] + share * step_[i], lower_[i], upper_[i]);
  }
  return share * furthest;
}

double PoseFollower::left_over(const double* q, const Twist& x, double damping, double margin) noexcept {
  meets_limit_ = false;
  return find_jacobian(q) ? solve_within_limits(x, damping, margin) : 1.0;
}

bool PoseFollower::find_jacobian(const double* q) noexcept {
  std::copy_n(q, q_.size(), q_.begin());
  if (!function_.evaluate(q)) return false;
  for (std::size_t i = 0; i < q_.size(); ++i) {
    jacobian_[i].fill(0.0);
    std::copy_n(function_.result() + 6 * i, rows_, jacobian_[i].begin());
  }
  return true;
}

/// With J of find_jacobian. What it leaves over, see left_over.
double PoseFollower::solve_within_limits(const Twist& x, double damping, double margin) noexcept {
  std::copy(jacobian_.begin(), jacobian_.end(), free_.begin());
  for (;;) {
    const double left = solve(x, damping, free_);
    bool is_free = true;
    for (std::size_t i = 0; i < q_.size(); ++i) {
      const bool leaves = (step_[i] > 0.0 && upper_[i] - q_[i] <= margin) ||
                          (step_[i] < 0.0 && q_[i] - lower_[i] <= margin);
      if (!leaves) continue;
      free_[i].fill(0.0);
      is_free = false;
      meets_limit_ = true;
    }
    if (is_free) return left;
  }
}

double PoseFollower::solve(const Twist& x, double damping, const std::vector<Twist>& jacobian) noexcept {
  using Vector = Eigen::Matrix<double, 6, 1>;
  Vector wanted = Vector::Zero();
  std::copy_n(x.begin(), rows_, wanted.data());
  Eigen::Matrix<double, 6, 6> A = damping * Eigen::Matrix<double, 6, 6>::Identity();
  for (const Twist& values : jacobian) {
    const Eigen::Map<const Vector> column(values.data());
    A += column * column.transpose();
  }
  const Vector y = A.ldlt().solve(wanted);
  for (std::size_t i = 0; i < step_.size(); ++i) step_[i] = Eigen::Map<const Vector>(jacobian[i].data()).dot(y);
  return wanted.isZero(0.0) ? 0.0 : damping * y.norm() / wanted.norm();  // x − JJᵀy = λ² y
}

}  // namespace thunder
