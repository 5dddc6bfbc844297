// SPDX-License-Identifier: Apache-2.0
#include "description.hpp"

#include <algorithm>
#include <hardware_interface/lexical_casts.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "plant/error.hpp"

namespace thunder_controllers {
namespace {

using hardware_interface::InterfaceInfo;
using thunder::PlantError;

void check_interfaces(const std::vector<InterfaceInfo>& interfaces, const std::vector<std::string>& expected,
                      const std::string& kind, const std::string& joint) {
  std::vector<std::string> names;
  for (const InterfaceInfo& interface : interfaces) names.push_back(interface.name);
  if (std::is_permutation(names.begin(), names.end(), expected.begin(), expected.end())) return;
  throw PlantError(kind + " interfaces " + thunder::join_names(names), joint, thunder::join_names(expected));
}

bool truth_of(const std::string& name, const std::string& text, bool default_value) {
  try {
    return text.empty() ? default_value : hardware_interface::parse_bool(text);
  } catch (const std::invalid_argument&) {
    throw PlantError("'" + text + "'", name, "true, false");
  }
}

std::vector<double> numbers_of(const std::string& name, const std::string& text) {
  std::vector<double> numbers;
  std::istringstream words(text);
  std::string word;
  try {
    while (words >> word) numbers.push_back(hardware_interface::stod(word));
  } catch (const std::invalid_argument&) {
    throw PlantError("'" + text + "'", name, "numbers separated by spaces");
  }
  return numbers;
}

}  // namespace

thunder::PlantOptions options_of(const hardware_interface::HardwareInfo& info) {
  thunder::PlantOptions options;
  for (const auto& joint : info.joints) {
    check_interfaces(joint.command_interfaces, {"effort"}, "command", joint.name);
    check_interfaces(joint.state_interfaces, {"position", "velocity", "effort"}, "state", joint.name);
    options.joints.push_back(joint.name);
  }
  for (const auto& [name, text] : info.hardware_parameters) {
    if (name == "model") {
      options.model = text;
    } else if (name == "q_start") {
      options.start = numbers_of(name, text);
    } else if (name == "gravity_compensation") {
      options.gravity_compensation = truth_of(name, text, options.gravity_compensation);
    } else if (name == "brakes") {
      options.brakes = truth_of(name, text, options.brakes);
    } else {
      throw PlantError("unknown parameter '" + name + "'", "hardware", "model, q_start, gravity_compensation, brakes");
    }
  }
  if (options.model.empty()) throw PlantError("there is no model", "model", "a file written by `thunder mjcf`");
  return options;
}

}  // namespace thunder_controllers
