// SPDX-License-Identifier: Apache-2.0
//
// control_msgs/DynamicJointState, which no wheel has.
#pragma once

#include <std_msgs/msg/header.hpp>
#include <string>
#include <vector>

namespace control_msgs::msg {

struct InterfaceValue {
  std::vector<std::string> interface_names;
  std::vector<double> values;
};

struct DynamicJointState {
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  std::vector<InterfaceValue> interface_values;
};

/// Coefficients by joint.
inline std::string to_yaml(const DynamicJointState& message, bool) {
  std::string text;
  for (std::size_t joint = 0; joint < message.joint_names.size(); ++joint) {
    const InterfaceValue& of_joint = message.interface_values.at(joint);
    text += (joint ? "}, " : "") + message.joint_names[joint] + ": {";
    for (std::size_t k = 0; k < of_joint.values.size(); ++k) {
      text += (k ? ", " : "") + of_joint.interface_names.at(k) + ": " + std::to_string(of_joint.values[k]);
    }
  }
  return "{" + text + "}}";
}

}  // namespace control_msgs::msg
