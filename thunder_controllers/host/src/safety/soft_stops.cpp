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
    : bandwidth_(1.0 / (kBandwidthPeriods * options.nominal_dt)), inertia_(inertia) {
  for (std::size_t i = 0; i < limits.effort.size(); ++i) {
    const double effort = limits.effort[i], rate = limits.effort_rate[i], velocity = limits.velocity[i];
    const double margin = limits.position_margin[i], fastest = kLargestSpeedShare * velocity;
    joints_.push_back({limits.position_lower[i], limits.position_upper[i], margin, effort, rate, fastest,
                       std::max(2.0 * effort / rate, kShortestSwing / bandwidth_),
                       Brake::kDampingShare * effort / velocity, 1.0 / (kFarMargins * margin), 1.0 / velocity,
                       1.0 / (fastest - kFreeSpeedShare * velocity), 1.0 / (2.0 * rate * fastest), inertia.is_known(i)});
  }
}

bool SoftStops::is_within(const double* q, double margins) const noexcept {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const double more = margins * joints_[i].margin;
    if (!(joints_[i].lower - more <= q[i] && q[i] <= joints_[i].upper + more)) return false;
  }
  return true;
}

/// The effort within the bounds of the position limits.
double SoftStops::by_position(std::size_t joint, const State& now, double effort) const noexcept {
  const Joint& it = joints_[joint];
  const double near = inertia_.free(joint) * bandwidth_, far = now.is_felt ? near : std::max(near, it.far_damping);
  const double left = std::max(it.effort - std::abs(now.bias), kLeastEffortShare * it.effort);
  const double deceleration = kBrakingShare * left / inertia_.held(joint);
  const double lead = deceleration * it.swing;
  const auto towards = [&](double distance, double velocity) {
    if (distance <= 0.0) {
      const double least = it.is_known ? 0.0 : it.effort / kLargestDepth;
      return std::clamp(0.5 * near * bandwidth_, least, it.effort / it.margin) * distance - near * velocity;
    }
    const double to_stop = std::sqrt(lead * lead + 2.0 * deceleration * distance) - lead;
    const double damping = near + (far - near) * std::min(1.0, distance * it.per_far);
    return damping * (to_stop - velocity);
  };
  const double from_lower = now.q - it.lower - it.margin, from_upper = it.upper - it.margin - now.q;
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
  const double limit = it.effort + std::abs(now.bias), felt = inertia_.free(joint);
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

GuardBits SoftStops::apply(const double* q, const double* qd, const double* bias, const Brake* brake,
                           double* effort) noexcept {
  if (!inertia_.find(q)) return kResultNonFinite;
  GuardBits guards = 0;
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Joint& it = joints_[i];
    const State now{q[i], qd[i], bias[i], brake != nullptr && (it.is_known || brake->is_spinning(i))};
    const double wanted = effort[i];
    // The speed has the last word: from far behind a stop, the whole effort would throw the joint back.
    effort[i] = by_speed(i, now, by_position(i, now, wanted));
    if (effort[i] == wanted) continue;
    guards |= kMotionLimited;
    effort[i] = std::clamp(effort[i], -it.effort, it.effort);
  }
  return guards;
}

}  // namespace thunder
