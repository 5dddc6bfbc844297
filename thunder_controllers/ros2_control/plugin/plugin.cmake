# The plugin thunder_controllers/AdaptiveController.
# The validators are copied while configuring: without this, a later build would use the copy that it has.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_LIST_DIR}/parameter_validators.hpp)
generate_parameter_library(thunder_adaptive_controller_parameters
  ${ros2_control_path}/plugin/parameters.yaml ${ros2_control_path}/plugin/parameter_validators.hpp)

set(adaptive_controller_sources adaptive_controller inputs outputs parameters wiring exchange/chain exchange/pose_reader
  exchange/trajectory_action)
list(TRANSFORM adaptive_controller_sources PREPEND ${ros2_control_folder}/plugin/)
list(TRANSFORM adaptive_controller_sources APPEND .cpp)

add_library(thunder_adaptive_controller SHARED ${adaptive_controller_sources})
target_compile_features(thunder_adaptive_controller PRIVATE cxx_std_17)
target_compile_options(thunder_adaptive_controller PRIVATE -Wall -Wextra)
target_link_options(thunder_adaptive_controller PRIVATE LINKER:--no-undefined)  # or it would show when it is loaded
target_include_directories(thunder_adaptive_controller PRIVATE ${ros2_control_folder}/plugin)
target_link_libraries(thunder_adaptive_controller PRIVATE
  thunder_host thunder_adaptive_controller_parameters
  ament_index_cpp::ament_index_cpp controller_interface::controller_interface
  hardware_interface::hardware_interface pluginlib::pluginlib rclcpp::rclcpp rclcpp_action::rclcpp_action
  rclcpp_lifecycle::rclcpp_lifecycle tf2::tf2 tf2_ros::tf2_ros
  ${control_msgs_TARGETS} ${diagnostic_msgs_TARGETS} ${geometry_msgs_TARGETS} ${sensor_msgs_TARGETS} ${std_msgs_TARGETS} ${std_srvs_TARGETS}
  ${tf2_msgs_TARGETS} ${trajectory_msgs_TARGETS})

pluginlib_export_plugin_description_file(controller_interface ${ros2_control_path}/plugin/plugin.xml)
install(TARGETS thunder_adaptive_controller LIBRARY DESTINATION lib)

# Drives the plugin through its life without a controller manager; test/ros2_control/test_ros2_control_manager.py runs it.
option(THUNDER_ROS2_CONTROL_TESTS "Build the C++ test of the ros2_control plugin" OFF)
if(THUNDER_ROS2_CONTROL_TESTS)
  add_executable(plugin_cycle ${PROJECT_SOURCE_DIR}/test/cpp/plugin_cycle.cpp)
  target_compile_options(plugin_cycle PRIVATE -Wall -Wextra)
  target_link_libraries(plugin_cycle PRIVATE
    controller_interface::controller_interface hardware_interface::hardware_interface pluginlib::pluginlib
    rclcpp::rclcpp ${diagnostic_msgs_TARGETS})
endif()
