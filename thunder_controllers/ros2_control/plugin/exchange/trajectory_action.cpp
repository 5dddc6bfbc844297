// SPDX-License-Identifier: Apache-2.0
#include "exchange/trajectory_action.hpp"

#include <cmath>
#include <limits>
#include <rclcpp/logging.hpp>
#include <utility>

#include "messages.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/rotation.hpp"

namespace thunder_controllers {
namespace {

using control_msgs::msg::JointComponentTolerance;
using control_msgs::msg::JointTolerance;
using thunder::ErrorKind;
using thunder::HostError;

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> error_names(const thunder::Configuration& configuration) {
  if (configuration.is_cartesian()) return {"the end effector's position", "the end effector's orientation"};
  std::vector<std::string> names;
  for (const std::string& joint : configuration.joints) names.push_back(joint);
  for (const std::string& joint : configuration.joints) names.push_back("the velocity of " + joint);
  return names;
}

/// A tolerance: zero, or less, is none.
double bound(double given, const char* where) {
  if (std::isnan(given)) throw HostError(ErrorKind::law, "a tolerance is NaN", where, "numbers");
  return given > 0.0 ? given : kNone;
}

void refuse_tolerance(double given, const std::string& of, const char* where, const char* valid) {
  if (given != 0.0) throw HostError(ErrorKind::law, "a tolerance of " + of, where, valid);
}

std::vector<double> joint_bounds(const std::vector<JointTolerance>& given, const std::vector<std::string>& joints,
                                 const char* where) {
  const std::size_t n = joints.size();
  std::vector<double> bounds(2 * n, kNone);
  std::vector<std::string> names;
  for (const JointTolerance& tolerance : given) names.push_back(tolerance.name);
  const std::vector<std::size_t> places = thunder::places_of(names, joints, where);
  for (std::size_t k = 0; k < given.size(); ++k) {
    const JointTolerance& tolerance = given[k];
    const std::size_t i = places[k];
    refuse_tolerance(tolerance.acceleration, "an acceleration", where, "positions and velocities, 0 for none");
    bounds[i] = bound(tolerance.position, where);
    bounds[n + i] = bound(tolerance.velocity, where);
  }
  return bounds;
}

std::vector<double> pose_bounds(const std::vector<JointComponentTolerance>& given, const char* where) {
  std::vector<double> bounds(2, kNone);
  for (const JointComponentTolerance& tolerance : given) {
    const bool is_rotation = tolerance.component == JointComponentTolerance::ROTATION;
    if (!is_rotation && tolerance.component != JointComponentTolerance::TRANSLATION) {
      throw HostError(ErrorKind::law, "component " + std::to_string(tolerance.component), where,
                      "TRANSLATION (4) or ROTATION (5)");
    }
    refuse_tolerance(tolerance.velocity, "a velocity", where, "positions, 0 for none");
    refuse_tolerance(tolerance.acceleration, "an acceleration", where, "positions, 0 for none");
    bounds[is_rotation ? 1 : 0] = bound(tolerance.position, where);
  }
  return bounds;
}

/// A translation [m] and a rotation, as a transform.
void write(geometry_msgs::msg::Transform& message, const double* translation, const thunder::Quaternion& rotation) {
  assign(message.translation, translation);
  assign(message.rotation, rotation.data());
  message.rotation.w = rotation[3];
}

}  // namespace

TrajectoryAction::TrajectoryAction(const std::shared_ptr<thunder::ControlSession>& session, const Listener& listener,
                                   const std::shared_ptr<Faults>& faults,
                                   const std::shared_ptr<const PoseReader>& poses)
    : session_(session),
      reader_(session->configuration(), {listener->get_params().base_frame, listener->get_params().ee_frame}),
      poses_(poses),
      faults_(faults),
      distance_(session->configuration().library, session->configuration().law),
      names_(error_names(session->configuration())),
      is_cartesian_(session->configuration().is_cartesian()) {}

std::shared_ptr<void> TrajectoryAction::offer(rclcpp_lifecycle::LifecycleNode& node,
                                              const std::shared_ptr<TrajectoryAction>& action) {
  using rclcpp_action::CancelResponse;
  using rclcpp_action::GoalResponse;
  const auto logger = node.get_logger();
  const auto check = [action, logger](const rclcpp_action::GoalUUID&, std::shared_ptr<const Action::Goal> goal) {
    try {
      action->check(*goal);
      return GoalResponse::ACCEPT_AND_EXECUTE;
    } catch (const std::exception& error) {
      action->faults_->refuse(error);
      RCLCPP_WARN(logger, "goal refused: %s", error.what());
      return GoalResponse::REJECT;
    }
  };
  const auto cancel = [action](const Handle& handle) {
    if (handle == action->handle_ && action->session_->is_active()) action->session_->stop_motion();
    return CancelResponse::ACCEPT;
  };
  return rclcpp_action::create_server<Action>(
      node.get_node_base_interface(), node.get_node_clock_interface(), node.get_node_logging_interface(),
      node.get_node_waitables_interface(), std::string(node.get_name()) + "/follow_joint_trajectory", check, cancel,
      [action](const Handle& handle) { action->begin(handle); });
}

/// Throw for what can be said without a rehearsal.
void TrajectoryAction::check(const Action::Goal& goal) {
  if (!session_->is_active()) throw HostError(ErrorKind::law, "the controller is not active", "goal", "activate it first");
  const bool has_joints = !goal.trajectory.points.empty();
  const bool has_poses = !goal.multi_dof_trajectory.points.empty();
  if (has_joints == is_cartesian_ || has_poses != is_cartesian_) {
    throw HostError(ErrorKind::law, is_cartesian_ ? "the law follows poses" : "the law follows joints", "goal",
                    is_cartesian_ ? "points of multi_dof_trajectory alone" : "points of trajectory alone");
  }
  static_cast<void>(tolerances(goal));
}

TrajectoryAction::Tolerances TrajectoryAction::tolerances(const Action::Goal& goal) const {
  const double late = rclcpp::Duration(goal.goal_time_tolerance).seconds();
  if (is_cartesian_) {
    return {pose_bounds(goal.component_path_tolerance, "goal: component_path_tolerance"),
            pose_bounds(goal.component_goal_tolerance, "goal: component_goal_tolerance"), late};
  }
  const std::vector<std::string>& joints = session_->configuration().joints;
  return {joint_bounds(goal.path_tolerance, joints, "goal: path_tolerance"),
          joint_bounds(goal.goal_tolerance, joints, "goal: goal_tolerance"), late};
}

std::uint64_t TrajectoryAction::follow(const Action::Goal& goal) {
  if (is_cartesian_) return session_->follow(poses_->poses(goal.multi_dof_trajectory));
  return session_->follow(reader_.joints(goal.trajectory.joint_names, each(goal.trajectory.points, joint_point)));
}

void TrajectoryAction::begin(const Handle& handle) {
  try {
    const std::uint64_t request = follow(*handle->get_goal());
    if (handle_) abort(Result::INVALID_GOAL, "another goal has come");
    handle_ = handle;
    request_ = request;
    tolerances_ = tolerances(*handle->get_goal());
    ended_ = kNaN;
  } catch (const std::exception& error) {
    faults_->refuse(error);
    auto result = std::make_shared<Result>();
    result->error_code = Result::INVALID_GOAL;
    result->error_string = error.what();
    handle->abort(result);
  }
}

std::vector<double> TrajectoryAction::errors(const thunder::Snapshot& snapshot) {
  if (is_cartesian_) {
    distance_.evaluate(snapshot.q.data(), snapshot.reference.data());
    const std::array<double, 6>& e = distance_.error();
    return {thunder::norm({e[0], e[1], e[2]}), thunder::norm({e[3], e[4], e[5]})};
  }
  trajectory_msgs::msg::JointTrajectoryPoint reference;
  trajectory_msgs::msg::JointTrajectoryPoint error;
  write_joints(snapshot, reference, error);
  std::vector<double> values = error.positions;
  values.insert(values.end(), error.velocities.begin(), error.velocities.end());
  for (double& value : values) value = std::abs(value);
  return values;
}

std::string TrajectoryAction::beyond(const std::vector<double>& errors, const std::vector<double>& bounds) const {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (errors[i] <= bounds[i] || bounds[i] == kNone) continue;
    return names_[i] + " is " + thunder::format(errors[i]) + " away; valid: " + thunder::format(bounds[i]);
  }
  return "";
}

void TrajectoryAction::advance(const thunder::Snapshot& snapshot) {
  if (!handle_) return;
  if (!snapshot.is_active) return abort(Result::INVALID_GOAL, "the controller is no longer active");
  if (snapshot.request < request_) return;  // no update has come yet
  const bool moves = snapshot.source == thunder::ReferenceSource::motion;
  if (handle_->is_canceling()) {
    if (snapshot.source != thunder::ReferenceSource::hold) return;
    handle_->canceled(std::make_shared<Result>());
    handle_.reset();
  } else if (snapshot.request > request_) {
    abort(Result::INVALID_GOAL, "something else was asked for");
  } else if (const std::string reason = beyond(errors(snapshot), tolerances_.path); moves && !reason.empty()) {
    session_->stop_motion();
    abort(Result::PATH_TOLERANCE_VIOLATED, reason);
  } else if (moves) {
    send_feedback(snapshot);
  } else {
    judge_end(snapshot);
  }
}

void TrajectoryAction::judge_end(const thunder::Snapshot& snapshot) {
  if (std::isnan(ended_)) ended_ = snapshot.time;
  const std::string reason = beyond(errors(snapshot), tolerances_.goal);
  if (reason.empty()) {
    handle_->succeed(std::make_shared<Result>());
    handle_.reset();
  } else if (tolerances_.late > 0.0 && snapshot.time - ended_ > tolerances_.late) {
    abort(Result::GOAL_TOLERANCE_VIOLATED, reason);
  }
}

void TrajectoryAction::send_feedback(const thunder::Snapshot& snapshot) {
  auto feedback = std::make_shared<Action::Feedback>();
  feedback->header.stamp = rclcpp::Time(snapshot.stamp);
  feedback->joint_names = session_->configuration().joints;
  feedback->actual.positions = snapshot.q;
  feedback->actual.velocities = snapshot.qd;
  if (is_cartesian_) {
    const thunder::SampleLayout layout(session_->configuration().law_data(), static_cast<int>(snapshot.q.size()));
    const double* reference = snapshot.reference.data();
    const std::array<double, 6>& e = distance_.error();
    write(feedback->multi_dof_desired.transforms.emplace_back(), reference + layout.position,
          thunder::from_matrix(reference + layout.rotation));
    write(feedback->multi_dof_error.transforms.emplace_back(), e.data(), thunder::from_rotation_vector({e[3], e[4], e[5]}));
  } else {
    write_joints(snapshot, feedback->desired, feedback->error);
  }
  handle_->publish_feedback(feedback);
}

void TrajectoryAction::abort(std::int32_t code, const std::string& reason) {
  auto result = std::make_shared<Result>();
  result->error_code = code;
  result->error_string = reason;
  handle_->abort(result);
  handle_.reset();
}

}  // namespace thunder_controllers
