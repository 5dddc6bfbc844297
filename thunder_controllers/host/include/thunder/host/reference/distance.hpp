// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/library/library.hpp"

namespace thunder {

/// How far a robot is from a reference of a law.
///
/// Joint laws: max |q_d − q|, [rad or m]. Cartesian laws: the greater of ‖p_d − p‖ [m] and the angle of RᵀR_d [rad], at
/// the pose T_0_ee(q). Evaluating allocates nothing.
class ReferenceDistance {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q), HostError(name_not_found) if
  /// the library has no such law.
  ReferenceDistance(std::shared_ptr<const Library> library, const std::string& law);

  /// From n_joints positions to a whole flat reference; infinite if the pose there is not finite.
  double evaluate(const double* q, const double* reference) noexcept;

 private:
  double to_pose(const double* reference) const noexcept;

  int n_joints_;
  int position_ = 0;
  int rotation_ = 0;
  std::optional<PositionFunction> pose_;
};

}  // namespace thunder
