// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "thunder/host/law/step_times.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/safety/guards.hpp"

namespace thunder {

/// Copies of what one update used and computed. Copying one onto another of the same session allocates nothing.
struct Snapshot {
  std::uint64_t activation = 0;  ///< Number of the activation that it is of; 0: before the first.
  bool is_active = false;        ///< Whether that activation lasts; else state and effort are those of rest.
  std::int64_t stamp = 0;        ///< [ns] Of the measurement, as messages are stamped.
  double time = 0.0;             ///< [s] The same, as updates count it.
  /// [rad or m, per second] NaN before the first measurement; since activation joints on a circle are unwrapped.
  std::vector<double> q, qd;
  std::vector<double> effort;    ///< [N·m or N]
  std::vector<double> state, telemetry, reference;  ///< Flat, as the law's metadata divide them.
  ReferenceSource source = ReferenceSource::hold;
  std::uint64_t request = 0;          ///< Number of the request that the reference follows, as `follow` returns it.
  bool is_reference_lost = false;     ///< Whether the stream that was followed fell silent.
  std::uint64_t lost_references = 0;  ///< How often that happened since the session began.
  bool is_frozen = false;             ///< Whether the estimates are kept by request.
  GuardBits guards = 0;
  GuardCounters counters;  ///< Since activation, as the rest.
  StepTimes step_times;
  StepTimes jitter;  ///< [ns] |period − nominal period|
};

/// What the reference follows, in words: "hold", "stream", "motion", "stopping" or "stopping after a lost stream".
const char* source_text(const Snapshot& snapshot) noexcept;

}  // namespace thunder
