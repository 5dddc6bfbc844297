// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <vector>

namespace thunder {

/// How a controller guards its input and output. The defaults suit a 1 kHz effort interface.
struct Options {
  /// The robot adds its own gravity torque to the command (true on a Franka, false in MuJoCo).
  bool gravity_compensated_by_robot = false;

  /// [s] Measurements whose time stamps lie further apart than this are stale; above nominal_dt.
  double measurement_timeout = 0.01;

  /// [s] The period of the loop; used where no valid period is at hand (activation, ramps). Positive.
  double nominal_dt = 0.001;

  /// [1] The longest period a law is stepped with, in nominal periods. At least 1.
  double max_dt_ratio = 10.0;

  /// [s] A reference older than this is replaced by holding the place; infinite: never. Positive.
  double reference_timeout = std::numeric_limits<double>::infinity();

  /// Keep the adapted part of the state while the effort is limited.
  bool saturation_freezes_adaptation = true;

  /// [N·m or N], [N·m/s or N/s], [rad/s or m/s] per joint, positive; empty: the library's limits.
  std::vector<double> effort_limit = {};
  std::vector<double> effort_rate_limit = {};
  std::vector<double> velocity_limit = {};
};

/// Throws HostError(law) that names the option out of bounds, HostError(dimension) for a limit of wrong length.
void check_options(const Options& options, int n_joints);

/// As above, without the lengths.
void check_options(const Options& options);

}  // namespace thunder
