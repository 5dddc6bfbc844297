// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/soft_stops.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/safety/brake.hpp"

namespace thunder {
namespace {

constexpr double kBandwidthPeriods = 5.0;    // fast against the arm, slow against sampling and a delay of some periods
constexpr double kBrakingShare = 0.5;        // the rest is for other joints and an inertia that is not known
constexpr double kLeastEffortShare = 0.1;    // of the limit, where gravity takes nearly all of it
constexpr double kLargestDepth = 0.1;        // [rad or m] behind a soft stop, where the whole effort pushes back
constexpr double kLargestSpeedShare = 0.95;  // of the velocity limit: where no effort beyond the bias is left
constexpr double kFreeSpeedShare = 0.6;      // up to which there is all of it
constexpr double kLeastInertiaShare = 0.3;   // of what leaves the whole effort at rest, for rotors that are not known
constexpr double kShortestSwing = 4.0;       // in times of the bandwidth: a well damped approach
constexpr double kFarMargins = 10.0;

}  // namespace

SoftStops::SoftStops(ArmInertia& inertia, const Options& options, const Limits& limits)
    : bandwidth_(1.0 / (kBandwidthPeriods * options.nominal_dt)),
      lower_(limits.position_lower),
      upper_(limits.position_upper),
      margin_(limits.position_margin),
      velocity_limit_(limits.velocity),
      effort_limit_(limits.effort),
      rate_limit_(limits.effort_rate),
      inertia_(inertia) {
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    swing_.push_back(std::max(2.0 * effort_limit_[i] / rate_limit_[i], kShortestSwing / bandwidth_));
  }
}

bool SoftStops::is_within(const double* q, double margins) const noexcept {
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    const double more = margins * margin_[i];
    if (!(lower_[i] - more <= q[i] && q[i] <= upper_[i] + more)) return false;
  }
  return true;
}

/// Of the effort towards a limit. `is_felt`: the inertia of M is all that the motor moves.
double SoftStops::bound(std::size_t joint, double distance, double speed, double bias, bool is_felt) const noexcept {
  const double limit = effort_limit_[joint];
  const double left = std::max(limit - std::abs(bias), kLeastEffortShare * limit);
  const double near = inertia_.free(joint) * bandwidth_;
  if (distance <= 0.0) {
    const double least = inertia_.is_known(joint) ? 0.0 : limit / kLargestDepth;
    const double stiffness = std::clamp(0.5 * near * bandwidth_, least, limit / margin_[joint]);
    return bias - near * speed + stiffness * distance;
  }
  const double deceleration = kBrakingShare * left / inertia_.held(joint);
  const double lead = deceleration * swing_[joint];
  const double to_stop = std::sqrt(lead * lead + 2.0 * deceleration * distance) - lead;
  const double far = is_felt ? near : std::max(near, Brake::kDampingShare * limit / velocity_limit_[joint]);
  const double damping = near + (far - near) * std::min(1.0, distance / (kFarMargins * margin_[joint]));
  return bias + damping * (to_stop - speed);
}

/// Of the effort along a velocity. An effort e that falls at its rate limit r adds e²/(2 r m) to the speed.
double SoftStops::speed_bound(std::size_t joint, double speed, double bias, bool is_felt) const noexcept {
  const double limit = effort_limit_[joint] + std::abs(bias), most = kLargestSpeedShare * velocity_limit_[joint];
  if (!std::isfinite(most)) return most;
  const double left = most - speed;
  const double steepest = limit / (most - kFreeSpeedShare * velocity_limit_[joint]);
  const double felt = inertia_.free(joint);
  const double at_rest = std::max(0.0, 1.0 - std::abs(speed) / velocity_limit_[joint]);
  const double whole = limit * limit / (2.0 * rate_limit_[joint] * most);
  const double own = std::max(felt, kLeastInertiaShare * whole);
  const bool by_inertia = is_felt && (left < 0.0 || inertia_.is_known(joint));
  const double inertia = by_inertia ? felt : own + at_rest * std::max(0.0, whole - own);
  const double slope = by_inertia ? std::min(steepest, felt * bandwidth_) : steepest;
  const double falling = std::sqrt(2.0 * rate_limit_[joint] * inertia * std::abs(left));
  return bias + std::copysign(std::min(slope * std::abs(left), falling), left);
}

GuardBits SoftStops::apply(const double* q, const double* qd, const double* bias, const Brake* brake,
                           double* effort) noexcept {
  if (!inertia_.find(q)) return kResultNonFinite;
  GuardBits guards = 0;
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    const bool is_felt = brake != nullptr && (inertia_.is_known(i) || brake->is_spinning(i));
    const double from_lower = q[i] - lower_[i] - margin_[i], from_upper = upper_[i] - margin_[i] - q[i];
    // Behind one stop the other one, far away, has no say.
    const double least = from_upper < 0.0 ? -effort_limit_[i] : -bound(i, from_lower, -qd[i], -bias[i], is_felt);
    const double most = from_lower < 0.0 ? effort_limit_[i] : bound(i, from_upper, qd[i], bias[i], is_felt);
    const double wanted = effort[i];
    // The speed has the last word: from far behind a stop, the whole effort would throw the joint back.
    effort[i] = std::min(std::max(std::min(wanted, most), least), speed_bound(i, qd[i], bias[i], is_felt));
    effort[i] = std::max(effort[i], -speed_bound(i, -qd[i], -bias[i], is_felt));
    if (effort[i] == wanted) continue;
    guards |= kMotionLimited;
    effort[i] = std::clamp(effort[i], -effort_limit_[i], effort_limit_[i]);
  }
  return guards;
}

}  // namespace thunder
