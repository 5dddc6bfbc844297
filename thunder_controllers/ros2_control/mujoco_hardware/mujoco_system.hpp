// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <hardware_interface/system_interface.hpp>
#include <memory>
#include <string>
#include <vector>

#include "plant/plant.hpp"

namespace thunder_controllers {

/// Hardware of ros2_control that is a MujocoPlant. Each write() advances it by the measured control period.
///
/// Commands `<joint>/effort`, states `<joint>/position`, `/velocity` and `/effort` (what the motors applied). Hardware
/// parameters: see options_of. on_init and on_configure allocate all there is; read(), write() and
/// perform_command_mode_switch() neither allocate nor log nor block. What they notice is logged once a second by a
/// timer of the component's node.
class MujocoSystem : public hardware_interface::SystemInterface {
 public:
  using CallbackReturn = hardware_interface::CallbackReturn;
  using State = rclcpp_lifecycle::State;
  using Names = std::vector<std::string>;

  CallbackReturn on_init(const hardware_interface::HardwareComponentInterfaceParams& params) override;
  /// Puts the arm to its start.
  CallbackReturn on_configure(const State& previous) override;
  CallbackReturn on_deactivate(const State& previous) override;
  /// After a state that was lost: back to unconfigured, so that configuring starts the arm anew.
  CallbackReturn on_error(const State& previous) override;

  /// Refuses a switch after which some joints would be commanded and some not: such an arm is no plant.
  hardware_interface::return_type prepare_command_mode_switch(const Names& start, const Names& stop) override;
  hardware_interface::return_type perform_command_mode_switch(const Names& start, const Names& stop) override;

  hardware_interface::return_type read(const rclcpp::Time& time, const rclcpp::Duration& period) override;
  hardware_interface::return_type write(const rclcpp::Time& time, const rclcpp::Duration& period) override;

 private:
  struct Joint {
    hardware_interface::StateInterface::SharedPtr position, velocity, effort;
    hardware_interface::CommandInterface::SharedPtr command;
  };

  std::size_t commanded_after(const Names& start, const Names& stop) const noexcept;
  void publish_state();
  void forget_commands();
  void apply_commands();
  void stop();

  std::unique_ptr<thunder::MujocoPlant> plant_;
  std::vector<Joint> joints_;
  std::vector<double> command_;
  std::atomic<bool> is_claimed_{false};  // controllers command all joints; prepared in one thread, performed in another
  bool is_commanded_ = false;            // a good command has come since the last switch
  bool is_handover_ = false;             // this cycle still has the commands of the controller before
  bool is_lost_ = false;                 // the plant has no state any more
  /// Commands that the plant did not take, since the last report. The timer may outlive this.
  std::shared_ptr<std::atomic<std::uint64_t>> refused_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  rclcpp::TimerBase::SharedPtr reporting_;
};

}  // namespace thunder_controllers
