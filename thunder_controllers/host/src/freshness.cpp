// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/freshness.hpp"

#include <algorithm>
#include <cmath>

namespace thunder {

void Freshness::restart() noexcept {
  has_last_ = false;
  age_ = 0.0;
}

bool Freshness::repeats(const double* q, const double* qd) noexcept {
  const std::size_t n = q_.size();
  const bool is_same = std::equal(q, q + n, q_.begin()) && std::equal(qd, qd + n, qd_.begin());
  std::copy_n(q, n, q_.begin());
  std::copy_n(qd, n, qd_.begin());
  return is_same;
}

bool Freshness::repeats(double clock) noexcept {
  if (!std::isfinite(clock)) return true;
  const bool is_same = clock == clock_;
  clock_ = clock;
  return is_same;
}

bool Freshness::record(const double* q, const double* qd, double dt, const double* clock) noexcept {
  const bool is_same = clock ? repeats(*clock) : repeats(q, qd);
  const double elapsed = dt > 0.0 && std::isfinite(dt) ? dt : 0.0;
  age_ = is_same && has_last_ ? age_ + elapsed * (clock ? 1.0 : largest_ratio(qd, velocity_limit_)) : 0.0;
  has_last_ = true;
  return age_ <= timeout_;
}

}  // namespace thunder
