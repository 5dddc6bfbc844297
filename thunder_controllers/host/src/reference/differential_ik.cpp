// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/differential_ik.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <utility>

#include "thunder/host/motion/pose_difference.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder {
namespace {

constexpr double kDifference = 1e-6;  // [rad or m]

}  // namespace

DifferentialIk::DifferentialIk(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits)
    : rows_(uses_orientation(law) ? 6 : 3),
      lower_(limits.position_lower),
      upper_(limits.position_upper),
      pose_(std::move(library), "T_0_ee", 16),
      q_(lower_.size()),
      jacobian_(lower_.size()),
      free_(lower_.size()),
      step_(lower_.size()) {}

bool DifferentialIk::find_jacobian(const double* q) noexcept {
  std::copy_n(q, q_.size(), q_.begin());
  if (!pose_.evaluate(q)) return false;
  std::array<double, 16> here;
  std::copy_n(pose_.result(), here.size(), here.begin());
  for (std::size_t i = 0; i < q_.size(); ++i) {
    q_[i] = q[i] + kDifference;
    const bool is_finite = pose_.evaluate(q_.data());
    q_[i] = q[i];
    if (!is_finite) return false;
    jacobian_[i] = pose_difference(here.data(), pose_.result());
    for (double& value : jacobian_[i]) value /= kDifference;
    std::fill(jacobian_[i].begin() + static_cast<std::ptrdiff_t>(rows_), jacobian_[i].end(), 0.0);
  }
  return true;
}

double DifferentialIk::solve_within_limits(const Twist& x, double damping, double margin) noexcept {
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
    }
    if (is_free) return left;
  }
}

double DifferentialIk::solve(const Twist& x, double damping, const std::vector<Twist>& jacobian) noexcept {
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
