// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/safety/cholesky.hpp"

namespace thunder {

/// M(q) of the description, with the rotors that it knows, and what of it each joint feels.
class ArmInertia {
 public:
  /// Throws HostError(build) if the library has no M(q).
  explicit ArmInertia(const std::shared_ptr<const Library>& library);

  /// Find it at q, n_joints values, finite; where q is within 2e-3 of the place before, that one's serves. False if it is
  /// not finite and positive definite there: the last one that was then stays, zero if there was none. Allocates nothing.
  bool find(const double* q) noexcept;

  /// M, column-major.
  const std::vector<double>& matrix() const noexcept { return matrix_; }
  /// u ← M⁻¹ u: how efforts accelerate the joints, at the place of the last `find`; zero if that has failed.
  void accelerate(double* u) const noexcept;
  /// M_ii: what moves about a joint while the others are held.
  double held(std::size_t joint) const noexcept { return matrix_[joint * (known_at_.size() + 1)]; }
  /// 1/(M⁻¹)_ii: the same while the others are free, the least that the joint can feel.
  double free(std::size_t joint) const noexcept { return free_[joint]; }
  /// Whether the rotor of the joint is known, so that these are what the motor moves.
  bool is_known(std::size_t joint) const noexcept { return is_known_[joint]; }

 private:
  bool has_moved(const double* q) const noexcept;

  PositionFunction function_;
  std::vector<bool> is_known_;
  std::vector<double> matrix_;
  Cholesky factor_;
  std::vector<double> free_;
  std::vector<double> known_at_;  ///< q where they were found
};

}  // namespace thunder
