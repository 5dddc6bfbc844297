// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tf2_ros/buffer.h>

#include <geometry_msgs/msg/pose_stamped.hpp>
#include <memory>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <string>
#include <trajectory_msgs/msg/multi_dof_joint_trajectory.hpp>
#include <vector>

#include "thunder/host/motion/rigid.hpp"
#include "parameters.hpp"
#include "thunder/host/reference/reading.hpp"

namespace thunder_controllers {

/// Reads targets and trajectories: poses of the tool in any frame that tf knows when a message arrives, as poses of the
/// end effector in the base frame.
///
/// Without a parameter tool_frame the tool is the end effector. All throw HostError(law), `where` naming the topic. Of
/// callbacks of the node, which exclude each other.
class PoseReader {
 public:
  /// Listens to tf for as long as it exists.
  PoseReader(rclcpp_lifecycle::LifecycleNode& node, const thunder::Configuration& configuration,
             const Parameters& parameters);

  thunder::PoseTarget target(const geometry_msgs::msg::PoseStamped& message) const;
  std::vector<thunder::TimedPose> poses(const trajectory_msgs::msg::MultiDOFJointTrajectory& message) const;

 private:
  std::vector<thunder::TimedPose> in_base(const std_msgs::msg::Header& header, std::vector<thunder::TimedPose> points,
                                          const char* topic) const;
  thunder::Rigid find(const std::string& in, const std::string& frame, std::int64_t stamp) const;

  std::string base_, ee_, tool_;
  thunder::ReferenceReader reader_;
  std::shared_ptr<tf2_ros::Buffer> buffer_;
  std::vector<std::shared_ptr<void>> subscriptions_;
};

}  // namespace thunder_controllers
