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
constexpr double kSettlePeriods = 4.0;  // if that is longer
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
  period_ = 0.0;
  forget();
}

void StreamRates::forget() noexcept {
  std::fill(rate_.begin(), rate_.end(), 0.0);
  is_moving_ = false;
}

void StreamRates::keep(const double* sample, double time) noexcept {
  std::copy_n(sample, last_.size(), last_.begin());
  time_ = time;
}

std::optional<double> StreamRates::derive(double* sample, double time, double dt, const MotionLimits& limits) noexcept {
  const auto moves = [](double rate) { return std::abs(rate) > Stream::kAtRest; };
  if (!acts_ || std::any_of(sample + layout_.velocity, sample + layout_.standard, moves)) {
    begin();
    return std::nullopt;
  }
  const double gap = time_ ? time - *time_ : 0.0;
  if (gap > Stream::kInstant || !time_) {
    const bool is_stream = gap > kEveryUpdate * dt && gap <= Stream::kLongestPeriod;
    if (is_stream) period_ = period_ > 0.0 ? period_ + kNewestPeriod * (gap - period_) : gap;
    const bool goes_on = is_stream && measure(sample, gap, limits);
    keep(sample, time);
    if (!goes_on) forget();
    is_moving_ = goes_on;
  }
  if (!is_moving_) return std::nullopt;
  std::copy(rate_.begin(), rate_.end(), sample + layout_.velocity);
  return kDelay * period_;
}

/// False for a place that is repeated, and for a jump: nearness of two samples by chance makes none.
bool StreamRates::measure(const double* sample, double gap, const MotionLimits& limits) noexcept {
  const double time = std::max(gap, period_);
  bool is_slow = true;
  std::fill(way_.begin(), way_.end(), 0.0);
  if (layout_.is_cartesian) {
    const PoseSample before = PoseSample::from(layout_, last_.data()), now = PoseSample::from(layout_, sample);
    const Vector3 turn = to_rotation_vector(product(now.orientation, conjugate(before.orientation)));
    for (std::size_t i = 0; i < 3; ++i) {
      way_[i] = now.position[i] - before.position[i];
      way_[3 + i] = turns_ ? turn[i] : 0.0;
    }
    is_slow = norm(&way_[0], 3) <= time * limits.linear_velocity && norm(&way_[3], 3) <= time * limits.angular_velocity;
  } else {
    for (std::size_t i = 0; i < way_.size(); ++i) {
      way_[i] = sample[layout_.position + static_cast<int>(i)] - last_[static_cast<std::size_t>(layout_.position) + i];
      is_slow = is_slow && std::abs(way_[i]) <= time * Stream::kSpeedShare * speed_[i];
    }
  }
  const double weight = -std::expm1(-gap / kMemory);
  for (std::size_t i = 0; i < way_.size(); ++i) rate_[i] += weight * (way_[i] / gap - rate_[i]);
  return is_slow && norm(way_.data(), way_.size()) > Stream::kAtRest * gap;
}

double StreamRates::settle() const noexcept { return std::max(kSettle, kSettlePeriods * period_); }

bool StreamRates::has_paused(double now) noexcept {
  if (!is_moving_ || now - *time_ <= Stream::kPeriods * period_) return false;
  forget();
  return true;
}

}  // namespace thunder
