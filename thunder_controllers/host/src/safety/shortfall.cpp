// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/shortfall.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thunder {

Shortfall::Shortfall(std::vector<double> limit) : limit_(std::move(limit)), average_(limit_.size(), 0.0) {}

void Shortfall::restart() noexcept { std::fill(average_.begin(), average_.end(), 0.0); }

bool Shortfall::update(const double* wanted, const double* given, double dt) noexcept {
  const double share = dt / (kTime + dt);
  bool is_large = false;
  for (std::size_t i = 0; i < limit_.size(); ++i) {
    // One sample, however far beyond the limits, is no average.
    const double missing = std::clamp(wanted[i] - given[i], -limit_[i], limit_[i]);
    average_[i] += share * (missing - average_[i]);
    is_large = is_large || std::abs(average_[i]) > kLargestShare * limit_[i];
  }
  return is_large;
}

}  // namespace thunder
