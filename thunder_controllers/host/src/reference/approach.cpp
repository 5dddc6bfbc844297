// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/approach.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/pose_difference.hpp"

namespace thunder {
namespace {

constexpr double kAtRest = 1e-3;           // [m/s, rad/s]
constexpr double kLargestCosine = 0.3;     // between a column of J and the error
constexpr double kAtLimit = 0.05;          // [rad or m] from a joint limit: a soft stop may hold the joint
constexpr double kDifference = 1e-6;       // [rad or m]
constexpr double kLeastPace = 0.1;         // nearer to a singularity laws shake
constexpr double kDamping = 1e-8;          // λ² of JJᵀ [m²]
constexpr double kWindow = 0.05;           // [s]
constexpr double kRestlessPatiences = 3.0;

}  // namespace

Approach::Approach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits,
                   double patience)
    : velocity_(SampleLayout(law, library->n_joints()).velocity),
      rows_(static_cast<std::size_t>(library->n_joints())),
      position_lower_(limits.position_lower),
      position_upper_(limits.position_upper),
      velocity_limit_(limits.velocity),
      patience_(patience),
      distance_(library, law.name),
      moved_(position_lower_.size()),
      jacobian_(position_lower_.size()),
      before_(moved_) {
  if (law.reference_kind != THUNDER_REFERENCE_CARTESIAN) return;
  rows_ = uses_orientation(law) ? 6 : 3;
  pose_.emplace(std::move(library), "T_0_ee", 16);
}

void Approach::restart() noexcept {
  nearest_ = std::numeric_limits<double>::infinity();
  waited_ = travelled_ = window_ = 0.0;
}

bool Approach::is_hopeless(const double* q, const double* reference, double dt, bool is_blocked) noexcept {
  const double* velocity = reference + velocity_;
  if (std::any_of(velocity, velocity + rows_, [](double value) { return std::abs(value) > kAtRest; })) {
    restart();
    return false;
  }
  const double now = distance(q, reference);
  if (now < nearest_ - kProgress) {
    nearest_ = now;
    waited_ = travelled_ = 0.0;
  }
  waited_ += dt;
  travel(q, dt);
  return is_restless() || (pose_ && waited_ > patience_ && now > kAlmostThere && (is_blocked || is_at_boundary(q)));
}

bool Approach::is_restless() const noexcept {
  return waited_ > kRestlessPatiences * patience_ && travelled_ > kRestless * waited_;
}

/// In windows, for noise moves a joint to and fro with each measurement.
void Approach::travel(const double* q, double dt) noexcept {
  window_ += dt;
  if (window_ < kWindow) return;
  double way = 0.0;
  for (std::size_t i = 0; i < before_.size(); ++i) way = std::max(way, std::abs(q[i] - before_[i]));
  if (waited_ > window_) travelled_ += way;
  std::copy_n(q, before_.size(), before_.begin());
  window_ = 0.0;
}

/// At the pose that the distance was found for last.
bool Approach::find_jacobian(const double* q) noexcept {
  std::copy_n(q, moved_.size(), moved_.begin());
  for (std::size_t i = 0; i < moved_.size(); ++i) {
    moved_[i] = q[i] + kDifference;
    if (!pose_->evaluate(moved_.data())) return false;
    moved_[i] = q[i];
    jacobian_[i] = pose_difference(distance_.pose(), pose_->result());
    for (double& value : jacobian_[i]) value /= kDifference;
  }
  return true;
}

/// With the error there.
bool Approach::is_at_boundary(const double* q) noexcept {
  if (!find_jacobian(q)) return true;
  const std::array<double, 6>& error = distance_.error();
  for (std::size_t i = 0; i < jacobian_.size(); ++i) {
    double product = 0.0, length = 0.0, size = 0.0;
    for (std::size_t k = 0; k < rows_; ++k) {
      product += jacobian_[i][k] * error[k];
      length += jacobian_[i][k] * jacobian_[i][k];
      size += error[k] * error[k];
    }
    const double limit = product > 0.0 ? position_upper_[i] - q[i] : q[i] - position_lower_[i];
    if (limit > kAtLimit && std::abs(product) > kLargestCosine * std::sqrt(length * size)) return false;
  }
  return true;
}

double Approach::pace(const double* q, const std::array<double, 6>& twist, double share_of_limit) noexcept {
  if (!find_jacobian(q)) return 0.0;
  Eigen::Matrix<double, 6, 6> A = kDamping * Eigen::Matrix<double, 6, 6>::Identity();
  Eigen::Matrix<double, 6, 1> wanted = Eigen::Matrix<double, 6, 1>::Zero();
  for (std::size_t i = 0; i < rows_; ++i) {
    wanted[static_cast<Eigen::Index>(i)] = twist[i];
    for (std::size_t j = 0; j < rows_; ++j) {
      for (const std::array<double, 6>& column : jacobian_) {
        A(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) += column[i] * column[j];
      }
    }
  }
  const Eigen::Matrix<double, 6, 1> y = A.ldlt().solve(wanted);
  // What is left over is λ² y.
  if (!(kDamping * y.norm() < 0.5 * wanted.norm())) return 0.0;
  double share = 1.0;
  for (std::size_t i = 0; i < jacobian_.size(); ++i) {
    double speed = 0.0;
    for (std::size_t k = 0; k < rows_; ++k) speed += jacobian_[i][k] * y[static_cast<Eigen::Index>(k)];
    share = std::min(share, share_of_limit * velocity_limit_[i] / std::abs(speed));
  }
  return share < kLeastPace ? 0.0 : share;
}

}  // namespace thunder
