// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <controller_interface/chainable_controller_interface.hpp>
#include <memory>
#include <string>
#include <vector>

#include "exchange/chain.hpp"
#include "outputs.hpp"
#include "parameters.hpp"
#include "thunder/host/priority_mutex.hpp"
#include "wiring.hpp"

namespace thunder_controllers {

/// The ros2_control plugin thunder_controllers/AdaptiveController: any law of a compiled library in effort mode.
///
/// A thin shell: everything that computes is the host's (thunder::ControlSession). docs/ros2-control.md says what users
/// see, names and parameters are those of the Python node.
class AdaptiveController : public controller_interface::ChainableControllerInterface {
 public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using State = rclcpp_lifecycle::State;

  /// Declare the parameters; ERROR, with the reason in the log, for a value out of bounds.
  CallbackReturn on_init() override;
  /// <joint>/effort.
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  /// <joint>/position of all joints, then <joint>/velocity, then the hardware's clock if a parameter names it.
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  /// Load library and law, declare the gains, open topics and services; FAILURE, with the reason in the log and on
  /// /diagnostics, for a wrong parameter.
  CallbackReturn on_configure(const State& previous) override;
  /// Start at the measured place; FAILURE with the reason. In the real-time thread, as on_deactivate is.
  CallbackReturn on_activate(const State& previous) override;
  /// Leave the safe effort in the command interfaces: no update follows that could ramp to it.
  CallbackReturn on_deactivate(const State& previous) override;
  CallbackReturn on_cleanup(const State& previous) override;
  CallbackReturn on_shutdown(const State& previous) override;
  CallbackReturn on_error(const State& previous) override;

  /// One step: states in, and the reference of a controller before this one, law, efforts out, and a copy of the step for
  /// those who publish it. Real-time safe: no
  /// allocation, no waiting for a lock, no log, no system call of its own. Does nothing, not even to the interfaces,
  /// during and after a transition that another thread makes: at the end of the process the controller manager
  /// deactivates and shuts down while its real-time thread goes on. What is wrong with a measurement makes the host
  /// ramp to the safe effort, and shows on /diagnostics. ERROR only where an arm that ran away has been braked to rest.
  controller_interface::return_type update_and_write_commands(const rclcpp::Time& time,
                                                              const rclcpp::Duration& period) override;

 protected:
  /// See Chain.
  Chain::References on_export_reference_interfaces_list() override;
  Chain::States on_export_state_interfaces_list() override;
  /// Subscribers give the session what they have.
  controller_interface::return_type update_reference_from_subscribers(const rclcpp::Time&,
                                                                      const rclcpp::Duration&) override {
    return controller_interface::return_type::OK;
  }

 private:
  template <class Action>
  CallbackReturn attempt(const char* name, Action action);
  void read_states(unsigned int tries);
  void write_commands(unsigned int tries);
  bool has_given_up() const noexcept;
  std::vector<std::string> interface_names(const char* interface) const;

  Listener listener_;
  ParameterCheck options_;  ///< refuses options out of bounds
  PreSetCallback corrected_;  ///< see correct_parameters
  std::shared_ptr<DiagnosticsBoard> board_;
  rclcpp::TimerBase::SharedPtr reporting_;
  std::unique_ptr<Wiring> wiring_;
  std::unique_ptr<Chain> chain_;  ///< as long as wiring_
  std::vector<double> q_, qd_, effort_;  ///< of an update; NaN where a state could not be read
  std::string clock_interface_;          ///< of the hardware, that says when it measured; empty: none
  bool exports_states_ = false;
  double clock_ = 0.0;                   ///< of an update, in the unit of the hardware
  double fixed_period_ = 0.0;            ///< of updates [s]; zero: the measured one
  thunder::PriorityMutex in_use_;        ///< between update, which only tries it, and transitions
};

}  // namespace thunder_controllers
