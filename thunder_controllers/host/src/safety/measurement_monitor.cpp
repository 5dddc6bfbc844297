// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/measurement_monitor.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/library/signals.hpp"

namespace thunder {

MeasurementMonitor::MeasurementMonitor(const Options& options, const Limits& limits)
    : timeout_(options.measurement_timeout),
      max_dt_(options.nominal_dt * options.max_dt_ratio),
      gap_limit_(options.gap_limit),
      stop_ratio_(options.velocity_stop_ratio),
      too_fast_(options.velocity_limit_patience),
      velocity_limit_(limits.velocity),
      position_(velocity_limit_.size(), 0.0) {}

void MeasurementMonitor::restart(const double* q) noexcept {
  std::copy_n(q, position_.size(), position_.begin());
  has_stamp_ = has_good_ = is_in_gap_ = resumes_ = has_jumped_ = false;
  gap_ = 0.0;
  far_too_fast_.clear();
  too_fast_.clear();
}

bool MeasurementMonitor::is_stale(double t) noexcept {
  const double advance = t - newest_;
  const bool stale = has_stamp_ && !(advance > 0.0 && advance <= timeout_);
  const bool overtaken = stale && advance <= 0.0 && -advance <= timeout_;
  if (!overtaken) newest_ = t;
  has_stamp_ = true;
  return stale;
}

/// At the first good measurement after others: how long they lasted is the longer of what the updates and what the
/// time stamps say, for there may have been no updates.
void MeasurementMonitor::end_gap(double t, const double* q, double elapsed) noexcept {
  is_in_gap_ = false;
  gap_ = std::max(gap_ + elapsed, has_good_ ? t - good_ : 0.0);
  for (std::size_t i = 0; i < position_.size(); ++i) {
    has_jumped_ = has_jumped_ || std::abs(q[i] - position_[i]) > stop_ratio_ * velocity_limit_[i] * gap_;
  }
}

GuardBits MeasurementMonitor::check(double t, const double* q, const double* qd, bool has_others, double dt,
                                    double elapsed) noexcept {
  const int n = static_cast<int>(position_.size());
  GuardBits guards = is_valid_dt(dt) ? 0u : kTimeStepInvalid;
  resumes_ = false;
  if (!is_in_gap_) gap_ = 0.0;
  if (!std::isfinite(t) || !all_finite(q, n) || !all_finite(qd, n)) {
    guards |= kMeasurementNonFinite;
  } else if (is_stale(t)) {
    guards |= kMeasurementStale;
  }
  is_known_ = (guards & (kMeasurementNonFinite | kMeasurementStale)) == 0;
  if (!has_others) guards |= kMeasurementNonFinite;
  if ((guards & (kMeasurementNonFinite | kMeasurementStale)) != 0) {
    is_in_gap_ = true;
    gap_ += elapsed;
    return guards;
  }
  const double largest = largest_ratio(qd, velocity_limit_);
  resumes_ = is_in_gap_;
  if (resumes_) end_gap(t, q, elapsed);
  const double interval = has_good_ && t > good_ ? t - good_ : elapsed;
  far_too_fast_.record(largest > stop_ratio_);
  too_fast_.record(largest > 1.0, interval);
  std::copy_n(q, n, position_.begin());
  good_ = t;
  has_good_ = true;
  return guards | (largest > 1.0 ? kVelocityExceeded : 0u);
}

}  // namespace thunder
