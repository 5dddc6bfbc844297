// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <vector>

#include "inputs.hpp"
#include "outputs.hpp"
#include "parameters.hpp"
#include "thunder/host/session.hpp"

namespace thunder_controllers {

/// The host's session and what connects it with the node, from on_configure to on_cleanup.
///
/// Callbacks hold what they use themselves, so that one which still runs in an executor's thread may outlive this.
class Wiring {
 public:
  using Node = std::shared_ptr<rclcpp_lifecycle::LifecycleNode>;

  /// update_rate in [Hz]. Throws HostError if it cannot be configured; nothing is left behind then.
  Wiring(const Node& node, const Listener& listener, unsigned int update_rate);

  thunder::ControlSession& session() noexcept { return *session_; }
  Faults& faults() noexcept { return *faults_; }
  const DiagnosticsBoard::Source& diagnostics() const noexcept { return diagnostics_; }

 private:
  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  std::unique_ptr<LiveParameters> parameters_;
  std::shared_ptr<thunder::ControlSession> session_;
  std::vector<std::shared_ptr<void>> inputs_;
  DiagnosticsBoard::Source diagnostics_;
  rclcpp::TimerBase::SharedPtr publishing_;
};

}  // namespace thunder_controllers
