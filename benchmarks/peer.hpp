// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "robot.hpp"

namespace bench {

/// Pinocchio's C++ functions on a robot built from the same placements, axes and inertias.
///
/// Matrices are in our conventions: world frame, linear part first, π in REG order about the link frame origins.
class Peer {
 public:
  explicit Peer(const Robot& robot);
  ~Peer();

  /// One row per function, each writing into Pinocchio's preallocated data. Rows must not outlive this object.
  std::vector<Row> rows(const States& states);

  using Vector = Eigen::VectorXd;
  Eigen::MatrixXd jacobian(const Vector& q);
  Eigen::MatrixXd jacobian_dot(const Vector& q, const Vector& qd);
  Eigen::MatrixXd mass(const Vector& q);
  Eigen::MatrixXd mass_dot(const Vector& q, const Vector& qd);
  Eigen::VectorXd gravity(const Vector& q);
  Eigen::VectorXd inverse_dynamics(const Vector& q, const Vector& qd, const Vector& qdd);
  Eigen::MatrixXd regressor(const Vector& q, const Vector& qd, const Vector& qdd);

  Eigen::MatrixXd coriolis(const Vector& q, const Vector& qd);

  /// Y_r by polarisation of what Pinocchio offers: C(q, u) v + C(q, v) u is symmetric in u and v, so
  /// C(q, u) v = ½ (b(u + v) − b(u) − b(v)) with b(v) = C(q, v) v.
  Eigen::MatrixXd slotine_li_regressor(const Vector& q, const Vector& qd, const Vector& qd_r, const Vector& qdd_r);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace bench
