// SPDX-License-Identifier: Apache-2.0
//
// The life of the plugin without a controller manager: plugin_cycle configure|cycle|end|bounds|listen|disturb NAME:=VALUE…
//
// It is loaded by pluginlib, gets the parameters NAME:=VALUE, and is configured; `cycle` goes on: activation, updates
// with good and bad measurements that may not allocate, deactivation, activation again, clean-up; `end` ends it again and
// again in one thread while another one updates, as the controller manager does at the end of the process; `bounds`
// changes path.… and gains while it is configured; `listen` updates and takes whatever comes until SIGINT; `disturb` sets
// the state `state:=INDEX,VALUE` for a second, and prints the diagnostics of the fault that this is, or nothing. Status 1
// where a transition is refused, its reason in the log; 3 where a property does not hold.
#include <atomic>
#include <chrono>
#include <cmath>
#include <controller_interface/chainable_controller_interface.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <limits>
#include <memory>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>
#include <string>
#include <thread>
#include <vector>

#include "allocations.hpp"

namespace {

using ControllerInterface = controller_interface::ChainableControllerInterface;
using hardware_interface::CommandInterface;
using hardware_interface::StateInterface;
using lifecycle_msgs::msg::State;

constexpr unsigned int kRate = 1000;  // [Hz]
constexpr int kUpdates = 20000;
constexpr int kEnds = 20;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Threads of the plugin are alive: destructors of static objects, as std::exit calls them, would take from them.
[[noreturn]] void end_at_once(int status) {
  std::fflush(nullptr);
  std::_Exit(status);
}

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s does not hold\n", what);
  end_at_once(3);
}

hardware_interface::InterfaceDescription describe(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  hardware_interface::InterfaceInfo info;
  info.name = name.substr(slash + 1);
  info.data_type = "double";
  return {name.substr(0, slash), info};
}

/// Interfaces as a hardware component has them; position 0.1 and velocity zero at first.
class Robot {
 public:
  explicit Robot(ControllerInterface& controller) {
    for (const std::string& name : controller.command_interface_configuration().names) {
      commands_.push_back(std::make_shared<CommandInterface>(describe(name)));
    }
    for (const std::string& name : controller.state_interface_configuration().names) {
      states_.push_back(std::make_shared<StateInterface>(describe(name)));
    }
    check(states_.size() == 2 * commands_.size() && !commands_.empty(), "two states for each command");
    for (std::size_t i = 0; i < states_.size(); ++i) set_state(i, 0.0);
  }

  void lend_to(ControllerInterface& controller) const {
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    std::vector<hardware_interface::LoanedStateInterface> states;
    for (const auto& command : commands_) commands.emplace_back(command, nullptr);
    for (const auto& state : states_) states.emplace_back(state, nullptr);
    controller.assign_interfaces(std::move(commands), std::move(states));
  }

  void set_state(std::size_t index, double value) { check(states_[index]->set_value(value), "a state can be set"); }
  /// Joint positions from the command line, `q:=a,b,…`.
  void set_positions(const std::string& text) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      set_state(i, std::stod(text.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  double state(std::size_t index) const { return states_[index]->get_optional<double>().value(); }

  std::vector<double> efforts() const {
    std::vector<double> values;
    for (const auto& command : commands_) values.push_back(command->get_optional<double>().value());
    return values;
  }
  bool efforts_are_finite() const {
    for (const double value : efforts()) {
      if (!std::isfinite(value)) return false;
    }
    return true;
  }

 private:
  std::vector<CommandInterface::SharedPtr> commands_;
  std::vector<StateInterface::SharedPtr> states_;
};

/// Updates at a fixed place; every tenth measurement is no number. Returns the allocations among them.
long run(ControllerInterface& controller, Robot& robot) {
  const rclcpp::Duration period = rclcpp::Duration::from_seconds(1.0 / kRate);
  const double position = robot.state(0);
  long calls = 0;
  for (int k = 1; k <= kUpdates; ++k) {
    robot.set_state(0, k % 10 == 0 ? kNaN : position);
    const rclcpp::Time time(static_cast<std::int64_t>(k) * period.nanoseconds(), RCL_ROS_TIME);
    const long before = g_calls;
    const auto result = controller.update(time, period);
    calls += g_calls - before;
    check(result == controller_interface::return_type::OK, "an update returns OK");
    check(robot.efforts_are_finite(), "efforts are finite");
  }
  robot.set_state(0, position);
  return calls;
}

bool leads_to(const rclcpp_lifecycle::State& state, std::uint8_t expected) { return state.id() == expected; }

void cycle(ControllerInterface& controller, const std::string& positions) {
  Robot robot(controller);
  if (!positions.empty()) robot.set_positions(positions);
  const auto node = controller.get_node();
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node->get_node_base_interface());
  for (int round = 0; round < 2; ++round) {
    robot.lend_to(controller);
    if (!leads_to(node->activate(), State::PRIMARY_STATE_ACTIVE)) end_at_once(1);
    check(run(controller, robot) == 0, "updates do not allocate");
    executor.spin_some();  // publishes what the steps have left
    check(leads_to(node->deactivate(), State::PRIMARY_STATE_INACTIVE), "the controller is inactive");
    check(robot.efforts_are_finite(), "the effort that is left is finite");
    controller.release_interfaces();
  }
  for (const double effort : robot.efforts()) std::printf("%.17g ", effort);
  check(leads_to(node->cleanup(), State::PRIMARY_STATE_UNCONFIGURED), "the controller is cleaned up");
  check(leads_to(controller.configure(), State::PRIMARY_STATE_INACTIVE), "it can be configured again");
}

/// The controller manager deactivates and shuts down in one thread while its real-time thread goes on: it may have found
/// the controller active just before.
void end(ControllerInterface& controller, const std::string& positions) {
  Robot robot(controller);
  robot.set_positions(positions);
  const auto node = controller.get_node();
  std::atomic<bool> done{false};
  std::atomic<long> updates{0};
  std::thread updating([&] {
    const rclcpp::Duration period = rclcpp::Duration::from_seconds(1.0 / kRate);
    for (std::int64_t k = 1; !done; ++k, ++updates) {
      const rclcpp::Time time(k * period.nanoseconds(), RCL_ROS_TIME);
      check(controller.update(time, period) == controller_interface::return_type::OK, "an update returns OK");
    }
  });
  for (int round = 0; round < kEnds; ++round) {
    robot.lend_to(controller);
    check(leads_to(node->activate(), State::PRIMARY_STATE_ACTIVE), "the controller is active");
    for (const long before = updates; updates < before + 20;) std::this_thread::yield();
    check(leads_to(node->deactivate(), State::PRIMARY_STATE_INACTIVE), "the controller is inactive");
    controller.release_interfaces();
    check(leads_to(node->cleanup(), State::PRIMARY_STATE_UNCONFIGURED), "the controller is cleaned up");
    check(leads_to(controller.configure(), State::PRIMARY_STATE_INACTIVE), "it can be configured again");
  }
  check(leads_to(node->shutdown(), State::PRIMARY_STATE_FINALIZED), "the controller is shut down");
  for (const long before = updates; updates < before + 20;) std::this_thread::yield();
  done = true;
  updating.join();
}

/// What the host would refuse when a motion begins, or one must end, is refused when it is set.
void bounds(ControllerInterface& controller) {
  const auto set = [&controller](const std::vector<double>& values) {
    return controller.get_node()->set_parameter({"path.linear_limits", values});
  };
  check(set({0.1, 0.5, 5.0}).successful, "bounds can be changed");
  const auto result = set({std::numeric_limits<double>::infinity(), 0.5, 5.0});
  check(!result.successful && result.reason.find("'path.linear_limits'") != std::string::npos,
        "an infinite bound is refused");
  const auto set_whole = [&controller](const std::string& name, const auto& value) {
    const bool is_set = controller.get_node()->set_parameter({name, value}).successful;
    return is_set ? controller.get_node()->get_parameter(name).get_type_name() : "";
  };
  check(set_whole("path.linear_limits", std::vector<std::int64_t>{1, 2, 3}) == "double_array", "whole bounds are taken");
  check(set_whole("gains.gamma", std::int64_t{2}) == "double", "a whole gain is taken");
  check(set_whole("publish_rate", std::int64_t{20}) == "double", "a whole rate is taken");
  check(set_whole("thread_priority", std::int64_t{20}) == "integer", "an integer stays one");
  const auto range = controller.get_node()->describe_parameter("measurement_timeout").floating_point_range;
  check(range.size() == 1 && range[0].to_value == 10.0, "an option with finite bounds has a range");
  check(controller.get_node()->describe_parameter("effort_limit").floating_point_range.empty(), "an array has none");
}

/// Whatever is sent to it, its efforts stay within the limits of the Panda.
void listen(ControllerInterface& controller, const std::string& positions) {
  Robot robot(controller);
  robot.set_positions(positions);
  robot.lend_to(controller);
  const auto node = controller.get_node();
  if (!leads_to(node->activate(), State::PRIMARY_STATE_ACTIVE)) end_at_once(1);
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node->get_node_base_interface());
  const rclcpp::Duration period = rclcpp::Duration::from_seconds(1.0 / kRate);
  for (std::int64_t k = 1; rclcpp::ok(); ++k) {
    executor.spin_some(std::chrono::milliseconds(1));
    const rclcpp::Time time(k * period.nanoseconds(), RCL_ROS_TIME);
    check(controller.update(time, period) == controller_interface::return_type::OK, "an update returns OK");
    const std::vector<double> efforts = robot.efforts();
    for (std::size_t i = 0; i < efforts.size(); ++i) {
      check(std::abs(efforts[i]) <= (i < 4 ? 87.0 : 12.0), "efforts are finite and within the limits");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// As the controller manager does where an update returns an error.
void deactivate_and_report(ControllerInterface& controller) {
  using diagnostic_msgs::msg::DiagnosticArray;
  const auto node = controller.get_node();
  check(leads_to(node->deactivate(), State::PRIMARY_STATE_INACTIVE), "the controller is inactive");
  bool is_reported = false;
  const auto report = [&is_reported](const DiagnosticArray& message) {
    std::printf("%s\n", message.status[0].message.c_str());
    for (const auto& pair : message.status[0].values) std::printf("%s: %s\n", pair.key.c_str(), pair.value.c_str());
    is_reported = true;
  };
  const auto subscription = node->create_subscription<DiagnosticArray>("/diagnostics", 1, report);
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node->get_node_base_interface());
  while (!is_reported) executor.spin_once();
}

void disturb(ControllerInterface& controller, const std::string& positions, const std::string& disturbance) {
  Robot robot(controller);
  robot.set_positions(positions);
  robot.lend_to(controller);
  check(leads_to(controller.get_node()->activate(), State::PRIMARY_STATE_ACTIVE), "the controller is active");
  const std::size_t index = std::stoul(disturbance);
  const double value = std::stod(disturbance.substr(disturbance.find(',') + 1));
  const double before = robot.state(index), second = robot.state(1);
  const rclcpp::Duration period = rclcpp::Duration::from_seconds(1.0 / kRate);
  auto result = controller_interface::return_type::OK;
  for (std::int64_t k = 1; k <= 3 * kRate && result == controller_interface::return_type::OK; ++k) {
    robot.set_state(index, k <= kRate ? value : before);
    robot.set_state(1, second + 1e-9 * static_cast<double>(k % 2));  // a state that does not change at all is old
    result = controller.update(rclcpp::Time(k * period.nanoseconds(), RCL_ROS_TIME), period);
    check(robot.efforts_are_finite(), "efforts are finite");
  }
  if (result == controller_interface::return_type::ERROR) deactivate_and_report(controller);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string action = argv[1];
  rclcpp::init(1, argv);
  std::vector<std::string> arguments = {"--ros-args"};
  std::string positions, disturbance;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.compare(0, 3, "q:=") == 0) {
      positions = argument.substr(3);
    } else if (argument.compare(0, 7, "state:=") == 0) {
      disturbance = argument.substr(7);
    } else {
      arguments.insert(arguments.end(), {"-p", argument});
    }
  }
  pluginlib::ClassLoader<ControllerInterface> loader("controller_interface",
                                                     "controller_interface::ChainableControllerInterface");
  const auto controller = loader.createUniqueInstance("thunder_controllers/AdaptiveController");
  controller_interface::ControllerInterfaceParams params;
  params.controller_name = "adaptive_controller";
  params.update_rate = params.controller_manager_update_rate = kRate;
  params.node_options = controller->define_custom_node_options();
  params.node_options.arguments(arguments);
  if (controller->init(params) != controller_interface::return_type::OK) return 1;
  if (!leads_to(controller->configure(), State::PRIMARY_STATE_INACTIVE)) return 1;
  if (action == "cycle") cycle(*controller, positions);
  if (action == "end") end(*controller, positions);
  if (action == "bounds") bounds(*controller);
  if (action == "listen") listen(*controller, positions);
  if (action == "disturb") disturb(*controller, positions, disturbance);
  rclcpp::shutdown();
  return 0;
}
