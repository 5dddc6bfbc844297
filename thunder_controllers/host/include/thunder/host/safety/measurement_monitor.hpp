// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/safety/limits.hpp"
#include "thunder/host/safety/plausibility.hpp"

namespace thunder {

/// How long something has been so, less half the time in which it was not, as where a joint oscillates: what is so for
/// less than a third of the time, as a speed whose noise reaches over its limit, never lasts. More than `most` is forgotten.
class Persistence {
 public:
  explicit Persistence(double patience, double most = std::numeric_limits<double>::infinity())
      : patience_(patience), most_(most) {}
  /// Whether something is so in three good measurements, and since then in a third of them: one that is wrong does not
  /// make it so. Each counts 1.
  static Persistence in_measurements() { return Persistence(2.5, 50.0); }

  void clear() noexcept { time_ = 0.0; }
  /// Let `interval` [s] pass, at the end of which it is so or not.
  void record(bool is_so, double interval = 1.0) noexcept {
    time_ = std::clamp(time_ + (is_so ? interval : -0.5 * interval), 0.0, most_);
  }
  bool is_exhausted() const noexcept { return time_ > patience_; }

 private:
  double patience_;
  double most_;
  double time_ = 0.0;
};

/// Checks measurements, remembers the last good position, and finds what has gone on for too long.
class MeasurementMonitor {
 public:
  MeasurementMonitor(const Options& options, const Limits& limits);

  /// Start anew at this position and velocity, null at rest; the next time stamp is accepted whatever it is.
  void restart(const double* q, const double* qd = nullptr) noexcept;

  /// The guards that the measurement sets off. A good one becomes the last good position. `elapsed` is the time that
  /// has passed since the update before, whatever dt says [s]. `has_others`: what else the law measures is finite.
  ///
  /// A stamp that lies in the past by less than the timeout is an overtaken measurement, and later ones are still
  /// compared with the newest; one that lies further back means that the clock was set, and is the new start.
  GuardBits check(double t, const double* q, const double* qd, bool has_others, double dt, double elapsed) noexcept;

  /// Whether some joint is faster than velocity_stop_ratio times its limit, or was faster than its limit for longer than
  /// velocity_limit_patience, less half the time in which none was. Time is counted from one good measurement to the next.
  bool has_run_away() const noexcept { return far_too_fast_.is_exhausted() || too_fast_.is_exhausted(); }

  /// Whether good measurements were missing for longer than gap_limit, the first one after a gap lies further away than
  /// any joint gets at its velocity limit, or one cannot be true (see Plausibility).
  bool is_lost() const noexcept { return is_lost_; }

  /// Whether the last measurement is the first good one after a gap.
  bool resumes() const noexcept { return resumes_; }

  /// Whether the last measurement tells position and velocity, good or not in all else.
  bool is_known() const noexcept { return is_known_; }

  /// Whether dt is one that laws are stepped with.
  bool is_valid_dt(double dt) const noexcept { return dt > 0.0 && dt <= max_dt_; }

  /// [rad or m, per second] The last good position and velocity, as read or as predicted in place of what cannot be true.
  const double* position() const noexcept { return readings_.position(); }
  const double* velocity() const noexcept { return readings_.velocity(); }
  /// See Plausibility; -1 as well before the first good measurement.
  int lost_counter(const double* q, double time) const noexcept { return good_ ? readings_.lost_counter(q, time) : -1; }
  /// Which reading could not be true, since the last restart.
  const Doubt& doubt() const noexcept { return readings_.doubt(); }

 private:
  bool is_stale(double t) noexcept;
  bool judge(double t, const double* q, const double* qd) noexcept;
  void resume(double t, const double* q, double elapsed) noexcept;

  double timeout_;
  double max_dt_;
  double gap_limit_;
  double stop_ratio_;
  Persistence far_too_fast_ = Persistence::in_measurements();
  Persistence too_fast_;
  Limits limits_;
  Plausibility readings_;
  std::optional<double> newest_;  ///< [s] time stamp
  std::optional<double> good_;    ///< [s] time stamp of the last good measurement
  std::optional<double> seen_;    ///< [s] time stamp of the last position and velocity
  std::optional<double> gap_;     ///< [s] that good measurements are missing
  bool resumes_ = false, is_lost_ = false, is_known_ = false;  ///< of the last measurement
};

}  // namespace thunder
