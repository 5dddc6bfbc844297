// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/velocity_observer.hpp"

#include <algorithm>
#include <cmath>

namespace thunder {

VelocityObserver::VelocityObserver(const Options& options, std::size_t n_joints)
    : pole_(2.0 * std::acos(-1.0) * options.velocity_cutoff),
      lag_(-std::expm1(-options.nominal_dt / options.drive_lag)),
      part_(options.dead_time / options.nominal_dt),
      rows_(static_cast<std::size_t>(part_) + 2),
      position_(n_joints, 0.0),
      velocity_(position_),
      unknown_(position_),
      commanded_(rows_ * n_joints, 0.0),
      driven_(position_),
      change_(position_) {
  part_ -= std::floor(part_);
}

void VelocityObserver::restart(const double* q, const double* qd) noexcept {
  std::copy_n(q, position_.size(), position_.begin());
  std::copy_n(qd, velocity_.size(), velocity_.begin());
  for (std::vector<double>* values : {&unknown_, &commanded_, &driven_}) std::fill(values->begin(), values->end(), 0.0);
}

/// What drives the joints now, of what was commanded a dead time ago.
void VelocityObserver::delay(const double* u) noexcept {
  const std::size_t n = position_.size();
  std::copy_n(u, n, commanded_.begin() + static_cast<std::ptrdiff_t>(n * oldest_));
  oldest_ = (oldest_ + 1) % rows_;
  const std::size_t next = (oldest_ + 1) % rows_;
  for (std::size_t i = 0; i < n; ++i) {
    const double acting = part_ * commanded_[n * oldest_ + i] + (1.0 - part_) * commanded_[n * next + i];
    driven_[i] += lag_ * (acting - driven_[i]);
  }
}

void VelocityObserver::observe(const ArmInertia& inertia, const double* q, const double* u, double interval) noexcept {
  delay(u);
  if (!(interval > 0.0)) return;
  change_ = driven_;
  inertia.accelerate(change_.data());
  const double left = std::exp(-pole_ * interval), own = 1.0 - left;
  for (std::size_t i = 0; i < position_.size(); ++i) {
    const double a = change_[i] + unknown_[i];
    const double error = q[i] - (position_[i] + interval * (velocity_[i] + 0.5 * interval * a));
    position_[i] = q[i] - left * left * left * error;
    velocity_[i] += interval * a + 1.5 * own * own * (1.0 + left) * error / interval;
    unknown_[i] += own * own * own * error / (interval * interval);
  }
}

}  // namespace thunder
