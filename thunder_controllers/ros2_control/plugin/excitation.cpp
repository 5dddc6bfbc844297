// SPDX-License-Identifier: Apache-2.0
#include "excitation.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {
namespace {

constexpr double kTimeConstant = 5.0;   // [s] of the forgetting
constexpr double kRankTolerance = 1e-6;  // directions with less than this part of the strongest one do not count
constexpr const char* kRegressor = "Yr";
constexpr const char* kReferenceVelocity = "qd_r";
const std::array<const char*, 4> kArguments = {"q", "dq", "dq_r", "ddq_r"};

bool has_function(const thunder::Library& library, const std::string& name) {
  const std::vector<std::string> names = library.function_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

const thunder_entry* find(const thunder_signal& signal, const char* name, int size) {
  for (int i = 0; i < signal.n_entries; ++i) {
    const thunder_entry& entry = signal.entries[i];
    if (std::strcmp(entry.name, name) == 0 && thunder::entry_size(entry) == size) return &entry;
  }
  return nullptr;
}

}  // namespace

Excitation::Excitation(const Configuration& configuration) : n_joints_(configuration.library->n_joints()) {
  const thunder_library& data = configuration.library->data();
  for (const std::string& link : configuration.links) {
    const auto* end = data.link_names + n_joints_;
    const auto* found = std::find_if(data.link_names, end, [&](const char* name) { return link == name; });
    if (found == end) continue;
    for (int k = 0; k < thunder::kInertialParameters; ++k) {
      columns_.push_back(static_cast<int>(found - data.link_names) * thunder::kInertialParameters + k);
    }
  }
  const auto size = static_cast<Eigen::Index>(columns_.size());
  information_ = Eigen::MatrixXd::Zero(size, size);
  qd_r_entry_ = find(configuration.law_data().telemetry, kReferenceVelocity, n_joints_);
  if (!columns_.empty() && has_function(*configuration.library, kRegressor)) {
    regressor_.emplace(configuration.library, kRegressor);
  }
}

Eigen::VectorXd Excitation::reference_velocity(const Snapshot& snapshot) const {
  const double* values = qd_r_entry_ ? snapshot.telemetry.data() + qd_r_entry_->offset : snapshot.qd.data();
  return Eigen::Map<const Eigen::VectorXd>(values, n_joints_);
}

void Excitation::add(const Snapshot& snapshot) {
  if (!is_available()) return;
  const Eigen::VectorXd qd_r = reference_velocity(snapshot);
  const bool is_finite = thunder::all_finite(snapshot.q.data(), n_joints_) &&
                         thunder::all_finite(snapshot.qd.data(), n_joints_) && qd_r.allFinite();
  if (!is_finite) return;
  const double dt = snapshot.loop.elapsed - previous_time_;
  if (dt < 0.0) information_.setZero();  // activated anew
  if (previous_time_ >= 0.0 && dt > 0.0) evaluate(snapshot, qd_r, dt);
  previous_time_ = snapshot.loop.elapsed;
  previous_ = qd_r;
}

bool Excitation::evaluate(const Snapshot& snapshot, const Eigen::VectorXd& qd_r, double dt) {
  const Eigen::VectorXd qdd_r = (qd_r - previous_) / dt;
  for (int i = 0; i < 4; ++i) {
    const std::array<const double*, 4> values = {snapshot.q.data(), snapshot.qd.data(), qd_r.data(), qdd_r.data()};
    regressor_->set_input(i, values[static_cast<std::size_t>(i)]);
  }
  if (!regressor_->evaluate()) return false;
  const thunder_entry& shape = regressor_->function().out[0];
  const Eigen::Map<const Eigen::MatrixXd> whole(regressor_->result(0), shape.rows, shape.cols);
  Eigen::MatrixXd chosen(shape.rows, static_cast<Eigen::Index>(columns_.size()));
  for (std::size_t k = 0; k < columns_.size(); ++k) chosen.col(static_cast<Eigen::Index>(k)) = whole.col(columns_[k]);
  if (!chosen.allFinite()) return false;
  information_ = std::exp(-dt / kTimeConstant) * information_ + dt * chosen.transpose() * chosen;
  return true;
}

std::optional<Excitation::Report> Excitation::report() const {
  if (!is_available()) return std::nullopt;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(information_, Eigen::EigenvaluesOnly);
  const Eigen::VectorXd& values = solver.eigenvalues();  // ascending
  const double largest = values[values.size() - 1];
  if (!(largest > 0.0)) return Report{0.0, 0};
  const auto rank = (values.array() > kRankTolerance * largest).count();
  return Report{std::max(values[0], 0.0), static_cast<int>(rank)};
}

}  // namespace thunder_controllers
