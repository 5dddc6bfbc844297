// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/soft_stops.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/measurement.hpp"
#include "thunder/host/safety/brake.hpp"

namespace thunder {
namespace {

constexpr double kBandwidth = 2.0;           // [total delays] fast against the arm, slow against the delay
constexpr double kBrakingShare = 0.5;        // the rest is for other joints and an inertia that is not known
constexpr double kLeastEffortShare = 0.1;    // of the limit, where gravity takes nearly all of it
constexpr double kLargestSpeedShare = 0.95;  // of the velocity limit: where no effort beyond the bias is left
constexpr double kFreeSpeedShare = 0.6;      // up to which there is all of it
constexpr double kLeastInertiaShare = 0.3;   // of what leaves the whole effort at rest, for rotors that are not known
constexpr double kShortestSwing = 4.0;       // in times of the bandwidth: a well damped approach
constexpr double kFarMargins = 10.0;

}  // namespace

SoftStops::SoftStops(ArmInertia& inertia, const FeltInertia& felt, const Options& options, const Limits& limits)
    : bandwidth_(1.0 / (kBandwidth * total_delay(options))),
      entering_(options.nominal_dt / std::max(options.handover_time, options.nominal_dt)),
      noise_(options.position_noise),
      stopped_(limits.effort.size(), 0.0),
      limits_(limits),
      inertia_(inertia),
      felt_(felt) {
  for (std::size_t i = 0; i < limits.effort.size(); ++i) {
    const double effort = limits.effort[i], rate = limits.effort_rate[i], velocity = limits.velocity[i];
    const double margin = limits.position_margin[i], fastest = kLargestSpeedShare * velocity;
    joints_.push_back({limits.position_lower[i], limits.position_upper[i], margin, 0.0, 0.0, effort, rate, fastest,
                       std::max(2.0 * effort / rate, kShortestSwing / bandwidth_),
                       Brake::kDampingShare * effort / velocity, 1.0 / (kFarMargins * margin), 1.0 / velocity,
                       1.0 / (fastest - kFreeSpeedShare * velocity), 1.0 / (2.0 * rate * fastest), inertia.is_known(i)});
  }
}

bool SoftStops::is_exceeded(const double* q) const noexcept {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Joint& it = joints_[i];
    if (!(it.lower - it.margin <= q[i] && q[i] <= it.upper + it.margin)) return true;
  }
  return false;
}

void SoftStops::restart(const double* q) noexcept {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    Joint& it = joints_[i];
    it.below = std::max(0.0, it.lower + it.margin - q[i]), it.above = std::max(0.0, q[i] - it.upper + it.margin);
  }
  std::fill(stopped_.begin(), stopped_.end(), 0.0);
}

/// By how much a stop is still beyond its place, where it was `beyond` before and the joint is `behind` that place now.
double SoftStops::entered(const Joint& it, double beyond, double behind) const noexcept {
  const double out = std::max(0.0, beyond - it.margin);  // of the limit itself
  return std::max(0.0, std::min(it.margin + std::max(0.0, out - entering_ * it.margin), std::min(beyond, behind + noise_)));
}

/// The effort within the bounds of the position limits.
double SoftStops::by_position(std::size_t joint, const State& now, double effort) const noexcept {
  const Joint& it = joints_[joint];
  const double moved = inertia_.free(joint) + felt_.resisting(joint);
  const double near = moved * bandwidth_, far = now.is_felt ? near : std::max(near, it.far_damping);
  const double left = std::max(it.effort - std::abs(now.bias), kLeastEffortShare * it.effort);
  const double deceleration = kBrakingShare * left / (inertia_.held(joint) + felt_.resisting(joint));
  const double lead = deceleration * it.swing;
  const auto towards = [&](double distance, double velocity) {
    const double to_stop = std::copysign(std::sqrt(lead * lead + 2.0 * deceleration * std::abs(distance)) - lead, distance);
    const double damping = near + (far - near) * std::clamp(distance * it.per_far, 0.0, 1.0);
    return damping * (to_stop - velocity);
  };
  const double from_lower = now.q - it.lower - it.margin + it.below;
  const double from_upper = it.upper - it.margin + it.above - now.q;
  // Behind one stop the other one, far away, has no say.
  const double most = from_lower < 0.0 ? it.effort : now.bias + towards(from_upper, now.speed);
  const double least = from_upper < 0.0 ? -it.effort : now.bias - towards(from_lower, -now.speed);
  return std::max(std::min(effort, most), least);
}

/// The effort within the bounds of the velocity limit. An effort e that falls at its rate limit r adds e²/(2 r m) to the
/// speed. While the joint is not too fast, the bound on the other side of the bias is not reached.
double SoftStops::by_speed(std::size_t joint, const State& now, double effort) const noexcept {
  const Joint& it = joints_[joint];
  if (!std::isfinite(it.fastest)) return effort;
  const double limit = it.effort + std::abs(now.bias), felt = inertia_.free(joint) + felt_.resisting(joint);
  const double steepest = limit * it.per_slowing, whole = limit * limit * it.per_fall;
  const double own = std::max(felt, kLeastInertiaShare * whole);
  const double at_rest = std::max(0.0, 1.0 - std::abs(now.speed) * it.per_velocity);
  const auto along = [&](double left) {
    const bool by_inertia = now.is_felt && (left < 0.0 || it.is_known);
    const double inertia = by_inertia ? felt : own + at_rest * std::max(0.0, whole - own);
    const double slope = by_inertia ? std::min(steepest, felt * bandwidth_) : steepest;
    const double falling = std::sqrt(2.0 * it.rate * inertia * std::abs(left));
    return std::copysign(std::min(slope * std::abs(left), falling), left);
  };
  const bool is_too_fast = std::abs(now.speed) > it.fastest, is_above = effort > now.bias;
  if (is_above || is_too_fast) effort = std::min(effort, now.bias + along(it.fastest - now.speed));
  if (!is_above || is_too_fast) effort = std::max(effort, now.bias - along(it.fastest + now.speed));
  return effort;
}

GuardBits SoftStops::apply(const double* q, const double* qd, const double* bias, bool brakes,
                           double* effort) noexcept {
  if (!inertia_.find(q)) return kResultNonFinite;
  GuardBits guards = 0;
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    Joint& it = joints_[i];
    it.below = entered(it, it.below, it.lower + it.margin - q[i]);
    it.above = entered(it, it.above, q[i] - it.upper + it.margin);
    const State now{q[i], qd[i], bias[i], brakes};
    const double wanted = effort[i], allowed = by_position(i, now, wanted);
    stopped_[i] = wanted - allowed;
    // The speed has the last word: from far behind a stop, the whole effort would throw the joint back.
    effort[i] = by_speed(i, now, allowed);
    const double driving = limits_.effort_at(i, qd[i]);
    if (effort[i] * qd[i] > 0.0) effort[i] = std::clamp(effort[i], -driving, driving);
    if (effort[i] != wanted) guards |= kMotionLimited;
  }
  return guards;
}

}  // namespace thunder
