// SPDX-License-Identifier: Apache-2.0
#include "plant/parameters.hpp"

#include <algorithm>
#include <locale>
#include <sstream>

#include "plant/error.hpp"

namespace thunder {
namespace {

constexpr const char* kModel = "model";
constexpr const char* kStart = "q_start";
constexpr const char* kGravityCompensation = "gravity_compensation";
constexpr const char* kBrakes = "brakes";

void check_names(const HardwareParameters& parameters) {
  const std::vector<std::string> known{kModel, kStart, kGravityCompensation, kBrakes};
  for (const auto& parameter : parameters) {
    if (std::find(known.begin(), known.end(), parameter.first) != known.end()) continue;
    throw PlantError("unknown parameter '" + parameter.first + "'", "hardware", join_names(known));
  }
}

std::string text_of(const HardwareParameters& parameters, const char* name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string() : found->second;
}

bool truth_of(const HardwareParameters& parameters, const char* name, bool default_value) {
  const std::string text = text_of(parameters, name);
  if (text.empty()) return default_value;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  throw PlantError("'" + text + "'", name, "true, false");
}

/// In the C locale, whatever the process has chosen.
std::vector<double> numbers_of(const HardwareParameters& parameters, const char* name) {
  std::istringstream stream(text_of(parameters, name));
  stream.imbue(std::locale::classic());
  std::vector<double> numbers;
  double number = 0.0;
  while (stream >> number) numbers.push_back(number);
  if (stream.eof()) return numbers;
  throw PlantError("'" + stream.str() + "'", name, "numbers separated by spaces");
}

bool has_exactly(std::vector<std::string> found, std::vector<std::string> expected) {
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  return found == expected;
}

}  // namespace

PlantOptions parse_parameters(const HardwareParameters& parameters, const std::vector<std::string>& joints) {
  check_names(parameters);
  PlantOptions options;
  options.model = text_of(parameters, kModel);
  if (options.model.empty()) throw PlantError("there is no model", kModel, "a file written by `thunder mjcf`");
  options.joints = joints;
  options.start = numbers_of(parameters, kStart);
  options.gravity_compensation = truth_of(parameters, kGravityCompensation, options.gravity_compensation);
  options.brakes = truth_of(parameters, kBrakes, options.brakes);
  return options;
}

std::vector<std::string> checked_joints(const std::vector<JointInterfaces>& joints) {
  const std::vector<std::string> commands{"effort"};
  const std::vector<std::string> states{"position", "velocity", "effort"};
  std::vector<std::string> names;
  for (const JointInterfaces& joint : joints) {
    if (!has_exactly(joint.commands, commands)) {
      throw PlantError("command interfaces " + join_names(joint.commands), joint.name, join_names(commands));
    }
    if (!has_exactly(joint.states, states)) {
      throw PlantError("state interfaces " + join_names(joint.states), joint.name, join_names(states));
    }
    names.push_back(joint.name);
  }
  return names;
}

}  // namespace thunder
