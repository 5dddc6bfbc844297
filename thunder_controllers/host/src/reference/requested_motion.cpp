// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/requested_motion.hpp"

#include <algorithm>

#include "thunder/host/library/signals.hpp"

namespace thunder {

RequestedMotion::RequestedMotion(const SampleLayout& layout)
    : layout_(layout), player_(layout), next_(static_cast<std::size_t>(layout.size), 0.0) {}

ReferenceSource RequestedMotion::begin(const ReferenceMessage& message, double* reference) noexcept {
  using Request = ReferenceMessage::Request;
  kind_ = ReferenceSource::motion;
  if (message.request == Request::go) {
    player_.go(reference, message.target, message.limits);
  } else if (message.request == Request::trace) {
    player_.trace(reference, *message.figure, message.limits);
  } else if (message.request == Request::stop || !player_.follow(reference, *message.knots, message.limits)) {
    return stop(message.limits, reference);
  }
  return settle(reference);
}

ReferenceSource RequestedMotion::stop(const MotionLimits& limits, double* reference) noexcept {
  kind_ = ReferenceSource::stopping;
  player_.stop(reference, limits);
  return settle(reference);
}

ReferenceSource RequestedMotion::advance(double dt, const ReferenceMessage& message, double* reference) noexcept {
  std::copy_n(reference, next_.size(), next_.begin());
  if (player_.advance(dt, message.knots.get(), message.figure.get(), next_.data()) &&
      all_finite(next_.data(), static_cast<int>(next_.size()))) {
    std::copy(next_.begin(), next_.end(), reference);
  } else if (kind_ == ReferenceSource::stopping) {
    player_.cancel();  // numbers so large that they cannot even be stopped
  } else {
    return stop(message.limits, reference);
  }
  return settle(reference);
}

/// Where a motion is over, or there is none to make: rest exactly.
ReferenceSource RequestedMotion::settle(double* reference) noexcept {
  if (player_.is_running()) return kind_;
  const int count = layout_.is_cartesian ? 6 : layout_.n_joints;
  std::fill_n(reference + layout_.velocity, count, 0.0);
  std::fill_n(reference + layout_.acceleration, count, 0.0);
  return ReferenceSource::hold;
}

}  // namespace thunder
