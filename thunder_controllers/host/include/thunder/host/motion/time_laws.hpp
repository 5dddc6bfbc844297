// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thunder/host/motion/sample.hpp"

namespace thunder {

/// The fastest way of a scalar from 0 to 1, at rest at both ends, within bounds: at most seven phases of constant jerk.
///
/// Symmetric in time, so half of it is kept: jerk up, constant acceleration, jerk down, and to the middle at constant
/// speed. Our own, in closed form, for the C++ library of Ruckig's wheel brings a web client along, and a newer C++
/// runtime than systems have; what is planned is the same.
class TimeLaw {
 public:
  TimeLaw() = default;
  /// In 1/s, 1/s², 1/s³. For bounds that are not positive and finite the duration is not finite.
  TimeLaw(double velocity, double acceleration, double jerk) noexcept;

  /// [s]
  double duration() const noexcept { return duration_; }
  /// At a time in [0, duration] [s].
  ScalarSample at(double time) const noexcept;
  /// Third derivative there [1/s³]; where it jumps, the one after the jump or, in the second half, before it.
  double jerk(double time) const noexcept;

 private:
  ScalarSample at_first_half(double time) const noexcept;

  double jerk_ = 0.0;
  double ramp_ = 0.0;     ///< of the acceleration, to its greatest value or back [s]
  double plateau_ = 0.0;  ///< between the ramps [s]
  double duration_ = 0.0;
};

/// Brings velocity and acceleration (v₀, a₀) to zero over T: v(u) = (1 − 3u² + 2u³) v₀ + T u(1 − u)² a₀, u = t/T.
///
/// The cubic Hermite velocity; its derivative is the acceleration, its integral the way. Without a₀ the greatest
/// deceleration is 1.5 v₀/T. Our own, for a stop within a bound of jerk runs away where a stream has left the bounds:
/// from 20 m/s², at 10 m/s³, Ruckig's takes 22 s and 230 m, this one 0.4 s and 0.3 m.
struct StopShape {
  double duration = 0.1;  ///< T [s], positive.

  /// Way so far, velocity and acceleration at a time [s]; exactly at rest from T on.
  ScalarSample at(double time, double v0, double a0) const noexcept;

  /// The shortest T [s] that keeps a bound of deceleration without a₀.
  static double shortest(double speed, double bound) noexcept;
};

}  // namespace thunder
