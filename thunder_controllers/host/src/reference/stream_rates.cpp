// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/stream_rates.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/reference/stream.hpp"

namespace thunder {
namespace {

constexpr double kEveryUpdate = 1.5;    // [updates] between samples, and no more: one comes with each
// Found with 20, 30 and 50 Hz, ±30 % jitter and 5 % loss: longer ones make the motion smoother and the arm later.
constexpr double kMemory = 0.07;        // [s] of the velocity
constexpr double kSettle = 0.12;        // [s]
constexpr double kSettlePeriods = 4.0;  // if that is longer, up to
constexpr double kLongestSettle = 0.4;  // [s]
constexpr double kNewestPeriod = 0.1;   // weight of the newest gap in the period, which moves the reference as it changes
constexpr double kDelay = 0.5;          // [periods]

double norm(const double* x, std::size_t n) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

}  // namespace

StreamRates::StreamRates(const thunder_law& law, const SampleLayout& layout, const Options& options,
                         const Limits& limits)
    : layout_(layout),
      acts_(options.approaches_jumps),
      turns_(layout.is_cartesian && uses_orientation(law)),
      speed_(limits.velocity),
      last_(static_cast<std::size_t>(layout.standard)),
      way_(layout.is_cartesian ? 6 : speed_.size()),
      rate_(way_) {}

void StreamRates::begin() noexcept {
  time_.reset();
  rhythm_.begin();
  period_ = 0.0;
  has_rates_ = is_moving_ = false;
}

std::optional<double> StreamRates::derive(double* sample, double time, double dt, const MotionLimits& limits) noexcept {
  const double gap = time_ ? time - *time_ : 0.0;
  if (gap > Stream::kInstant || !time_) {
    const double *rates = sample + layout_.velocity, *end = sample + layout_.standard;
    const bool had_rates = has_rates_;
    has_rates_ = std::any_of(rates, end, [](double rate) { return std::abs(rate) > Stream::kAtRest; });
    is_moving_ = time_ && follow(sample, gap, dt, limits) && acts_ && !has_rates_ && !had_rates;
    if (has_rates_) {
      std::copy_n(rates, rate_.size(), rate_.begin());
      if (layout_.is_cartesian && !turns_) std::fill(rate_.begin() + 3, rate_.end(), 0.0);
      period_ = 0.0;
    }
    std::copy_n(sample, last_.size(), last_.begin());
    time_ = time;
  }
  if (!is_moving_) return std::nullopt;
  std::copy(rate_.begin(), rate_.end(), sample + layout_.velocity);
  return kDelay * period_;
}

/// Learn from a sample; false for a place that is repeated, and for a jump: nearness of two samples by chance makes none.
bool StreamRates::follow(const double* sample, double gap, double dt, const MotionLimits& limits) noexcept {
  const bool is_slow = find_way(sample, std::max(gap, period_), limits), belongs = rhythm_.take(gap, goes_on(gap));
  if (!is_moving_) std::fill(rate_.begin(), rate_.end(), 0.0);
  const bool is_stream = belongs && gap > kEveryUpdate * dt;
  if (is_stream) period_ = period_ > 0.0 ? period_ + kNewestPeriod * (gap - period_) : gap;
  const bool moves = is_slow && gap > kEveryUpdate * dt && norm(way_.data(), way_.size()) > Stream::kAtRest * gap;
  const double weight = moves ? -std::expm1(-gap / kMemory) : 1.0;
  for (std::size_t i = 0; i < way_.size(); ++i) rate_[i] += weight * ((moves ? way_[i] / gap : 0.0) - rate_[i]);
  return is_stream && moves;
}

/// From the sample before. Whether it is slow enough for a motion that takes a time [s].
bool StreamRates::find_way(const double* sample, double time, const MotionLimits& limits) noexcept {
  if (layout_.is_cartesian) {
    const PoseSample before = PoseSample::from(layout_, last_.data()), now = PoseSample::from(layout_, sample);
    const Vector3 turn = to_rotation_vector(product(now.orientation, conjugate(before.orientation)));
    for (std::size_t i = 0; i < 3; ++i) {
      way_[i] = now.position[i] - before.position[i];
      way_[3 + i] = turns_ ? turn[i] : 0.0;
    }
    return norm(&way_[0], 3) <= time * limits.linear_velocity && norm(&way_[3], 3) <= time * limits.angular_velocity;
  }
  bool is_slow = true;
  for (std::size_t i = 0; i < way_.size(); ++i) {
    way_[i] = sample[layout_.position + static_cast<int>(i)] - last_[static_cast<std::size_t>(layout_.position) + i];
    is_slow = is_slow && std::abs(way_[i]) <= time * Stream::kSpeedShare * speed_[i];
  }
  return is_slow;
}

/// Whether the sample is nearer to where v leads in the gap than to the sample before, or the same place.
bool StreamRates::goes_on(double gap) const noexcept {
  double rested = 0.0, moved = 0.0;
  for (std::size_t i = 0; i < way_.size(); ++i) {
    const double left = way_[i] - gap * rate_[i];
    rested += way_[i] * way_[i], moved += left * left;
  }
  return moved < rested || rested == 0.0;
}

double StreamRates::settle() const noexcept { return std::clamp(kSettlePeriods * period_, kSettle, kLongestSettle); }

bool StreamRates::has_paused(double now, bool is_over) noexcept {
  if (!is_moving_ || !(is_over || now - *time_ > rhythm_.horizon())) return false;
  is_moving_ = false;
  return true;
}

}  // namespace thunder
