// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <map>
#include <optional>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <string>
#include <utility>
#include <vector>

#include "excitation.hpp"
#include "snapshot.hpp"

namespace thunder_controllers {

/// What a report says of the last period.
struct Health {
  std::string state;                              ///< of the lifecycle
  std::optional<Snapshot> snapshot;               ///< none while unconfigured
  bool is_frozen = false;
  std::optional<Excitation::Report> excitation;   ///< none if the law adapts nothing
  std::uint64_t refused_references = 0;
  std::string last_refusal;
  std::string message;                            ///< why the last transition failed; empty if it did not
};

/// Makes reports; remembers counters, so that a fault is news in the report after it only.
class Reporter {
 public:
  using Status = diagnostic_msgs::msg::DiagnosticStatus;

  /// Level, message, and values whose names have their units in brackets.
  Status report(const Health& health);

 private:
  using Counters = std::map<std::string, std::uint64_t>;

  std::vector<std::string> news(const Counters& counters);
  void judge(const Health& health, const std::vector<std::string>& news, Status& status) const;
  void add_times(const Snapshot& snapshot, Status& status) const;
  void remember(const Snapshot& snapshot);

  Counters seen_;
  Snapshot before_;  ///< of the report before; empty at first and after an activation
  bool has_moved_ = false;
};

/// Publishes reports on /diagnostics, in the name of the node.
class DiagnosticsPublisher {
 public:
  explicit DiagnosticsPublisher(rclcpp_lifecycle::LifecycleNode& node);
  void publish(const Health& health);

 private:
  std::string name_;
  rclcpp::Clock::SharedPtr clock_;
  Reporter reporter_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr publisher_;
};

}  // namespace thunder_controllers
