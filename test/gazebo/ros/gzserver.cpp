// SPDX-License-Identifier: Apache-2.0
//
// Stands in for ros_gz_sim's gzserver: Gazebo without a window, with the world of the parameter world_sdf_file.
#include <cstdlib>
#include <string>

#include <ignition/common/Console.hh>
#include <ignition/gazebo/Server.hh>
#include <ignition/gazebo/ServerConfig.hh>
#include <rclcpp/rclcpp.hpp>

int main(int argc, char ** argv)
{
  // Fortress has another name for the variable that Harmonic's plugins are looked for in.
  if (const char * paths = std::getenv("GZ_SIM_SYSTEM_PLUGIN_PATH")) {
    setenv("IGN_GAZEBO_SYSTEM_PLUGIN_PATH", paths, 0);
  }
  rclcpp::init(argc, argv, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
  std::string world;
  {
    const auto node = std::make_shared<rclcpp::Node>("gzserver");
    world = node->declare_parameter("world_sdf_file", "");
  }
  ignition::common::Console::SetVerbosity(3);
  ignition::gazebo::ServerConfig config;
  if (!config.SetSdfFile(world)) {
    RCLCPP_FATAL(rclcpp::get_logger("gzserver"), "world_sdf_file: there is no '%s'", world.c_str());
    return 1;
  }
  {
    ignition::gazebo::Server server(config);
    server.Run(true, 0, false);  // handles SIGINT and SIGTERM
  }
  rclcpp::shutdown();
  return 0;
}
