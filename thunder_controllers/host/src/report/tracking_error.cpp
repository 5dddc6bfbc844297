// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/report/tracking_error.hpp"

#include <algorithm>

namespace thunder {

void TrackingError::add(const Snapshot& snapshot) noexcept {
  if (!snapshot.is_active || (snapshot.guards & kBlockingGuards) != 0) return;
  largest_ = std::max(largest_.value_or(0.0), distance_.evaluate(snapshot.q.data(), snapshot.reference.data()));
}

std::optional<double> TrackingError::take() noexcept {
  const std::optional<double> largest = largest_;
  largest_.reset();
  return largest;
}

}  // namespace thunder
