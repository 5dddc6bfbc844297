// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <vector>

#include "inputs.hpp"
#include "outputs.hpp"
#include "parameters.hpp"
#include "thunder/host/report/excitation.hpp"
#include "thunder/host/report/tracking_error.hpp"
#include "thunder/host/session.hpp"

namespace thunder_controllers {

/// The host's session and what connects it with the node, from on_configure to on_cleanup.
///
/// Callbacks hold what they use themselves, so that one which still runs in an executor's thread may outlive this.
class Wiring {
 public:
  using Node = std::shared_ptr<rclcpp_lifecycle::LifecycleNode>;

  /// Throws HostError if it cannot be configured; nothing is left behind then.
  Wiring(const Node& node, const Listener& listener, const thunder::Options& options);

  thunder::ControlSession& session() noexcept { return *session_; }
  Faults& faults() noexcept { return *faults_; }
  DiagnosticsBoard::Source diagnostics() const;

 private:
  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  std::shared_ptr<thunder::Excitation> excitation_;  ///< of timers of the node, which exclude each other
  std::shared_ptr<thunder::TrackingError> tracking_;  ///< likewise
  double tracking_error_limit_ = 0.0;                 ///< [rad or m]
  double period_ = 0.0;                               ///< [s]
  std::unique_ptr<LiveParameters> parameters_;
  std::shared_ptr<thunder::ControlSession> session_;
  std::vector<std::shared_ptr<void>> inputs_;
  rclcpp::TimerBase::SharedPtr publishing_;
};

}  // namespace thunder_controllers
