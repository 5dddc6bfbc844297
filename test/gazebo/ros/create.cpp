// SPDX-License-Identifier: Apache-2.0
//
// Stands in for ros_gz_sim's create: puts the robot of a topic into a world of Gazebo.
#include <memory>
#include <string>

#include <ignition/msgs/boolean.pb.h>
#include <ignition/msgs/entity_factory.pb.h>
#include <ignition/transport/Node.hh>
#include <rclcpp/rclcpp.hpp>
#include <std_msgs/msg/string.hpp>

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  const auto node = std::make_shared<rclcpp::Node>("create");
  const auto world = node->declare_parameter("world", "");
  const auto topic = node->declare_parameter("topic", "");
  ignition::msgs::EntityFactory request;
  request.set_name(node->declare_parameter("name", ""));
  const auto subscription = node->create_subscription<std_msgs::msg::String>(
    topic, rclcpp::QoS(1).transient_local(), [&](const std_msgs::msg::String & text) { request.set_sdf(text.data); });
  while (rclcpp::ok() && request.sdf().empty()) {
    rclcpp::spin_some(node);
    rclcpp::sleep_for(std::chrono::milliseconds(10));
  }
  ignition::transport::Node gazebo;
  const std::string service = "/world/" + world + "/create";
  while (rclcpp::ok()) {
    ignition::msgs::Boolean reply;
    bool done = false;
    if (gazebo.Request(service, request, 1000, reply, done)) {
      RCLCPP_INFO(node->get_logger(), done && reply.data() ? "created" : "refused");
      return done && reply.data() ? 0 : 1;
    }
    RCLCPP_INFO(node->get_logger(), "waiting for %s", service.c_str());
  }
  return 0;
}
