// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace thunder {

/// Eigen's factor L of a symmetric, positive definite matrix A = L Lᵀ. Nothing allocates once it is made.
class Cholesky {
 public:
  explicit Cholesky(std::size_t size)
      : n_(static_cast<std::ptrdiff_t>(size)), factor_(size * size, 0.0), column_(size, 0.0) {}

  /// Factor A, size² values. False, and no factor, if it is not positive definite.
  bool factor(const double* A) noexcept;

  /// b ← A⁻¹ b, in place.
  void solve(double* b) const noexcept;

  /// (A⁻¹)_ii, the squared norm of column i of L⁻¹.
  double inverse_diagonal(std::size_t i) noexcept;

 private:
  std::ptrdiff_t n_;
  std::vector<double> factor_;  ///< L, column-major
  std::vector<double> column_;  ///< of L⁻¹
};

}  // namespace thunder
