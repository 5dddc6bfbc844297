// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/arm_inertia.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thunder {
namespace {

constexpr double kSamePlace = 2e-3;  // [rad or m] within which inertia changes by some thousandths only

}  // namespace

ArmInertia::ArmInertia(const std::shared_ptr<const Library>& library)
    : function_(library, library->moved_inertia(), library->n_joints() * library->n_joints()),
      matrix_(static_cast<std::size_t>(library->n_joints() * library->n_joints()), 0.0),
      factor_(static_cast<std::size_t>(library->n_joints())),
      free_(static_cast<std::size_t>(library->n_joints()), 0.0),
      known_at_(free_.size(), std::numeric_limits<double>::infinity()) {
  for (std::size_t i = 0; i < free_.size(); ++i) is_known_.push_back(!std::isnan(library->data().rotor_inertia[i]));
}

bool ArmInertia::has_moved(const double* q) const noexcept {
  for (std::size_t i = 0; i < known_at_.size(); ++i) {
    if (!(std::abs(q[i] - known_at_[i]) <= kSamePlace)) return true;
  }
  return false;
}

bool ArmInertia::find(const double* q) noexcept {
  if (!has_moved(q)) return true;
  known_at_[0] = std::numeric_limits<double>::infinity();
  if (!function_.evaluate(q) || !factor_.factor(function_.result())) return false;
  std::copy_n(function_.result(), matrix_.size(), matrix_.begin());
  for (std::size_t i = 0; i < free_.size(); ++i) free_[i] = 1.0 / factor_.inverse_diagonal(i);
  std::copy_n(q, known_at_.size(), known_at_.begin());
  return true;
}

void ArmInertia::accelerate(double* u) const noexcept {
  if (std::isfinite(known_at_[0])) return factor_.solve(u);
  std::fill_n(u, free_.size(), 0.0);
}

}  // namespace thunder
