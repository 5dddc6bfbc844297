// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/felt_inertia.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thunder/host/measurement.hpp"

namespace thunder {
namespace {
constexpr double kWindow = 3.0;     // T_w [total delays]
constexpr double kMemory = 6.0;     // T_f [total delays], where every sample is as large as those before
constexpr double kOthers = 3.0;     // of the velocity's power, that others may make
constexpr double kUnknown = 1.0;    // [rad/s or m/s] below which a velocity tells nothing of r_i
constexpr double kUncertain = 0.5;  // of M_ii, that may be wrong without a rotor

double share(double period, double time) { return -std::expm1(-period / time); }

}  // namespace

FeltInertia::FeltInertia(const Options& options, const Limits& limits)
    : period_(options.nominal_dt),
      late_(share(period_, total_delay(options))),
      window_(share(period_, kWindow * total_delay(options))),
      memory_(share(period_, kMemory * total_delay(options))),
      joints_(limits.effort.size()) {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    joints_[i].most = limits.effort[i] * limits.effort[i] / (2.0 * limits.effort_rate[i] * limits.velocity[i]);
  }
}

void FeltInertia::restart() noexcept {
  has_begun_ = false;
  for (Joint& it : joints_) it.driven = it.momentum = it.carried = 0.0;
}

void FeltInertia::forget(Joint& it) noexcept {
  const double most = it.most;
  it = {};
  it.most = most;
}

void FeltInertia::find_added(Joint& it, double held, double left) noexcept {
  const double fresh = it.own * it.own;
  const double rate = fresh > 0.0 ? memory_ * fresh / (fresh + it.square) : 0.0;
  it.square += rate * (fresh - it.square);
  it.product += rate * (it.own * left - it.product);
  const double slope = it.square > 0.0 ? it.product / it.square : 0.0;
  it.added = std::isfinite(slope) ? std::max(0.0, slope - kUncertain * held) : 0.0;
}

void FeltInertia::find_resisting(Joint& it, double held, double own, double p) noexcept {
  const double others = kOthers * own * own, speed = it.own * it.own, fresh = p * p + others * speed;
  const double rate = fresh > 0.0 ? memory_ * fresh / (fresh + it.effort + others * it.speed) : 0.0;
  it.speed += rate * (speed - it.speed);
  it.effort += rate * (p * p - it.effort);
  it.moved += rate * (p * it.own - it.moved);
  const double weight = others * it.speed + kUnknown * kUnknown * own * own, mobility = it.moved + weight / own;
  const double inertia = mobility > 0.0 ? (it.effort + weight) / mobility : std::numeric_limits<double>::infinity();
  const double beyond = std::isnan(inertia) ? 0.0 : std::clamp(inertia - own - kUncertain * held, 0.0, it.most);
  it.resisting = it.most > 0.0 ? beyond : it.added;
}

void FeltInertia::observe(const ArmInertia& inertia, const double* qd, const double* u) noexcept {
  const std::size_t n = joints_.size();
  for (std::size_t i = 0; i < n; ++i) {
    Joint& it = joints_[i];
    const double sums = it.square + it.product + it.speed + it.effort + it.moved;
    if (!std::isfinite(sums)) forget(it);  // of velocities that are finite, but no velocities
    if (!has_begun_ || !std::isfinite(sums)) it.slow = qd[i];
    it.driven += late_ * (u[i] - it.driven);
    it.momentum += period_ * it.driven - window_ * it.momentum;
    it.slow += window_ * (qd[i] - it.slow);
    it.own = qd[i] - it.slow;
  }
  has_begun_ = true;
  const std::vector<double>& M = inertia.matrix();
  for (std::size_t i = 0; i < n; ++i) {
    Joint& it = joints_[i];
    const double own = M[n * i + i];
    double left = it.momentum;
    for (std::size_t j = 0; j < n; ++j) left -= M[n * j + i] * joints_[j].own;
    const double lasting = left - it.resisting * it.own;
    it.carried = std::isfinite(lasting) ? lasting * window_ / period_ : 0.0;
    if (inertia.is_known(i)) continue;
    find_added(it, inertia.held(i), left);
    find_resisting(it, inertia.held(i), own, left + own * it.own);
  }
}

}  // namespace thunder
