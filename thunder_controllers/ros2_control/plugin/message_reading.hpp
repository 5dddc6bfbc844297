// SPDX-License-Identifier: Apache-2.0
//
// From reference messages to samples and timed points: frames, names, sizes, finite numbers, quaternions. What a motion
// must satisfy beyond that (times, start, end) is checked by the host. All throw HostError, `where` naming the field.
#pragma once

#include <array>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <string>
#include <trajectory_msgs/msg/joint_trajectory.hpp>
#include <trajectory_msgs/msg/multi_dof_joint_trajectory.hpp>
#include <vector>

#include "configuration.hpp"
#include "thunder/host/motion/motion.hpp"

namespace thunder_controllers {

/// Position [m] and unit quaternion x y z w in the base frame.
struct TargetPose {
  std::array<double, 3> position;
  std::array<double, 4> orientation;
};

/// A streamed point as a flat sample of a cartesian law: one transform, at most one velocity and one acceleration,
/// which are zero where there is none.
std::vector<double> read_sample(const trajectory_msgs::msg::MultiDOFJointTrajectoryPoint& message,
                                const thunder_law& law);

/// A streamed point as a flat sample of a joint law: positions in the order of the joints, velocities and accelerations
/// or none, which stands for zeros.
std::vector<double> read_joint_sample(const trajectory_msgs::msg::JointTrajectoryPoint& message, std::size_t n_joints);

/// A target, given in the base frame.
TargetPose read_target(const geometry_msgs::msg::PoseStamped& message, const Frames& frames);

/// Poses at times, given in the base frame, of the end effector; velocities and accelerations are optional.
std::vector<thunder::TimedPose> read_poses(const trajectory_msgs::msg::MultiDOFJointTrajectory& message,
                                           const Frames& frames);

/// Joint positions at times; the message may have the joints in any order.
std::vector<thunder::TimedJoints> read_joints(const trajectory_msgs::msg::JointTrajectory& message,
                                              const std::vector<std::string>& joints);

}  // namespace thunder_controllers
