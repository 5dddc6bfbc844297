// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Adds damping to the safe effort: τ = τ_safe − sat(d q̇), per joint, so that the arm does not coast.
///
/// sat cuts to the effort limit. The damping does the work −q̇ᵀ sat(d q̇) ≤ 0: it never adds energy. Nor does it once it
/// has passed the effort rate limit r, as long as the effort can follow q̇ down to zero: |q̇| < 2 r M / d² for a joint of
/// inertia M. Sampling needs d dt < 2 M. The default keeps both on arms with plausible limits.
class Brake {
 public:
  /// Default damping, of the effort limit at the velocity limit. A quarter stops a Panda joint at three times its limit
  /// within some 0.3 s; the whole would make the last joint, of 5 g·m², unstable at 1 kHz.
  static constexpr double kDampingShare = 0.25;

  /// Damping of the options; where it is empty, the default of `Options::stop_damping`.
  Brake(const Options& options, const Limits& limits, const thunder_library& library);

  /// Write τ [N·m or N] into `effort`, one value per joint; q̇ [rad/s or m/s] must be finite.
  void apply(const double* safe_effort, const double* qd, double* effort) const noexcept;

  /// Whether every joint is slower than a twentieth of its velocity limit; a limit that is infinite says nothing.
  bool is_at_rest(const double* qd) const noexcept;

  /// [N·m·s/rad or N·s/m]
  const std::vector<double>& damping() const noexcept { return damping_; }

 private:
  std::vector<double> damping_;
  std::vector<double> effort_limit_;
  std::vector<double> rest_velocity_;
};

}  // namespace thunder
