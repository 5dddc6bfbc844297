// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <vector>

#include "configure.hpp"
#include "control_core.hpp"

namespace thunder_controllers {

/// Services of one configuration: ~/freeze_adaptation, ~/reset_estimates, ~/save_estimates, ~/stop.
class Services {
 public:
  using Read = std::function<Parameters()>;

  /// read gives the parameters when a service is called.
  Services(rclcpp_lifecycle::LifecycleNode& node, std::shared_ptr<ControlCore> core, const Read& read);

 private:
  template <class Action>
  void offer_trigger(rclcpp_lifecycle::LifecycleNode& node, const char* name, Action action);

  std::vector<rclcpp::ServiceBase::SharedPtr> services_;
};

}  // namespace thunder_controllers
