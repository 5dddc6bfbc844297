// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/safety/arm_inertia.hpp"

namespace thunder {

/// Inertia that each motor moves and effort that it carries beyond the description, from what its effort has made of the
/// velocity.
///
/// The momentum of joint i changes by the effort u beyond gravity: ∫u dt = (M q̇)_i + a_i q̇_i + what changes slowly. Both
/// sides pass the same high-pass of the time constant T_w; u has passed a low-pass of T_total before, as the velocity is
/// that late. a_i is the slope by least squares, old samples forgotten with T_f, and at least zero. Noise of the velocity
/// and a wrong delay make it too small, never too large [Åström & Wittenmark, Adaptive Control, 2.2].
///
/// What of the high-passed momentum neither M nor a_i explains, divided by T_w, is the effort that moves nothing, through a
/// low-pass of T_w: a load, friction [De Luca & Mattone, ICRA 2003].
class FeltInertia {
 public:
  /// The delay T_total and the period Δ [s].
  FeltInertia(std::size_t n, double delay, double period);

  void restart() noexcept;
  /// Let a period pass, after which the joints have the velocity q̇ and in which the efforts u acted; one value per joint.
  void observe(const ArmInertia& inertia, const double* qd, const double* u) noexcept;
  /// a_i [kg·m² or kg].
  double added(std::size_t joint) const noexcept { return joints_[joint].added; }
  /// The effort that moves nothing [N·m or N].
  double carried(std::size_t joint) const noexcept { return joints_[joint].carried; }

 private:
  struct Joint {
    double driven = 0.0;    ///< u, late
    double momentum = 0.0;  ///< high-passed ∫u
    double slow = 0.0;      ///< what the high-pass takes off q̇
    double own = 0.0;       ///< the high-passed q̇
    double square = 0.0, product = 0.0;
    double carried = 0.0;
    double added = 0.0;
  };

  double period_, late_, window_, memory_;
  bool has_begun_ = false;
  std::vector<Joint> joints_;
};

}  // namespace thunder
