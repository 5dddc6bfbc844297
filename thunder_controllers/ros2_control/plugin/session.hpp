// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/mutex.hpp>
#include <string>

#include "configure.hpp"
#include "control_core.hpp"
#include "diagnostics.hpp"
#include "excitation.hpp"
#include "gain_parameters.hpp"
#include "inputs.hpp"
#include "outputs.hpp"
#include "services.hpp"

namespace thunder_controllers {

/// Everything that exists from on_configure to on_cleanup.
///
/// Callbacks hold what they use themselves, so that one which still runs in an executor's thread may outlive this.
class Session {
 public:
  using Node = std::shared_ptr<rclcpp_lifecycle::LifecycleNode>;
  using Listener = std::shared_ptr<thunder_adaptive_controller::ParamListener>;

  /// Throws HostError if it cannot be configured; nothing is left behind then. update_rate in [Hz].
  static std::shared_ptr<Session> open(const Node& node, const Listener& listener, unsigned int update_rate);

  /// Take back gains, subscriptions and services at once, whoever still holds this.
  void close();

  ControlCore& core() noexcept { return *core_; }
  /// Fill in what is known of the last period.
  void describe(Health& health);

 private:
  Session(const Node& node, const Configuration& configuration);
  void connect(const Node& node, const Listener& listener);
  void publish();

  std::unique_ptr<GainParameters> gains_;
  Outputs outputs_;
  Excitation excitation_;
  std::shared_ptr<ControlCore> core_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr bounds_;
  std::unique_ptr<Inputs> inputs_;
  std::unique_ptr<Services> services_;
  rclcpp::TimerBase::SharedPtr publishing_;
  std::weak_ptr<Session> self_;
  std::mutex mutex_;  ///< between the timers that publish and report
};

/// What the diagnostics are made of, from on_init to the end.
class DiagnosticsBoard {
 public:
  explicit DiagnosticsBoard(const Session::Node& node);

  void set_session(std::shared_ptr<Session> session);
  /// Why the last transition failed; empty if it did not. Does not wait for a report, as transitions come from the
  /// real-time thread.
  void set_message(const std::string& message);
  void publish();

 private:
  std::string message();

  std::weak_ptr<rclcpp_lifecycle::LifecycleNode> node_;
  DiagnosticsPublisher publisher_;
  std::mutex mutex_;
  std::shared_ptr<Session> session_;
  realtime_tools::prio_inherit_mutex message_mutex_;
  std::string message_;
};

}  // namespace thunder_controllers
