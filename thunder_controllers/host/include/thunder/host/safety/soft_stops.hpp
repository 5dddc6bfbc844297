// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/arm_inertia.hpp"
#include "thunder/host/safety/felt_inertia.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Keeps joints inside their position limits, and near their velocity limits: bounds the effort towards a limit the
/// more, the nearer and faster it is approached.
///
/// A soft stop begins a margin w before the limit, see Limits. At the distance d from it and the velocity v towards it,
/// the effort towards it is at most
///
///     τ_b + D (v_a(d) − v),   v_a(d) = ±(√(a²T² + 2 a |d|) − a T), negative behind the stop,
///
/// with the bias τ_b that holds the arm (gravity). v_a is the velocity from which the joint still comes to rest at the
/// stop, decelerating with a = ½ (τ_max − |τ_b|)/M_ii once the effort has swung from one limit to the other in
/// T = 2 τ_max/τ̇_max, at least 4/k; behind the stop, the one with which it comes back. With m = 1/(M⁻¹)_ii and
/// k = 1/(2 T_total), see total_delay, D is m k at the stop and rises to no less than the brake's damping ten margins away:
/// so far from the stop, an inertia that lacks its rotor must not limit the law.
///
/// The effort along a velocity v is at most τ_b + min(τ_max x/(0.35 v_max), √(2 τ̇_max m' x)), x = 0.95 v_max − v: what
/// still falls to τ_b at its rate limit before x is used up. m' is m (but 0.3 of what follows, if that is more) at the
/// velocity limit, and at rest large enough to leave the whole effort to the law. For x < 0 the bound brakes likewise.
///
/// Where a rotor is unknown, m and M_ii have what FeltInertia found. While a Brake stops a joint, D is m k everywhere, and
/// m' is m with the slope m k: an effort beyond what the inertia bears would keep a light joint spinning.
///
/// What drives a joint is no more than `Limits::effort_at` its speed.
///
/// A joint that rests behind a soft stop when the arm is activated has its stop where it is. The stop follows it to
/// its place, as far as the joint leaves by itself; from beyond a limit the joint is led back to the limit, by a margin w in
/// the time of the handover.
///
/// All bounds are continuous; the effort limit and the bound of the speed away from it bound the repulsion.
class SoftStops {
 public:
  /// The inertia must stay there.
  SoftStops(ArmInertia& inertia, const FeltInertia& felt, const Options& options, const Limits& limits);

  /// Begin at rest at q: where that is behind a soft stop, the stop begins there.
  void restart(const double* q) noexcept;

  /// Bound the effort [N·m or N] at q, q̇ with the bias there; n_joints values each, finite. Returns kMotionLimited where
  /// it has cut one, kResultNonFinite where M(q) cannot be computed. Allocates nothing.
  ///
  /// `brakes`: whether it is the effort of a Brake.
  GuardBits apply(const double* q, const double* qd, const double* bias, bool brakes, double* effort) noexcept;

  /// What the position limits took of each effort in the last call of apply [N·m or N], positive at an upper one.
  const double* stopped() const noexcept { return stopped_.data(); }

  /// Whether some joint is further beyond its limit than the margin of its soft stop.
  bool is_exceeded(const double* q) const noexcept;

 private:
  /// Limits of a joint, and what follows from them.
  struct Joint {
    double lower, upper, margin;  ///< [rad or m]
    double below, above;          ///< [rad or m] by which a stop is still beyond its place
    double effort, rate;          ///< limits
    double fastest;               ///< where no effort beyond the bias is left along the velocity
    double swing;                 ///< T [s]
    double far_damping;           ///< least D far from a stop
    double per_far, per_velocity, per_slowing, per_fall;  ///< reciprocals, for each step would divide by them
    bool is_known;                ///< the rotor
  };
  /// Of a joint now. `is_felt`: the inertia of M is all that the motor moves.
  struct State {
    double q, speed, bias;
    bool is_felt;
  };

  double entered(const Joint& it, double beyond, double behind) const noexcept;
  double by_position(std::size_t joint, const State& now, double effort) const noexcept;
  double by_speed(std::size_t joint, const State& now, double effort) const noexcept;

  double bandwidth_;
  double entering_;  ///< of a margin, in a period
  double noise_;     ///< [rad or m] of positions
  std::vector<Joint> joints_;
  std::vector<double> stopped_;
  Limits limits_;
  ArmInertia& inertia_;
  const FeltInertia& felt_;
};

}  // namespace thunder
