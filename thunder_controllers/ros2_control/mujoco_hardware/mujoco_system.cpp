// SPDX-License-Identifier: Apache-2.0
#include "mujoco_system.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/rclcpp.hpp>
#include <tuple>

#include "description.hpp"
#include "plant/error.hpp"

namespace thunder_controllers {
namespace {

using hardware_interface::return_type;

constexpr std::chrono::seconds kReportPeriod{1};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool contains(const std::vector<std::string>& names, const std::string& name) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

MujocoSystem::CallbackReturn MujocoSystem::on_init(const hardware_interface::HardwareComponentInterfaceParams& params) {
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
  try {
    plant_ = std::make_unique<thunder::MujocoPlant>(options_of(info_));
  } catch (const thunder::PlantError& error) {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  if (!get_node()) return CallbackReturn::SUCCESS;  // there is no executor: nothing is reported
  reporting_ = get_node()->create_wall_timer(kReportPeriod, [refused = refused_, logger = get_logger()] {
    const auto count = static_cast<unsigned long long>(refused->exchange(0));
    if (count == 0) return;
    RCLCPP_ERROR(logger, "%llu commands were not finite, or beyond reason: the arm was without command", count);
  });
  return CallbackReturn::SUCCESS;
}

MujocoSystem::CallbackReturn MujocoSystem::on_configure(const State& /*previous*/) {
  joints_.clear();
  for (const auto& joint : info_.joints) {
    const std::string& name = joint.name;
    joints_.push_back({get_state_interface_handle(name + "/position"), get_state_interface_handle(name + "/velocity"),
                       get_state_interface_handle(name + "/effort"), get_command_interface_handle(name + "/effort")});
  }
  command_.resize(joints_.size());
  plant_->reset();
  is_lost_ = is_claimed_ = false;
  publish_state();
  forget_commands();
  return CallbackReturn::SUCCESS;
}

MujocoSystem::CallbackReturn MujocoSystem::on_deactivate(const State& /*previous*/) {
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

return_type MujocoSystem::prepare_command_mode_switch(const Names& start, const Names& stop) {
  const std::size_t commanded = commanded_after(start, stop);
  if (commanded == 0 || commanded == joints_.size()) return return_type::OK;
  RCLCPP_ERROR(get_logger(), "switch of controllers: it would command %zu of %zu joints (valid: all, or none)",
               commanded, joints_.size());
  return return_type::ERROR;
}

return_type MujocoSystem::perform_command_mode_switch(const Names& start, const Names& stop) {
  const auto starts = [&start](const Joint& joint) { return contains(start, joint.command->get_name()); };
  const bool was_claimed = is_claimed_;
  is_claimed_ = commanded_after(start, stop) == joints_.size();
  if (std::none_of(joints_.begin(), joints_.end(), starts)) return return_type::OK;
  // The interfaces still hold what the controller before has written. From one controller to the next it acts for the
  // rest of this cycle, so that an arm in motion feels no brakes; after a pause it must not act at all.
  is_handover_ = was_claimed;
  if (!was_claimed) forget_commands();
  return return_type::OK;
}

/// How many joints controllers command after a switch; interfaces of other hardware are ignored.
std::size_t MujocoSystem::commanded_after(const Names& start, const Names& stop) const noexcept {
  const auto is_commanded = [&](const Joint& joint) {
    const std::string& name = joint.command->get_name();
    return contains(start, name) || (is_claimed_ && !contains(stop, name));
  };
  return static_cast<std::size_t>(std::count_if(joints_.begin(), joints_.end(), is_commanded));
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
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const thunder::JointState now = plant_->state(i);
    std::ignore = joints_[i].position->set_value(now.position);
    std::ignore = joints_[i].velocity->set_value(now.velocity);
    std::ignore = joints_[i].effort->set_value(now.effort);
  }
}

/// From here to the first command NaN means that there is none yet, and the arm is left without.
void MujocoSystem::forget_commands() {
  is_commanded_ = is_handover_ = false;
  std::fill(command_.begin(), command_.end(), kNaN);
  for (const Joint& joint : joints_) std::ignore = joint.command->set_value(kNaN);
}

/// A busy handle keeps the command of the cycle before.
void MujocoSystem::apply_commands() {
  if (!is_claimed_) {
    plant_->idle();
    return;
  }
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    command_[i] = joints_[i].command->get_optional().value_or(command_[i]);
  }
  const bool is_taken = plant_->command(command_.data());
  if (!is_taken) plant_->idle();
  if (!is_taken && is_commanded_) ++*refused_;
  is_commanded_ = is_commanded_ || is_taken;
  if (is_handover_) forget_commands();
}

void MujocoSystem::stop() {
  is_claimed_ = false;
  plant_->idle();
}

}  // namespace thunder_controllers

PLUGINLIB_EXPORT_CLASS(thunder_controllers::MujocoSystem, hardware_interface::SystemInterface)
