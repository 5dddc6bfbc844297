// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/arm_inertia.hpp"
#include "thunder/host/safety/cholesky.hpp"
#include "thunder/host/safety/felt_inertia.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Brings the arm to rest: τ = τ_safe − D w − τ_h, with viscous and dry friction D and an effort τ_h that holds what the
/// gravity torque τ_safe leaves.
///
/// w is the velocity that the arm, of inertia M, will have the horizon h = 3 T_total from now under that friction:
///
///     (M + h D) w = M q̇,   so   D w = (D⁻¹ + h M⁻¹)⁻¹ q̇.
///
/// The matrix is symmetric and positive semidefinite: at once and exactly, friction would never add energy. Nor is it
/// above M/h, a fifth of what the loop bears by its total delay. For each joint D is d + f/|q̇|, but no more than
/// τ_max/|q̇|, nor than √(2 τ̇_max M_ii |q̇|)/|q̇|: what falls to zero at the rate limit takes all of the speed meanwhile.
///
/// Where a rotor is unknown, M is too small for a light link on a strong geared motor. M has then what FeltInertia found.
///
/// τ_h is the integral of the friction's effort over the time h. It grows up to what FeltInertia finds the effort to carry,
/// and to the effort limit: what brakes the arm is not taken for a load, nor is what an obstacle bears where nothing moves.
/// Where it drives a joint against a soft stop, it falls to that: who pushed may have let go.
class Brake {
 public:
  /// Default of d, of the effort limit at the velocity limit. f is d times the velocity limit; where that is infinite,
  /// this share of the effort limit by default, else zero.
  static constexpr double kDampingShare = 0.25;

  /// Damping d of the options; where it is empty, the default of `Options::stop_damping`.
  Brake(const Options& options, const Limits& limits, const thunder_library& library);

  /// Forget an earlier stop.
  void restart() noexcept;

  /// Write τ [N·m or N] into `effort`, one value per joint. `inertia` is that where the arm is, or where it was last
  /// known; without any nothing is added to τ_safe. `stopped` is `SoftStops::stopped()`. q̇ [rad/s or m/s] must be finite.
  /// Allocates nothing.
  void apply(const ArmInertia& inertia, const FeltInertia& felt, const double* stopped, const double* safe_effort,
             const double* qd, double* effort) noexcept;

  /// What holds the arm: τ_safe − τ_h, of the last call of apply.
  const double* bias() const noexcept { return bias_.data(); }

  /// Whether every joint is slower than a twentieth of its velocity limit; a limit that is infinite says nothing.
  bool is_at_rest(const double* qd) const noexcept;

 private:
  double friction(std::size_t joint, double qd, double inertia) const noexcept;
  double hold(std::size_t joint, double effort, double carried, double stopped) noexcept;

  double horizon_;
  double hold_;  ///< share of the friction's effort that τ_h takes over in a period
  std::vector<double> damping_;
  std::vector<double> dry_;  ///< f
  std::vector<double> effort_limit_;
  std::vector<double> effort_rate_;
  std::vector<double> velocity_limit_;
  std::vector<double> held_;      ///< τ_h
  std::vector<double> bias_;
  std::vector<double> friction_;  ///< D
  std::vector<double> ahead_;     ///< w
  std::vector<double> slowed_;    ///< M + h D, column-major
  Cholesky factor_;
  bool has_acted_ = false;  ///< since the restart
};

}  // namespace thunder
