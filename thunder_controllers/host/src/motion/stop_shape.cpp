// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/stop_shape.hpp"

#include <algorithm>

namespace thunder {
namespace {

constexpr double kShortestStop = 0.1;  // [s] even of a slow motion: its acceleration has to end smoothly

}  // namespace

ScalarSample StopShape::at(double time, double v0, double a0) const noexcept {
  const double T = duration, u = std::min(time / T, 1.0), w = 1.0 - u;
  return {T * u * ((1.0 + u * u * (0.5 * u - 1.0)) * v0 + T * u * (0.5 + u * (0.25 * u - 2.0 / 3.0)) * a0),
          w * w * ((1.0 + 2.0 * u) * v0 + T * u * a0), w * ((1.0 - 3.0 * u) * a0 - 6.0 * u / T * v0)};
}

double StopShape::shortest(double speed, double bound) noexcept { return std::max(kShortestStop, 1.5 * speed / bound); }

}  // namespace thunder
