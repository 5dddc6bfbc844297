// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/note.hpp"
#include "thunder/host/options.hpp"

namespace thunder {

/// The limits that a controller keeps, n_joints values each: those of the options, else the library's.
///
/// Effort and effort rate are always finite. The others may be infinite, which the notes say.
struct Limits {
  std::vector<double> position_lower, position_upper;  ///< [rad or m]
  std::vector<double> position_margin;                 ///< [rad or m] before a limit, where its soft stop begins
  std::vector<double> velocity;                        ///< [rad/s or m/s]
  std::vector<double> acceleration;                    ///< [rad/s² or m/s²]
  std::vector<double> effort;                          ///< [N·m or N]
  std::vector<double> effort_rate;                     ///< [N·m/s or N/s]
  /// What the robot's description leaves open and what was done about it, a sentence each: for people.
  std::vector<Note> notes;
};

/// Periods of the loop in which the effort may go from zero to its limit where no rate limit is given: at a Franka's wrist
/// it is 12, at its shoulder 87. A limit that feedback meets delays it: with 50 a light joint with 2 ms of delay, 2 ms of
/// lag and rotors that nobody knew (a Talos arm's fourth) swung beyond its velocity limit in eight of eight runs, with 25
/// in none; noise met it in three of a thousand steps of an xArm7 with 2 kg, now in none.
inline constexpr double kDefaultRampPeriods = 25.0;

/// Soft stops begin 0.5 % of the range before a limit, at most 0.025 rad or m. Where neither says how fast the effort of
/// a joint may change, it is the effort limit in kDefaultRampPeriods periods.
///
/// Throws HostError(law) for a joint without an effort limit: nothing can stand for that.
Limits limits_of(const Options& options, const thunder_library& library);

/// The speed of the fastest joint in velocity limits [1].
double largest_ratio(const double* qd, const std::vector<double>& velocity_limit) noexcept;

}  // namespace thunder
