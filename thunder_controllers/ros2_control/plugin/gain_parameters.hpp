// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>
#include <string>
#include <vector>

#include "control_core.hpp"

namespace thunder_controllers {

/// The gains of a law as parameters gains.<name>, declared from the library's metadata: description, unit, bounds.
///
/// They can be changed at any time; the change is checked first, refused with the reason or written to the host.
class GainParameters {
 public:
  using Node = rclcpp::node_interfaces::NodeParametersInterface::SharedPtr;

  /// Declare them. Values given to the node replace the defaults. Throws HostError if one has the wrong type or is out
  /// of bounds; nothing is declared then.
  GainParameters(Node node, const thunder_law& law);
  ~GainParameters();
  GainParameters(const GainParameters&) = delete;
  GainParameters& operator=(const GainParameters&) = delete;

  /// The values now, by gain.
  thunder::NamedValues values() const;

  /// From now on, changes go to this host.
  void connect(std::shared_ptr<ControlCore> core);

 private:
  void declare(const thunder_entry& entry);
  void undeclare() noexcept;
  thunder::NamedValues gains_among(const std::vector<rclcpp::Parameter>& parameters) const;

  Node node_;
  const thunder_law* law_;
  std::vector<std::string> declared_;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr check_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr apply_;
};

}  // namespace thunder_controllers
