// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace thunder {

/// A set of guards that acted in one update, as a bit mask.
using GuardBits = std::uint32_t;

/// What a guard does to the step.
enum class GuardEffect : std::uint8_t {
  passes,  ///< The law is stepped.
  blocks,  ///< The law is not stepped: the effort is the safe one and the state stays.
  faults,  ///< As blocks, and latches a stop until the next activation. Found while active and not stopping.
};

/// When a health report says that a guard acted: as an error if it blocks, as a warning otherwise.
enum class GuardReport : std::uint8_t { always, between_transitions, never };

/// The one list of guards, a row each: GUARD(constant, name, effect, report, text). The order gives the bits, which are
/// part of the interface; new guards go to the end. The text of a fault is for people.
#define THUNDER_GUARDS(GUARD)                                                                                         \
  GUARD(kMeasurementNonFinite, measurement_non_finite, blocks, always, "q, qd or t is infinite or NaN: safe effort.") \
  GUARD(kMeasurementStale, measurement_stale, blocks, always,                                                         \
        "t did not advance, or by more than Options.measurement_timeout: safe effort.")                               \
  GUARD(kTimeStepInvalid, time_step_invalid, blocks, always,                                                          \
        "dt is outside (0, max_dt_ratio·nominal_dt]: safe effort.")                                                   \
  GUARD(kReferenceStale, reference_stale, passes, always,                                                             \
        "A stream is silent for longer than Options.reference_timeout and its rhythm allow: it comes to rest.")        \
  GUARD(kResultNonFinite, result_non_finite, blocks, always,                                                          \
        "The law gave something infinite or NaN: safe effort, the state is kept.")                                    \
  GUARD(kEffortRateLimited, effort_rate_limited, passes, between_transitions,                                         \
        "The change of at least one effort was cut.")                                                                 \
  GUARD(kEffortLimited, effort_limited, passes, always, "At least one effort was cut.")                               \
  GUARD(kVelocityExceeded, velocity_exceeded, passes, always,                                                         \
        "A joint is faster than its limit; for too long, it has run away.")                                           \
  GUARD(kAdaptationFrozen, adaptation_frozen, passes, never,                                                          \
        "Adapted states were kept, by request or because limits kept effort from the robot.")                         \
  GUARD(kStopping, stopping, blocks, never, "A stop was begun: safe effort.")                                         \
  GUARD(kNotActive, not_active, blocks, never, "The controller is not active: safe effort.")                          \
  GUARD(kRunaway, runaway, faults, always,                                                                            \
        "the arm ran away: joints beyond their velocity limits for too long, or without rest")                        \
  GUARD(kMotionLimited, motion_limited, passes, always,                                                               \
        "An effort towards a limit of position or velocity was cut by a soft stop.")                                  \
  GUARD(kPositionExceeded, position_exceeded, faults, always, "a joint has left its range")                           \
  GUARD(kMeasurementLost, measurement_lost, faults, always,                                                           \
        "measurements were missing for too long, or cannot be true")                                   \
  GUARD(kReferenceLimited, reference_limited, passes, always,                                                         \
        "A reference was cut to the joint limits, or jumped and is approached.")                                      \
  GUARD(kReferenceUnreached, reference_unreached, passes, always,                                                     \
        "The reference is out of reach: the place is held, or the nearest one that joint limits allow.")              \
  GUARD(kReferenceLate, reference_late, passes, always,                                                               \
        "A stream is later than its rhythm explains: the reference comes to rest until the next sample.")             \
  GUARD(kMeasurementUnused, measurement_unused, passes, always,                                                       \
        "The law goes on without a measurement that it takes: there is none, or the last one was implausible.")

/// A guard as data: its row.
struct GuardInfo {
  const char* name;  ///< in snake case
  GuardEffect effect;
  GuardReport report;
  const char* text;
};

#define THUNDER_ROW(constant, name, effect, report, text) \
  GuardInfo{#name, GuardEffect::effect, GuardReport::report, text},
inline constexpr std::array kGuards = {THUNDER_GUARDS(THUNDER_ROW)};
#undef THUNDER_ROW

#define THUNDER_PLACE(constant, name, effect, report, text) constant##Place,
enum GuardPlace : std::uint8_t { THUNDER_GUARDS(THUNDER_PLACE) };
#undef THUNDER_PLACE

#define THUNDER_BIT(constant, name, effect, report, text) constant = 1u << constant##Place,
enum Guard : GuardBits { THUNDER_GUARDS(THUNDER_BIT) };
#undef THUNDER_BIT

/// The bits of the guards that `is_meant` says.
template <typename Predicate>
constexpr GuardBits guards_that(Predicate is_meant) {
  GuardBits bits = 0;
  for (std::size_t i = 0; i < kGuards.size(); ++i) {
    if (is_meant(kGuards[i])) bits |= 1u << i;
  }
  return bits;
}

inline constexpr GuardBits kFaults = guards_that([](const GuardInfo& g) { return g.effect == GuardEffect::faults; });
inline constexpr GuardBits kBlockingGuards =
    guards_that([](const GuardInfo& guard) { return guard.effect != GuardEffect::passes; });

/// What a fault means, for people; null if there is none.
inline const char* fault_text(GuardBits guards) noexcept {
  for (std::size_t i = 0; i < kGuards.size(); ++i) {
    if ((guards & kFaults) >> i & 1u) return kGuards[i].text;
  }
  return nullptr;
}

/// How often each guard acted.
class GuardCounters {
 public:
  void record(GuardBits guards) noexcept {
    for (std::size_t i = 0; guards != 0; ++i, guards >>= 1) counts_[i] += guards & 1u;
  }
  void clear() noexcept { counts_.fill(0); }
  const std::array<std::uint64_t, kGuards.size()>& counts() const noexcept { return counts_; }

 private:
  std::array<std::uint64_t, kGuards.size()> counts_{};
};

}  // namespace thunder
