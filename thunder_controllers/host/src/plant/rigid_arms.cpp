// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/plant/rigid_arms.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "../library/blocks.hpp"

namespace thunder {
namespace {

/// Of Runge–Kutta: where in the step a stage looks, and its weight, in sixths.
struct Stage {
  double ahead;
  double weight;
};
constexpr Stage kStages[] = {{0.0, 1.0}, {0.5, 2.0}, {0.5, 2.0}, {1.0, 1.0}};

/// To 2e-16, of 1: a third of the time of std::tanh, which is as good near zero too.
double saturation(double x) noexcept {
  return std::copysign(1.0 - 2.0 / (std::exp(2.0 * std::abs(x)) + 1.0), x);
}

}  // namespace

RigidArms::InLanes::InLanes(const thunder_function& of, std::size_t width)
    : function(of),
      eval(of.eval_lanes != nullptr ? of.eval_lanes : of.eval),
      arguments(static_cast<std::size_t>(of.n_in)),
      result(aligned(width * size_of(of.out[0]))),
      iw(static_cast<std::size_t>(of.size_iw)),
      w(aligned(width * static_cast<std::size_t>(of.size_w))) {}

void RigidArms::InLanes::set(const char* name, const double* values) noexcept {
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (std::string_view(function.in[k].name) == name) arguments[k] = values;
  }
}

const double* RigidArms::InLanes::evaluate() noexcept {
  double* results[] = {result.get()};
  eval(arguments.data(), results, iw.data(), w.get(), 0);
  return result.get();
}

RigidArms::RigidArms(std::shared_ptr<const Library> library, ArmProperties properties, double smoothing, double longest)
    : library_(std::move(library)),
      properties_(std::move(properties)),
      smoothing_(smoothing),
      longest_(longest),
      n_(static_cast<std::size_t>(library_->n_joints())),
      width_(static_cast<std::size_t>(std::max(1, library_->lanes()))),
      forward_(library_->function("forward_dynamics"), width_),
      inverse_(library_->function("M_inv"), width_),
      parts_(aligned(width_)),
      h_(aligned(width_)) {
  for (Aligned* values : {&rotors_, &offsets_, &coulomb_, &damping_, &effort_, &torque_, &q_, &qd_}) {
    *values = aligned(n_ * width_);
  }
  for (Aligned* values : {&rate_, &at_, &change_}) *values = aligned(2 * n_ * width_);
  for (std::size_t k = 0; k < properties_.viscous.size(); ++k) viscous_.push_back(aligned(n_ * width_));
  bodies_ = aligned(10 * n_ * width_);
  for (InLanes* function : {&forward_, &inverse_}) {
    function->set("par_DYN", bodies_.get());
    function->set("par_Ia", rotors_.get());
  }
  forward_.set("tau", torque_.get());
}

/// Rows of the block's arms to lanes; the last one fills what is left.
void RigidArms::take(Rows rows, std::size_t size, double* to) const {
  transpose(rows.data + first_ * rows.stride, filled_, size, rows.stride, to, width_);
  for (std::size_t i = filled_; i < width_; ++i) {
    transpose(rows.data + (first_ + filled_ - 1) * rows.stride, 1, size, rows.stride, to + i, width_);
  }
}

void RigidArms::give(const double* from, RowsOut<double> rows) const {
  transpose(from, n_, filled_, width_, rows.data + first_ * rows.stride, rows.stride);
}

/// Take the properties of the arms from `first` on.
void RigidArms::begin(std::size_t first) {
  first_ = first;
  filled_ = std::min(width_, properties_.count - first);
  take(properties_.bodies, 10 * n_, bodies_.get());
  take(properties_.rotors, n_, rotors_.get());
  take(properties_.offsets, n_, offsets_.get());
  take(properties_.coulomb, n_, coulomb_.get());
  for (std::size_t k = 0; k < viscous_.size(); ++k) take(properties_.viscous[k], n_, viscous_[k].get());
  is_damped_ = false;
  for (std::size_t i = 0; i < n_ * width_; ++i) {
    damping_[i] = coulomb_[i] / smoothing_ + (viscous_.empty() ? 0.0 : viscous_[0][i]);
    is_damped_ = is_damped_ || damping_[i] != 0.0;
  }
}

void RigidArms::advance(RowsOut<double> q, RowsOut<double> qd, Rows effort, double step, std::size_t steps) {
  for (std::size_t first = 0; first < properties_.count; first += width_) {
    begin(first);
    take({q.data, q.stride}, n_, q_.get());
    take({qd.data, qd.stride}, n_, qd_.get());
    take(effort, n_, effort_.get());
    for (std::size_t k = 0; k < steps; ++k) this->step(step);
    give(q_.get(), q);
    give(qd_.get(), qd);
  }
}

void RigidArms::accelerate(Rows q, Rows qd, Rows effort, RowsOut<double> qdd) {
  for (std::size_t first = 0; first < properties_.count; first += width_) {
    begin(first);
    take(q, n_, q_.get());
    take(qd, n_, qd_.get());
    take(effort, n_, effort_.get());
    give(acceleration(q_.get(), qd_.get()), qdd);
  }
}

void RigidArms::count_parts(Rows q, double step, RowsOut<double> parts) {
  for (std::size_t first = 0; first < properties_.count; first += width_) {
    begin(first);
    take(q, n_, q_.get());
    find_parts(q_.get(), step);
    for (std::size_t i = 0; i < filled_; ++i) parts.data[(first_ + i) * parts.stride] = parts_[i];
  }
}

/// An arm whose step has fewer parts than those of others waits in theirs.
void RigidArms::step(double step) {
  const double most = find_parts(q_.get(), step);
  for (double part = 0.0; part < most; part += 1.0) {
    for (std::size_t i = 0; i < width_; ++i) h_[i] = part < parts_[i] ? step / parts_[i] : 0.0;
    integrate();
  }
}

/// The parts of each arm's step; the most of them. Frobenius' norm is no less than the largest eigenvalue, and little
/// more, as one joint is the fastest by far.
double RigidArms::find_parts(const double* q, double step) noexcept {
  std::fill_n(parts_.get(), width_, 1.0);
  if (!is_damped_) return 1.0;
  inverse_.set("q", q);
  const double* inverse = inverse_.evaluate();
  double most = 1.0;
  for (std::size_t lane = 0; lane < width_; ++lane) {
    double squares = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        const double element = inverse[(i + n_ * j) * width_ + lane];
        squares += damping_[i * width_ + lane] * element * element * damping_[j * width_ + lane];
      }
    }
    const double parts = std::ceil(step * std::sqrt(squares) / longest_);
    if (std::isfinite(parts)) parts_[lane] = std::max(1.0, parts);
    most = std::max(most, parts_[lane]);
  }
  return most;
}

/// From (q, qd) on by h.
void RigidArms::integrate() {
  const std::size_t size = n_ * width_;
  std::fill_n(rate_.get(), 2 * size, 0.0);
  std::fill_n(change_.get(), 2 * size, 0.0);
  double* const at_rates = at_.get() + size;
  for (const Stage& stage : kStages) {
    for (std::size_t i = 0; i < size; ++i) {
      const double ahead = stage.ahead * h_[i % width_];
      at_[i] = q_[i] + ahead * rate_[i];
      at_rates[i] = qd_[i] + ahead * rate_[size + i];
    }
    const double* qdd = acceleration(at_.get(), at_rates);
    std::copy_n(at_rates, size, rate_.get());
    std::copy_n(qdd, size, rate_.get() + size);
    for (std::size_t i = 0; i < 2 * size; ++i) change_[i] += stage.weight * rate_[i];
  }
  for (std::size_t i = 0; i < size; ++i) {
    q_[i] += h_[i % width_] / 6.0 * change_[i];
    qd_[i] += h_[i % width_] / 6.0 * change_[size + i];
  }
}

const double* RigidArms::acceleration(const double* q, const double* qd) noexcept {
  forward_.set("q", q);
  forward_.set("dq", qd);
  for (std::size_t i = 0; i < n_ * width_; ++i) {
    double& torque = torque_[i];
    torque = effort_[i] - offsets_[i];
    if (coulomb_[i] != 0.0) torque -= coulomb_[i] * saturation(qd[i] / smoothing_);
    double power = qd[i];
    for (const Aligned& coefficients : viscous_) {
      torque -= coefficients[i] * power;
      power *= std::abs(qd[i]);
    }
  }
  return forward_.evaluate();
}

}  // namespace thunder
