// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <control_msgs/msg/dynamic_joint_state.hpp>
#include <control_msgs/msg/joint_trajectory_controller_state.hpp>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <functional>
#include <geometry_msgs/msg/inertia_stamped.hpp>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <memory>
#include <optional>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <string>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/priority_mutex.hpp"
#include "thunder/host/report/health.hpp"
#include "thunder/host/session.hpp"

namespace thunder_controllers {

/// Publishers of one configuration, for a thread that is not the real-time one: estimates, errors, state and pose.
class Outputs {
 public:
  Outputs(rclcpp_lifecycle::LifecycleNode& node, const thunder::Configuration& configuration,
          const std::string& base_frame);

  /// Publish the estimates always, and all of a step while active.
  void publish(const thunder::Snapshot& snapshot);

 private:
  using Header = std_msgs::msg::Header;

  void publish_estimates(const thunder::Snapshot& snapshot, const Header& header);
  void publish_friction(const thunder::Snapshot& snapshot, const Header& header);
  void publish_error(const thunder::Snapshot& snapshot, const Header& header);
  void publish_external_torque(const thunder::Snapshot& snapshot, const Header& header);
  /// Once for each body; before the next one `change` is unknown again, for seconds.
  void publish_picked_up(const thunder::Snapshot& snapshot, const Header& header);
  void publish_pose(const thunder::Snapshot& snapshot, const Header& header);
  void publish_state(const thunder::Snapshot& snapshot, const Header& header);

  const thunder::Configuration configuration_;
  const std::string base_frame_;
  rclcpp::Clock::SharedPtr clock_;
  const thunder_entry* estimate_entry_;
  const thunder_entry* friction_entry_;
  const thunder_entry* error_entry_;
  const thunder_entry* cosine_entry_;
  const thunder_entry* external_entry_;
  const thunder_entry* picked_up_entry_;
  std::optional<thunder::PositionFunction> pose_function_;

  std::vector<rclcpp::Publisher<geometry_msgs::msg::InertiaStamped>::SharedPtr> estimates_;
  rclcpp::Publisher<control_msgs::msg::DynamicJointState>::SharedPtr friction_;
  rclcpp::Publisher<geometry_msgs::msg::PoseStamped>::SharedPtr error_;
  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr joint_error_;
  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr external_;
  rclcpp::Publisher<geometry_msgs::msg::InertiaStamped>::SharedPtr picked_up_;
  bool is_picked_up_ = false;
  rclcpp::Publisher<geometry_msgs::msg::PoseStamped>::SharedPtr pose_;
  rclcpp::Publisher<control_msgs::msg::JointTrajectoryControllerState>::SharedPtr state_;
};

/// Publishes on /diagnostics, in the name of the node, from on_init to the end.
class DiagnosticsBoard {
 public:
  /// Fills in what is known of the last period.
  using Source = std::function<void(thunder::Condition&)>;

  explicit DiagnosticsBoard(const std::shared_ptr<rclcpp_lifecycle::LifecycleNode>& node);

  /// Where the reports come from; nowhere while unconfigured.
  void set_source(Source source);
  /// Why the last transition failed; empty if it did not. Does not wait for a report, as transitions come from the
  /// real-time thread.
  void set_message(const std::string& message);
  void publish();

 private:
  std::weak_ptr<rclcpp_lifecycle::LifecycleNode> node_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr publisher_;
  thunder::HealthReporter reporter_;
  thunder::PriorityMutex mutex_;
  Source source_;
  std::string message_;
};

}  // namespace thunder_controllers
