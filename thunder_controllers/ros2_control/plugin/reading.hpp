// SPDX-License-Identifier: Apache-2.0
//
// From messages to the host's numbers.
#pragma once

#include <geometry_msgs/msg/transform.hpp>
#include <geometry_msgs/msg/twist.hpp>
#include <rclcpp/duration.hpp>
#include <trajectory_msgs/msg/joint_trajectory_point.hpp>
#include <trajectory_msgs/msg/multi_dof_joint_trajectory_point.hpp>
#include <vector>

#include "thunder/host/reference/reading.hpp"

namespace thunder_controllers {

template <class Message, class Read>
auto each(const std::vector<Message>& messages, Read read) {
  std::vector<decltype(read(messages[0]))> numbers;
  for (const Message& message : messages) numbers.push_back(read(message));
  return numbers;
}

template <class Position, class Orientation>
thunder::PoseNumbers pose(const Position& p, const Orientation& o) {
  return {p.x, p.y, p.z, o.x, o.y, o.z, o.w};
}

inline thunder::PoseNumbers transform(const geometry_msgs::msg::Transform& given) {
  return pose(given.translation, given.rotation);
}

inline thunder::TwistNumbers pair(const geometry_msgs::msg::Vector3& a, const geometry_msgs::msg::Vector3& b) {
  return {a.x, a.y, a.z, b.x, b.y, b.z};
}

inline thunder::TwistNumbers twist(const geometry_msgs::msg::Twist& given) { return pair(given.linear, given.angular); }

inline thunder::PosePoint pose_point(const trajectory_msgs::msg::MultiDOFJointTrajectoryPoint& point) {
  return {rclcpp::Duration(point.time_from_start).seconds(), each(point.transforms, transform),
          each(point.velocities, twist), each(point.accelerations, twist)};
}

inline thunder::TimedJoints joint_point(const trajectory_msgs::msg::JointTrajectoryPoint& point) {
  return {rclcpp::Duration(point.time_from_start).seconds(), point.positions, point.velocities, point.accelerations};
}

}  // namespace thunder_controllers
