// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "messages.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/rotation.hpp"

namespace thunder_controllers {
namespace {

using rclcpp_lifecycle::LifecycleNode;
using thunder::Snapshot;
using Lock = std::lock_guard<thunder::PriorityMutex>;

/// Estimates, errors, states, diagnostics: what people and tools watch.
const rclcpp::QoS kMonitor = rclcpp::QoS(rclcpp::KeepLast(10)).reliable().durability_volatile();

/// Whoever comes later still gets the last one.
const rclcpp::QoS kLatched = rclcpp::QoS(rclcpp::KeepLast(1)).reliable().transient_local();

constexpr const char* kPose = "T_0_ee";
constexpr int kTwistSize = 6;
constexpr int kPoseSize = 16;
/// What the state `friction_hat` holds, each of all joints.
const std::vector<std::string> kFrictionNames = {"viscous", "coulomb"};

/// The entry of that name and size, or null.
const thunder_entry* entry_of_size(const thunder_signal& signal, const std::string& name, int size) {
  const thunder_entry* entry = thunder::entry_if_any(signal, name);
  return entry && thunder::entry_size(*entry) == size ? entry : nullptr;
}

template <class Message>
auto publisher(LifecycleNode& node, const std::string& topic, const rclcpp::QoS& qos = kMonitor) {
  // Of the free function: publishers of a lifecycle node are mute while it is inactive.
  return rclcpp::create_publisher<Message>(node, topic, qos);
}

/// An estimate as m [kg], com [m] and inertia about the CoM [kg·m²], in the link's frame.
geometry_msgs::msg::InertiaStamped inertia_message(const double* pi, const std::string& link,
                                                   const std_msgs::msg::Header& header) {
  std::array<double, thunder::kInertialParameters> dyn{};
  thunder::about_com(pi, dyn.data());
  geometry_msgs::msg::InertiaStamped message;
  message.header.stamp = header.stamp;
  message.header.frame_id = link;
  geometry_msgs::msg::Inertia& inertia = message.inertia;
  inertia.m = dyn[0];
  assign(inertia.com, &dyn[1]);
  inertia.ixx = dyn[4];
  inertia.ixy = dyn[5];
  inertia.ixz = dyn[6];
  inertia.iyy = dyn[7];
  inertia.iyz = dyn[8];
  inertia.izz = dyn[9];
  return message;
}

}  // namespace

Outputs::Outputs(LifecycleNode& node, const thunder::Configuration& configuration, const std::string& base_frame)
    : configuration_(configuration),
      base_frame_(base_frame),
      clock_(node.get_clock()),
      estimate_entry_(thunder::entry_if_any(configuration.law_data().state, thunder::kEstimateEntry)),
      friction_entry_(entry_of_size(configuration.law_data().state, "friction_hat",
                                    static_cast<int>(kFrictionNames.size() * configuration.joints.size()))),
      error_entry_(entry_of_size(configuration.law_data().telemetry, "pose_error", kTwistSize)),
      cosine_entry_(entry_of_size(configuration.law_data().telemetry, "orientation_cosine", 1)),
      external_entry_(thunder::entry_if_any(configuration.law_data().telemetry, "external_torque")),
      picked_up_entry_(thunder::entry_if_any(configuration.law_data().telemetry, thunder::kPickedUpEntry)) {
  for (const std::string& topic : thunder::estimate_topics(configuration.links)) {
    estimates_.push_back(publisher<geometry_msgs::msg::InertiaStamped>(node, "~/" + topic));
  }
  if (friction_entry_) friction_ = publisher<control_msgs::msg::DynamicJointState>(node, "~/friction_estimates");
  if (!configuration.is_cartesian()) {
    joint_error_ = publisher<sensor_msgs::msg::JointState>(node, "~/joint_error");
  } else if (error_entry_) {
    error_ = publisher<geometry_msgs::msg::PoseStamped>(node, "~/pose_error");
  }
  if (external_entry_) external_ = publisher<sensor_msgs::msg::JointState>(node, "~/external_torque");
  if (!configuration.carrying_link.empty()) {
    picked_up_ = publisher<geometry_msgs::msg::InertiaStamped>(node, "~/picked_up", kLatched);
  }
  const std::vector<std::string> functions = configuration.library->function_names();
  if (std::find(functions.begin(), functions.end(), kPose) != functions.end()) {
    pose_function_.emplace(configuration.library, kPose, kPoseSize);
    pose_ = publisher<geometry_msgs::msg::PoseStamped>(node, "~/pose");
  }
  state_ = publisher<control_msgs::msg::JointTrajectoryControllerState>(node, "~/controller_state");
}

void Outputs::publish(const Snapshot& snapshot) {
  Header header;
  header.frame_id = base_frame_;
  header.stamp = snapshot.is_active ? rclcpp::Time(snapshot.stamp) : clock_->now();
  publish_estimates(snapshot, header);
  publish_friction(snapshot, header);
  if (!snapshot.is_active) return;
  publish_pose(snapshot, header);
  publish_error(snapshot, header);
  publish_external_torque(snapshot, header);
  publish_picked_up(snapshot, header);
  publish_state(snapshot, header);
}

void Outputs::publish_estimates(const Snapshot& snapshot, const Header& header) {
  for (std::size_t i = 0; i < estimates_.size(); ++i) {
    const double* pi = snapshot.state.data() + estimate_entry_->offset + i * thunder::kInertialParameters;
    estimates_[i]->publish(inertia_message(pi, configuration_.links[i], header));
  }
}

void Outputs::publish_friction(const Snapshot& snapshot, const Header& header) {
  if (!friction_) return;
  const std::size_t n = configuration_.joints.size();
  const double* values = snapshot.state.data() + friction_entry_->offset;
  control_msgs::msg::DynamicJointState message;
  message.header = header;
  message.joint_names = configuration_.joints;
  message.interface_values.resize(n);
  for (std::size_t joint = 0; joint < n; ++joint) {
    message.interface_values[joint].interface_names = kFrictionNames;
    for (std::size_t k = 0; k < kFrictionNames.size(); ++k) {
      message.interface_values[joint].values.push_back(values[k * n + joint]);
    }
  }
  friction_->publish(message);
}

void Outputs::publish_error(const Snapshot& snapshot, const Header& header) {
  if (!error_) return;
  const double* error = snapshot.telemetry.data() + error_entry_->offset;
  const double* cosine = cosine_entry_ ? snapshot.telemetry.data() + cosine_entry_->offset : nullptr;
  geometry_msgs::msg::PoseStamped message;
  message.header = header;
  assign(message.pose.position, error);
  assign_orientation(message.pose.orientation, turn(error + 3, cosine));
  error_->publish(message);
}

void Outputs::publish_external_torque(const Snapshot& snapshot, const Header& header) {
  if (!external_) return;
  sensor_msgs::msg::JointState message;
  message.header = header;
  message.name = configuration_.joints;
  message.effort = thunder::read_entry(*external_entry_, snapshot.telemetry.data());
  external_->publish(message);
}

void Outputs::publish_picked_up(const Snapshot& snapshot, const Header& header) {
  if (!picked_up_) return;
  const auto change = thunder::body_change(configuration_.law_data(), snapshot);
  const bool is_new = !is_picked_up_;
  is_picked_up_ = change && change->kind == thunder::BodyChange::Kind::body;
  if (!is_picked_up_ || !is_new) return;
  const double* pi = snapshot.telemetry.data() + picked_up_entry_->offset;
  picked_up_->publish(inertia_message(pi, configuration_.carrying_link, header));
}

void Outputs::publish_pose(const Snapshot& snapshot, const Header& header) {
  const int n = static_cast<int>(snapshot.q.size());
  if (!pose_ || !thunder::all_finite(snapshot.q.data(), n) || !pose_function_->evaluate(snapshot.q.data())) return;
  const double* T = pose_function_->result();  // column by column
  const std::array<double, 9> rotation = {T[0], T[1], T[2], T[4], T[5], T[6], T[8], T[9], T[10]};
  geometry_msgs::msg::PoseStamped message;
  message.header = header;
  assign(message.pose.position, T + 12);
  assign_orientation(message.pose.orientation, thunder::from_matrix(rotation.data()));
  pose_->publish(message);
}

void Outputs::publish_state(const Snapshot& snapshot, const Header& header) {
  control_msgs::msg::JointTrajectoryControllerState message;
  message.header = header;
  message.joint_names = configuration_.joints;
  message.feedback.positions = snapshot.q;
  message.feedback.velocities = snapshot.qd;
  message.output.effort = snapshot.effort;
  if (joint_error_) {
    write_joints(snapshot, message.reference, message.error);
    sensor_msgs::msg::JointState error;
    error.header = header;
    error.name = configuration_.joints;
    error.position = message.error.positions;
    error.velocity = message.error.velocities;
    joint_error_->publish(error);
  }
  state_->publish(message);
}

DiagnosticsBoard::DiagnosticsBoard(const std::shared_ptr<LifecycleNode>& node)
    : node_(node), publisher_(publisher<diagnostic_msgs::msg::DiagnosticArray>(*node, "/diagnostics")) {}

void DiagnosticsBoard::set_source(Source source) {
  const Lock lock(mutex_);
  source_.swap(source);
}

void DiagnosticsBoard::set_message(const std::string& message) {
  const Lock lock(mutex_);
  message_ = message;
}

void DiagnosticsBoard::publish() {
  const auto node = node_.lock();
  if (!node) return;
  thunder::Condition condition;
  condition.state = node->get_current_state().label();
  Source source;
  {
    const Lock lock(mutex_);
    if (!message_.empty()) condition.messages.push_back(message_);
    source = source_;
  }
  if (source) source(condition);
  const thunder::HealthReport report = reporter_.report(condition);
  diagnostic_msgs::msg::DiagnosticArray array;
  array.header.stamp = node->now();
  diagnostic_msgs::msg::DiagnosticStatus& status = array.status.emplace_back();
  status.name = std::string(node->get_fully_qualified_name()).substr(1);
  status.level = static_cast<std::uint8_t>(report.level);
  status.message = report.message;
  for (const auto& [name, text] : report.values) {
    diagnostic_msgs::msg::KeyValue& pair = status.values.emplace_back();
    pair.key = name;
    pair.value = text;
  }
  publisher_->publish(array);
}

}  // namespace thunder_controllers
