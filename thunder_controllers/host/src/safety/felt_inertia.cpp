// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/felt_inertia.hpp"

#include <algorithm>
#include <cmath>

namespace thunder {
namespace {
constexpr double kWindow = 3.0;     // T_w [total delays]
constexpr double kMemory = 6.0;     // T_f [total delays], where every sample is as large as those before
constexpr double kUncertain = 0.5;  // of M_ii, that may be wrong without a rotor

double share(double period, double time) { return -std::expm1(-period / time); }

}  // namespace

FeltInertia::FeltInertia(std::size_t n, double delay, double period)
    : period_(period),
      late_(share(period, delay)),
      window_(share(period, kWindow * delay)),
      memory_(share(period, kMemory * delay)),
      joints_(n) {}

void FeltInertia::restart() noexcept {
  has_begun_ = false;
  std::fill(joints_.begin(), joints_.end(), Joint{});
}

void FeltInertia::observe(const ArmInertia& inertia, const double* qd, const double* u) noexcept {
  const std::size_t n = joints_.size();
  for (std::size_t i = 0; i < n; ++i) {
    Joint& it = joints_[i];
    if (!has_begun_) it.slow = qd[i];
    it.driven += late_ * (u[i] - it.driven);
    it.momentum += period_ * it.driven - window_ * it.momentum;
    it.slow += window_ * (qd[i] - it.slow);
    it.own = qd[i] - it.slow;
  }
  has_begun_ = true;
  const std::vector<double>& M = inertia.matrix();
  for (std::size_t i = 0; i < n; ++i) {
    Joint& it = joints_[i];
    double left = it.momentum;
    for (std::size_t j = 0; j < n; ++j) left -= M[n * j + i] * joints_[j].own;
    const double lasting = left - it.added * it.own;
    it.carried = std::isfinite(lasting) ? lasting * window_ / period_ : 0.0;
    if (inertia.is_known(i)) continue;
    const double fresh = it.own * it.own;
    const double rate = fresh > 0.0 ? memory_ * fresh / (fresh + it.square) : 0.0;
    it.square += rate * (fresh - it.square);
    it.product += rate * (it.own * left - it.product);
    it.added = it.square > 0.0 && std::isfinite(it.product) ? std::max(0.0, it.product / it.square - kUncertain * inertia.held(i)) : 0.0;
  }
}

}  // namespace thunder
