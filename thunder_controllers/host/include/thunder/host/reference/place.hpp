// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder {

/// The place of a robot as a flat reference at rest: joint laws hold q, cartesian laws the pose T_0_ee(q). Entries beside the
/// standard ones have their defaults. Finding it allocates nothing.
class Place {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q).
  Place(std::shared_ptr<const Library> library, const thunder_law& law);

  /// The place at q, n_joints values. False, and nothing changed, if it has no pose.
  bool find(const double* q) noexcept;
  /// The place of another flat reference.
  void copy(const double* reference) noexcept;

  std::vector<double>& values() noexcept { return values_; }

 private:
  SampleLayout layout_;
  std::optional<PositionFunction> pose_;
  std::vector<double> values_;
};

}  // namespace thunder
