// SPDX-License-Identifier: Apache-2.0
#include "adaptive_controller.hpp"

#include <chrono>
#include <limits>
#include <mutex>
#include <pluginlib/class_list_macros.hpp>

namespace thunder_controllers {
namespace {

using Lock = std::lock_guard<realtime_tools::prio_inherit_mutex>;

/// An interface that another thread holds right now is not waited for,
constexpr unsigned int kTries = 1;
/// unless there is no next update.
constexpr unsigned int kTransitionTries = 100;
constexpr const char* kRunaway =
    "deactivated: the arm ran away: joints beyond their velocity limits for longer than velocity_patience";
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

template <class Action>
AdaptiveController::CallbackReturn AdaptiveController::attempt(const char* name, Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    const std::string message = std::string(name) + " refused: " + error.what();
    RCLCPP_ERROR(get_node()->get_logger(), "%s", message.c_str());
    if (board_) board_->set_message(message);
    return CallbackReturn::FAILURE;
  }
  board_->set_message("");
  return CallbackReturn::SUCCESS;
}

AdaptiveController::CallbackReturn AdaptiveController::on_init() {
  const auto result = attempt("init", [this] {
    listener_ = std::make_shared<thunder_adaptive_controller::ParamListener>(get_node());
    board_ = std::make_shared<DiagnosticsBoard>(get_node());
    const std::chrono::duration<double> period(1.0 / listener_->get_params().diagnostics_rate);
    reporting_ = get_node()->create_wall_timer(period, [weak = std::weak_ptr<DiagnosticsBoard>(board_)] {
      if (const auto board = weak.lock()) board->publish();
    });
  });
  return result == CallbackReturn::SUCCESS ? result : CallbackReturn::ERROR;
}

std::vector<std::string> AdaptiveController::interface_names(const char* interface) const {
  std::vector<std::string> names;
  if (!session_) return names;
  for (const std::string& joint : session_->core().configuration().joints) names.push_back(joint + "/" + interface);
  return names;
}

controller_interface::InterfaceConfiguration AdaptiveController::command_interface_configuration() const {
  return {controller_interface::interface_configuration_type::INDIVIDUAL, interface_names("effort")};
}

controller_interface::InterfaceConfiguration AdaptiveController::state_interface_configuration() const {
  std::vector<std::string> names = interface_names("position");
  for (const std::string& name : interface_names("velocity")) names.push_back(name);
  return {controller_interface::interface_configuration_type::INDIVIDUAL, names};
}

AdaptiveController::CallbackReturn AdaptiveController::on_configure(const State&) {
  return attempt("configure", [this] {
    const std::shared_ptr<Session> opened = Session::open(get_node(), listener_, get_update_rate());
    const Lock lock(in_use_);
    session_ = opened;
    board_->set_session(session_);
    const Configuration& made = session_->core().configuration();
    RCLCPP_INFO(get_node()->get_logger(), "%s: law %s of %s, adapts %s", made.library->data().robot, made.law.c_str(),
                made.library->path().c_str(), thunder::join(made.links).c_str());
  });
}

AdaptiveController::CallbackReturn AdaptiveController::on_activate(const State&) {
  return attempt("activate", [this] {
    const Parameters parameters = listener_->get_params();
    const Lock lock(in_use_);
    read_states(kTransitionTries);
    session_->core().activate(held_effort(parameters.zero_start), parameters.max_activation_error,
                              parameters.freeze_on_start);
  });
}

AdaptiveController::CallbackReturn AdaptiveController::on_deactivate(const State&) {
  const Lock lock(in_use_);
  const bool has_given_up = session_->core().has_given_up();
  const auto result =
      attempt("deactivate", [this] { write_commands(session_->core().deactivate(), kTransitionTries); });
  if (has_given_up) board_->set_message(kRunaway);
  return result;
}

AdaptiveController::CallbackReturn AdaptiveController::on_cleanup(const State&) {
  board_->set_session(nullptr);
  std::shared_ptr<Session> closed;
  {
    const Lock lock(in_use_);
    closed.swap(session_);
  }
  if (closed) closed->close();
  return CallbackReturn::SUCCESS;
}

AdaptiveController::CallbackReturn AdaptiveController::on_shutdown(const State& previous) {
  if (board_) on_cleanup(previous);
  return CallbackReturn::SUCCESS;
}

AdaptiveController::CallbackReturn AdaptiveController::on_error(const State& previous) { return on_shutdown(previous); }

std::vector<double> AdaptiveController::held_effort(bool zero_start) const {
  std::vector<double> effort;
  for (const auto& interface : command_interfaces_) {
    effort.push_back(zero_start ? 0.0 : interface.get_optional<double>().value_or(kNaN));
  }
  return effort;
}

void AdaptiveController::read_states(unsigned int tries) {
  ControlCore& core = session_->core();
  const std::size_t n = state_interfaces_.size() / 2;
  bool is_complete = true;
  for (std::size_t i = 0; i < n; ++i) {
    const auto position = state_interfaces_[i].get_optional<double>(tries);
    const auto velocity = state_interfaces_[n + i].get_optional<double>(tries);
    core.q()[i] = position.value_or(kNaN);
    core.qd()[i] = velocity.value_or(kNaN);
    is_complete = is_complete && position && velocity;
  }
  if (!is_complete) core.count_unreadable_state();
}

void AdaptiveController::write_commands(const double* effort, unsigned int tries) {
  bool is_complete = true;
  for (std::size_t i = 0; i < command_interfaces_.size(); ++i) {
    is_complete = command_interfaces_[i].set_value(effort[i], tries) && is_complete;
  }
  if (!is_complete) session_->core().count_refused_command();
}

controller_interface::return_type AdaptiveController::update(const rclcpp::Time& time, const rclcpp::Duration& period) {
  const std::unique_lock<realtime_tools::prio_inherit_mutex> lock(in_use_, std::try_to_lock);
  if (!lock.owns_lock() || !session_ || !session_->core().is_active()) return controller_interface::return_type::OK;
  ControlCore& core = session_->core();
  read_states(kTries);
  write_commands(core.update(time.nanoseconds(), period.seconds()), kTries);
  core.publish();
  // The controller manager deactivates a controller that returns an error: braked to rest, and for nothing else.
  return core.has_given_up() ? controller_interface::return_type::ERROR : controller_interface::return_type::OK;
}

}  // namespace thunder_controllers

PLUGINLIB_EXPORT_CLASS(thunder_controllers::AdaptiveController, controller_interface::ControllerInterface)
