// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/brake.hpp"

#include <algorithm>
#include <cmath>

namespace thunder {
namespace {

constexpr double kRestShare = 0.05;
constexpr double kHorizonPeriods = 10.0;
constexpr double kGrowthPeriods = 40.0;  // the speed of a joint as light as described falls to e⁻⁴ meanwhile
constexpr double kLargestAdded = 10.0;   // times the damping over the horizon
constexpr double kLeftByReversal = 0.25;
constexpr double kHoldTime = 0.2;        // [s]
constexpr double kHoldSpeed = 0.5;       // of the velocity limit
constexpr double kSpin = 3.0;            // velocity limits
constexpr double kStandstill = 1e-9;     // [rad/s or m/s]

std::vector<double> default_damping(const thunder_library& library) {
  std::vector<double> damping(static_cast<std::size_t>(library.n_joints));
  for (std::size_t i = 0; i < damping.size(); ++i) {
    const double value = Brake::kDampingShare * library.effort_limit[i] / library.velocity_limit[i];
    damping[i] = std::isfinite(value) ? value : 0.0;
  }
  return damping;
}

}  // namespace

Brake::Brake(const Options& options, const Limits& limits, const thunder_library& library)
    : period_(options.nominal_dt),
      horizon_(kHorizonPeriods * options.nominal_dt),
      damping_(options.stop_damping.empty() ? default_damping(library) : options.stop_damping),
      dry_(damping_),
      effort_limit_(limits.effort),
      velocity_limit_(limits.velocity),
      added_(damping_.size(), 0.0),
      velocity_(added_),
      held_(added_),
      spins_(added_.size(), Persistence::in_measurements()),
      friction_(added_),
      ahead_(added_),
      slowed_(added_.size() * added_.size(), 0.0),
      factor_(added_.size()) {
  for (std::size_t i = 0; i < dry_.size(); ++i) {
    const double unlimited = options.stop_damping.empty() ? kDampingShare * effort_limit_[i] : 0.0;
    dry_[i] = std::isfinite(velocity_limit_[i]) ? damping_[i] * velocity_limit_[i] : unlimited;
  }
}

void Brake::restart() noexcept {
  if (!has_acted_) return;
  has_acted_ = false;
  for (std::vector<double>* values : {&added_, &velocity_, &held_}) std::fill(values->begin(), values->end(), 0.0);
  resume();
}

void Brake::resume() noexcept {
  for (Persistence& spins : spins_) spins.clear();
}

void Brake::add_inertia(std::size_t joint, double least, double qd) noexcept {
  double& added = added_[joint];
  if (qd * velocity_[joint] <= 0.0) {
    added *= kLeftByReversal;
  } else {
    added = std::min(added + (least + added) / kGrowthPeriods, kLargestAdded * horizon_ * damping_[joint]);
  }
  velocity_[joint] = qd;
}

double Brake::friction(std::size_t joint, double qd) const noexcept {
  const double speed = std::max(std::abs(qd), kStandstill);
  return std::min(damping_[joint] + dry_[joint] / speed, effort_limit_[joint] / speed);
}

double Brake::hold(std::size_t joint, double qd, double effort) noexcept {
  const double most = effort_limit_[joint];
  const double change = std::abs(qd) < kHoldSpeed * velocity_limit_[joint] ? effort : -held_[joint];
  held_[joint] = std::clamp(held_[joint] + change * period_ / kHoldTime, -most, most);
  return held_[joint];
}

void Brake::apply(const ArmInertia& inertia, const double* safe_effort, const double* qd, double* effort) noexcept {
  const std::size_t n = damping_.size();
  has_acted_ = true;
  const std::vector<double>& M = inertia.matrix();
  slowed_ = M;
  for (std::size_t i = 0; i < n; ++i) {
    if (!inertia.is_known(i)) add_inertia(i, inertia.free(i), qd[i]);
    spins_[i].record(std::abs(qd[i]) > kSpin * velocity_limit_[i]);
    friction_[i] = friction(i, qd[i]);
    slowed_[n * i + i] += added_[i] + horizon_ * friction_[i];
    ahead_[i] = added_[i] * qd[i];
    for (std::size_t j = 0; j < n; ++j) ahead_[i] += M[n * j + i] * qd[j];
  }
  if (factor_.factor(slowed_.data())) {
    factor_.solve(ahead_.data());
  } else {
    std::fill(ahead_.begin(), ahead_.end(), 0.0);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double wanted = friction_[i] * ahead_[i];
    // Velocities that are finite may overflow above.
    const double opposed = std::isnan(wanted) ? 0.0 : std::clamp(wanted, -effort_limit_[i], effort_limit_[i]);
    effort[i] = safe_effort[i] - opposed - hold(i, qd[i], opposed);
  }
}

bool Brake::is_at_rest(const double* qd) const noexcept {
  for (std::size_t i = 0; i < velocity_limit_.size(); ++i) {
    if (std::abs(qd[i]) > kRestShare * velocity_limit_[i]) return false;
  }
  return true;
}

}  // namespace thunder
