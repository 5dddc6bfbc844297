// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace thunder {

/// A set of guards that acted in one update, as a bit mask.
using GuardBits = std::uint32_t;

/// What each bit says. The order is part of the interface; new guards go to the end.
enum Guard : GuardBits {
  kMeasurementNonFinite = 1u << 0,  ///< q, qd or t is infinite or NaN: safe effort.
  kMeasurementStale = 1u << 1,      ///< t did not advance, or by more than the timeout: safe effort.
  kTimeStepInvalid = 1u << 2,       ///< dt is outside (0, max_dt_ratio·nominal_dt]: safe effort.
  kReferenceStale = 1u << 3,        ///< No reference for longer than the timeout: it comes to rest and is held.
  kResultNonFinite = 1u << 4,       ///< The law gave something infinite or NaN: safe effort.
  kEffortRateLimited = 1u << 5,     ///< The change of at least one effort was cut.
  kEffortLimited = 1u << 6,         ///< At least one effort was cut.
  kVelocityExceeded = 1u << 7,      ///< A joint is faster than its limit; for too long, it has run away.
  kAdaptationFrozen = 1u << 8,      ///< Adapted states were kept, by request or because of a Shortfall.
  kStopping = 1u << 9,              ///< A stop was begun: safe effort.
  kNotActive = 1u << 10,            ///< Not active: safe effort.
  kRunaway = 1u << 11,              ///< A joint was too fast for too long, or never came to rest: a fault.
  kMotionLimited = 1u << 12,        ///< An effort towards a limit of position or velocity was cut, see SoftStops.
  kPositionExceeded = 1u << 13,     ///< A joint has left its range: a fault.
  kMeasurementLost = 1u << 14,      ///< No good measurement for too long, or the arm is elsewhere after it: a fault.
  kReferenceLimited = 1u << 15,     ///< A reference was cut to the joint limits, or jumped and is approached.
  kReferenceUnreached = 1u << 16,   ///< The reference is not approached any more: the place is held instead.
  kReferenceLate = 1u << 17,        ///< A stream is late by some of its periods: what moved comes to rest.
};

inline constexpr int kGuardCount = 18;

/// Faults are found while active and not stopping. They latch: kStopping until the next activation.
inline constexpr GuardBits kFaults = kRunaway | kPositionExceeded | kMeasurementLost;

/// Guards that keep the law from being stepped; the effort is then the safe one and the state stays.
inline constexpr GuardBits kBlockingGuards =
    kMeasurementNonFinite | kMeasurementStale | kTimeStepInvalid | kResultNonFinite | kStopping | kNotActive | kFaults;

/// Names by bit, in snake case.
inline constexpr std::array<const char*, kGuardCount> kGuardNames = {
    "measurement_non_finite", "measurement_stale", "time_step_invalid",  "reference_stale",   "result_non_finite",
    "effort_rate_limited",    "effort_limited",    "velocity_exceeded",  "adaptation_frozen", "stopping",
    "not_active",             "runaway",           "motion_limited",     "position_exceeded", "measurement_lost",
    "reference_limited",      "reference_unreached", "reference_late"};

/// What a fault means, for people; null if there is none.
inline const char* fault_text(GuardBits guards) noexcept {
  if ((guards & kPositionExceeded) != 0) return "a joint has left its range";
  if ((guards & kRunaway) != 0) return "the arm ran away: joints beyond their velocity limits for too long, or without rest";
  if ((guards & kMeasurementLost) != 0) return "measurements were missing for too long, or the arm is elsewhere after it";
  return nullptr;
}

/// How often each guard acted.
class GuardCounters {
 public:
  void record(GuardBits guards) noexcept {
    for (std::size_t i = 0; guards != 0; ++i, guards >>= 1) counts_[i] += guards & 1u;
  }
  void clear() noexcept { counts_.fill(0); }
  const std::array<std::uint64_t, kGuardCount>& counts() const noexcept { return counts_; }

 private:
  std::array<std::uint64_t, kGuardCount> counts_{};
};

}  // namespace thunder
