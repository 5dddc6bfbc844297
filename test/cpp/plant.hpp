// SPDX-License-Identifier: Apache-2.0
//
// A rigid arm to close the loop with: M q̈ + C q̇ + G + D q̇ = τ + τ_ext, from the generated library's own functions.
// Springs of elastic joints are rigid here: M is M_rigid.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thunder/host/library/evaluator.hpp"

namespace test {

using Vector = Eigen::VectorXd;

inline Vector vector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

/// One function of a library as a matrix of q, or of q and q̇.
class MatrixFunction {
 public:
  MatrixFunction(std::shared_ptr<const thunder::Library> library, const std::string& name)
      : evaluator_(std::move(library), name) {
    const thunder_function& function = evaluator_.function();
    rows_ = function.out[0].rows, cols_ = function.out[0].cols;
    for (int i = 0; i < function.n_in; ++i) {
      if (std::string(function.in[i].name) == "q") q_ = i;
      if (std::string(function.in[i].name) == "dq") qd_ = i;
    }
  }

  Eigen::Map<const Eigen::MatrixXd> operator()(const Vector& q, const Vector& qd) {
    if (q_ >= 0) evaluator_.set_input(q_, q.data());
    if (qd_ >= 0) evaluator_.set_input(qd_, qd.data());
    evaluator_.evaluate();
    return {evaluator_.result(0), rows_, cols_};
  }

 private:
  thunder::Evaluator evaluator_;
  int q_ = -1, qd_ = -1;
  int rows_ = 0, cols_ = 0;
};

/// The arm, with the model's friction. It differs from the model by a point mass at the end effector, by inertia of its
/// rotors, kRotor of the effort limit unless told otherwise, and by more viscous friction, kFriction of the effort limit at the velocity
/// limit.
///
/// What keeps it an arm while nobody controls it: no joint is faster than kNoLoad times its velocity limit, as no motor
/// is, and end stops without bounce lie beyond the position limits, where no check ever finds them.
class Plant {
 public:
  static constexpr double kFriction = 0.01;
  static constexpr double kRotor = 2e-3;  ///< [kg·m² / N·m] 24 g·m² on the last joint of a Panda.
  static constexpr double kNoLoad = 8.0;
  static constexpr double kStep = 0.01;  ///< [rad or m] The longest way of a joint in one step of the integration.

  explicit Plant(const std::shared_ptr<const thunder::Library>& library)
      : n(library->n_joints()),
        mass_(library, has(library, "M_rigid") ? "M_rigid" : "M"),
        coriolis_(library, "C"),
        gravity_(library, "G"),
        jacobian_(library, "J_ee"),
        jacobian_dot_(library, "J_ee_dot") {
    const thunder_library& data = library->data();
    if (has(library, "dl")) model_friction_.emplace(library, "dl");
    friction_ = rotor = fastest_ = stop_lower = stop_upper = q = qd = Vector::Zero(n);
    for (int i = 0; i < n; ++i) {
      const double effort = std::isfinite(data.effort_limit[i]) ? data.effort_limit[i] : 50.0;
      const double speed = std::isfinite(data.velocity_limit[i]) ? data.velocity_limit[i] : 3.0;
      friction_[i] = kFriction * effort / speed, rotor[i] = kRotor * effort, fastest_[i] = kNoLoad * speed;
      stop_lower[i] = data.position_lower[i], stop_upper[i] = data.position_upper[i];
    }
  }

  /// The gravity torque with the load, [N·m or N].
  Vector gravity(const Vector& at) {
    return scale * gravity_(at, at).col(0) + 9.81 * load * jacobian_(at, at).row(2).transpose();
  }
  /// The gravity torque of the model, which the load is no part of.
  Vector model_gravity(const Vector& at) { return gravity_(at, at).col(0); }
  /// M with rotors and load.
  Eigen::MatrixXd inertia(const Vector& at) {
    Eigen::MatrixXd M = mass_(at, at);
    M = scale * M;
    M.diagonal() += rotor;
    if (load > 0.0) {
      const Eigen::MatrixXd J = jacobian_(at, at).topRows(3);
      M.noalias() += load * J.transpose() * J;
    }
    return M;
  }

  /// Let time pass under constant efforts, the motor's and others' [N·m or N].
  void move(const Vector& effort, const Vector& external, double dt) {
    const int fewest = 1 + static_cast<int>(dt / 1.001e-3);
    const int needed = static_cast<int>(qd.cwiseAbs().maxCoeff() * dt / kStep);
    const int steps = std::max(fewest, std::min(needed, 20 * fewest));
    if (driven_.size() == 0 || lag == 0.0) driven_ = effort;
    for (int k = 0; k < steps; ++k) {
      driven_ += (1.0 - std::exp(-dt / steps / std::max(lag, 1e-12))) * (effort - driven_);
      step(driven_ + external, dt / steps);
    }
  }

  const int n;
  Vector q, qd;
  Vector rotor;                    ///< [kg·m² or kg] What the rotors have beyond the model.
  double scale = 1.0;              ///< Of all masses of the model.
  double load = 0.0;               ///< [kg]
  double lag = 0.0;                ///< [s] The time constant of the drives' effort.
  Vector stop_lower, stop_upper;   ///< [rad or m]

 private:
  static bool has(const std::shared_ptr<const thunder::Library>& library, const std::string& name) {
    const thunder_library& data = library->data();
    return std::any_of(data.functions, data.functions + data.n_functions,
                       [&](const thunder_function& function) { return function.name == name; });
  }

  /// D for which D q̇ is the friction now.
  Vector friction() {
    if (!model_friction_) return friction_;
    const Vector speed = qd.cwiseAbs().cwiseMax(kSlow);
    return friction_ + (*model_friction_)(q, speed).col(0).cwiseQuotient(speed);
  }

  /// q̇⁺ = q̇ + h (M + h D)⁻¹ (τ − C q̇ − G − D q̇), q⁺ = q + h (q̇ + q̇⁺)/2: friction is that of the end of the step.
  void step(const Vector& torque, double h) {
    const Vector D = friction();
    Eigen::MatrixXd M = inertia(q);
    Vector bias = scale * (coriolis_(q, qd) * qd + gravity_(q, qd).col(0));
    if (load > 0.0) {
      const Eigen::MatrixXd J = jacobian_(q, qd).topRows(3);
      Eigen::Vector3d acceleration = jacobian_dot_(q, qd).topRows(3) * qd;
      acceleration.z() += 9.81;
      bias.noalias() += load * J.transpose() * acceleration;
    }
    M.diagonal() += h * D;
    const Vector change = h * M.llt().solve(torque - bias - D.cwiseProduct(qd));
    const Vector next = (qd + change).cwiseMax(-fastest_).cwiseMin(fastest_);
    q += 0.5 * h * (qd + next);
    qd = next;
    for (int i = 0; i < n; ++i) {
      if (q[i] > stop_upper[i]) q[i] = stop_upper[i], qd[i] = std::min(qd[i], 0.0);
      if (q[i] < stop_lower[i]) q[i] = stop_lower[i], qd[i] = std::max(qd[i], 0.0);
    }
  }

  static constexpr double kSlow = 1e-4;  ///< [rad/s or m/s] below which friction is viscous

  MatrixFunction mass_, coriolis_, gravity_, jacobian_, jacobian_dot_;
  std::optional<MatrixFunction> model_friction_;
  Vector friction_, fastest_;
  Vector driven_;  ///< [N·m or N] What the drives give.
};

}  // namespace test
