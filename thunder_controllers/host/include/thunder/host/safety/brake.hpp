// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/arm_inertia.hpp"
#include "thunder/host/safety/cholesky.hpp"
#include "thunder/host/safety/limits.hpp"
#include "thunder/host/safety/measurement_monitor.hpp"

namespace thunder {

/// Brings the arm to rest: τ = τ_safe − D w − τ_h, with viscous and dry friction D and an effort τ_h that holds what the
/// gravity torque τ_safe leaves.
///
/// w is the velocity that the arm, of inertia M, will have the horizon h = 10 periods from now under that friction:
///
///     (M + h D) w = M q̇,   so   D w = (D⁻¹ + h M⁻¹)⁻¹ q̇.
///
/// The matrix is symmetric and positive semidefinite: at once and exactly, friction would never add energy. Nor is it
/// above M/h, so it takes at most a tenth of any mode's speed per period, however light a link is: stable with a delay
/// of 15 periods. For each joint D is d + f/|q̇|, but no more than τ_max/|q̇|.
///
/// Where a rotor is unknown, M is too small for a light link on a strong geared motor, and M/h bounds the friction too
/// much. The brake therefore adds inertia to such a joint, e-fold in 40 periods, until M/h bounds nothing any more. Each
/// time the joint turns back, a quarter of the added inertia remains: a joint that oscillates under the brake loses it.
///
/// τ_h is the integral of the friction's effort over T_h = 0.2 s, up to the effort limit. A joint faster than half of its
/// velocity limit loses it with the same time constant: what braked it is not what holds it, and would push it on.
///
/// What is needed, by 5,500 random stops of eleven arms (`test/cpp/host_stops.cpp`) whose rotors are unknown: 53 are not at
/// rest after 4 s; some 270 without added inertia, 1,940 where turning back leaves it, 510 without τ_h, 140 where nothing is
/// found spinning. Of 5,500 with rotors known to 30 % two are not; without τ_h 680.
class Brake {
 public:
  /// Default of d, of the effort limit at the velocity limit. f is d times the velocity limit; where that is infinite,
  /// this share of the effort limit by default, else zero.
  static constexpr double kDampingShare = 0.25;

  /// Damping d of the options; where it is empty, the default of `Options::stop_damping`.
  Brake(const Options& options, const Limits& limits, const thunder_library& library);

  /// Forget an earlier stop.
  void restart() noexcept;

  /// Measurements were missing: what spun before may have come to rest.
  void resume() noexcept;

  /// Write τ [N·m or N] into `effort`, one value per joint. `inertia` is that where the arm is, or where it was last
  /// known; without any nothing is added to τ_safe. q̇ [rad/s or m/s] must be finite. Allocates nothing.
  void apply(const ArmInertia& inertia, const double* safe_effort, const double* qd, double* effort) noexcept;

  /// Whether a joint of an unknown rotor is faster than three times its velocity limit: it has none, or hardly any.
  bool is_spinning(std::size_t joint) const noexcept { return spins_[joint].is_exhausted(); }

  /// Whether every joint is slower than a twentieth of its velocity limit; a limit that is infinite says nothing.
  bool is_at_rest(const double* qd) const noexcept;

 private:
  void add_inertia(std::size_t joint, double least, double qd) noexcept;
  double friction(std::size_t joint, double qd) const noexcept;
  double hold(std::size_t joint, double qd, double effort) noexcept;

  double period_;
  double horizon_;
  std::vector<double> damping_;
  std::vector<double> dry_;  ///< f
  std::vector<double> effort_limit_;
  std::vector<double> velocity_limit_;
  std::vector<double> added_;     ///< inertia
  std::vector<double> velocity_;  ///< in the step before
  std::vector<double> held_;      ///< τ_h
  std::vector<Persistence> spins_;
  std::vector<double> friction_;  ///< D
  std::vector<double> ahead_;     ///< w
  std::vector<double> slowed_;    ///< M + h D, column-major
  Cholesky factor_;
  bool has_acted_ = false;  ///< since the restart
};

}  // namespace thunder
