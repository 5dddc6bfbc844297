// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/motion.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {

void check_limits(const MotionLimits& limits) {
  const std::pair<const char*, double> bounds[] = {
      {"linear_velocity", limits.linear_velocity},
      {"linear_acceleration", limits.linear_acceleration},
      {"linear_jerk", limits.linear_jerk},
      {"angular_velocity", limits.angular_velocity},
      {"angular_acceleration", limits.angular_acceleration},
      {"angular_jerk", limits.angular_jerk},
      {"joint_acceleration", limits.joint_acceleration}};
  for (const auto& [name, bound] : bounds) {
    if (std::isfinite(bound) && bound > 0.0) continue;
    throw HostError(ErrorKind::law, "is " + format(bound), std::string("motion_limits.") + name,
                    "positive and finite");
  }
}

const char* to_string(ReferenceSource source) noexcept {
  constexpr const char* kNames[] = {"hold", "stream", "motion", "stopping"};
  return kNames[static_cast<int>(source)];
}

}  // namespace thunder
