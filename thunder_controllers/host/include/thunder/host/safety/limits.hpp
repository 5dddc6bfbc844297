// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/note.hpp"
#include "thunder/host/options.hpp"

namespace thunder {

/// The one list of limits, a row each: LIMIT(name, field of the library, field of a model's joint, text). The struct, what it
/// takes from the library, and the bindings are made of it.
#define THUNDER_LIMITS(LIMIT)                                                                                      \
  LIMIT(position_lower, position_lower, lower, "[rad or m]")                                                       \
  LIMIT(position_upper, position_upper, upper, "[rad or m]")                                                       \
  LIMIT(velocity, velocity_limit, velocity, "[rad/s or m/s] Far from the ends, see `Limits.velocity_at`.")         \
  LIMIT(velocity_offset, velocity_offset, velocity_offset, "[rad/s or m/s] See `Limits.velocity_at`.")             \
  LIMIT(velocity_deceleration, velocity_deceleration, velocity_deceleration,                                       \
        "[rad/s² or m/s²] To a stop at an end, see `Limits.velocity_at`.")                                         \
  LIMIT(acceleration, acceleration_limit, acceleration, "[rad/s² or m/s²]")                                        \
  LIMIT(effort, effort_limit, effort, "[N·m or N] At rest, see `Limits.effort_at`.")                               \
  LIMIT(effort_corner_velocity, effort_corner_velocity, effort_corner_velocity,                                    \
        "[rad/s or m/s] Up to which the effort that drives is the whole one.")                                     \
  LIMIT(effort_no_load_velocity, effort_no_load_velocity, effort_no_load_velocity,                                 \
        "[rad/s or m/s] At which no effort that drives is left.")                                                  \
  LIMIT(effort_rate, effort_rate_limit, effort_rate, "[N·m/s or N/s]")

/// The limits of an arm, n_joints values each, as functions of its state.
struct Limits {
#define THUNDER_LIMIT(name, field, model, text) std::vector<double> name;
  THUNDER_LIMITS(THUNDER_LIMIT)
#undef THUNDER_LIMIT
  std::vector<double> position_margin;  ///< [rad or m] before a limit, where its soft stop begins
  /// What the robot's description leaves open and what was done about it, a sentence each: for people.
  std::vector<Note> notes;

  /// Of a velocity limit: a joint that is slower counts as resting, wherever it is [1].
  static constexpr double kRestShare = 0.05;

  /// The velocity limit at q towards the upper end, or the lower one for a negative direction [rad/s or m/s]: at a
  /// distance d from that end min(v, max(0, √(2 a d) − o)) [libfranka 0.21, joint_velocity_limits.cpp].
  double velocity_towards(std::size_t joint, double q, double direction) const noexcept;
  /// The largest effort that drives the joint at q̇ [N·m or N]: the whole one up to the corner velocity, from there
  /// linearly to zero at the no-load velocity, as of a motor at its voltage. What brakes it may be the whole one.
  double effort_at(std::size_t joint, double qd) const noexcept;
  /// By how much the fastest joint is beyond its limit at q, in units of the constant one, and 1 [1]: its speed in velocity
  /// limits where these are constant. A joint that rests is not too fast, however near to an end.
  double largest_ratio(const double* q, const double* qd) const noexcept;
};

/// Periods of the loop in which the effort may go from zero to its limit where no rate limit is given: at a Franka's wrist
/// it is 12, at its shoulder 87. A limit that feedback meets delays it: with 50 a light joint with 2 ms of delay, 2 ms of
/// lag and rotors that nobody knew (a Talos arm's fourth) swung beyond its velocity limit in eight of eight runs, with 25
/// in none; noise met it in three of a thousand steps of an xArm7 with 2 kg, now in none.
inline constexpr double kDefaultRampPeriods = 25.0;

/// Limits of the description, infinite where it has none; without margins.
Limits described_limits(const thunder_library& library);

/// Limits that a controller keeps: those of the options, else the library's; effort and effort rate are finite.
///
/// Soft stops begin 0.5 % of the range before a limit, at most 0.025 rad or m. Where neither says how fast the effort of
/// a joint may change, it is the effort limit in kDefaultRampPeriods periods.
///
/// Throws HostError(law) for a joint without an effort limit: nothing can stand for that.
Limits limits_of(const Options& options, const thunder_library& library);

/// The speed of the fastest joint in constant velocity limits [1].
double largest_ratio(const double* qd, const std::vector<double>& velocity_limit) noexcept;

}  // namespace thunder
