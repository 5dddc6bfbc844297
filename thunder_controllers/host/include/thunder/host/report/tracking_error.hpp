// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "thunder/host/law/configuration.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/snapshot.hpp"

namespace thunder {

/// The largest distance from the reference among the steps that are shown, for reports. One thread at a time.
class TrackingError {
 public:
  /// Throws as ReferenceDistance does.
  explicit TrackingError(const Configuration& configuration) : distance_(configuration.library, configuration.law) {}

  /// A step that was not one of the law says nothing of the reference, and is passed over.
  void add(const Snapshot& snapshot) noexcept;
  /// [rad or m] Since the last call; none if no step was added.
  std::optional<double> take() noexcept;

 private:
  ReferenceDistance distance_;
  std::optional<double> largest_;
};

}  // namespace thunder
