// SPDX-License-Identifier: Apache-2.0
#include "peer.hpp"

#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

namespace bench {
namespace {

using pinocchio::Data;
using pinocchio::Model;
using pinocchio::SE3;

constexpr auto kWorldAxes = pinocchio::LOCAL_WORLD_ALIGNED;

/// Pinocchio is fastest with joints about a coordinate axis, which is what DH rows and most URDFs give.
Model::JointModel joint_model(const Link& link) {
  if (link.kind == Kind::kFree) return pinocchio::JointModelFreeFlyer();
  const bool is_revolute = link.kind == Kind::kRevolute;
  if (link.axis == Eigen::Vector3d::UnitX()) {
    if (is_revolute) return pinocchio::JointModelRX();
    return pinocchio::JointModelPX();
  }
  if (link.axis == Eigen::Vector3d::UnitY()) {
    if (is_revolute) return pinocchio::JointModelRY();
    return pinocchio::JointModelPY();
  }
  if (link.axis == Eigen::Vector3d::UnitZ()) {
    if (is_revolute) return pinocchio::JointModelRZ();
    return pinocchio::JointModelPZ();
  }
  if (is_revolute) return pinocchio::JointModelRevoluteUnaligned(link.axis);
  return pinocchio::JointModelPrismaticUnaligned(link.axis);
}

Model make_model(const Robot& robot) {
  Model model;
  model.gravity = pinocchio::Motion(robot.gravity, Eigen::Vector3d::Zero());
  std::vector<pinocchio::JointIndex> ids;
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const Link& link = robot.links[i];
    const auto parent = link.parent < 0 ? 0 : ids[static_cast<std::size_t>(link.parent)];
    const SE3 placement(link.rotation, link.translation);
    ids.push_back(model.addJoint(parent, joint_model(link), placement, "joint" + std::to_string(i)));
    model.appendBodyToJoint(ids.back(), pinocchio::Inertia(link.mass, link.com, link.inertia), SE3::Identity());
  }
  const SE3 ee(robot.ee_rotation, robot.ee_translation);
  model.addFrame(pinocchio::Frame("ee", ids[static_cast<std::size_t>(robot.ee_link)], ee, pinocchio::OP_FRAME));
  return model;
}

/// Vectors of their own, as Pinocchio's benchmarks have them.
std::vector<Eigen::VectorXd> columns(const Eigen::MatrixXd& matrix) {
  return {matrix.colwise().begin(), matrix.colwise().end()};
}

}  // namespace

struct Peer::Parts {
  explicit Parts(const Robot& robot) : model(make_model(robot)), data(model), ee(model.getFrameId("ee")) {
    J.setZero(6, model.nv);
  }

  Model model;
  Data data;
  pinocchio::FrameIndex ee;
  Data::Matrix6x J;
  std::vector<Eigen::VectorXd> q, qd, qdd;
};

Peer::Peer(const Robot& robot) : parts_(std::make_unique<Parts>(robot)) {}
Peer::~Peer() = default;

std::vector<Row> Peer::rows(const States& states) {
  Parts& p = *parts_;
  p.q = columns(states.q);
  p.qd = columns(states.qd);
  p.qdd = columns(states.qdd);
  return {
      {"J_ee: computeFrameJacobian",
       [&p](std::size_t k) {
         pinocchio::computeFrameJacobian(p.model, p.data, p.q[k], p.ee, kWorldAxes, p.J);
       }},
      {"J_ee: computeJointJacobians + getFrameJacobian",
       [&p](std::size_t k) {
         pinocchio::computeJointJacobians(p.model, p.data, p.q[k]);
         pinocchio::getFrameJacobian(p.model, p.data, p.ee, kWorldAxes, p.J);
       }},
      {"J_ee_dot: computeJointJacobiansTimeVariation + getFrameJacobianTimeVariation",
       [&p](std::size_t k) {
         pinocchio::computeJointJacobiansTimeVariation(p.model, p.data, p.q[k], p.qd[k]);
         pinocchio::getFrameJacobianTimeVariation(p.model, p.data, p.ee, kWorldAxes, p.J);
       }},
      {"M: crba, local convention",
       [&p](std::size_t k) {
         pinocchio::crba(p.model, p.data, p.q[k], pinocchio::Convention::LOCAL);
       }},
      {"M: crba, world convention",
       [&p](std::size_t k) {
         pinocchio::crba(p.model, p.data, p.q[k], pinocchio::Convention::WORLD);
       }},
      {"C: computeCoriolisMatrix",
       [&p](std::size_t k) {
         pinocchio::computeCoriolisMatrix(p.model, p.data, p.q[k], p.qd[k]);
       }},
      {"G: computeGeneralizedGravity",
       [&p](std::size_t k) {
         pinocchio::computeGeneralizedGravity(p.model, p.data, p.q[k]);
       }},
      {"Y: computeJointTorqueRegressor",
       [&p](std::size_t k) {
         pinocchio::computeJointTorqueRegressor(p.model, p.data, p.q[k], p.qd[k], p.qdd[k]);
       }},
      {"rnea",
       [&p](std::size_t k) {
         pinocchio::rnea(p.model, p.data, p.q[k], p.qd[k], p.qdd[k]);
       }},
  };
}

Eigen::MatrixXd Peer::jacobian(const Vector& q) {
  Parts& p = *parts_;
  p.J.setZero();
  pinocchio::computeFrameJacobian(p.model, p.data, q, p.ee, kWorldAxes, p.J);
  return p.J;
}

Eigen::MatrixXd Peer::jacobian_dot(const Vector& q, const Vector& qd) {
  Parts& p = *parts_;
  p.J.setZero();
  pinocchio::computeJointJacobiansTimeVariation(p.model, p.data, q, qd);
  pinocchio::getFrameJacobianTimeVariation(p.model, p.data, p.ee, kWorldAxes, p.J);
  return p.J;
}

Eigen::MatrixXd Peer::mass(const Vector& q) {
  Parts& p = *parts_;
  pinocchio::crba(p.model, p.data, q, pinocchio::Convention::LOCAL);
  return p.data.M.selfadjointView<Eigen::Upper>();
}

Eigen::MatrixXd Peer::mass_dot(const Vector& q, const Vector& qd) {
  const Eigen::MatrixXd C = coriolis(q, qd);
  return C + C.transpose();
}

Eigen::VectorXd Peer::gravity(const Vector& q) {
  return pinocchio::computeGeneralizedGravity(parts_->model, parts_->data, q);
}

Eigen::VectorXd Peer::inverse_dynamics(const Vector& q, const Vector& qd, const Vector& qdd) {
  return pinocchio::rnea(parts_->model, parts_->data, q, qd, qdd);
}

Eigen::MatrixXd Peer::regressor(const Vector& q, const Vector& qd, const Vector& qdd) {
  Parts& p = *parts_;
  const Eigen::MatrixXd Y = pinocchio::computeJointTorqueRegressor(p.model, p.data, q, qd, qdd);
  constexpr int kOrder[] = {0, 1, 2, 3, 4, 5, 7, 6, 8, 9};  // Pinocchio has xx, xy, yy, xz, yz, zz
  Eigen::MatrixXd ours(Y.rows(), Y.cols());
  for (Eigen::Index j = 0; j < Y.cols(); ++j) ours.col(j) = Y.col(j - j % 10 + kOrder[j % 10]);
  return ours;
}

Eigen::MatrixXd Peer::coriolis(const Vector& q, const Vector& qd) {
  return pinocchio::computeCoriolisMatrix(parts_->model, parts_->data, q, qd);
}

Eigen::MatrixXd Peer::slotine_li_regressor(const Vector& q, const Vector& qd, const Vector& qd_r,
                                           const Vector& qdd_r) {
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(q.size());
  const Eigen::MatrixXd rest = regressor(q, zero, zero);
  const auto bias = [&](const Eigen::VectorXd& v) -> Eigen::MatrixXd { return regressor(q, v, zero) - rest; };
  return regressor(q, zero, qdd_r) + 0.5 * (bias(qd + qd_r) - bias(qd) - bias(qd_r));
}

}  // namespace bench
