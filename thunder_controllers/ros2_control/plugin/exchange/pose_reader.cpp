// SPDX-License-Identifier: Apache-2.0
#include "exchange/pose_reader.hpp"

#include <tf2/exceptions.h>

#include <chrono>
#include <tf2_msgs/msg/tf_message.hpp>
#include <tf2_ros/qos.hpp>

#include "messages.hpp"
#include "thunder/host/error.hpp"

namespace thunder_controllers {
namespace {

using tf2_msgs::msg::TFMessage;

/// What the tool is called in joint_names.
const std::string& tool_or_ee(const Parameters& parameters) {
  return parameters.tool_frame.empty() ? parameters.ee_frame : parameters.tool_frame;
}

/// As tf2_ros::TransformListener, whose callbacks hold nothing of what they use: one may still run in an executor's
/// thread when a listener has been given up.
std::shared_ptr<void> listen(rclcpp_lifecycle::LifecycleNode& node, const char* topic, const rclcpp::QoS& qos,
                             bool is_static, const std::shared_ptr<tf2_ros::Buffer>& buffer) {
  return node.create_subscription<TFMessage>(topic, qos, [buffer, is_static](const TFMessage& message) {
    for (const auto& transform : message.transforms) buffer->setTransform(transform, "tf", is_static);
  });
}

/// What tf says, which may end in a full stop and a space.
std::string reason(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find_last_not_of(". ") + 1);
}

}  // namespace

PoseReader::PoseReader(rclcpp_lifecycle::LifecycleNode& node, const thunder::Configuration& configuration,
                       const Parameters& parameters)
    : base_(parameters.base_frame),
      ee_(parameters.ee_frame),
      tool_(parameters.tool_frame),
      reader_(configuration, {base_, tool_or_ee(parameters)}),
      buffer_(std::make_shared<tf2_ros::Buffer>(node.get_clock())),
      subscriptions_{listen(node, "/tf", tf2_ros::DynamicListenerQoS(), false, buffer_),
                     listen(node, "/tf_static", tf2_ros::StaticListenerQoS(), true, buffer_)} {}

thunder::PoseTarget PoseReader::target(const geometry_msgs::msg::PoseStamped& message) const {
  const auto& [position, orientation] = message.pose;
  const thunder::PoseTarget given = reader_.target(base_, pose(position, orientation));
  const thunder::TimedPose found = in_base(message.header, {{0.0, given.position, given.orientation}}, "target_pose")[0];
  return {found.position, found.orientation};
}

std::vector<thunder::TimedPose> PoseReader::poses(const trajectory_msgs::msg::MultiDOFJointTrajectory& message) const {
  return in_base(message.header, reader_.poses(base_, message.joint_names, each(message.points, pose_point)),
                 "trajectory");
}

std::vector<thunder::TimedPose> PoseReader::in_base(const std_msgs::msg::Header& header,
                                                    std::vector<thunder::TimedPose> points, const char* topic) const {
  using thunder::ErrorKind;
  using thunder::HostError;
  if (header.frame_id != base_) {
    try {
      const thunder::Rigid frame = find(base_, header.frame_id, rclcpp::Time(header.stamp).nanoseconds());
      for (thunder::TimedPose& point : points) point = thunder::placed(frame, point);
    } catch (const std::exception& error) {
      throw HostError(ErrorKind::law, "frame_id '" + header.frame_id + "': " + reason(error), topic,
                      "'" + base_ + "', parameter base_frame, or a frame that tf knows then");
    }
  }
  if (tool_.empty()) return points;
  try {
    const thunder::Rigid tool = find(ee_, tool_, 0);
    for (thunder::TimedPose& point : points) point = thunder::end_effector_of(tool, point, topic);
  } catch (const tf2::TransformException& error) {
    throw HostError(ErrorKind::law, "parameter tool_frame: " + reason(error), topic,
                    "a tool_frame that tf knows in '" + ee_ + "', parameter ee_frame");
  }
  return points;
}

/// `frame` in the frame `in` at a time [ns]; zero: the newest there is. Throws tf2::TransformException.
thunder::Rigid PoseReader::find(const std::string& in, const std::string& frame, std::int64_t stamp) const {
  const tf2::TimePoint time{std::chrono::nanoseconds(stamp)};
  const thunder::PoseNumbers found = transform(buffer_->lookupTransform(in, frame, time).transform);
  return {{found[0], found[1], found[2]}, thunder::normalized({found[3], found[4], found[5], found[6]})};
}

}  // namespace thunder_controllers
