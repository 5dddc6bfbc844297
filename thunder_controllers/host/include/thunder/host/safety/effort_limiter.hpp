// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/safety/guards.hpp"

namespace thunder {

/// Cuts efforts to the rate limit against the previous command, then to the effort limit.
///
/// The previous command is always inside the effort limit, so the result satisfies both.
class EffortLimiter {
 public:
  /// [N·m or N] and [N·m/s or N/s], positive, one per joint.
  EffortLimiter(std::vector<double> limit, std::vector<double> rate_limit);

  /// The effort that the next one is compared with, cut to the effort limit. The values must be finite.
  void restart(const double* effort) noexcept;

  /// Cut the wanted effort, which must be finite, over a period dt [s]; it becomes the previous one.
  GuardBits apply(const double* wanted, double dt, double* effort) noexcept;

  const std::vector<double>& previous() const noexcept { return previous_; }
  const std::vector<double>& limit() const noexcept { return limit_; }

 private:
  std::vector<double> limit_;
  std::vector<double> rate_limit_;
  std::vector<double> previous_;
};

}  // namespace thunder
