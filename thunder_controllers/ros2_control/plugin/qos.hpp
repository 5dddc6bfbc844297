// SPDX-License-Identifier: Apache-2.0
//
// Quality of service, as thunder_controllers/ros/common/qos.py has it.
#pragma once

#include <rclcpp/qos.hpp>

namespace thunder_controllers {

/// References: in order, ten deep, so that a hiccup of some milliseconds loses nothing.
inline const rclcpp::QoS kStream = rclcpp::QoS(rclcpp::KeepLast(10)).reliable().durability_volatile();
/// Targets and trajectories: only the newest counts.
inline const rclcpp::QoS kRequest = rclcpp::QoS(rclcpp::KeepLast(1)).reliable().durability_volatile();
/// Estimates, errors, states, diagnostics: what people and tools watch.
inline const rclcpp::QoS kMonitor = rclcpp::QoS(rclcpp::KeepLast(10)).reliable().durability_volatile();

}  // namespace thunder_controllers
