// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <variant>
#include <vector>

namespace thunder {

/// What a value may be: above `lower`, or equal to it where that is included, up to `upper`. Never NaN.
struct Bounds {
  double lower;
  bool includes_lower;
  double upper;
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kFinite = std::numeric_limits<double>::max();
inline constexpr Bounds kSwitch{0.0, true, 1.0};
inline constexpr Bounds kAboveZero{0.0, false, kInfinity};

/// The one list of options, a row each: OPTION(type, name, default, bounds, unit, text). The struct, its checks, the
/// Python class, the parameters of the controllers, the section `host` of scenarios and their pages are made of it.
/// A vector has a value per joint, in the library's order; an empty one stands for the library's limits, see limits_of.
#define THUNDER_OPTIONS(OPTION)                                                                                          \
  OPTION(bool, gravity_compensated_by_robot, false, kSwitch, "",                                                         \
         "The robot adds its own gravity torque to the command: true on a Franka, false in MuJoCo.")                     \
  OPTION(double, dead_time, 0.002, (Bounds{0.0, true, 1.0}), "s",                                                        \
         "From a measurement to the moment when the effort that answers it acts: bus, computation and drive. See "       \
         "total_delay.")                                                                                                 \
  OPTION(double, drive_lag, 0.0, (Bounds{0.0, true, 1.0}), "s", "Time constant of the drives' effort.")                  \
  OPTION(double, velocity_cutoff, 100.0, kAboveZero, "Hz",                                                               \
         "Cut-off of the first-order low-pass that measured velocities have passed. Infinite: none.")                    \
  OPTION(bool, velocity_by_differences, true, kSwitch, "",                                                               \
         "Measured velocities are differences of positions, half a period old.")                                         \
  OPTION(bool, velocity_by_model, false, kSwitch, "",                                                                    \
         "The law gets a velocity found from positions, applied efforts and inertia, with a third more margin; guards, " \
         "brake and soft stops use the measured one. Needs rotors known within 30 %, and joints without springs.")       \
  OPTION(double, position_noise, 1e-3, (Bounds{0.0, true, kFinite}), "rad or m",                                         \
         "By how much a reading of a position may be off: noise, steps of the encoder. What is off by more, and no "     \
         "motion explains, is bridged for measurement_timeout, then measurement_lost.")                                  \
  OPTION(double, measurement_timeout, 0.01, (Bounds{0.0, false, 10.0}), "s",                                             \
         "Measurements (updates, or their time stamps) further apart than this are a gap: the effort ramps to the safe " \
         "one. Above the period of the loop.")                                                                           \
  OPTION(double, gap_limit, 0.2, (Bounds{0.0, false, 10.0}), "s",                                                        \
         "Without a usable measurement for longer, a stop latches: the arm is braked and the controller deactivates.")   \
  OPTION(double, max_dt_ratio, 10.0, (Bounds{1.0, true, kFinite}), "1",                                                  \
         "The longest period that a law is stepped with, in periods of the loop.")                                       \
  OPTION(double, reference_timeout, kInfinity, kAboveZero, "s",                                                          \
         "A reference stream silent for longer is lost: the motion is brought to rest and held. A stream known for longer " \
         "gaps is waited for 1.5 of them, up to 1 s. Infinite: never.")                                                 \
  OPTION(bool, rehearses_motions, true, kSwitch, "",                                                                     \
         "Play trajectories and motions to a pose before they begin, and refuse those that leave the limits or the "     \
         "reach.")                                                                                                       \
  OPTION(bool, moves_straight, false, kSwitch, "",                                                                       \
         "Refuse a motion to a pose where the straight way leaves limits or reach, instead of moving all joints at once "\
         "there or where that way takes more than four times its time.")                                                 \
  OPTION(bool, approaches_jumps, true, kSwitch, "",                                                                      \
         "Approach a streamed reference that jumps: joints below half of their velocity limits, poses below the "        \
         "velocities of motions, relative to the stream. Otherwise each sample is taken as it is.")                      \
  OPTION(double, approach_patience, 1.0, kAboveZero, "s",                                                                \
         "A streamed pose at rest that the arm does not come nearer to for longer than this, and cannot, is given up "   \
         "for the place where the arm is. Infinite: never.")                                                             \
  OPTION(double, handover_time, 1.0, (Bounds{0.0, true, kFinite}), "s",                                                  \
         "At the start the difference between the effort that held the arm at rest and the one that the law believes "  \
         "would fades in this time, at half of the effort rate limit at most. An effort smaller than the difference "    \
         "did not hold it, and counts for nothing. It is 2/K at most where the law takes disturbances up with K.")       \
  OPTION(bool, saturation_freezes_adaptation, true, kSwitch, "",                                                         \
         "Keep the adapted part of the state while limits keep more than a hundredth of its effort limit from a joint, " \
         "on average over 10 ms.")                                                                                       \
  OPTION(std::vector<double>, effort_limit, {}, (Bounds{0.0, false, kFinite}), "N·m or N",                               \
         "Largest effort of each joint, in the library's order; the library's if none is given.")                        \
  OPTION(std::vector<double>, effort_rate_limit, {}, (Bounds{0.0, false, kFinite}), "N·m/s or N/s",                      \
         "Largest rate of the effort of each joint, in the library's order, below 1000 N·m/s on a Franka; the "          \
         "library's if none is given, and where that has none: from zero to the effort limit in 25 periods.")            \
  OPTION(std::vector<double>, velocity_limit, {}, kAboveZero, "rad/s or m/s",                                            \
         "Velocity of each joint, in the library's order, beyond which it is too fast; the library's if none is "        \
         "given.")                                                                                                       \
  OPTION(double, velocity_limit_patience, 0.5, kAboveZero, "s",                                                          \
         "A joint faster than its velocity limit for longer than this, less half the time in which none is, has run "    \
         "away: a stop latches. Infinite: never.")                                                                       \
  /* Of 4,120 references to ten arms under all laws none passed 1.5; with approaches_jumps off one passed 3. */          \
  OPTION(double, velocity_stop_ratio, 3.0, (Bounds{1.0, true, kFinite}), "1",                                            \
         "A joint faster than so many velocity limits in three good measurements has run away at once; 1 suits arms "    \
         "whose references are smooth.")                                                                                 \
  OPTION(bool, accepts_unstable_gains, false, kSwitch, "",                                                               \
         "Take gains whose velocity feedback is computed to be unstable at rest even without delay; otherwise they are " \
         "refused, when the controller is configured and when they change.")                                             \
  OPTION(std::vector<double>, stop_damping, {}, (Bounds{0.0, true, kFinite}), "N·m·s/rad or N·s/m",                      \
         "Viscous friction of the brake for each joint, in the library's order, with as much dry friction as it is at"   \
         " the velocity limit; what the arm's inertia does not bear of it is left out. Zero: the joint is not braked."   \
         " If none is given: a quarter of the library's effort limit per velocity limit; where that is infinite, dry "   \
         "friction alone.")

/// How a controller guards its input and output. The defaults suit a 1 kHz effort interface.
struct Options {
  /// [s] The period of the loop; used where no valid period is at hand (activation, ramps). Positive.
  double nominal_dt = 0.001;

#define THUNDER_MEMBER(type, name, value, bounds, unit, text) type name = value;
  THUNDER_OPTIONS(THUNDER_MEMBER)
#undef THUNDER_MEMBER

  /// [s] Tells how much time has passed where no valid period does: monotonic. Empty: the steady clock; a simulation
  /// that does not run in real time gives its own.
  std::function<double()> clock = {};
};

/// An option as data: its row, and where Options has it.
struct OptionInfo {
  const char* name;
  const char* unit;
  const char* text;
  Bounds bounds;
  std::variant<bool Options::*, double Options::*, std::vector<double> Options::*> member;
};

/// The rows of THUNDER_OPTIONS, in order.
const std::vector<OptionInfo>& option_list();

/// Throws HostError(law) that names the option out of bounds, HostError(dimension) for a limit of wrong length.
void check_options(const Options& options, int n_joints);

/// As above, without the lengths.
void check_options(const Options& options);

}  // namespace thunder
