// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <string>
#include <vector>

#include "exchange/pose_reader.hpp"
#include "parameters.hpp"
#include "thunder/host/session.hpp"

namespace thunder_controllers {

/// What went wrong in the exchange with others since on_configure, for the diagnostics.
struct Faults {
  std::atomic<std::uint64_t> unreadable_states{0};  ///< updates with a state interface that could not be read
  std::atomic<std::uint64_t> refused_commands{0};   ///< updates with a command interface that could not be written
  // Of the node's callbacks, which exclude each other:
  std::uint64_t refused_references = 0;
  std::string last_refusal;

  /// A request that was refused, in such a callback.
  void refuse(const std::exception& error) {
    ++refused_references;
    last_refusal = error.what();
  }
};

/// Subscriptions and services of one configuration, for as long as they are held: ~/reference, ~/target_pose and
/// ~/trajectory of a Cartesian law, ~/joint_reference and ~/joint_trajectory of a joint law; ~/reference_wrench,
/// ~/measured_wrench and ~/measured_pose of laws that ask for them; ~/freeze_adaptation, ~/reset_estimates,
/// ~/save_estimates, ~/start, ~/stop.
///
/// A reference that is refused leaves the motion as it is, and is counted and logged, at most once a second. Callbacks
/// hold what they use themselves, as one may still run in an executor's thread after these have been given up. `poses` is
/// of a Cartesian law.
std::vector<std::shared_ptr<void>> open_inputs(rclcpp_lifecycle::LifecycleNode& node,
                                               const std::shared_ptr<thunder::ControlSession>& session,
                                               const Listener& listener, const std::shared_ptr<Faults>& faults,
                                               const std::shared_ptr<const PoseReader>& poses);

}  // namespace thunder_controllers
