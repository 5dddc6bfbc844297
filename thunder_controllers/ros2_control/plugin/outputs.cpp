// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cstring>

#include "qos.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {
namespace {

using std_msgs::msg::Float64MultiArray;

constexpr const char* kFriction = "friction_hat";
constexpr const char* kPoseError = "pose_error";
constexpr const char* kPose = "T_0_ee";
constexpr int kTwistSize = 6;
constexpr int kPoseSize = 16;

const thunder_entry* find(const thunder_signal& signal, const char* name) {
  for (int i = 0; i < signal.n_entries; ++i) {
    if (std::strcmp(signal.entries[i].name, name) == 0) return &signal.entries[i];
  }
  return nullptr;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

/// A table, row by row, labelled `name:row,row,…` and `joint:column,column,…`.
Float64MultiArray table(const std::vector<double>& values, const std::string& rows,
                        const std::vector<std::string>& joints) {
  Float64MultiArray message;
  message.layout.dim.resize(2);
  message.layout.dim[0].label = rows;
  message.layout.dim[0].size = static_cast<std::uint32_t>(values.size() / joints.size());
  message.layout.dim[0].stride = static_cast<std::uint32_t>(values.size());
  message.layout.dim[1].label = "joint:" + joined(joints);
  message.layout.dim[1].size = message.layout.dim[1].stride = static_cast<std::uint32_t>(joints.size());
  message.data = values;
  return message;
}

std::vector<double> slice(const std::vector<double>& values, std::size_t n, std::size_t k) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(n * k);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

std::vector<double> difference(const std::vector<double>& wanted, const std::vector<double>& is) {
  std::vector<double> values(wanted);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= is[i];
  return values;
}

template <class Message>
auto publisher(rclcpp_lifecycle::LifecycleNode& node, const std::string& topic) {
  // Of the free function: publishers of a lifecycle node are mute while it is inactive.
  return rclcpp::create_publisher<Message>(node, topic, kMonitor);
}

}  // namespace

Outputs::Outputs(rclcpp_lifecycle::LifecycleNode& node, const Configuration& configuration)
    : configuration_(configuration), clock_(node.get_clock()) {
  const thunder_law& law = configuration.law_data();
  for (const std::string& link : configuration.links) {
    estimates_.push_back(publisher<geometry_msgs::msg::InertiaStamped>(node, "~/estimates/" + link));
  }
  estimate_entry_ = find(law.state, thunder::kEstimateEntry);
  friction_entry_ = find(law.state, kFriction);
  if (friction_entry_) friction_ = publisher<Float64MultiArray>(node, "~/friction_estimates");
  const thunder_entry* error = find(law.telemetry, kPoseError);
  if (configuration.is_cartesian() && error && thunder::entry_size(*error) == kTwistSize) {
    error_entry_ = error;
    error_ = publisher<geometry_msgs::msg::TwistStamped>(node, "~/pose_error");
  }
  if (!configuration.is_cartesian()) joint_error_ = publisher<sensor_msgs::msg::JointState>(node, "~/joint_error");
  const std::vector<std::string> functions = configuration.library->function_names();
  if (std::find(functions.begin(), functions.end(), kPose) != functions.end()) {
    pose_function_.emplace(configuration.library, kPose, kPoseSize);
    pose_ = publisher<geometry_msgs::msg::PoseStamped>(node, "~/pose");
  }
  state_ = publisher<control_msgs::msg::JointTrajectoryControllerState>(node, "~/controller_state");
}

void Outputs::publish(const Snapshot& snapshot, bool is_active) {
  Header header;
  header.frame_id = configuration_.frames.base;
  header.stamp = is_active ? rclcpp::Time(snapshot.stamp) : clock_->now();
  publish_estimates(snapshot, header);
  publish_friction(snapshot);
  if (!is_active) return;
  publish_pose(snapshot, header);
  publish_error(snapshot, header);
  publish_joint_error(snapshot, header);
  publish_state(snapshot, header);
}

void Outputs::publish_estimates(const Snapshot& snapshot, const Header& header) {
  for (std::size_t i = 0; i < estimates_.size(); ++i) {
    std::array<double, thunder::kInertialParameters> dyn{};
    const double* blocks = snapshot.state.data() + estimate_entry_->offset;
    thunder::about_com(blocks + i * dyn.size(), dyn.data());
    geometry_msgs::msg::InertiaStamped message;
    message.header.stamp = header.stamp;
    message.header.frame_id = configuration_.links[i];
    geometry_msgs::msg::Inertia& inertia = message.inertia;
    inertia.m = dyn[0];
    inertia.com.x = dyn[1];
    inertia.com.y = dyn[2];
    inertia.com.z = dyn[3];
    inertia.ixx = dyn[4];
    inertia.ixy = dyn[5];
    inertia.ixz = dyn[6];
    inertia.iyy = dyn[7];
    inertia.iyz = dyn[8];
    inertia.izz = dyn[9];
    estimates_[i]->publish(message);
  }
}

void Outputs::publish_friction(const Snapshot& snapshot) {
  if (!friction_) return;
  const std::vector<double> values = thunder::read_entry(*friction_entry_, snapshot.state.data());
  friction_->publish(table(values, "coefficient:viscous,coulomb", configuration_.joints));
}

void Outputs::publish_error(const Snapshot& snapshot, const Header& header) {
  if (!error_) return;
  const double* error = snapshot.telemetry.data() + error_entry_->offset;
  geometry_msgs::msg::TwistStamped message;
  message.header = header;
  message.twist.linear.x = error[0];
  message.twist.linear.y = error[1];
  message.twist.linear.z = error[2];
  message.twist.angular.x = error[3];
  message.twist.angular.y = error[4];
  message.twist.angular.z = error[5];
  error_->publish(message);
}

void Outputs::publish_joint_error(const Snapshot& snapshot, const Header& header) {
  if (!joint_error_) return;
  const std::size_t n = snapshot.q.size();
  sensor_msgs::msg::JointState message;
  message.header = header;
  message.name = configuration_.joints;
  message.position = difference(slice(snapshot.reference, n, 0), snapshot.q);
  message.velocity = difference(slice(snapshot.reference, n, 1), snapshot.qd);
  joint_error_->publish(message);
}

void Outputs::publish_pose(const Snapshot& snapshot, const Header& header) {
  const int n = static_cast<int>(snapshot.q.size());
  if (!pose_ || !thunder::all_finite(snapshot.q.data(), n) || !pose_function_->evaluate(snapshot.q.data())) return;
  const Eigen::Map<const Eigen::Matrix4d> T(pose_function_->result());
  const Eigen::Quaterniond orientation(Eigen::Matrix3d(T.topLeftCorner<3, 3>()));
  geometry_msgs::msg::PoseStamped message;
  message.header = header;
  message.pose.position.x = T(0, 3);
  message.pose.position.y = T(1, 3);
  message.pose.position.z = T(2, 3);
  message.pose.orientation.x = orientation.x();
  message.pose.orientation.y = orientation.y();
  message.pose.orientation.z = orientation.z();
  message.pose.orientation.w = orientation.w();
  pose_->publish(message);
}

void Outputs::publish_state(const Snapshot& snapshot, const Header& header) {
  control_msgs::msg::JointTrajectoryControllerState message;
  message.header = header;
  message.joint_names = configuration_.joints;
  message.feedback.positions = snapshot.q;
  message.feedback.velocities = snapshot.qd;
  message.output.effort = snapshot.effort;
  if (!configuration_.is_cartesian()) {
    const std::size_t n = snapshot.q.size();
    message.reference.positions = slice(snapshot.reference, n, 0);
    message.reference.velocities = slice(snapshot.reference, n, 1);
    message.reference.accelerations = slice(snapshot.reference, n, 2);
    message.error.positions = difference(message.reference.positions, snapshot.q);
    message.error.velocities = difference(message.reference.velocities, snapshot.qd);
  }
  state_->publish(message);
}

}  // namespace thunder_controllers
