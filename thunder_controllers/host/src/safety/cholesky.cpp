// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/cholesky.hpp"

#include <Eigen/Cholesky>

namespace thunder {
namespace {

using Matrix = Eigen::Map<const Eigen::MatrixXd>;
using Vector = Eigen::Map<Eigen::VectorXd>;

}  // namespace

bool Cholesky::factor(const double* A) noexcept {
  Eigen::Map<Eigen::MatrixXd> L(factor_.data(), n_, n_);
  L = Matrix(A, n_, n_);
  return L.allFinite() && Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>>(L).info() == Eigen::Success;
}

void Cholesky::solve(double* b) const noexcept {
  const Matrix L(factor_.data(), n_, n_);
  Vector x(b, n_);
  L.triangularView<Eigen::Lower>().solveInPlace(x);
  L.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
}

double Cholesky::inverse_diagonal(std::size_t i) noexcept {
  const auto n = static_cast<std::size_t>(n_);
  double sum = 0.0;
  for (std::size_t row = i; row < n; ++row) {
    double value = row == i ? 1.0 : 0.0;
    for (std::size_t k = i; k < row; ++k) value -= factor_[n * k + row] * column_[k];
    column_[row] = value / factor_[n * row + row];
    sum += column_[row] * column_[row];
  }
  return sum;
}

}  // namespace thunder
