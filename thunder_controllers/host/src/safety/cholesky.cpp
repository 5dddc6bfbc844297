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
  Vector column(column_.data(), n_);
  column.setZero();
  column_[i] = 1.0;
  Matrix(factor_.data(), n_, n_).triangularView<Eigen::Lower>().solveInPlace(column);
  return column.squaredNorm();
}

}  // namespace thunder
