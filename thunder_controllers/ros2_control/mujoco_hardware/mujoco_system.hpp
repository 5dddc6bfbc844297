// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <hardware_interface/system_interface.hpp>
#include <memory>
#include <string>
#include <vector>

#include "effort_claims.hpp"
#include "plant/plant.hpp"
#include "periodic_thread.hpp"

namespace thunder_controllers {

/// Hardware of ros2_control that is a MujocoPlant. Each write() advances it by one nominal control period.
///
/// Commands `<joint>/effort`, states `<joint>/position`, `/velocity` and `/effort` (what the motors applied). Hardware
/// parameters: see thunder::parse_parameters. on_init allocates all there is; read(), write() and
/// perform_command_mode_switch() neither allocate nor log nor block. What they notice is logged once a second by a
/// thread of its own.
class MujocoSystem : public hardware_interface::SystemInterface {
 public:
  using CallbackReturn = hardware_interface::CallbackReturn;
  using State = rclcpp_lifecycle::State;

  CallbackReturn on_init(const hardware_interface::HardwareComponentInterfaceParams& params) override;
  /// Puts the arm to its start.
  CallbackReturn on_configure(const State& previous) override;
  CallbackReturn on_activate(const State& previous) override;
  CallbackReturn on_deactivate(const State& previous) override;
  CallbackReturn on_cleanup(const State& previous) override;
  CallbackReturn on_shutdown(const State& previous) override;
  /// After a state that was lost: back to unconfigured, so that configuring starts the arm anew.
  CallbackReturn on_error(const State& previous) override;

  std::vector<hardware_interface::StateInterface::ConstSharedPtr> on_export_state_interfaces() override;
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_command_interfaces() override;

  /// Refuses a switch after which some joints would be commanded and some not.
  hardware_interface::return_type prepare_command_mode_switch(const std::vector<std::string>& start,
                                                              const std::vector<std::string>& stop) override;
  hardware_interface::return_type perform_command_mode_switch(const std::vector<std::string>& start,
                                                              const std::vector<std::string>& stop) override;

  hardware_interface::return_type read(const rclcpp::Time& time, const rclcpp::Duration& period) override;
  hardware_interface::return_type write(const rclcpp::Time& time, const rclcpp::Duration& period) override;

 private:
  void publish_state();
  void forget_commands();
  void read_commands();
  void apply_commands();
  void stop();
  void log_refused_commands();

  std::vector<std::string> joints_;
  std::unique_ptr<thunder::MujocoPlant> plant_;
  std::unique_ptr<thunder::EffortClaims> claims_;
  std::vector<hardware_interface::StateInterface::SharedPtr> positions_, velocities_, efforts_;
  std::vector<hardware_interface::CommandInterface::SharedPtr> command_interfaces_;
  std::vector<double> position_, velocity_, effort_, command_;
  bool is_commanded_ = false;              // a good command has come since the last switch
  bool is_handover_ = false;               // this cycle still has the commands of the controller before
  bool is_lost_ = false;                   // the plant has no state any more
  std::atomic<std::uint64_t> refused_{0};  // commands that the plant did not take
  std::uint64_t reported_ = 0;             // how many of them are in the log
  std::unique_ptr<thunder::PeriodicThread> reporter_;
};

}  // namespace thunder_controllers
