// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/cholesky.hpp"

#include <cmath>

namespace thunder {

bool Cholesky::factor(const double* A) noexcept {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double left = A[n_ * j + i];
      for (std::size_t k = 0; k < j; ++k) left -= factor_[n_ * i + k] * factor_[n_ * j + k];
      if (i == j && !(left > 0.0)) return false;
      factor_[n_ * i + j] = i == j ? std::sqrt(left) : left / factor_[n_ * j + j];
    }
  }
  return true;
}

void Cholesky::solve(double* b) const noexcept {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= factor_[n_ * i + k] * b[k];
    b[i] /= factor_[n_ * i + i];
  }
  for (std::size_t i = n_; i-- > 0;) {
    for (std::size_t k = i + 1; k < n_; ++k) b[i] -= factor_[n_ * k + i] * b[k];
    b[i] /= factor_[n_ * i + i];
  }
}

double Cholesky::inverse_diagonal(std::size_t i) noexcept {
  double square = 0.0;
  for (std::size_t row = i; row < n_; ++row) {
    double left = row == i ? 1.0 : 0.0;
    for (std::size_t k = i; k < row; ++k) left -= factor_[n_ * row + k] * column_[k];
    column_[row] = left / factor_[n_ * row + row];
    square += column_[row] * column_[row];
  }
  return square;
}

}  // namespace thunder
