// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thunder/host/motion/sample.hpp"

namespace thunder {

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
