// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/rotation.hpp"

namespace thunder {

/// Where a frame is in another one: p = translation + rotation p_of_the_frame.
struct Rigid {
  Vector3 translation{};                    ///< [m]
  Quaternion rotation{0.0, 0.0, 0.0, 1.0};  ///< of unit norm
};

/// A point that is given in `frame`, in the frame that this is in; `frame` stands still.
TimedPose placed(const Rigid& frame, const TimedPose& point);

/// The end effector of a point of the tool, which is at `tool` in the end effector's frame; with d from the tool to the
/// end effector v + ω × d, v̇ + ω̇ × d + ω × (ω × d).
///
/// Throws HostError(law) for an acceleration without a twist, as ω is not known then.
TimedPose end_effector_of(const Rigid& tool, const TimedPose& point, const std::string& where);

}  // namespace thunder
