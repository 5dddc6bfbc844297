// SPDX-License-Identifier: Apache-2.0
//
// Between messages and the host's numbers.
#pragma once

#include <algorithm>
#include <builtin_interfaces/msg/duration.hpp>
#include <cmath>
#include <functional>
#include <geometry_msgs/msg/transform.hpp>
#include <geometry_msgs/msg/twist.hpp>
#include <trajectory_msgs/msg/joint_trajectory_point.hpp>
#include <trajectory_msgs/msg/multi_dof_joint_trajectory_point.hpp>
#include <vector>

#include "thunder/host/motion/rotation.hpp"
#include "thunder/host/reference/reading.hpp"
#include "thunder/host/snapshot.hpp"

namespace thunder_controllers {

inline double seconds(const builtin_interfaces::msg::Duration& given) { return given.sec + 1e-9 * given.nanosec; }

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
  return {seconds(point.time_from_start), each(point.transforms, transform),
          each(point.velocities, twist), each(point.accelerations, twist)};
}

inline thunder::TimedJoints joint_point(const trajectory_msgs::msg::JointTrajectoryPoint& point) {
  return {seconds(point.time_from_start), point.positions, point.velocities, point.accelerations};
}

template <class Vector>
void assign(Vector& vector, const double* values) {
  vector.x = values[0];
  vector.y = values[1];
  vector.z = values[2];
}

template <class Message>
void assign_orientation(Message& message, const thunder::Quaternion& given) {
  assign(message, given.data());
  message.w = given[3];
}

/// The rotation with that r sin θ and cos θ, with w ≥ 0; where `cosine` is null, one of 90° at most.
///
/// At 180°, where r is unknown, it is one about x.
inline thunder::Quaternion turn(const double* sine, const double* cosine) {
  thunder::Vector3 vector = {sine[0], sine[1], sine[2]};
  const double size = thunder::norm(vector);
  const double angle = std::atan2(size, cosine ? *cosine : std::sqrt(std::max(1.0 - size * size, 0.0)));
  if (size > 0.0) {
    for (double& value : vector) value *= angle / size;
  } else {
    vector[0] = angle;
  }
  return thunder::from_rotation_vector(vector);
}

/// The k-th n values: of a joint law's reference q, q̇ and q̈.
inline std::vector<double> slice(const std::vector<double>& values, std::size_t n, std::size_t k) {
  const double* begin = values.data() + n * k;
  return {begin, begin + n};
}

inline std::vector<double> difference(std::vector<double> wanted, const std::vector<double>& is) {
  std::transform(wanted.begin(), wanted.end(), is.begin(), wanted.begin(), std::minus<>());
  return wanted;
}

/// What a joint law follows, and how far the joints are from it.
inline void write_joints(const thunder::Snapshot& snapshot, trajectory_msgs::msg::JointTrajectoryPoint& reference,
                         trajectory_msgs::msg::JointTrajectoryPoint& error) {
  const std::size_t n = snapshot.q.size();
  reference.positions = slice(snapshot.reference, n, 0);
  reference.velocities = slice(snapshot.reference, n, 1);
  reference.accelerations = slice(snapshot.reference, n, 2);
  error.positions = difference(reference.positions, snapshot.q);
  error.velocities = difference(reference.velocities, snapshot.qd);
}

}  // namespace thunder_controllers
