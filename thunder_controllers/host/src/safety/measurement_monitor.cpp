// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/measurement_monitor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kPauseShare = 0.2;

}  // namespace

MeasurementMonitor::MeasurementMonitor(const Options& options, std::vector<double> velocity_limit)
    : timeout_(options.measurement_timeout),
      nominal_dt_(options.nominal_dt),
      max_dt_(options.nominal_dt * options.max_dt_ratio),
      patience_(options.velocity_patience),
      stop_ratio_(options.velocity_stop_ratio),
      velocity_limit_(std::move(velocity_limit)),
      position_(velocity_limit_.size(), 0.0) {}

void MeasurementMonitor::restart(const double* q) noexcept {
  std::copy_n(q, position_.size(), position_.begin());
  has_stamp_ = false;
  excess_time_ = pause_ = 0.0;
}

bool MeasurementMonitor::is_stale(double t) noexcept {
  const double advance = t - newest_;
  const bool stale = has_stamp_ && !(advance > 0.0 && advance <= timeout_);
  const bool overtaken = stale && advance <= 0.0 && -advance <= timeout_;
  if (!overtaken) newest_ = t;
  has_stamp_ = true;
  return stale;
}

GuardBits MeasurementMonitor::check(double t, const double* q, const double* qd, double dt) noexcept {
  const int n = static_cast<int>(position_.size());
  GuardBits guards = is_valid_dt(dt) ? 0u : kTimeStepInvalid;
  if (!std::isfinite(t) || !all_finite(q, n) || !all_finite(qd, n)) return guards | kMeasurementNonFinite;
  if (is_stale(t)) return guards | kMeasurementStale;
  std::copy_n(q, n, position_.begin());
  return guards | check_velocity(qd, dt);
}

GuardBits MeasurementMonitor::check_velocity(const double* qd, double dt) noexcept {
  double largest = 0.0;
  for (std::size_t i = 0; i < velocity_limit_.size(); ++i) {
    largest = std::max(largest, std::abs(qd[i]) / velocity_limit_[i]);
  }
  if (largest > stop_ratio_) {
    excess_time_ += pause_ + ramp_dt(dt);
    pause_ = 0.0;
  } else if (excess_time_ > 0.0) {
    pause_ += ramp_dt(dt);
    if (pause_ > kPauseShare * patience_) excess_time_ = pause_ = 0.0;
  }
  return largest > 1.0 ? kVelocityExceeded : 0u;
}

}  // namespace thunder
