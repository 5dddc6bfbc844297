// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/motion/circles.hpp"
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

/// How far a robot is from a reference of a law.
///
/// Joint laws: max |q_d − q|, [rad or m], the short way round a circle. Cartesian laws: the greater of ‖p_d − p‖ [m] and the angle of RᵀR_d [rad], at
/// the pose T_0_ee(q), of what the law uses. Evaluating allocates nothing.
class ReferenceDistance {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q), HostError(name_not_found) if
  /// the library has no such law.
  ReferenceDistance(std::shared_ptr<const Library> library, const std::string& law);

  /// From n_joints positions to a whole flat reference; infinite if the pose there is not finite.
  double evaluate(const double* q, const double* reference) noexcept;

  /// Cartesian laws: the way [m] and the rotation vector [rad] from the pose at the last evaluation, world frame.
  const std::array<double, 6>& error() const noexcept { return error_; }

 private:
  SampleLayout layout_;
  Circles circles_;
  bool uses_orientation_ = false;
  std::optional<PositionFunction> pose_;
  std::array<double, 6> error_{};
};

}  // namespace thunder
