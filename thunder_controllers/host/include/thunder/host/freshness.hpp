// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <vector>

#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Whether a shell that reads every period reads anything new: where a driver has lost its robot, the last state stays.
///
/// With a clock of the hardware that is known: the clock stands still. Without one only a contradiction is: position
/// and velocity of all joints repeat bit for bit, and say that the arm moves. It may do so for as long as the motion,
/// at the velocity limit, would take as long as the timeout: Σ dt · max |q̇_i| / v_i. At rest nothing tells a state
/// that is repeated from one that has not changed.
class Freshness {
 public:
  Freshness() = default;
  Freshness(const Limits& limits, double timeout)
      : timeout_(timeout), velocity_limit_(limits.velocity), q_(limits.velocity.size()), qd_(q_.size()) {}

  /// Start anew; what is read next is new.
  void restart() noexcept;
  /// Let dt [s] pass, at the end of which q and qd are read, one value per joint, and `clock`, of the hardware, in any
  /// unit and NaN if it cannot be read; null where there is none. False if nothing has been new for the timeout.
  bool record(const double* q, const double* qd, double dt, const double* clock) noexcept;

 private:
  bool repeats(const double* q, const double* qd) noexcept;
  bool repeats(double clock) noexcept;

  double timeout_ = std::numeric_limits<double>::infinity();  ///< [s]
  std::vector<double> velocity_limit_;
  std::vector<double> q_, qd_;
  double clock_ = 0.0;
  bool has_last_ = false;
  double age_ = 0.0;  ///< [s]
};

}  // namespace thunder
