// SPDX-License-Identifier: Apache-2.0
#include "mujoco_system.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/logging.hpp>

#include "plant/parameters.hpp"
#include "plant/error.hpp"

namespace thunder_controllers {
namespace {

using hardware_interface::return_type;

constexpr std::chrono::milliseconds kReportPeriod{1000};

std::vector<std::string> names_of(const std::vector<hardware_interface::InterfaceInfo>& interfaces) {
  std::vector<std::string> names;
  for (const auto& interface : interfaces) names.push_back(interface.name);
  return names;
}

std::vector<thunder::JointInterfaces> interfaces_of(const hardware_interface::HardwareInfo& info) {
  std::vector<thunder::JointInterfaces> joints;
  for (const auto& joint : info.joints) {
    joints.push_back({joint.name, names_of(joint.command_interfaces), names_of(joint.state_interfaces)});
  }
  return joints;
}

/// Of the exported interfaces, those of one kind in the order of the joints.
template <typename Pointer>
std::vector<Pointer> in_order(const std::vector<Pointer>& exported, const std::vector<std::string>& joints,
                              const std::string& kind) {
  std::vector<Pointer> found;
  for (const std::string& joint : joints) {
    const std::string name = joint + "/" + kind;
    const auto is_it = [&name](const Pointer& interface) { return interface->get_name() == name; };
    found.push_back(*std::find_if(exported.begin(), exported.end(), is_it));
  }
  return found;
}

}  // namespace

MujocoSystem::CallbackReturn MujocoSystem::on_init(const hardware_interface::HardwareComponentInterfaceParams& params) {
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
  try {
    joints_ = thunder::checked_joints(interfaces_of(info_));
    const auto options = thunder::parse_parameters(info_.hardware_parameters, joints_);
    plant_ = std::make_unique<thunder::MujocoPlant>(options);
    claims_ = std::make_unique<thunder::EffortClaims>(joints_);
  } catch (const thunder::PlantError& error) {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  for (auto* values : {&position_, &velocity_, &effort_, &command_}) values->assign(joints_.size(), 0.0);
  return CallbackReturn::SUCCESS;
}

std::vector<hardware_interface::StateInterface::ConstSharedPtr> MujocoSystem::on_export_state_interfaces() {
  auto exported = SystemInterface::on_export_state_interfaces();
  positions_ = in_order(joint_states_, joints_, "position");
  velocities_ = in_order(joint_states_, joints_, "velocity");
  efforts_ = in_order(joint_states_, joints_, "effort");
  return exported;
}

std::vector<hardware_interface::CommandInterface::SharedPtr> MujocoSystem::on_export_command_interfaces() {
  auto exported = SystemInterface::on_export_command_interfaces();
  command_interfaces_ = in_order(joint_commands_, joints_, "effort");
  return exported;
}

MujocoSystem::CallbackReturn MujocoSystem::on_configure(const State& /*previous*/) {
  plant_->reset();
  is_lost_ = false;
  publish_state();
  forget_commands();
  return CallbackReturn::SUCCESS;
}

MujocoSystem::CallbackReturn MujocoSystem::on_activate(const State& /*previous*/) {
  forget_commands();
  reporter_ = std::make_unique<thunder::PeriodicThread>(kReportPeriod, [this] { log_refused_commands(); });
  return CallbackReturn::SUCCESS;
}

MujocoSystem::CallbackReturn MujocoSystem::on_deactivate(const State& /*previous*/) {
  stop();
  return CallbackReturn::SUCCESS;
}

MujocoSystem::CallbackReturn MujocoSystem::on_cleanup(const State& /*previous*/) {
  stop();
  return CallbackReturn::SUCCESS;
}

MujocoSystem::CallbackReturn MujocoSystem::on_shutdown(const State& /*previous*/) {
  stop();
  return CallbackReturn::SUCCESS;
}

MujocoSystem::CallbackReturn MujocoSystem::on_error(const State& /*previous*/) {
  if (is_lost_) {
    RCLCPP_ERROR(get_logger(),
                 "the state of the simulated arm is lost after %.3f s (valid: smaller efforts, or a finer time step of "
                 "the model file); configuring it again puts it back to its start",
                 plant_->time());
  }
  stop();
  return CallbackReturn::SUCCESS;
}

return_type MujocoSystem::prepare_command_mode_switch(const std::vector<std::string>& start,
                                                      const std::vector<std::string>& stop) {
  try {
    claims_->check(start, stop);
  } catch (const thunder::PlantError& error) {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return return_type::ERROR;
  }
  return return_type::OK;
}

return_type MujocoSystem::perform_command_mode_switch(const std::vector<std::string>& start,
                                                      const std::vector<std::string>& stop) {
  const bool was_commanded = claims_->are_complete();
  if (!claims_->apply(start, stop)) return return_type::OK;
  // The interfaces still hold what the controller before has written. From one controller to the next it acts for the
  // rest of this cycle, so that an arm in motion feels no brakes; after a pause it must not act at all.
  is_handover_ = was_commanded;
  if (!was_commanded) forget_commands();
  return return_type::OK;
}

return_type MujocoSystem::read(const rclcpp::Time& /*time*/, const rclcpp::Duration& /*period*/) {
  publish_state();
  return return_type::OK;
}

/// The measured period: cycles that the loop lost the arm has not stood still for.
return_type MujocoSystem::write(const rclcpp::Time& /*time*/, const rclcpp::Duration& period) {
  apply_commands();
  is_lost_ = !plant_->step(period.seconds());
  return is_lost_ ? return_type::ERROR : return_type::OK;
}

/// A busy handle keeps its last value until the next cycle.
void MujocoSystem::publish_state() {
  plant_->read(position_.data(), velocity_.data(), effort_.data());
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    static_cast<void>(positions_[i]->set_value(position_[i]));
    static_cast<void>(velocities_[i]->set_value(velocity_[i]));
    static_cast<void>(efforts_[i]->set_value(effort_[i]));
  }
}

/// From here to the first command NaN means that there is none yet, and the arm is left without.
void MujocoSystem::forget_commands() {
  is_commanded_ = is_handover_ = false;
  std::fill(command_.begin(), command_.end(), std::numeric_limits<double>::quiet_NaN());
  for (const auto& interface : command_interfaces_) {
    static_cast<void>(interface->set_value(std::numeric_limits<double>::quiet_NaN()));
  }
}

/// A busy handle keeps the command of the cycle before.
void MujocoSystem::read_commands() {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const auto value = command_interfaces_[i]->get_optional();
    if (value.has_value()) command_[i] = *value;
  }
}

void MujocoSystem::apply_commands() {
  if (!claims_->are_complete()) {
    plant_->idle();
    return;
  }
  read_commands();
  const bool is_taken = plant_->command(command_.data());
  if (!is_taken) plant_->idle();
  if (!is_taken && is_commanded_) refused_.fetch_add(1, std::memory_order_relaxed);
  is_commanded_ = is_commanded_ || is_taken;
  if (is_handover_) forget_commands();
}

void MujocoSystem::stop() {
  reporter_.reset();
  if (claims_) claims_->clear();
  if (plant_) plant_->idle();
}

void MujocoSystem::log_refused_commands() {
  const std::uint64_t refused = refused_.load(std::memory_order_relaxed);
  if (refused == reported_) return;
  RCLCPP_ERROR(get_logger(),
               "%llu commands were not finite, or beyond reason: the arm was without command (%llu since the start)",
               static_cast<unsigned long long>(refused - reported_), static_cast<unsigned long long>(refused));
  reported_ = refused;
}

}  // namespace thunder_controllers

PLUGINLIB_EXPORT_CLASS(thunder_controllers::MujocoSystem, hardware_interface::SystemInterface)
