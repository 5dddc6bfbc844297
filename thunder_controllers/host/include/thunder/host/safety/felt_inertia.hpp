// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/safety/arm_inertia.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Inertia that each motor moves and effort that it carries beyond the description, from what its effort has made of the
/// velocity.
///
/// The momentum of joint i changes by the effort u beyond gravity: ∫u dt = (M q̇)_i + a_i q̇_i + what changes slowly. Both
/// sides pass the same high-pass of the time constant T_w; u has passed a low-pass of T_total before, as the velocity is
/// that late. a_i is the slope by least squares, old samples forgotten with T_f, and at least zero. Noise of the velocity
/// and a wrong delay make it too small, never too large [Åström & Wittenmark, Adaptive Control, 2.2].
///
/// Someone who pushes moves a joint, too, and makes that slope too small. The other slope, of the velocity on the momentum p
/// of joint i, has no such bias, for p is the effort's alone: r_i is what that mobility m leaves of an inertia beyond M_ii,
///
///     1/m = (⟨p²⟩ + w) / (⟨p q̇_i⟩ + w/M_ii),   w = M_ii² (3 ⟨q̇_i²⟩ + (1 rad/s)²),
///
/// M_ii alone where no effort has been tried. r_i is at most τ_max²/(2 τ̇_max v_max): an effort that falls at its rate limit
/// takes the greatest speed from that inertia; without a velocity limit r_i is a_i. Where r_i is too large, a joint is held
/// back too hard; it is lighter and obeys, which makes r_i small.
///
/// What of the high-passed momentum neither M nor r_i explains, divided by T_w, is the effort that moves nothing, through a
/// low-pass of T_w: a load, friction [De Luca & Mattone, ICRA 2003].
class FeltInertia {
 public:
  /// T_total and the period are those of the options.
  FeltInertia(const Options& options, const Limits& limits);

  /// Begin anew, with the inertia that was found: a rotor stays.
  void restart() noexcept;
  /// Let a period pass, after which the joints have the velocity q̇ and in which the efforts u acted; one value per joint.
  void observe(const ArmInertia& inertia, const double* qd, const double* u) noexcept;
  /// a_i [kg·m² or kg].
  double added(std::size_t joint) const noexcept { return joints_[joint].added; }
  /// r_i [kg·m² or kg].
  double resisting(std::size_t joint) const noexcept { return joints_[joint].resisting; }
  /// The effort that moves nothing [N·m or N].
  double carried(std::size_t joint) const noexcept { return joints_[joint].carried; }

 private:
  struct Joint {
    double driven = 0.0;    ///< u, late
    double momentum = 0.0;  ///< high-passed ∫u
    double slow = 0.0;      ///< what the high-pass takes off q̇
    double own = 0.0;       ///< the high-passed q̇
    double square = 0.0, product = 0.0;             ///< ⟨q̇²⟩ and ⟨q̇ p⟩, by the excitation of the first slope
    double speed = 0.0, effort = 0.0, moved = 0.0;  ///< ⟨q̇²⟩, ⟨p²⟩ and ⟨p q̇⟩, by that of the second
    double most = 0.0;                              ///< r_i at most
    double carried = 0.0;
    double added = 0.0, resisting = 0.0;
  };

  void forget(Joint& it) noexcept;
  void find_added(Joint& it, double held, double left) noexcept;
  void find_resisting(Joint& it, double held, double own, double p) noexcept;

  double period_, late_, window_, memory_;
  bool has_begun_ = false;
  std::vector<Joint> joints_;
};

}  // namespace thunder
