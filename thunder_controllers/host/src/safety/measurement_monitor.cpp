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
      limits_(limits),
      readings_(options, limits) {}

void MeasurementMonitor::restart(const double* q, const double* qd) noexcept {
  readings_.restart(q, qd);
  newest_.reset(), good_.reset(), seen_.reset(), gap_.reset();
  resumes_ = is_lost_ = false;
  far_too_fast_.clear();
  too_fast_.clear();
}

bool MeasurementMonitor::is_stale(double t) noexcept {
  const double advance = t - newest_.value_or(t);
  const bool stale = newest_ && !(advance > 0.0 && advance <= timeout_);
  const bool overtaken = stale && advance <= 0.0 && -advance <= timeout_;
  if (!overtaken) newest_ = t;
  return stale;
}

/// At the first good measurement after others: how long they lasted is the longer of what the updates and what the
/// time stamps say, for there may have been no updates.
void MeasurementMonitor::resume(double t, const double* q, double elapsed) noexcept {
  const double gap = std::max(*gap_ + elapsed, t - good_.value_or(t));
  is_lost_ = gap > gap_limit_;
  for (std::size_t i = 0; i < limits_.velocity.size(); ++i) {
    if (!(std::abs(q[i] - position()[i]) > stop_ratio_ * limits_.velocity[i] * gap)) continue;
    readings_.displace(i, q[i]);
    is_lost_ = true;
  }
  gap_.reset();
}

/// Judge a reading against the one before it; after a gap it is believed.
bool MeasurementMonitor::judge(double t, const double* q, const double* qd) noexcept {
  const bool follows = seen_ && t > *seen_ && t - *seen_ <= timeout_;
  const bool is_true = !follows || readings_.check(q, qd, t - *seen_);
  if (!follows || !is_true) readings_.believe(q, qd);
  seen_ = t;
  return is_true;
}

GuardBits MeasurementMonitor::check(double t, const double* q, const double* qd, bool has_others, double dt,
                                    double elapsed) noexcept {
  const int n = static_cast<int>(limits_.velocity.size());
  const GuardBits invalid = is_valid_dt(dt) ? 0u : kTimeStepInvalid;
  const bool is_finite = std::isfinite(t) && all_finite(q, n) && all_finite(qd, n);
  const bool stale = is_finite && is_stale(t);
  is_known_ = is_finite && !stale;
  resumes_ = is_known_ && has_others && gap_;
  is_lost_ = false;
  if (resumes_) resume(t, q, elapsed);
  if (is_known_ && !judge(t, q, qd)) is_lost_ = true;
  if (!is_known_ || !has_others) {
    if (!gap_) readings_.forget();
    if (!is_finite) readings_.miss(q, qd);
    gap_ = gap_.value_or(0.0) + elapsed;
    is_lost_ = is_lost_ || *gap_ > gap_limit_;
    return invalid | (stale ? kMeasurementStale : 0u) | (is_finite && has_others ? 0u : kMeasurementNonFinite);
  }
  const double interval = good_ && t > *good_ ? t - *good_ : elapsed;
  const double largest = limits_.largest_ratio(position(), velocity());
  far_too_fast_.record(largest > stop_ratio_);
  too_fast_.record(largest > 1.0, interval);
  good_ = t;
  return invalid | (largest > 1.0 ? kVelocityExceeded : 0u);
}

}  // namespace thunder
