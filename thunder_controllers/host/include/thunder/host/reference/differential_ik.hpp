// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Joint steps of a cartesian law's task at one place, by damped least squares: Δq = Jᵀ(JJᵀ + λ²)⁻¹ x (Buss & Kim,
/// Selectively damped least squares, 2005, section 1), with J by differences of T_0_ee and x a twist or a way [m, rad] in
/// the world frame; without its rotation where the law leaves the orientation free. Allocates nothing once constructed.
class DifferentialIk {
 public:
  using Twist = std::array<double, 6>;

  /// Throws HostError(build) if the library has no T_0_ee(q).
  DifferentialIk(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits);

  /// Of the task: 6, or 3 where the law leaves the orientation free.
  std::size_t rows() const noexcept { return rows_; }

  /// Find J at q [rad or m]. False if it is not finite.
  bool find_jacobian(const double* q) noexcept;

  /// Step along x there with λ² = `damping` [m²], with joints held that are at a limit, or nearer to it than the margin
  /// [rad or m], and would move towards it. Returns the share of x that the step leaves over: 0 to 1.
  double solve_within_limits(const Twist& x, double damping, double margin) noexcept;
  /// Δq [rad or m], of the last one above.
  const std::vector<double>& step() const noexcept { return step_; }

 private:
  double solve(const Twist& x, double damping, const std::vector<Twist>& jacobian) noexcept;

  std::size_t rows_;
  std::vector<double> lower_, upper_;
  PositionFunction pose_;
  std::vector<double> q_;
  std::vector<Twist> jacobian_;  ///< its columns
  std::vector<Twist> free_;      ///< the same, zero for joints that are held
  std::vector<double> step_;
};

}  // namespace thunder
