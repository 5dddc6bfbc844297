// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace thunder {

/// The factor L of a symmetric, positive definite matrix A = L Lᵀ. Nothing allocates once it is made.
///
/// Our own, for the code of Eigen's, made for large matrices, is long: with cold caches a control step of seven joints takes
/// a sixteenth more with it, and with warm ones no less.
class Cholesky {
 public:
  explicit Cholesky(std::size_t size) : n_(size), factor_(size * size, 0.0), column_(size, 0.0) {}

  /// Factor A, size² values. False, and no factor, if it is not positive definite.
  bool factor(const double* A) noexcept;

  /// b ← A⁻¹ b, in place.
  void solve(double* b) const noexcept;

  /// (A⁻¹)_ii, the squared norm of column i of L⁻¹.
  double inverse_diagonal(std::size_t i) noexcept;

 private:
  double& at(std::size_t row, std::size_t column) noexcept { return factor_[n_ * column + row]; }
  double at(std::size_t row, std::size_t column) const noexcept { return factor_[n_ * column + row]; }

  std::size_t n_;
  std::vector<double> factor_;  ///< L, column-major, but on its diagonal the reciprocals
  std::vector<double> column_;  ///< of L⁻¹
};

}  // namespace thunder
