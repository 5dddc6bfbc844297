// SPDX-License-Identifier: Apache-2.0
#include "adaptive_controller.hpp"

#include <chrono>
#include <limits>
#include <mutex>
#include <pluginlib/class_list_macros.hpp>
#include <utility>

#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {
namespace {

using Lock = std::lock_guard<thunder::PriorityMutex>;

/// An interface that another thread holds right now is not waited for,
constexpr unsigned int kTries = 1;
/// unless there is no next update.
constexpr unsigned int kTransitionTries = 100;
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
    ParametersOfNode& parameters = *get_node()->get_node_parameters_interface();
    corrected_ = correct_parameters(parameters);
    declare_reals(parameters, [&] {
      listener_ = std::make_shared<thunder_adaptive_controller::ParamListener>(get_node());
      options_ = declare_options(parameters);
    });
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
  if (!wiring_) return names;
  for (const std::string& joint : wiring_->session().configuration().joints) names.push_back(joint + "/" + interface);
  return names;
}

controller_interface::InterfaceConfiguration AdaptiveController::command_interface_configuration() const {
  return {controller_interface::interface_configuration_type::INDIVIDUAL, interface_names("effort")};
}

controller_interface::InterfaceConfiguration AdaptiveController::state_interface_configuration() const {
  std::vector<std::string> names = interface_names("position");
  for (const std::string& name : interface_names("velocity")) names.push_back(name);
  if (!clock_interface_.empty()) names.push_back(clock_interface_);
  return {controller_interface::interface_configuration_type::INDIVIDUAL, names};
}

AdaptiveController::CallbackReturn AdaptiveController::on_configure(const State&) {
  return attempt("configure", [this] {
    auto wiring = std::make_unique<Wiring>(get_node(), listener_, get_update_rate());
    const thunder::Configuration& made = wiring->session().configuration();
    RCLCPP_INFO(get_node()->get_logger(), "%s: law %s of %s, adapts %s", made.robot().c_str(), made.law.c_str(),
                made.library->path().c_str(), thunder::join(made.links).c_str());
    for (const thunder::Note& note : wiring->session().notes()) {
      RCLCPP_WARN(get_node()->get_logger(), "%s", note.text.c_str());
    }
    board_->set_source(wiring->diagnostics());
    const Lock lock(in_use_);
    clock_interface_ = listener_->get_params().measurement_clock;
    exports_states_ = listener_->get_params().exports_states;
    const double keep_alive = 0.5 * wiring->session().options().reference_timeout;
    chain_ = std::make_unique<Chain>(get_node()->get_name(), made, keep_alive);
    for (auto* values : {&q_, &qd_, &effort_}) values->assign(made.joints.size(), kNaN);
    wiring_ = std::move(wiring);
  });
}

Chain::References AdaptiveController::on_export_reference_interfaces_list() {
  return chain_ ? chain_->references() : Chain::References{};
}

Chain::States AdaptiveController::on_export_state_interfaces_list() {
  return chain_ && exports_states_ ? chain_->states() : Chain::States{};
}

AdaptiveController::CallbackReturn AdaptiveController::on_activate(const State&) {
  return attempt("activate", [this] {
    const Parameters parameters = listener_->get_params();
    const Lock lock(in_use_);
    if (parameters.zero_start && parameters.safe_start) {
      throw thunder::HostError(thunder::ErrorKind::law, "is true beside zero_start", "parameter safe_start",
                              "one of them");
    }
    fixed_period_ = parameters.fixed_period ? 1.0 / get_update_rate() : 0.0;
    read_states(kTransitionTries);
    for (std::size_t i = 0; i < effort_.size(); ++i) {
      const double held = parameters.safe_start ? kNaN : command_interfaces_[i].get_optional<double>().value_or(kNaN);
      effort_[i] = parameters.zero_start ? 0.0 : held;  // the session takes the safe effort for NaN
    }
    wiring_->session().freeze_adaptation(parameters.freeze_on_start);
    wiring_->session().set_chained(is_in_chained_mode());
    chain_->restart();
    wiring_->session().activate(q_.data(), qd_.data(), effort_.data(), parameters.max_activation_error);
  });
}

AdaptiveController::CallbackReturn AdaptiveController::on_deactivate(const State&) {
  const Lock lock(in_use_);
  const std::string fault = has_given_up() ? wiring_->session().fault() : "";
  const auto result = attempt("deactivate", [this] {
    wiring_->session().set_chained(false);
    wiring_->session().deactivate(effort_.data());
    write_commands(kTransitionTries);
  });
  if (!fault.empty()) board_->set_message("deactivated: " + fault);
  return result;
}

AdaptiveController::CallbackReturn AdaptiveController::on_cleanup(const State&) {
  board_->set_source({});
  std::unique_ptr<Wiring> closed;
  const Lock lock(in_use_);
  closed.swap(wiring_);
  chain_.reset();
  return CallbackReturn::SUCCESS;
}

AdaptiveController::CallbackReturn AdaptiveController::on_shutdown(const State& previous) {
  return board_ ? on_cleanup(previous) : CallbackReturn::SUCCESS;
}

AdaptiveController::CallbackReturn AdaptiveController::on_error(const State& previous) { return on_shutdown(previous); }

void AdaptiveController::read_states(unsigned int tries) {
  const std::size_t n = q_.size();
  bool is_complete = true;
  for (std::size_t i = 0; i < n; ++i) {
    const auto position = state_interfaces_[i].get_optional<double>(tries);
    const auto velocity = state_interfaces_[n + i].get_optional<double>(tries);
    q_[i] = position.value_or(kNaN);
    qd_[i] = velocity.value_or(kNaN);
    is_complete = is_complete && position && velocity;
  }
  if (!clock_interface_.empty()) {
    const auto clock = state_interfaces_[2 * n].get_optional<double>(tries);
    clock_ = clock.value_or(kNaN);
    is_complete = is_complete && clock;
  }
  if (!is_complete) ++wiring_->faults().unreadable_states;
}

void AdaptiveController::write_commands(unsigned int tries) {
  bool is_complete = true;
  for (std::size_t i = 0; i < effort_.size(); ++i) {
    is_complete = command_interfaces_[i].set_value(effort_[i], tries) && is_complete;
  }
  if (!is_complete) ++wiring_->faults().refused_commands;
}

/// Whether an arm with a fault has been braked to rest, which the host never ends by itself.
bool AdaptiveController::has_given_up() const noexcept {
  return wiring_->session().has_fault() && wiring_->session().has_stopped();
}

controller_interface::return_type AdaptiveController::update_and_write_commands(const rclcpp::Time& time,
                                                                                const rclcpp::Duration& period) {
  const std::unique_lock<thunder::PriorityMutex> lock(in_use_, std::try_to_lock);
  if (!lock.owns_lock() || !wiring_ || !wiring_->session().is_active()) return controller_interface::return_type::OK;
  read_states(kTries);
  const double dt = fixed_period_ > 0.0 ? fixed_period_ : period.seconds();
  if (const auto* sample = is_in_chained_mode() ? chain_->read(dt) : nullptr) wiring_->session().try_stream(*sample);
  wiring_->session().update(time.nanoseconds(), q_.data(), qd_.data(), dt, effort_.data(),
                            clock_interface_.empty() ? nullptr : &clock_);
  write_commands(kTries);
  if (exports_states_) chain_->show(wiring_->session().last());
  // The controller manager deactivates a controller that returns an error: braked to rest, and for nothing else.
  return has_given_up() ? controller_interface::return_type::ERROR : controller_interface::return_type::OK;
}

}  // namespace thunder_controllers

PLUGINLIB_EXPORT_CLASS(thunder_controllers::AdaptiveController, controller_interface::ChainableControllerInterface)
