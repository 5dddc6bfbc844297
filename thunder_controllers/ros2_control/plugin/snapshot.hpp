// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "thunder/host/controller.hpp"

namespace thunder_controllers {

/// What went wrong in the exchange with the controller manager, and how evenly it calls.
struct LoopStatistics {
  std::uint64_t unreadable_states = 0;  ///< updates with a state interface that could not be read
  std::uint64_t refused_commands = 0;   ///< updates with a command interface that could not be written
  std::uint64_t lost_references = 0;    ///< how often a reference stream fell silent
  double elapsed = 0.0;                 ///< [s] sum of the periods since activation
  thunder::StepTimes jitter;            ///< [ns] |period − nominal period|
};

/// Copies of what one update used and computed. Copying one onto another of the same configuration allocates nothing.
struct Snapshot {
  std::int64_t stamp = 0;  ///< [ns] of the controller manager's clock
  std::vector<double> q, qd, effort;
  std::vector<double> state, telemetry, reference;  ///< flat, as the law's metadata divide them
  thunder::ReferenceSource source = thunder::ReferenceSource::hold;
  thunder::GuardBits guards = 0;
  thunder::GuardCounters counters;
  thunder::StepTimes step_times;
  LoopStatistics loop;
};

}  // namespace thunder_controllers
