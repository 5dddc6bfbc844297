// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <control_msgs/action/follow_joint_trajectory.hpp>
#include <memory>
#include <rclcpp_action/rclcpp_action.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <string>
#include <vector>

#include "exchange/pose_reader.hpp"
#include "inputs.hpp"
#include "parameters.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/reference/reading.hpp"
#include "thunder/host/session.hpp"

namespace thunder_controllers {

/// The action ~/follow_joint_trajectory, as MoveIt asks for it: of a joint law `trajectory`, of a Cartesian law
/// `multi_dof_trajectory`, the poses of the end effector.
///
/// A goal is checked, and refused with the reason in the log, as a trajectory on a topic is; whatever is asked for
/// after it ends it. Tolerances that are not given, or zero, are none; those of accelerations, which nobody measures, and
/// of single axes of a pose are refused. A goal that is cancelled, or leaves its path tolerance, brings the arm to rest.
///
/// Of callbacks of the node, which exclude each other.
class TrajectoryAction {
 public:
  using Action = control_msgs::action::FollowJointTrajectory;

  TrajectoryAction(const std::shared_ptr<thunder::ControlSession>& session, const Listener& listener,
                   const std::shared_ptr<Faults>& faults, const std::shared_ptr<const PoseReader>& poses);

  /// Offer the action, for as long as what is returned is held.
  static std::shared_ptr<void> offer(rclcpp_lifecycle::LifecycleNode& node,
                                     const std::shared_ptr<TrajectoryAction>& action);
  /// Send feedback, and the result once there is one.
  void advance(const thunder::Snapshot& snapshot);

 private:
  using Handle = std::shared_ptr<rclcpp_action::ServerGoalHandle<Action>>;
  using Result = Action::Result;

  /// Bounds of the errors, infinite where there is none.
  struct Tolerances {
    std::vector<double> path;
    std::vector<double> goal;
    double late = 0.0;  ///< [s] after the end that the arm may come within `goal`; 0: for ever
  };

  void check(const Action::Goal& goal);
  void begin(const Handle& handle);
  std::uint64_t follow(const Action::Goal& goal);
  Tolerances tolerances(const Action::Goal& goal) const;
  std::vector<double> errors(const thunder::Snapshot& snapshot);
  /// Which error is beyond its bound, in words; empty if none is.
  std::string beyond(const std::vector<double>& errors, const std::vector<double>& bounds) const;
  void send_feedback(const thunder::Snapshot& snapshot);
  void judge_end(const thunder::Snapshot& snapshot);
  void abort(std::int32_t code, const std::string& reason);

  std::shared_ptr<thunder::ControlSession> session_;
  thunder::ReferenceReader reader_;
  std::shared_ptr<const PoseReader> poses_;  ///< of a Cartesian law
  std::shared_ptr<Faults> faults_;
  thunder::ReferenceDistance distance_;
  std::vector<std::string> names_;  ///< of the errors
  bool is_cartesian_;

  Handle handle_;  ///< of the goal that is followed; null if none is
  std::uint64_t request_ = 0;
  Tolerances tolerances_;
  double ended_ = 0.0;  ///< [s] when the motion had come to its end; NaN before that
};

}  // namespace thunder_controllers
