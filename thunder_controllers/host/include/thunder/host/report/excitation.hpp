// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thunder/host/law/configuration.hpp"
#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/snapshot.hpp"

namespace thunder {

/// How well a motion excites the estimated parameters.
struct ExcitationReport {
  double smallest_singular_value = 0.0;  ///< Of W, SI units.
  int rank = 0;                          ///< Numerical.
};

/// The information that the last seconds of motion hold of the estimated parameters.
///
/// W = ∫ YᵀY dt with exponential forgetting, Y the columns of the Slotine–Li regressor of the adapted links. Between
/// two snapshots the derivative of q̇_r is taken as their difference. Not for the updating thread.
class Excitation {
 public:
  explicit Excitation(const Configuration& configuration);

  /// Use a step. One that is not of a lasting activation, not finite, or no later than the one before is passed over; a
  /// new activation begins anew.
  void add(const Snapshot& snapshot);
  /// None if the law adapts no link, or the library has no function Yr.
  std::optional<ExcitationReport> report() const;

 private:
  void integrate(const Snapshot& snapshot, const double* qd_r, double dt);

  std::optional<Evaluator> regressor_;
  std::vector<int> columns_;
  int n_joints_;
  int qd_r_offset_ = -1;  ///< in the telemetry; -1: the law has none, and q̇ stands for it
  std::vector<double> information_;  ///< W, square
  std::vector<double> previous_;     ///< q̇_r of the step before; empty if there is none
  double previous_time_ = 0.0;
  std::uint64_t activation_ = 0;
};

}  // namespace thunder
