// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/safety/guards.hpp"
#include "thunder/host/options.hpp"

namespace thunder {

/// Judges each measurement, remembers the last good position, and how long joints have been far too fast.
class MeasurementMonitor {
 public:
  MeasurementMonitor(const Options& options, std::vector<double> velocity_limit);

  /// Start anew at this position; the next time stamp is accepted whatever it is.
  void restart(const double* q) noexcept;

  /// The guards that the measurement sets off. A good one becomes the last good position.
  ///
  /// A stamp that lies in the past by less than the timeout is an overtaken measurement, and later ones are still
  /// compared with the newest; one that lies further back means that the clock was set, and is the new start.
  GuardBits check(double t, const double* q, const double* qd, double dt) noexcept;

  /// Whether some joint was faster than velocity_stop_ratio times its limit for longer than velocity_patience without a
  /// pause. A fifth of the patience is a pause; shorter ones occur where joints oscillate. Measurements that are not
  /// good say neither yes nor no.
  bool has_run_away() const noexcept { return excess_time_ > patience_; }

  /// The given period if it is valid, else the nominal one: what ramps are scaled with.
  double ramp_dt(double dt) const noexcept { return is_valid_dt(dt) ? dt : nominal_dt_; }

  /// [rad or m] The last good position.
  const double* position() const noexcept { return position_.data(); }

 private:
  bool is_valid_dt(double dt) const noexcept { return dt > 0.0 && dt <= max_dt_; }
  bool is_stale(double t) noexcept;
  GuardBits check_velocity(const double* qd, double dt) noexcept;

  double timeout_;
  double nominal_dt_;
  double max_dt_;
  double patience_;
  double stop_ratio_;
  std::vector<double> velocity_limit_;
  std::vector<double> position_;
  double newest_ = 0.0;
  double excess_time_ = 0.0;
  double pause_ = 0.0;
  bool has_stamp_ = false;
};

}  // namespace thunder
