// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <control_msgs/msg/joint_trajectory_controller_state.hpp>
#include <geometry_msgs/msg/inertia_stamped.hpp>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/twist_stamped.hpp>
#include <optional>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>
#include <vector>

#include "configuration.hpp"
#include "snapshot.hpp"
#include "thunder/host/library/evaluator.hpp"

namespace thunder_controllers {

/// Publishers of one configuration, for a thread that is not the real-time one: estimates, errors, state and pose.
class Outputs {
 public:
  Outputs(rclcpp_lifecycle::LifecycleNode& node, const Configuration& configuration);

  /// Publish the estimates always, and while active all of the step.
  void publish(const Snapshot& snapshot, bool is_active);

 private:
  using Header = std_msgs::msg::Header;

  void publish_estimates(const Snapshot& snapshot, const Header& header);
  void publish_friction(const Snapshot& snapshot);
  void publish_error(const Snapshot& snapshot, const Header& header);
  void publish_pose(const Snapshot& snapshot, const Header& header);
  void publish_joint_error(const Snapshot& snapshot, const Header& header);
  void publish_state(const Snapshot& snapshot, const Header& header);

  const Configuration configuration_;
  rclcpp::Clock::SharedPtr clock_;
  const thunder_entry* estimate_entry_ = nullptr;
  const thunder_entry* friction_entry_ = nullptr;
  const thunder_entry* error_entry_ = nullptr;
  std::optional<thunder::PositionFunction> pose_function_;

  std::vector<rclcpp::Publisher<geometry_msgs::msg::InertiaStamped>::SharedPtr> estimates_;
  rclcpp::Publisher<std_msgs::msg::Float64MultiArray>::SharedPtr friction_;
  rclcpp::Publisher<geometry_msgs::msg::TwistStamped>::SharedPtr error_;
  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr joint_error_;
  rclcpp::Publisher<geometry_msgs::msg::PoseStamped>::SharedPtr pose_;
  rclcpp::Publisher<control_msgs::msg::JointTrajectoryControllerState>::SharedPtr state_;
};

}  // namespace thunder_controllers
