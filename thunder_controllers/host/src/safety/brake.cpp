// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/brake.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/measurement.hpp"

namespace thunder {
namespace {
constexpr double kRestShare = 0.05;
constexpr double kHorizon = 3.0;  // [total delays]
constexpr double kStandstill = 1e-9;  // [rad/s or m/s]

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
    : horizon_(kHorizon * total_delay(options)),
      hold_(options.nominal_dt / horizon_),
      damping_(options.stop_damping.empty() ? default_damping(library) : options.stop_damping),
      dry_(damping_),
      effort_limit_(limits.effort),
      effort_rate_(limits.effort_rate),
      velocity_limit_(limits.velocity),
      held_(damping_.size(), 0.0),
      bias_(held_),
      friction_(held_),
      ahead_(held_),
      slowed_(held_.size() * held_.size(), 0.0),
      factor_(held_.size()) {
  for (std::size_t i = 0; i < dry_.size(); ++i) {
    const double unlimited = options.stop_damping.empty() ? kDampingShare * effort_limit_[i] : 0.0;
    dry_[i] = std::isfinite(velocity_limit_[i]) ? damping_[i] * velocity_limit_[i] : unlimited;
  }
}

void Brake::restart() noexcept {
  if (!has_acted_) return;
  has_acted_ = false;
  std::fill(held_.begin(), held_.end(), 0.0);
}

double Brake::friction(std::size_t joint, double qd, double inertia) const noexcept {
  const double speed = std::max(std::abs(qd), kStandstill);
  const double swing = std::sqrt(2.0 * effort_rate_[joint] * inertia / speed);
  return std::min({damping_[joint] + dry_[joint] / speed, effort_limit_[joint] / speed, swing});
}

double Brake::hold(std::size_t joint, double effort, double carried, double stopped) noexcept {
  const double most = std::clamp(-carried, -effort_limit_[joint], effort_limit_[joint]), before = held_[joint];
  const bool drives_out = before * stopped < 0.0;
  const double over = drives_out ? before - std::clamp(before, std::min(0.0, most), std::max(0.0, most)) : 0.0;
  held_[joint] = std::clamp(before + hold_ * (effort - over), std::min({0.0, most, before}), std::max({0.0, most, before}));
  return held_[joint];
}

void Brake::apply(const ArmInertia& inertia, const FeltInertia& felt, const double* stopped, const double* safe_effort,
                  const double* qd, double* effort) noexcept {
  const std::size_t n = damping_.size();
  has_acted_ = true;
  const std::vector<double>& M = inertia.matrix();
  slowed_ = M;
  for (std::size_t i = 0; i < n; ++i) {
    const double added = felt.added(i);
    ahead_[i] = added * qd[i];
    for (std::size_t j = 0; j < n; ++j) ahead_[i] += M[n * j + i] * qd[j];
    friction_[i] = friction(i, qd[i], inertia.held(i) + added);
    slowed_[n * i + i] += added + horizon_ * friction_[i];
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
    bias_[i] = safe_effort[i] - hold(i, opposed, felt.carried(i), stopped[i]);
    effort[i] = bias_[i] - opposed;
  }
}

bool Brake::is_at_rest(const double* qd) const noexcept {
  for (std::size_t i = 0; i < velocity_limit_.size(); ++i) {
    if (std::abs(qd[i]) > kRestShare * velocity_limit_[i]) return false;
  }
  return true;
}

}  // namespace thunder
