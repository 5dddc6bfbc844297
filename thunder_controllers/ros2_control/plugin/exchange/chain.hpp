// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hardware_interface/handle.hpp>
#include <string>
#include <vector>

#include "thunder/host/law/configuration.hpp"
#include "thunder/host/snapshot.hpp"

namespace thunder_controllers {

/// The ends of a chain of controllers: what one before this gives it, and what others may read.
///
/// References, as <controller>/<name>: of a joint law <joint>/position, <joint>/velocity, <joint>/acceleration; of a
/// Cartesian law pose/position.x … pose/orientation.w, twist/linear.x … twist/angular.z and acceleration/linear.x ….
/// States: <link>/mass, com.x …, inertia.xx … of the links that adapt, as on their topics; pose_error/linear.x … of a
/// Cartesian law; status/guards, the bits of the last step.
class Chain {
 public:
  using References = std::vector<hardware_interface::CommandInterface::SharedPtr>;
  using States = std::vector<hardware_interface::StateInterface::SharedPtr>;

  /// A reference that stays as it is for keep_alive [s] is given again.
  Chain(const std::string& controller, const thunder::Configuration& configuration, double keep_alive);

  const References& references() const noexcept { return references_; }
  const States& states() const noexcept { return states_; }

  /// Forget what was written before an activation.
  void restart() noexcept;
  /// A new reference after dt [s], as a flat sample, of which velocities and accelerations that nobody writes are zero; null
  /// where it is the old one, or has no place or orientation, or is being written. Real-time safe.
  const std::vector<double>* read(double dt) noexcept;
  /// Show a step; real-time safe.
  void show(const thunder::Snapshot& snapshot) noexcept;

 private:
  void add_reference(const std::string& prefix, const std::string& name);
  void add_state(const std::string& prefix, const std::string& name);

  bool is_cartesian_;
  std::size_t n_places_;  ///< the first references
  std::size_t n_links_;
  const thunder_entry* estimate_entry_;
  const thunder_entry* error_entry_;  ///< null where there is none of a whole pose
  References references_;
  States states_;
  double keep_alive_;
  double age_ = 0.0;  ///< [s] of the sample
  std::vector<double> written_;
  std::vector<double> before_;
  std::vector<double> sample_;
};

}  // namespace thunder_controllers
