// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thunder/host/motion/sample.hpp"

namespace thunder {

/// Bounds of a scalar's first three derivatives: 1/s, 1/s², 1/s³.
struct RateBounds {
  double velocity, acceleration, jerk;
};

/// The fastest way of a scalar from 0 to 1, at rest at both ends, within bounds: at most seven phases of constant jerk.
///
/// Symmetric in time, so half of it is kept: jerk up, constant acceleration, jerk down, and to the middle at constant
/// speed. Our own, in closed form, for the C++ library of Ruckig's wheel brings a web client along, and a newer C++
/// runtime than systems have; what is planned is the same.
class TimeLaw {
 public:
  TimeLaw() = default;
  /// For bounds that are not positive and finite the duration is not finite.
  explicit TimeLaw(const RateBounds& bounds) noexcept;

  /// [s]
  double duration() const noexcept { return duration_; }
  /// At a time in [0, duration] [s].
  ScalarSample at(double time) const noexcept;

 private:
  ScalarSample at_first_half(double time) const noexcept;

  double jerk_ = 0.0;
  double ramp_ = 0.0;     ///< of the acceleration, to its greatest value or back [s]
  double plateau_ = 0.0;  ///< between the ramps [s]
  double duration_ = 0.0;
};

}  // namespace thunder
