// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <string>
#include <vector>

#include "control_core.hpp"

namespace thunder_controllers {

/// References that were refused, for the diagnostics.
class Refusals {
 public:
  void add(const std::string& reason);
  std::uint64_t count() const;
  std::string last() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::string last_;
};

/// Subscriptions of one configuration: ~/reference, ~/target_pose and ~/trajectory of a
/// Cartesian law, ~/joint_reference and ~/joint_trajectory of a joint law.
///
/// What is refused leaves the motion as it is, and is counted and logged, at most once a second.
class Inputs {
 public:
  using Limits = std::function<thunder::MotionLimits()>;

  /// limits gives the bounds of motions when one begins.
  Inputs(rclcpp_lifecycle::LifecycleNode& node, std::shared_ptr<ControlCore> core, const Limits& limits);

  const Refusals& refusals() const noexcept { return *refusals_; }

 private:
  template <class Message, class Use>
  void subscribe(rclcpp_lifecycle::LifecycleNode& node, const char* topic, const rclcpp::QoS& qos, Use use);

  std::shared_ptr<Refusals> refusals_ = std::make_shared<Refusals>();
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions_;
};

}  // namespace thunder_controllers
