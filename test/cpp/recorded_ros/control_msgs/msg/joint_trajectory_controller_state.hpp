// SPDX-License-Identifier: Apache-2.0
//
// What the plugin fills in of control_msgs/JointTrajectoryControllerState, which no wheel has.
#pragma once

#include <std_msgs/msg/header.hpp>
#include <string>
#include <trajectory_msgs/msg/joint_trajectory_point.hpp>
#include <vector>

namespace control_msgs::msg {

struct JointTrajectoryControllerState {
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  trajectory_msgs::msg::JointTrajectoryPoint reference, feedback, error, output;
};

inline std::string to_yaml(const JointTrajectoryControllerState& message, bool) {
  return "{feedback: " + trajectory_msgs::msg::to_yaml(message.feedback, true) + "}";
}

}  // namespace control_msgs::msg
