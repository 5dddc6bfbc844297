// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <vector>

namespace thunder {

/// How a controller guards its input and output. The defaults suit a 1 kHz effort interface.
struct Options {
  /// The robot adds its own gravity torque to the command (true on a Franka, false in MuJoCo).
  bool gravity_compensated_by_robot = false;

  /// [s] Measurements whose time stamps lie further apart than this are stale; finite, above nominal_dt.
  double measurement_timeout = 0.01;

  /// [s] Without a good measurement for longer than this, a stop latches. Finite, positive.
  double gap_limit = 0.2;

  /// [s] The period of the loop; used where no valid period is at hand (activation, ramps). Positive.
  double nominal_dt = 0.001;

  /// [1] The longest period a law is stepped with, in nominal periods. At least 1.
  double max_dt_ratio = 10.0;

  /// [s] A streamed reference older than this is brought to rest and held; infinite: never. Positive.
  double reference_timeout = std::numeric_limits<double>::infinity();

  /// Play motions before they begin, and refuse those that leave the limits or the reach, see Rehearsal.
  bool rehearses_motions = true;

  /// Approach a streamed reference that jumps, see Stream; otherwise each sample is taken as it is.
  bool approaches_jumps = true;

  /// [s] A streamed pose at rest that the arm does not come nearer to for longer than this, and cannot, is given up for
  /// the place where the arm is, see Reach. Infinite: never. Positive.
  double approach_patience = 1.0;

  /// Keep the adapted part of the state while limits keep effort from the robot, see Shortfall.
  bool saturation_freezes_adaptation = true;

  /// [N·m or N], [N·m/s or N/s], [rad/s or m/s] per joint, positive, the first two finite; empty: the library's limits,
  /// see limits_of.
  std::vector<double> effort_limit = {};
  std::vector<double> effort_rate_limit = {};
  std::vector<double> velocity_limit = {};

  /// [s] A joint faster than its velocity limit for longer than this, less half the time in which none is, latches a
  /// stop: the arm has run away. Infinite: never. Positive.
  double velocity_limit_patience = 0.5;

  /// [1] A joint faster than so many velocity limits has run away at once, see Confirmation. At least 1, which suits
  /// arms whose references are smooth. Of 4,120 references to ten arms under all laws none passed 1.5; with
  /// approaches_jumps off one passed 3.
  double velocity_stop_ratio = 3.0;

  /// Take gains whose velocity feedback is unstable at rest even without delay, see check_feedback.
  bool accepts_unstable_gains = false;

  /// [N·m·s/rad or N·s/m] per joint, not negative: viscous friction of the brake, and as much dry friction as it is at the
  /// velocity limit; what the arm's inertia does not bear of it is left out, see Brake. Zero: the joint is not braked.
  /// Empty: a quarter of the library's effort limit per velocity limit; where that is infinite, dry friction alone.
  std::vector<double> stop_damping = {};

  /// [s] Tells how much time has passed where no valid period does: monotonic. Empty: the steady clock; a simulation
  /// that does not run in real time gives its own.
  std::function<double()> clock = {};
};

/// Throws HostError(law) that names the option out of bounds, HostError(dimension) for a limit of wrong length.
void check_options(const Options& options, int n_joints);

/// As above, without the lengths.
void check_options(const Options& options);

}  // namespace thunder
