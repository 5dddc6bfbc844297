// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <utility>

#include "message_reading.hpp"
#include "qos.hpp"

namespace thunder_controllers {
namespace {

constexpr int kWarnPeriod = 1000;  // [ms]

}  // namespace

void Refusals::add(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++count_;
  last_ = reason;
}

std::uint64_t Refusals::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return count_;
}

std::string Refusals::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

template <class Message, class Use>
void Inputs::subscribe(rclcpp_lifecycle::LifecycleNode& node, const char* topic, const rclcpp::QoS& qos, Use use) {
  // Nothing of this object is captured: a callback may still run while it is destroyed.
  const auto callback = [use, refusals = refusals_, logger = node.get_logger(),
                         clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME)](const Message& message) {
    try {
      use(message);
    } catch (const std::exception& error) {
      refusals->add(error.what());
      RCLCPP_WARN_THROTTLE(logger, *clock, kWarnPeriod, "%s", error.what());
    }
  };
  subscriptions_.push_back(node.create_subscription<Message>(topic, qos, callback));
}

Inputs::Inputs(rclcpp_lifecycle::LifecycleNode& node, std::shared_ptr<ControlCore> core, const Limits& limits) {
  using trajectory_msgs::msg::JointTrajectory;
  using trajectory_msgs::msg::JointTrajectoryPoint;
  using trajectory_msgs::msg::MultiDOFJointTrajectory;
  using trajectory_msgs::msg::MultiDOFJointTrajectoryPoint;
  if (!core->configuration().is_cartesian()) {
    subscribe<JointTrajectoryPoint>(node, "~/joint_reference", kStream, [core](const JointTrajectoryPoint& message) {
      core->stream(read_joint_sample(message, core->configuration().joints.size()));
    });
    subscribe<JointTrajectory>(node, "~/joint_trajectory", kRequest, [core, limits](const JointTrajectory& message) {
      const auto points = read_joints(message, core->configuration().joints);
      core->move(limits(), [&](thunder::Controller& host) { host.follow(points); });
    });
    return;
  }
  subscribe<MultiDOFJointTrajectoryPoint>(
      node, "~/reference", kStream, [core](const MultiDOFJointTrajectoryPoint& message) {
        core->stream(read_sample(message, core->configuration().law_data()));
      });
  subscribe<geometry_msgs::msg::PoseStamped>(
      node, "~/target_pose", kRequest, [core, limits](const geometry_msgs::msg::PoseStamped& message) {
        const TargetPose target = read_target(message, core->configuration().frames);
        core->move(limits(), [&](thunder::Controller& host) {
          host.move_to_pose(target.position.data(), target.orientation.data());
        });
      });
  subscribe<MultiDOFJointTrajectory>(
      node, "~/trajectory", kRequest, [core, limits](const MultiDOFJointTrajectory& message) {
        const auto points = read_poses(message, core->configuration().frames);
        core->move(limits(), [&](thunder::Controller& host) { host.follow(points); });
      });
}

}  // namespace thunder_controllers
