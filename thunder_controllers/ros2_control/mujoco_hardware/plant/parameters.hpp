// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "plant/plant.hpp"

namespace thunder {

/// Parameters of the hardware as the robot's description has them: text by name.
using HardwareParameters = std::unordered_map<std::string, std::string>;

/// Read the parameters `model`, `q_start`, `gravity_compensation` and `brakes`; an empty text is the default.
///
/// Throws PlantError for an unknown parameter, a missing `model`, or a text that is no number or no truth value.
PlantOptions parse_parameters(const HardwareParameters& parameters, const std::vector<std::string>& joints);

/// Interfaces of one joint as the robot's description lists them.
struct JointInterfaces {
  std::string name;
  std::vector<std::string> commands;
  std::vector<std::string> states;
};

/// Names of the joints, each of which commands effort and nothing else and reports position, velocity and effort.
///
/// Throws PlantError for the first joint of which this is not true.
std::vector<std::string> checked_joints(const std::vector<JointInterfaces>& joints);

}  // namespace thunder
