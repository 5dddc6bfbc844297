// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/report/excitation.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kTimeConstant = 5.0;    // [s] of the forgetting
constexpr double kRankTolerance = 1e-6;  // directions with less than this part of the strongest one do not count
constexpr const char* kRegressor = "Yr";
constexpr const char* kReferenceVelocity = "qd_r";

int find_offset(const thunder_signal& signal, const std::string& name, int size) {
  const thunder_entry* entry = entry_if_any(signal, name);
  return entry && entry_size(*entry) == size ? entry->offset : -1;
}

/// The regressor's columns of the links that the library knows.
std::vector<int> columns_of(const Configuration& configuration) {
  const thunder_library& data = configuration.library->data();
  std::vector<int> columns;
  for (const std::string& link : configuration.links) {
    const int found = find_link(data, link);
    if (found == data.n_joints) continue;
    const int first = found * kInertialParameters;
    for (int k = 0; k < kInertialParameters; ++k) columns.push_back(first + k);
  }
  return columns;
}

}  // namespace

Excitation::Excitation(const Configuration& configuration)
    : columns_(columns_of(configuration)),
      n_joints_(configuration.library->n_joints()),
      qd_r_offset_(find_offset(configuration.law_data().telemetry, kReferenceVelocity, n_joints_)),
      information_(columns_.size() * columns_.size(), 0.0) {
  const thunder_library& data = configuration.library->data();
  if (!columns_.empty() && find_if_any(data.functions, data.n_functions, kRegressor)) {
    regressor_.emplace(configuration.library, kRegressor);
  }
}

void Excitation::add(const Snapshot& snapshot) {
  if (!regressor_ || !snapshot.is_active) return;
  if (snapshot.activation != activation_) {
    activation_ = snapshot.activation;
    std::fill(information_.begin(), information_.end(), 0.0);
    previous_.clear();
  }
  const double* qd_r = qd_r_offset_ < 0 ? snapshot.qd.data() : snapshot.telemetry.data() + qd_r_offset_;
  const double dt = snapshot.time - previous_time_;
  const bool is_finite = std::isfinite(snapshot.time) && all_finite(snapshot.q.data(), n_joints_) &&
                         all_finite(snapshot.qd.data(), n_joints_) && all_finite(qd_r, n_joints_);
  if (!is_finite || (!previous_.empty() && dt == 0.0)) return;
  if (!previous_.empty() && dt > 0.0) integrate(snapshot, qd_r, dt);
  previous_.assign(qd_r, qd_r + n_joints_);
  previous_time_ = snapshot.time;
}

void Excitation::integrate(const Snapshot& snapshot, const double* qd_r, double dt) {
  std::vector<double> qdd_r(previous_.size());
  for (std::size_t i = 0; i < qdd_r.size(); ++i) qdd_r[i] = (qd_r[i] - previous_[i]) / dt;
  const double* arguments[] = {snapshot.q.data(), snapshot.qd.data(), qd_r, qdd_r.data()};
  for (int i = 0; i < 4; ++i) regressor_->set_input(i, arguments[i]);
  if (!regressor_->evaluate()) return;
  const thunder_entry& shape = regressor_->function().out[0];
  const Eigen::Map<const Eigen::MatrixXd> whole(regressor_->result(0), shape.rows, shape.cols);
  Eigen::MatrixXd Y(shape.rows, static_cast<Eigen::Index>(columns_.size()));
  for (std::size_t k = 0; k < columns_.size(); ++k) Y.col(static_cast<Eigen::Index>(k)) = whole.col(columns_[k]);
  if (!Y.allFinite()) return;
  Eigen::Map<Eigen::MatrixXd> W(information_.data(), Y.cols(), Y.cols());
  W = std::exp(-dt / kTimeConstant) * W + dt * Y.transpose() * Y;
}

std::optional<ExcitationReport> Excitation::report() const {
  if (!regressor_) return std::nullopt;
  const auto n = static_cast<Eigen::Index>(columns_.size());
  const Eigen::Map<const Eigen::MatrixXd> W(information_.data(), n, n);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(W, Eigen::EigenvaluesOnly);
  const Eigen::VectorXd& values = solver.eigenvalues();  // ascending
  const double largest = values[n - 1];
  if (!(largest > 0.0)) return ExcitationReport{};
  const auto rank = (values.array() > kRankTolerance * largest).count();
  return ExcitationReport{std::max(values[0], 0.0), static_cast<int>(rank)};
}

}  // namespace thunder
