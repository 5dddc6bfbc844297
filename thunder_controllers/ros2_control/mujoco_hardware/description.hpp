// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hardware_interface/hardware_info.hpp>

#include "plant/plant.hpp"

namespace thunder_controllers {

/// The simulated robot of a description: its joints, and the hardware parameters `model`, `q_start`,
/// `gravity_compensation` and `brakes`; an empty text is the default.
///
/// Throws PlantError for an unknown parameter, a missing `model`, a text that is no number or no truth value, or a
/// joint that does not command effort alone or does not report position, velocity and effort.
thunder::PlantOptions options_of(const hardware_interface::HardwareInfo& info);

}  // namespace thunder_controllers
