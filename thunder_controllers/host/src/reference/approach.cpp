// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/approach.hpp"

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
constexpr double kWindow = 0.05;           // [s]
constexpr double kRestlessPatiences = 3.0;

}  // namespace

Approach::Approach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits,
                   double patience)
    : velocity_(SampleLayout(law, library->n_joints()).velocity),
      rows_(static_cast<std::size_t>(library->n_joints())),
      position_lower_(limits.position_lower),
      position_upper_(limits.position_upper),
      patience_(patience),
      distance_(library, law.name),
      moved_(position_lower_.size()),
      before_(moved_) {
  if (law.reference_kind != THUNDER_REFERENCE_CARTESIAN) return;
  rows_ = uses_orientation(law) ? 6 : 3;
  pose_.emplace(std::move(library), "T_0_ee", 16);
}

void Approach::restart() noexcept {
  nearest_ = std::numeric_limits<double>::infinity();
  waited_ = travelled_ = window_ = 0.0;
}

bool Approach::is_hopeless(const double* q, const double* reference, double dt) noexcept {
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
  return is_restless() || (pose_ && waited_ > patience_ && now > kAlmostThere && is_at_boundary(q));
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

/// At the pose, and with the error there, that the distance was found for last.
bool Approach::is_at_boundary(const double* q) noexcept {
  const std::array<double, 6>& error = distance_.error();
  std::copy_n(q, moved_.size(), moved_.begin());
  for (std::size_t i = 0; i < moved_.size(); ++i) {
    moved_[i] = q[i] + kDifference;
    if (!pose_->evaluate(moved_.data())) return true;
    moved_[i] = q[i];
    const std::array<double, 6> column = pose_difference(distance_.pose(), pose_->result());
    double product = 0.0, length = 0.0, size = 0.0;
    for (std::size_t k = 0; k < rows_; ++k) {
      product += column[k] * error[k];
      length += column[k] * column[k];
      size += error[k] * error[k];
    }
    const double limit = product > 0.0 ? position_upper_[i] - q[i] : q[i] - position_lower_[i];
    if (limit > kAtLimit && std::abs(product) > kLargestCosine * std::sqrt(length * size)) return false;
  }
  return true;
}

}  // namespace thunder
