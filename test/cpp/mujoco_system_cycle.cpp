// SPDX-License-Identifier: Apache-2.0
//
// Drives the hardware MujocoSystem as a controller manager does, without one. Usage: mujoco_system_cycle <urdf>
#include <cmath>
#include <fstream>
#include <hardware_interface/component_parser.hpp>
#include <limits>
#include <rclcpp/rclcpp.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "check.hpp"
#include "description.hpp"
#include "mujoco_system.hpp"
#include "plant/error.hpp"

namespace {

using hardware_interface::return_type;
using thunder_controllers::MujocoSystem;
using CallbackReturn = hardware_interface::CallbackReturn;
using Names = std::vector<std::string>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const rclcpp_lifecycle::State kState;
const rclcpp::Time kTime(0, 0, RCL_STEADY_TIME);
const rclcpp::Duration kPeriod(0, 1000000);

hardware_interface::HardwareInfo read_info(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto infos = hardware_interface::parse_control_resources_from_urdf(text.str());
  CHECK(infos.size() == 1);
  infos[0].rw_rate = 1000;
  return infos[0];
}

/// A system with its interfaces, as the resource manager holds it.
struct Rig {
  explicit Rig(const hardware_interface::HardwareInfo& info) : executor(std::make_shared<Executor>()) {
    hardware_interface::HardwareComponentParams params;
    params.hardware_info = info;
    params.logger = rclcpp::get_logger("mujoco_system_cycle");
    params.clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME);
    params.executor = executor;
    result = system.init(params);
  }
  void export_interfaces() {
    states = system.on_export_state_interfaces();
    commands = system.on_export_command_interfaces();
    for (const auto& command : commands) names.push_back(command->get_name());
  }
  double state(const std::string& name) const {
    for (const auto& interface : states) {
      if (interface->get_name() == name) return interface->get_optional().value();
    }
    CHECK(!"there is a state interface of that name");
    return kNan;
  }
  void command(double value) {
    for (const auto& interface : commands) CHECK(interface->set_value(value));
  }
  void cycle(int count) {
    for (int k = 0; k < count; ++k) {
      CHECK(system.read(kTime, kPeriod) == return_type::OK);
      CHECK(system.write(kTime, kPeriod) == return_type::OK);
    }
    CHECK(system.read(kTime, kPeriod) == return_type::OK);
  }
  return_type switch_to(const Names& start, const Names& stop) {
    const return_type prepared = system.prepare_command_mode_switch(start, stop);
    return prepared == return_type::OK ? system.perform_command_mode_switch(start, stop) : prepared;
  }

  using Executor = rclcpp::executors::SingleThreadedExecutor;
  std::shared_ptr<Executor> executor;
  MujocoSystem system;
  CallbackReturn result = CallbackReturn::FAILURE;
  std::vector<hardware_interface::StateInterface::ConstSharedPtr> states;
  std::vector<hardware_interface::CommandInterface::SharedPtr> commands;
  Names names;
};

const std::string kElbow = "panda_joint4/position";

void brakes_hold_until_a_controller_commands(Rig& rig) {
  const double start = rig.state(kElbow);
  rig.command(0.0);
  rig.cycle(100);
  CHECK(rig.state(kElbow) == start && rig.state("panda_joint2/effort") != 0.0);
  CHECK(rig.switch_to(rig.names, {}) == return_type::OK);
  rig.cycle(100);  // the zeros from before the switch are no command
  CHECK(rig.state(kElbow) == start);
  rig.command(0.0);
  rig.cycle(100);
  CHECK(rig.state(kElbow) != start && rig.state("panda_joint2/effort") == 0.0);
}

void a_command_that_is_not_finite_brakes(Rig& rig) {
  rig.command(kNan);
  rig.cycle(1);
  const double held = rig.state(kElbow);
  CHECK(rig.state("panda_joint4/velocity") == 0.0);
  rig.cycle(50);
  CHECK(rig.state(kElbow) == held);
  rig.command(0.0);
  rig.cycle(50);
  CHECK(rig.state(kElbow) != held);
}

void from_one_controller_to_the_next_nothing_brakes(Rig& rig) {
  const double before = rig.state("panda_joint4/velocity");
  CHECK(before != 0.0 && rig.switch_to(rig.names, rig.names) == return_type::OK);
  rig.cycle(1);
  CHECK(rig.state("panda_joint4/velocity") != 0.0);
  rig.command(0.0);
  rig.cycle(1);
  CHECK(rig.state("panda_joint4/velocity") != 0.0);
  CHECK(rig.switch_to(rig.names, rig.names) == return_type::OK);
  rig.cycle(2);  // a controller that never commands
  CHECK(rig.state("panda_joint4/velocity") == 0.0);
  rig.command(0.0);
  rig.cycle(10);
}

void a_part_of_the_joints_is_refused(Rig& rig) {
  CHECK(rig.switch_to({}, {rig.names[0]}) == return_type::ERROR);
  CHECK(rig.switch_to({"other/effort"}, {"another/effort"}) == return_type::OK);
  rig.cycle(1);
  CHECK(rig.state("panda_joint4/velocity") != 0.0);
  CHECK(rig.switch_to({}, rig.names) == return_type::OK);
  const double held = rig.state(kElbow);
  rig.cycle(50);
  CHECK(rig.state(kElbow) == held);
  CHECK(rig.switch_to({rig.names[0]}, {}) == return_type::ERROR);
}

void cycles_do_not_allocate(Rig& rig) {
  CHECK(rig.switch_to(rig.names, {}) == return_type::OK);
  rig.command(0.1);
  const long before = g_calls;
  for (int k = 0; k < 1000; ++k) {
    static_cast<void>(rig.system.read(kTime, kPeriod));
    if (k == 500) static_cast<void>(rig.system.perform_command_mode_switch(rig.names, rig.names));
    if (k == 600) rig.command(kNan);
    if (k == 700) rig.command(0.2);
    static_cast<void>(rig.system.write(kTime, kPeriod));
  }
  CHECK(g_calls == before);
}

void wrong_descriptions_are_refused_with_the_reason(const hardware_interface::HardwareInfo& info) {
  const auto refusal = [](const hardware_interface::HardwareInfo& wrong) -> std::string {
    CHECK(Rig(wrong).result == CallbackReturn::ERROR);
    try {
      thunder_controllers::options_of(wrong);
    } catch (const thunder::PlantError& error) {
      return error.what();
    }
    return {};
  };
  auto wrong = info;
  wrong.joints[0].name = "elbow";
  CHECK(refusal(wrong).empty());  // the model says it
  wrong = info;
  wrong.joints[0].command_interfaces[0].name = "position";
  CHECK(refusal(wrong).find("panda_joint1: command interfaces position") == 0);
  wrong = info;
  wrong.joints[0].state_interfaces.pop_back();
  CHECK(refusal(wrong).find("panda_joint1: state interfaces position, velocity (") == 0);
  const std::vector<std::vector<std::string>> parameters{{"model", "", "model: there is no model"},
                                                         {"break", "true", "hardware: unknown parameter 'break'"},
                                                         {"brakes", "yes", "brakes: 'yes'"},
                                                         {"q_start", "0 x", "q_start: '0 x'"}};
  for (const auto& parameter : parameters) {
    wrong = info;
    wrong.hardware_parameters[parameter[0]] = parameter[1];
    CHECK(refusal(wrong).find(parameter[2]) == 0);
  }
}

void parameters_are_read(hardware_interface::HardwareInfo info) {
  info.hardware_parameters = {{"model", "a.xml"}, {"q_start", ""}, {"brakes", ""}};
  const auto plain = thunder_controllers::options_of(info);
  CHECK(plain.model == "a.xml" && plain.start.empty() && plain.brakes && !plain.gravity_compensation);
  CHECK(plain.joints.size() == 7 && plain.joints[3] == "panda_joint4");
  info.hardware_parameters = {
      {"model", "a"}, {"q_start", " 0.1 -2 "}, {"brakes", "false"}, {"gravity_compensation", "True"}};
  const auto full = thunder_controllers::options_of(info);
  CHECK((full.start == std::vector<double>{0.1, -2.0}) && !full.brakes && full.gravity_compensation);
}

void a_cycle_that_was_lost_has_passed_for_the_arm(const hardware_interface::HardwareInfo& info) {
  double moved[2];
  for (const bool is_lost : {false, true}) {
    Rig rig(info);
    rig.export_interfaces();
    CHECK(rig.system.on_configure(kState) == CallbackReturn::SUCCESS);
    CHECK(rig.switch_to(rig.names, {}) == return_type::OK);
    rig.command(0.0);
    for (int k = 0; k < 100; k += is_lost ? 2 : 1) {
      CHECK(rig.system.write(kTime, is_lost ? kPeriod + kPeriod : kPeriod) == return_type::OK);
    }
    CHECK(rig.system.read(kTime, kPeriod) == return_type::OK);
    moved[is_lost] = rig.state(kElbow);
  }
  CHECK(moved[0] == moved[1]);
}

void run(const hardware_interface::HardwareInfo& info) {
  Rig rig(info);
  CHECK(rig.result == CallbackReturn::SUCCESS);
  rig.export_interfaces();
  CHECK(rig.states.size() == 21 && rig.commands.size() == 7);
  CHECK(rig.system.on_configure(kState) == CallbackReturn::SUCCESS);
  brakes_hold_until_a_controller_commands(rig);
  a_command_that_is_not_finite_brakes(rig);
  from_one_controller_to_the_next_nothing_brakes(rig);
  a_part_of_the_joints_is_refused(rig);
  cycles_do_not_allocate(rig);
  const double start = -2.2;
  CHECK(rig.system.on_deactivate(kState) == CallbackReturn::SUCCESS && rig.state(kElbow) != start);
  CHECK(rig.system.on_configure(kState) == CallbackReturn::SUCCESS && rig.state(kElbow) == start);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 2);
  rclcpp::init(argc, argv);
  const auto info = read_info(argv[1]);
  run(info);
  wrong_descriptions_are_refused_with_the_reason(info);
  parameters_are_read(info);
  a_cycle_that_was_lost_has_passed_for_the_arm(info);
  rclcpp::shutdown();
  return 0;
}
