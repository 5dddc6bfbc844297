// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/time_law.hpp"

#include <algorithm>
#include <cmath>

namespace thunder {

TimeLaw::TimeLaw(const RateBounds& bounds) noexcept : jerk_(bounds.jerk) {
  // What ends a ramp: the acceleration, the velocity at its other end, or the whole way being made of ramps, 2 j r³ = 1.
  ramp_ = std::min({bounds.acceleration / jerk_, std::sqrt(bounds.velocity / jerk_), std::cbrt(0.5 / jerk_)});
  const double acceleration = jerk_ * ramp_;
  // What ends the plateau: the velocity a (r + p), or the middle, where half of the way is done: a (r + p)(2r + p) = 1.
  const double to_velocity = bounds.velocity / acceleration - ramp_;
  const double to_middle = std::sqrt(0.25 * ramp_ * ramp_ + 1.0 / acceleration) - 1.5 * ramp_;
  plateau_ = std::max(0.0, std::min(to_velocity, to_middle));
  const double rise = 2.0 * ramp_ + plateau_;
  duration_ = rise + std::max(rise, 1.0 / (acceleration * (ramp_ + plateau_)));
}

ScalarSample TimeLaw::at(double time) const noexcept {
  if (2.0 * time <= duration_) return at_first_half(time);
  const ScalarSample mirrored = at_first_half(duration_ - time);
  return {1.0 - mirrored.value, mirrored.velocity, -mirrored.acceleration};
}

ScalarSample TimeLaw::at_first_half(double time) const noexcept {
  const struct {
    double duration, jerk;
  } phases[] = {{ramp_, jerk_}, {plateau_, 0.0}, {ramp_, -jerk_}};
  ScalarSample now{0.0, 0.0, 0.0};
  for (const auto& phase : phases) {
    const double t = std::min(time, phase.duration);
    now.value += t * (now.velocity + t * (0.5 * now.acceleration + t * phase.jerk / 6.0));
    now.velocity += t * (now.acceleration + 0.5 * t * phase.jerk);
    now.acceleration += t * phase.jerk;
    time -= t;
  }
  now.value += time * now.velocity;
  return now;
}

}  // namespace thunder
