// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/time_laws.hpp"

#include <algorithm>
#include <cmath>

namespace thunder {
namespace {

constexpr double kShortestStop = 0.1;  // [s] even of a slow motion: its acceleration has to end smoothly

}  // namespace

TimeLaw::TimeLaw(double velocity, double acceleration, double jerk) noexcept : jerk_(jerk) {
  // What ends a ramp: the acceleration, the velocity at its other end, or the whole way being made of ramps, 2 j r³ = 1.
  ramp_ = std::min({acceleration / jerk, std::sqrt(velocity / jerk), std::cbrt(0.5 / jerk)});
  const double peak = jerk * ramp_;
  // What ends the plateau: the velocity a (r + p), or the middle, where half of the way is done: a (r + p)(2r + p) = 1.
  const double to_velocity = velocity / peak - ramp_;
  const double to_middle = std::sqrt(0.25 * ramp_ * ramp_ + 1.0 / peak) - 1.5 * ramp_;
  plateau_ = std::max(0.0, std::min(to_velocity, to_middle));
  const double rise = 2.0 * ramp_ + plateau_;
  duration_ = rise + std::max(rise, 1.0 / (peak * (ramp_ + plateau_)));
}

ScalarSample TimeLaw::at(double time) const noexcept {
  if (2.0 * time <= duration_) return at_first_half(time);
  const ScalarSample mirrored = at_first_half(duration_ - time);
  return {1.0 - mirrored.value, mirrored.velocity, -mirrored.acceleration};
}

double TimeLaw::jerk(double time) const noexcept {
  const double from_end = std::min(time, duration_ - time);
  if (from_end < ramp_) return jerk_;
  return from_end >= ramp_ + plateau_ && from_end < 2.0 * ramp_ + plateau_ ? -jerk_ : 0.0;
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

ScalarSample StopShape::at(double time, double v0, double a0) const noexcept {
  const double T = duration, u = std::min(time / T, 1.0), w = 1.0 - u;
  return {T * u * ((1.0 + u * u * (0.5 * u - 1.0)) * v0 + T * u * (0.5 + u * (0.25 * u - 2.0 / 3.0)) * a0),
          w * w * ((1.0 + 2.0 * u) * v0 + T * u * a0), w * ((1.0 - 3.0 * u) * a0 - 6.0 * u / T * v0)};
}

double StopShape::shortest(double speed, double bound) noexcept { return std::max(kShortestStop, 1.5 * speed / bound); }

}  // namespace thunder
