// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/cholesky.hpp"

#include <cmath>

#include "thunder/host/library/signals.hpp"

namespace thunder {

bool Cholesky::factor(const double* A) noexcept {
  if (!all_finite(A, static_cast<int>(factor_.size()))) return false;
  for (std::size_t column = 0; column < n_; ++column) {
    for (std::size_t row = column; row < n_; ++row) {
      double value = A[n_ * column + row];
      for (std::size_t k = 0; k < column; ++k) value -= at(row, k) * at(column, k);
      if (row > column) {
        at(row, column) = value * at(column, column);
      } else if (value > 0.0) {
        at(row, column) = 1.0 / std::sqrt(value);
      } else {
        return false;
      }
    }
  }
  return true;
}

void Cholesky::solve(double* b) const noexcept {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= at(i, k) * b[k];
    b[i] *= at(i, i);
  }
  for (std::size_t i = n_; i-- > 0;) {
    for (std::size_t k = i + 1; k < n_; ++k) b[i] -= at(k, i) * b[k];
    b[i] *= at(i, i);
  }
}

double Cholesky::inverse_diagonal(std::size_t i) noexcept {
  double sum = 0.0;
  for (std::size_t row = i; row < n_; ++row) {
    double value = row == i ? 1.0 : 0.0;
    for (std::size_t k = i; k < row; ++k) value -= at(row, k) * column_[k];
    column_[row] = value * at(row, row);
    sum += column_[row] * column_[row];
  }
  return sum;
}

}  // namespace thunder
