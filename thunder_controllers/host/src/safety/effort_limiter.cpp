// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/effort_limiter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thunder {

EffortLimiter::EffortLimiter(std::vector<double> limit, std::vector<double> rate_limit, double period)
    : limit_(std::move(limit)),
      rate_limit_(std::move(rate_limit)),
      period_(period),
      previous_(limit_.size(), 0.0) {}

void EffortLimiter::restart(const double* effort) noexcept {
  for (std::size_t i = 0; i < limit_.size(); ++i) previous_[i] = std::clamp(effort[i], -limit_[i], limit_[i]);
}

GuardBits EffortLimiter::apply(const double* wanted, double dt, double* effort) noexcept {
  GuardBits guards = 0;
  const double time = std::min(dt, period_);
  for (std::size_t i = 0; i < limit_.size(); ++i) {
    const double step = rate_limit_[i] * time;
    const double ramped = std::clamp(wanted[i], previous_[i] - step, previous_[i] + step);
    const double limited = std::clamp(ramped, -limit_[i], limit_[i]);
    // An effort at its limit is where it will be, however much more is wanted.
    if (limited != std::clamp(wanted[i], -limit_[i], limit_[i])) guards |= kEffortRateLimited;
    if (limited != ramped) guards |= kEffortLimited;
    previous_[i] = limited;
    effort[i] = limited;
  }
  return guards;
}

Handover::Handover(std::vector<double> limit, const std::vector<double>& rate_limit, double time, double period)
    : limit_(std::move(limit)),
      largest_rate_(rate_limit),
      time_(time),
      period_(period),
      difference_(limit_.size(), 0.0),
      rate_(limit_.size(), 0.0) {
  for (double& rate : largest_rate_) rate *= kShare;
}

void Handover::restart() noexcept { is_over_ = true; }

void Handover::begin(const double* held, const double* believed) noexcept {
  double effort = 0.0;
  double missing = 0.0;
  for (std::size_t i = 0; i < limit_.size(); ++i) {
    difference_[i] = held[i] - believed[i];
    rate_[i] = std::min(largest_rate_[i], std::abs(difference_[i]) / time_);
    effort += std::pow(held[i] / limit_[i], 2);
    missing += std::pow(difference_[i] / limit_[i], 2);
  }
  is_over_ = !(missing <= effort);
}

void Handover::apply(double dt, double* effort) noexcept {
  if (is_over_) return;
  is_over_ = true;
  for (std::size_t i = 0; i < limit_.size(); ++i) {
    const double step = rate_[i] * std::min(dt, period_);
    difference_[i] -= std::clamp(difference_[i], -step, step);
    effort[i] += difference_[i];
    is_over_ = is_over_ && difference_[i] == 0.0;
  }
}

Shortfall::Shortfall(std::vector<double> limit) : limit_(std::move(limit)), average_(limit_.size(), 0.0) {}

void Shortfall::restart() noexcept { std::fill(average_.begin(), average_.end(), 0.0); }

bool Shortfall::update(const double* wanted, const double* given, double dt) noexcept {
  const double share = dt / (kTime + dt);
  bool is_large = false;
  for (std::size_t i = 0; i < limit_.size(); ++i) {
    // One sample, however far beyond the limits, is no average.
    const double missing = std::clamp(wanted[i] - given[i], -limit_[i], limit_[i]);
    average_[i] += share * (missing - average_[i]);
    is_large = is_large || std::abs(average_[i]) > kLargestShare * limit_[i];
  }
  return is_large;
}

}  // namespace thunder
