// SPDX-License-Identifier: Apache-2.0
//
// Stands in for ros_gz_bridge's parameter_bridge: the time of Gazebo as /clock, and nothing else.
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include <ignition/msgs/clock.pb.h>
#include <ignition/transport/Node.hh>
#include <rclcpp/rclcpp.hpp>
#include <rosgraph_msgs/msg/clock.hpp>

int main(int argc, char ** argv)
{
  const auto arguments = rclcpp::init_and_remove_ros_arguments(argc, argv);
  const std::string only = "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock";
  if (arguments.size() != 2 || arguments[1] != only) {
    std::cerr << "parameter_bridge: valid: " << only << '\n';
    return 1;
  }
  const auto node = std::make_shared<rclcpp::Node>("ros_gz_bridge");
  const auto publisher = node->create_publisher<rosgraph_msgs::msg::Clock>("/clock", 10);
  ignition::transport::Node gazebo;
  std::function<void(const ignition::msgs::Clock &)> publish = [&](const ignition::msgs::Clock & now) {
    rosgraph_msgs::msg::Clock message;
    message.clock.sec = static_cast<int32_t>(now.sim().sec());
    message.clock.nanosec = static_cast<uint32_t>(now.sim().nsec());
    publisher->publish(message);
  };
  gazebo.Subscribe("/clock", publish);
  rclcpp::spin(node);
  rclcpp::shutdown();
  return 0;
}
