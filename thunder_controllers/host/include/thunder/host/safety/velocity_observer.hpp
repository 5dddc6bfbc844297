// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/arm_inertia.hpp"

namespace thunder {

/// The velocity of the joints by positions, applied efforts and inertia: without the lag of a low-pass (theory, section 10).
///
/// Between two readings Δ apart the efforts u beyond gravity, as late as dead time and lag of the drives make them, and an
/// acceleration d that the model does not know move the joints; the reading q then corrects what was predicted by e:
///
///     q̂ ← q̂ + Δ q̂̇ + Δ²/2 a,  q̂̇ ← q̂̇ + Δ a,  a = M(q)⁻¹ u + d,  e = q − q̂
///     q̂ ← q̂ + (1 − θ³) e,  q̂̇ ← q̂̇ + 3/2 (1 − θ)² (1 + θ) e/Δ,  d ← d + (1 − θ)³ e/Δ²
///
/// All three poles lie at θ = e^(−2πfΔ) [Zarchan & Musoff, Fundamentals of Kalman Filtering, 2009, ch. 4]. With f the cut-off
/// of the velocity that the robot reports, noise of positions makes as much noise of q̂̇ as of that velocity. An acceleration
/// that d has to learn is missing for 3/(2πf)² times its rate: of Coriolis efforts, loads and friction that is little, of
/// rotors that nobody told of it is not.
///
/// It is the law's alone. Brake and soft stops use the measured velocity: with jitter and faults of the readings more joints
/// leave their envelope otherwise.
class VelocityObserver {
 public:
  VelocityObserver(const Options& options, std::size_t n_joints);

  /// Begin at q and q̇, nothing unknown.
  void restart(const double* q, const double* qd) noexcept;
  /// Let a time [s] pass, after which the joints are read at q. u: the efforts beyond gravity that were commanded in it.
  void observe(const ArmInertia& inertia, const double* q, const double* u, double interval) noexcept;
  /// q̂̇ [rad/s or m/s].
  const double* velocity() const noexcept { return velocity_.data(); }

 private:
  void delay(const double* u) noexcept;

  double pole_, lag_, part_;
  std::size_t rows_, oldest_ = 0;
  std::vector<double> position_, velocity_, unknown_;
  std::vector<double> commanded_;  ///< the last rows_ efforts, in turn
  std::vector<double> driven_;     ///< what acts of them
  std::vector<double> change_;     ///< a
};

}  // namespace thunder
