// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/arm_inertia.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

class Brake;

/// Keeps joints inside their position limits, and near their velocity limits: bounds the effort towards a limit the
/// more, the nearer and faster it is approached.
///
/// A soft stop begins a margin w before the limit, see Limits. At the distance d from it and the velocity v towards it,
/// the effort towards it is at most
///
///     τ_b + D (v_a(d) − v) − K max(0, −d),   v_a(d) = √(a²T² + 2 a d) − a T for d > 0, else 0,
///
/// with the bias τ_b that holds the arm (gravity). v_a is the velocity from which the joint still comes to rest at the
/// stop, decelerating with a = ½ (τ_max − |τ_b|)/M_ii once the effort has swung from one limit to the other in
/// T = 2 τ_max/τ̇_max, at least 4/k. With m = 1/(M⁻¹)_ii and k = 1/(5 periods), D is m k at the stop and rises to no less
/// than the brake's damping ten margins away: so far from the stop, an inertia that lacks its rotor must not limit the
/// law. K is m k²/2, but between τ_max/0.1 and τ_max/w.
///
/// The effort along a velocity v is at most τ_b + min(τ_max x/(0.35 v_max), √(2 τ̇_max m' x)), x = 0.95 v_max − v: what
/// still falls to τ_b at its rate limit before x is used up. m' is m (but 0.3 of what follows, if that is more) at the
/// velocity limit, and at rest large enough to leave the whole effort to the law. For x < 0 the bound brakes likewise.
///
/// Where the rotor is known, the inertia m is known, and K has no least value. While a Brake stops such a joint, D is m k
/// everywhere, and m' is m with the slope m k: an effort beyond what the inertia bears would keep a light joint spinning.
/// A joint whose rotor is unknown and which the Brake finds spinning has the same D and the same bound for x < 0, but
/// keeps the least K.
///
/// What is needed, by 2.5 million updates of ten arms in `test/cpp/host_adversary.cpp`, none of which leaves its envelope:
/// 63 breaches without the least K, 52 without the 0.3 of m'. The same bounds for all that a Brake stops, spinning or
/// not: 81.
///
/// All bounds are continuous; the effort limit and the bound of the speed away from it bound the repulsion.
class SoftStops {
 public:
  /// The inertia must stay there.
  SoftStops(ArmInertia& inertia, const Options& options, const Limits& limits);

  /// Bound the effort [N·m or N] at q, q̇ with the bias there; n_joints values each, finite. Returns kMotionLimited where
  /// it has cut one, kResultNonFinite where M(q) cannot be computed. Allocates nothing.
  ///
  /// `brake`: whose effort it is, else null.
  GuardBits apply(const double* q, const double* qd, const double* bias, const Brake* brake, double* effort) noexcept;

  /// Whether every joint is within its limits.
  bool holds(const double* q) const noexcept { return is_within(q, 0.0); }
  /// Whether some joint is further beyond its limit than the margin of its soft stop.
  bool is_exceeded(const double* q) const noexcept { return !is_within(q, 1.0); }

 private:
  /// Limits of a joint, and what follows from them.
  struct Joint {
    double lower, upper, margin;  ///< [rad or m]
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

  bool is_within(const double* q, double margins) const noexcept;
  double by_position(std::size_t joint, const State& now, double effort) const noexcept;
  double by_speed(std::size_t joint, const State& now, double effort) const noexcept;

  double bandwidth_;
  std::vector<Joint> joints_;
  ArmInertia& inertia_;
};

}  // namespace thunder
