// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/player.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/reference/channel.hpp"

namespace thunder {

/// A motion of the reference by request, at whose end it rests exactly; updating thread, allocates nothing.
///
/// It begins at the flat reference that is given, continuous in position, velocity and acceleration. What each function
/// returns is what the reference follows after it: a motion, coming to rest, or the place where that has ended.
class RequestedMotion {
 public:
  explicit RequestedMotion(const SampleLayout& layout);

  /// Begin what a message asks for.
  ReferenceSource begin(const ReferenceMessage& message, double* reference) noexcept;
  /// Come to rest.
  ReferenceSource stop(const MotionLimits& limits, double* reference) noexcept;
  /// Let dt [s] pass, with the message that it began with. A sample that cannot be made, or is not finite, ends it.
  ReferenceSource advance(double dt, const ReferenceMessage& message, double* reference) noexcept;
  /// Make none.
  void cancel() noexcept { player_.cancel(); }
  bool is_running() const noexcept { return player_.is_running(); }

 private:
  ReferenceSource settle(double* reference) noexcept;

  SampleLayout layout_;
  MotionPlayer player_;
  ReferenceSource kind_ = ReferenceSource::motion;  ///< or stopping
  std::vector<double> next_;
};

}  // namespace thunder
