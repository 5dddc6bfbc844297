// SPDX-License-Identifier: Apache-2.0
#include "message_reading.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {
namespace {

using thunder::ErrorKind;
using thunder::HostError;
using Twist = std::array<double, 6>;

/// A quaternion's norm may differ from one by this; it is then normalised.
constexpr double kQuaternionTolerance = 1e-3;

[[noreturn]] void refuse(const std::string& wrong, const std::string& where, const std::string& valid) {
  throw HostError(ErrorKind::law, wrong, where, valid);
}

void check_frame(const std::string& frame, const Frames& frames, const std::string& where) {
  if (frame != frames.base) refuse("frame_id '" + frame + "'", where, "'" + frames.base + "', parameter base_frame");
}

void check_count(std::size_t count, std::size_t expected, const std::string& where) {
  if (count != expected) refuse(std::to_string(count) + " values", where, std::to_string(expected));
}

double seconds(const builtin_interfaces::msg::Duration& duration) { return duration.sec + 1e-9 * duration.nanosec; }

template <class Position, class Orientation>
TargetPose read_pose(const Position& p, const Orientation& o, const std::string& where) {
  TargetPose pose{{p.x, p.y, p.z}, {o.x, o.y, o.z, o.w}};
  double square = 0.0;
  for (const double value : pose.orientation) square += value * value;
  const double norm = std::sqrt(square);
  if (!thunder::all_finite(pose.position.data(), 3) || !std::isfinite(norm)) {
    refuse("a position or orientation is not finite", where, "numbers");
  }
  if (std::abs(norm - 1.0) > kQuaternionTolerance) {
    refuse("a quaternion of norm " + thunder::format(norm), where, "norm 1");
  }
  for (double& value : pose.orientation) value /= norm;
  return pose;
}

TargetPose read_pose(const geometry_msgs::msg::Transform& transform, const std::string& where) {
  return read_pose(transform.translation, transform.rotation, where);
}

Twist read_twist(const geometry_msgs::msg::Twist& twist, const std::string& where) {
  const Twist values = {twist.linear.x,  twist.linear.y,  twist.linear.z,
                        twist.angular.x, twist.angular.y, twist.angular.z};
  if (!thunder::all_finite(values.data(), 6)) refuse("a velocity or acceleration is not finite", where, "numbers");
  return values;
}

Eigen::Matrix3d rotation(const std::array<double, 4>& xyzw) {
  return Eigen::Quaterniond(xyzw[3], xyzw[0], xyzw[1], xyzw[2]).toRotationMatrix();
}

/// Writes the parts of a flat reference by the names of its entries.
class SampleWriter {
 public:
  explicit SampleWriter(const thunder_law& law)
      : law_(law), sample_(static_cast<std::size_t>(law.reference.size), 0.0) {}

  void write(const char* name, const double* values) {
    const thunder_entry& entry = thunder::find_entry(law_.reference, name, std::string(law_.name) + ".reference");
    std::copy_n(values, thunder::entry_size(entry), sample_.begin() + entry.offset);
  }
  std::vector<double> take() { return std::move(sample_); }

 private:
  const thunder_law& law_;
  std::vector<double> sample_;
};

std::string point_name(const std::string& topic, std::size_t k) {
  return topic + ": points[" + std::to_string(k) + "]";
}

/// The values in the library's order; none if there are none.
std::vector<double> reordered(const std::vector<double>& values, const std::vector<std::size_t>& order,
                              const std::string& where) {
  if (values.empty()) return {};
  check_count(values.size(), order.size(), where);
  if (!thunder::all_finite(values.data(), static_cast<int>(values.size()))) refuse("not finite", where, "numbers");
  std::vector<double> sorted;
  for (const std::size_t index : order) sorted.push_back(values[index]);
  return sorted;
}

/// Where each of the robot's joints stands in the message.
std::vector<std::size_t> order_of(const std::vector<std::string>& names, const std::vector<std::string>& joints) {
  std::vector<std::size_t> order;
  for (const std::string& joint : joints) {
    const auto found = std::find(names.begin(), names.end(), joint);
    if (found != names.end()) order.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  if (order.size() != joints.size() || names.size() != joints.size()) {
    refuse("joint_names " + thunder::join(names), "joint_trajectory", thunder::join(joints));
  }
  return order;
}

}  // namespace

std::vector<double> read_sample(const trajectory_msgs::msg::MultiDOFJointTrajectoryPoint& message,
                                const thunder_law& law) {
  const std::string where = "reference";
  if (message.transforms.size() != 1 || message.velocities.size() > 1 || message.accelerations.size() > 1) {
    refuse(std::to_string(message.transforms.size()) + " transforms, " + std::to_string(message.velocities.size()) +
               " velocities, " + std::to_string(message.accelerations.size()) + " accelerations",
           where, "one transform, at most one velocity and one acceleration");
  }
  const TargetPose pose = read_pose(message.transforms[0], where);
  SampleWriter sample(law);
  sample.write("position", pose.position.data());
  sample.write("rotation", rotation(pose.orientation).data());
  if (!message.velocities.empty()) sample.write("twist", read_twist(message.velocities[0], where).data());
  if (!message.accelerations.empty()) sample.write("acceleration", read_twist(message.accelerations[0], where).data());
  return sample.take();
}

std::vector<double> read_joint_sample(const trajectory_msgs::msg::JointTrajectoryPoint& message,
                                      std::size_t n_joints) {
  const std::string where = "joint_reference";
  check_count(message.positions.size(), n_joints, where + ".positions");
  const auto part = [&](const std::vector<double>& values, const char* name) {
    if (!values.empty()) check_count(values.size(), n_joints, where + name);
    return values.empty() ? std::vector<double>(n_joints, 0.0) : values;
  };
  std::vector<double> sample = message.positions;
  for (const double value : part(message.velocities, ".velocities")) sample.push_back(value);
  for (const double value : part(message.accelerations, ".accelerations")) sample.push_back(value);
  return sample;  // the host refuses what is not finite
}

TargetPose read_target(const geometry_msgs::msg::PoseStamped& message, const Frames& frames) {
  check_frame(message.header.frame_id, frames, "target_pose");
  return read_pose(message.pose.position, message.pose.orientation, "target_pose");
}

std::vector<thunder::TimedPose> read_poses(const trajectory_msgs::msg::MultiDOFJointTrajectory& message,
                                           const Frames& frames) {
  const std::string topic = "trajectory";
  check_frame(message.header.frame_id, frames, topic);
  const bool is_ee = message.joint_names.size() == 1 && message.joint_names[0] == frames.ee;
  if (!message.joint_names.empty() && !is_ee) {
    refuse("joint_names " + thunder::join(message.joint_names), topic, frames.ee + ", or none");
  }
  std::vector<thunder::TimedPose> points;
  for (const auto& given : message.points) {
    const std::string where = point_name(topic, points.size());
    check_count(given.transforms.size(), 1, where + ".transforms");
    const TargetPose pose = read_pose(given.transforms[0], where);
    thunder::TimedPose point;
    point.time = seconds(given.time_from_start);
    point.position = pose.position;
    point.orientation = pose.orientation;
    if (!given.velocities.empty()) {
      check_count(given.velocities.size(), 1, where + ".velocities");
      point.twist = read_twist(given.velocities[0], where);
    }
    if (!given.accelerations.empty()) {
      check_count(given.accelerations.size(), 1, where + ".accelerations");
      point.acceleration = read_twist(given.accelerations[0], where);
    }
    points.push_back(point);
  }
  return points;
}

std::vector<thunder::TimedJoints> read_joints(const trajectory_msgs::msg::JointTrajectory& message,
                                              const std::vector<std::string>& joints) {
  const std::vector<std::size_t> order = order_of(message.joint_names, joints);
  std::vector<thunder::TimedJoints> points;
  for (const auto& given : message.points) {
    const std::string where = point_name("joint_trajectory", points.size());
    check_count(given.positions.size(), joints.size(), where + ".positions");
    thunder::TimedJoints point;
    point.time = seconds(given.time_from_start);
    point.q = reordered(given.positions, order, where + ".positions");
    point.qd = reordered(given.velocities, order, where + ".velocities");
    point.qdd = reordered(given.accelerations, order, where + ".accelerations");
    points.push_back(point);
  }
  return points;
}

}  // namespace thunder_controllers
