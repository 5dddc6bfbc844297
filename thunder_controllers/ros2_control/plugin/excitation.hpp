// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <optional>

#include "configuration.hpp"
#include "snapshot.hpp"
#include "thunder/host/library/evaluator.hpp"

namespace thunder_controllers {

/// How well the motion excites the estimated parameters, over the last seconds.
///
/// W = ∫ YᵀY dt with exponential forgetting, Y the columns of the Slotine–Li regressor of the adapted links. Between
/// two samples the derivative of q̇_r is taken as their difference. Not for the real-time thread.
class Excitation {
 public:
  struct Report {
    double smallest_singular_value;  ///< of W, SI units
    int rank;                        ///< numerical
  };

  explicit Excitation(const Configuration& configuration);

  /// Use a step; one that is not finite, or no later than the one before, is passed over.
  void add(const Snapshot& snapshot);
  /// None if the law adapts no link, or the library has no function Yr.
  std::optional<Report> report() const;

 private:
  bool is_available() const { return regressor_.has_value(); }
  bool evaluate(const Snapshot& snapshot, const Eigen::VectorXd& qd_r, double dt);
  Eigen::VectorXd reference_velocity(const Snapshot& snapshot) const;

  const thunder_entry* qd_r_entry_ = nullptr;
  std::optional<thunder::Evaluator> regressor_;
  std::vector<int> columns_;
  int n_joints_;
  Eigen::MatrixXd information_;
  Eigen::VectorXd previous_;
  double previous_time_ = -1.0;
};

}  // namespace thunder_controllers
