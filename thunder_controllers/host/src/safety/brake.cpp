// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/brake.hpp"

#include <algorithm>
#include <cmath>

namespace thunder {
namespace {

constexpr double kRestShare = 0.05;

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
    : damping_(options.stop_damping.empty() ? default_damping(library) : options.stop_damping),
      effort_limit_(limits.effort),
      rest_velocity_(limits.velocity) {
  for (double& velocity : rest_velocity_) velocity *= kRestShare;
}

void Brake::apply(const double* safe_effort, const double* qd, double* effort) const noexcept {
  for (std::size_t i = 0; i < damping_.size(); ++i) {
    effort[i] = safe_effort[i] - std::clamp(damping_[i] * qd[i], -effort_limit_[i], effort_limit_[i]);
  }
}

bool Brake::is_at_rest(const double* qd) const noexcept {
  for (std::size_t i = 0; i < rest_velocity_.size(); ++i) {
    if (std::abs(qd[i]) > rest_velocity_[i]) return false;
  }
  return true;
}

}  // namespace thunder
