// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/dry_run.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <utility>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/measurement.hpp"

namespace thunder {
namespace {

bool has(const thunder_library& library, const char* name) noexcept {
  return std::any_of(library.functions, library.functions + library.n_functions,
                     [name](const thunder_function& one) { return std::string_view(one.name) == name; });
}

}  // namespace

DryRun::Term::Term(const std::shared_ptr<const Library>& library, const std::string& name, const DryRun& run)
    : evaluator(library, name) {
  const thunder_function& function = evaluator.function();
  for (int i = 0; i < function.n_in; ++i) {
    const std::string_view input = function.in[i].name;
    if (input == "q") evaluator.set_input(i, run.q_.data());
    if (input == "dq") evaluator.set_input(i, run.qd_.data());
  }
}

std::unique_ptr<DryRun> DryRun::make(const std::shared_ptr<const Library>& library, const thunder_law& law,
                                     const Options& options, const Limits& limits) {
  const thunder_library& data = library->data();
  if (!has(data, "M") || !has(data, "C") || !has(data, "G")) return nullptr;
  return std::unique_ptr<DryRun>(new DryRun(library, law, options, limits));
}

DryRun::DryRun(const std::shared_ptr<const Library>& library, const thunder_law& law, const Options& options,
               const Limits& limits)
    : options_(options),
      law_(library, law, {}),
      arm_(library),
      felt_(options, limits),
      stops_(arm_, felt_, options, limits),
      limiter_(limits.effort, limits.effort_rate, options.nominal_dt),
      shortfall_(limits.effort),
      measurements_(default_values(law.measurements)),
      q_(static_cast<std::size_t>(library->n_joints())),
      qd_(q_),
      effort_(q_),
      wanted_(q_),
      command_(q_),
      bias_(q_) {
  const thunder_library& data = library->data();
  const auto term = [&](const char* name) { return std::make_unique<Term>(library, name, *this); };
  inertia_ = term(has(data, "M_rigid") ? "M_rigid" : "M");
  coriolis_ = term("C");
  gravity_ = term("G");
  if (has(data, "dl")) friction_ = term("dl");
}

void DryRun::begin(const double* q, const double* qd, std::vector<double> gains) {
  gains_ = std::move(gains);
  law_.reset(false);
  std::copy_n(q, q_.size(), q_.begin());
  std::copy_n(qd, qd_.size(), qd_.begin());
  const double* gravity = gravity_->find();
  for (std::size_t i = 0; i < q_.size(); ++i) {
    effort_[i] = gravity ? gravity[i] : 0.0;
    command_[i] = options_.gravity_compensated_by_robot ? 0.0 : effort_[i];
  }
  limiter_.restart(command_.data());
  shortfall_.restart();
  stops_.restart(q_.data());
}

bool DryRun::step(const double* reference) noexcept {
  const LawInputs inputs{q_.data(),  qd_.data(),    effort_.data(), measurements_.data(),
                         reference, gains_.data(), period(),       false};
  const double* gravity = gravity_->find();
  if (!gravity || !law_.step(inputs)) return false;
  law_.commit(false);
  const double by_robot = options_.gravity_compensated_by_robot ? 1.0 : 0.0;
  for (std::size_t i = 0; i < q_.size(); ++i) {
    command_[i] = law_.effort()[i] - by_robot * gravity[i];
    bias_[i] = (1.0 - by_robot) * gravity[i];
  }
  wanted_ = command_;
  if ((stops_.apply(q_.data(), qd_.data(), bias_.data(), false, command_.data()) & kResultNonFinite) != 0) return false;
  limiter_.apply(command_.data(), period(), command_.data());
  falls_short_ = shortfall_.update(wanted_.data(), command_.data(), period());
  for (std::size_t i = 0; i < q_.size(); ++i) effort_[i] = command_[i] + by_robot * gravity[i];
  return accelerate(gravity);
}

bool DryRun::accelerate(const double* gravity) noexcept {
  const auto n = static_cast<Eigen::Index>(q_.size());
  const double *inertia = inertia_->find(), *coriolis = coriolis_->find();
  const double* friction = friction_ ? friction_->find() : gravity;
  if (!inertia || !coriolis || !friction) return false;
  using Vector = Eigen::Map<const Eigen::VectorXd>;
  Eigen::Map<Eigen::VectorXd> q(q_.data(), n), qd(qd_.data(), n);
  Eigen::VectorXd left = Vector(effort_.data(), n) - Vector(gravity, n);
  left -= Eigen::Map<const Eigen::MatrixXd>(coriolis, n, n) * qd;
  if (friction_) left -= Vector(friction, n);
  qd += period() * Eigen::Map<const Eigen::MatrixXd>(inertia, n, n).ldlt().solve(left);
  q += period() * qd;
  return q.allFinite() && qd.allFinite();
}

}  // namespace thunder
