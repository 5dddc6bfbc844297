// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// How long something has been so, less half the time in which it was not, as where a joint oscillates: what is so for
/// less than a third of the time, as a speed whose noise reaches over its limit, never lasts.
class Persistence {
 public:
  explicit Persistence(double patience) : patience_(patience) {}

  void clear() noexcept { time_ = 0.0; }
  /// Let `interval` [s] pass, at the end of which it is so or not.
  void record(bool is_so, double interval) noexcept {
    time_ = std::max(0.0, time_ + (is_so ? interval : -0.5 * interval));
  }
  bool is_exhausted() const noexcept { return time_ > patience_; }

 private:
  double patience_;
  double time_ = 0.0;
};

/// Whether something is so in three good measurements, and since then in a third of them, as where a joint oscillates:
/// one measurement that is wrong does not make it so.
class Confirmation {
 public:
  void clear() noexcept { count_ = 0; }
  void record(bool is_so) noexcept { count_ = std::clamp(count_ + (is_so ? 2 : -1), 0, 100); }
  bool holds() const noexcept { return count_ >= 6; }

 private:
  int count_ = 0;
};

/// Checks measurements, remembers the last good position, and finds what has gone on for too long.
class MeasurementMonitor {
 public:
  MeasurementMonitor(const Options& options, const Limits& limits);

  /// Start anew at this position; the next time stamp is accepted whatever it is.
  void restart(const double* q) noexcept;

  /// The guards that the measurement sets off. A good one becomes the last good position. `elapsed` is the time that
  /// has passed since the update before, whatever dt says [s]. `has_others`: what else the law measures is finite.
  ///
  /// A stamp that lies in the past by less than the timeout is an overtaken measurement, and later ones are still
  /// compared with the newest; one that lies further back means that the clock was set, and is the new start.
  GuardBits check(double t, const double* q, const double* qd, bool has_others, double dt, double elapsed) noexcept;

  /// Whether some joint is faster than velocity_stop_ratio times its limit, or was faster than its limit for longer than
  /// velocity_limit_patience, less half the time in which none was. Time is counted from one good measurement to the next.
  bool has_run_away() const noexcept { return far_too_fast_.holds() || too_fast_.is_exhausted(); }

  /// Whether good measurements were missing for longer than gap_limit, or the first one after a gap lies further away
  /// than any joint gets at its velocity limit.
  bool is_lost() const noexcept { return has_jumped_ || gap_ > gap_limit_; }

  /// Whether the last measurement is the first good one after a gap.
  bool resumes() const noexcept { return resumes_; }

  /// Whether the last measurement tells position and velocity, good or not in all else.
  bool is_known() const noexcept { return is_known_; }

  /// Whether dt is one that laws are stepped with.
  bool is_valid_dt(double dt) const noexcept { return dt > 0.0 && dt <= max_dt_; }

  /// [rad or m] The last good position.
  const double* position() const noexcept { return position_.data(); }

 private:
  bool is_stale(double t) noexcept;
  void end_gap(double t, const double* q, double elapsed) noexcept;

  double timeout_;
  double max_dt_;
  double gap_limit_;
  double stop_ratio_;
  Confirmation far_too_fast_;
  Persistence too_fast_;
  std::vector<double> velocity_limit_;
  std::vector<double> position_;
  double newest_ = 0.0;  ///< time stamp
  double good_ = 0.0;    ///< time stamp of the last good measurement
  double gap_ = 0.0;     ///< [s] the gap lasts, or has lasted where the last measurement ended one
  bool is_in_gap_ = false;
  bool has_stamp_ = false;
  bool has_good_ = false;
  bool resumes_ = false;
  bool has_jumped_ = false;
  bool is_known_ = false;
};

}  // namespace thunder
