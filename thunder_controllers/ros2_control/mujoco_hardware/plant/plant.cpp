// SPDX-License-Identifier: Apache-2.0
#include "plant/plant.hpp"

#include <algorithm>
#include <cmath>

#include "plant/error.hpp"

namespace thunder {
namespace {

constexpr double kLongestStep = 0.1;  // [s] A loop that was away for longer finds the arm as if it had been away so long.

/// MuJoCo appends its warnings to a file, which a real-time step must not do; a lost state is noticed without them.
void drop_warning(const char*) {}

/// Whether MuJoCo takes the values: neither NaN nor beyond mjMAXVAL.
bool all_good(const double* values, std::size_t count) noexcept {
  return std::none_of(values, values + count, [](double value) { return mju_isBad(value) != 0; });
}

std::vector<double> checked_start(const PlantOptions& options, const mjModel& model,
                                  const std::vector<JointAddress>& joints) {
  if (options.start.empty()) return start_positions(model, joints);
  if (options.start.size() == joints.size() && all_good(options.start.data(), joints.size())) return options.start;
  throw PlantError(std::to_string(options.start.size()) + " values, or not finite", "q_start",
                   std::to_string(joints.size()) + " finite ones, or none");
}

}  // namespace

MujocoPlant::MujocoPlant(const PlantOptions& options)
    : model_(load_model(options.model)),
      data_(make_data(*model_, options.model)),
      scratch_(make_data(*model_, options.model)),
      joints_(find_joints(*model_, options.joints, options.model)),
      start_(checked_start(options, *model_, joints_)),
      bias_(static_cast<std::size_t>(model_->nv), 0.0),
      gravity_(joints_.size(), 0.0),
      command_(joints_.size(), 0.0),
      applied_(joints_.size(), 0.0),
      has_brakes_(options.brakes) {
  if (mju_user_warning == nullptr) mju_user_warning = drop_warning;
  if (options.gravity_compensation) {
    firmware_ = without_payloads(*model_, options.model);
    firmware_data_ = make_data(*firmware_, options.model);
  }
  reset();
}

void MujocoPlant::reset() noexcept {
  mj_resetData(model_.get(), data_.get());
  for (std::size_t i = 0; i < joints_.size(); ++i) data_->qpos[joints_[i].position] = start_[i];
  is_held_ = false;
  due_ = 0.0;
  idle();
}

void MujocoPlant::idle() noexcept {
  if (is_held_) return;
  std::fill(command_.begin(), command_.end(), 0.0);
  if (!has_brakes_) return;
  is_held_ = true;
  mju_zero(data_->qvel, model_->nv);
  compute_gravity(*model_, *scratch_, applied_);
  if (!firmware_) return;
  compute_gravity(*firmware_, *firmware_data_, gravity_);
  for (std::size_t i = 0; i < joints_.size(); ++i) applied_[i] -= gravity_[i];
}

bool MujocoPlant::command(const double* effort) noexcept {
  if (!all_good(effort, joints_.size())) return false;
  std::copy(effort, effort + joints_.size(), command_.begin());
  is_held_ = false;
  return true;
}

bool MujocoPlant::step(double time) noexcept {
  if (is_held_) return true;
  due_ = std::min(due_ + std::max(time, 0.0), kLongestStep);
  const auto steps = static_cast<int>(std::lround(due_ / timestep()));
  due_ -= steps * timestep();
  write_controls();
  for (int k = 0; k < steps; ++k) mj_step(model_.get(), data_.get());
  if (steps > 0) note_applied_effort();
  return is_good();
}

/// G(q) of a model at the position of the arm, at rest.
void MujocoPlant::compute_gravity(const mjModel& model, mjData& scratch, std::vector<double>& effort) noexcept {
  mju_copy(scratch.qpos, data_->qpos, model.nq);
  mj_kinematics(&model, &scratch);
  mj_comPos(&model, &scratch);
  mj_rne(&model, &scratch, 0, bias_.data());
  for (std::size_t i = 0; i < joints_.size(); ++i) effort[i] = bias_[static_cast<std::size_t>(joints_[i].velocity)];
}

/// The firmware's share is that of the beginning of the control period, like the command.
void MujocoPlant::write_controls() noexcept {
  if (firmware_) compute_gravity(*firmware_, *firmware_data_, gravity_);
  for (std::size_t i = 0; i < joints_.size(); ++i) data_->ctrl[joints_[i].motor] = command_[i] + gravity_[i];
}

void MujocoPlant::note_applied_effort() noexcept {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    applied_[i] = data_->qfrc_actuator[joints_[i].velocity] - gravity_[i];
  }
}

bool MujocoPlant::is_good() const noexcept {
  return std::all_of(joints_.begin(), joints_.end(), [this](const JointAddress& joint) {
    return all_good(data_->qpos + joint.position, 1) && all_good(data_->qvel + joint.velocity, 1);
  });
}

}  // namespace thunder
