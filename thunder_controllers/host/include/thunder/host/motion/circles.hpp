// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thunder/thunder_abi.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace thunder {

inline constexpr double kTurn = 6.283185307179586476925286766559;  ///< [rad]

/// The joints of a robot that are on a circle, whose positions are brought to the turn nearest to what was expected.
///
/// Everything that enters is unwrapped like this: measurements, samples, goals. Inside, a position is a real number.
/// Allocates nothing but when it is made.
class Circles {
 public:
  explicit Circles(const thunder_library& library) : is_on_circle_(static_cast<std::size_t>(library.n_joints)) {
    for (std::size_t i = 0; i < is_on_circle_.size(); ++i) {
      is_on_circle_[i] = library.joint_topology[i] == THUNDER_TOPOLOGY_CIRCLE;
    }
  }

  /// The whole turns [rad] that bring the position of a joint nearest to what was expected; none for joints on a line.
  double turns(std::size_t joint, double position, double expected) const noexcept {
    return is_on_circle_[joint] ? kTurn * std::round((expected - position) / kTurn) : 0.0;
  }
  /// Positions of all joints nearest to what was expected of them, in place; what is within half a turn stays exactly.
  void unwrap(const double* expected, double* q) const noexcept {
    for (std::size_t i = 0; i < is_on_circle_.size(); ++i) q[i] += turns(i, q[i], expected[i]);
  }

 private:
  std::vector<bool> is_on_circle_;
};

}  // namespace thunder
