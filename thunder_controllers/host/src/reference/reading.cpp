// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/reading.hpp"

#include <algorithm>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/law/measurement_port.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/points.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder {
namespace {

[[noreturn]] void refuse(const std::string& wrong, const std::string& where, const std::string& valid) {
  throw HostError(ErrorKind::law, wrong, where, valid);
}

/// `least` is 0 for what may be left out.
void check_count(std::size_t count, std::size_t least, std::size_t full, const std::string& where) {
  if (count == full || count == least) return;
  refuse(std::to_string(count) + " values", where, (least == full ? "" : "0 or ") + std::to_string(full));
}

PoseTarget read_pose(const PoseNumbers& numbers, const std::string& where) {
  if (!all_finite(numbers.data(), 7)) refuse("a position or orientation is not finite", where, "numbers");
  return {{numbers[0], numbers[1], numbers[2]}, checked_orientation(numbers.data() + 3, where.c_str())};
}

const TwistNumbers& checked(const TwistNumbers& twist, const std::string& where) {
  if (!all_finite(twist.data(), 6)) refuse("a velocity or acceleration is not finite", where, "numbers");
  return twist;
}

std::string point_name(const char* topic, std::size_t k) {
  return std::string(topic) + ": points[" + std::to_string(k) + "]";
}

/// The values in the library's order; none if there are none.
std::vector<double> reordered(const std::vector<double>& values, const std::vector<std::size_t>& order,
                              std::size_t least, const std::string& where) {
  check_count(values.size(), least, order.size(), where);
  std::vector<double> sorted;
  if (values.empty()) return sorted;
  for (const std::size_t index : order) sorted.push_back(values[index]);
  return sorted;
}

}  // namespace

ReferenceReader::ReferenceReader(Configuration configuration, Frames frames)
    : configuration_(std::move(configuration)), frames_(std::move(frames)) {
  check_feeds(configuration_.law_data(), configuration_.library->n_joints(), {{"ee_position", "wrench"}, {"wrench"}}, "topics");
}

std::vector<double> ReferenceReader::sample(const PosePoint& point) const {
  const std::string where = "reference";
  if (point.transforms.size() != 1 || point.velocities.size() > 1 || point.accelerations.size() > 1) {
    refuse(std::to_string(point.transforms.size()) + " transforms, " + std::to_string(point.velocities.size()) +
               " velocities, " + std::to_string(point.accelerations.size()) + " accelerations",
           where, "one transform, at most one velocity and one acceleration");
  }
  const PoseTarget pose = read_pose(point.transforms[0], where);
  const SampleLayout layout(configuration_.law_data(), 0);
  std::vector<double> sample(static_cast<std::size_t>(layout.standard), 0.0);
  PoseSample{pose.position, pose.orientation, {}, {}, {}, {}}.write(layout, sample.data());
  const auto write = [&](const std::vector<TwistNumbers>& given, int offset) {
    if (!given.empty()) std::copy_n(checked(given[0], where).begin(), 6, sample.begin() + offset);
  };
  write(point.velocities, layout.velocity);
  write(point.accelerations, layout.acceleration);
  return sample;
}

std::vector<double> ReferenceReader::sample(const TimedJoints& point) const {
  const std::size_t n = configuration_.joints.size();
  std::vector<double> sample;
  const auto append = [&](const std::vector<double>& values, const std::string& field, bool is_optional) {
    if (values.size() != n && !(is_optional && values.empty())) {
      refuse(std::to_string(values.size()) + " " + field, "joint_reference",
             std::to_string(n) + ", in the order of the library's joints" + (is_optional ? ", or none" : ""));
    }
    if (!all_finite(values.data(), static_cast<int>(values.size()))) {
      refuse(field + " are not finite", "joint_reference", "numbers");
    }
    sample.insert(sample.end(), values.begin(), values.end());
    if (values.empty()) sample.insert(sample.end(), n, 0.0);
  };
  append(point.q, "positions", false);
  append(point.qd, "velocities", true);
  append(point.qdd, "accelerations", true);
  return sample;
}

void ReferenceReader::check_frame(const std::string& frame, const std::string& where) const {
  if (frame != frames_.base) refuse("frame_id '" + frame + "'", where, "'" + frames_.base + "', parameter base_frame");
}

PoseTarget ReferenceReader::target(const std::string& frame, const PoseNumbers& pose) const {
  check_frame(frame, "target_pose");
  return read_pose(pose, "target_pose");
}

std::vector<TimedPose> ReferenceReader::poses(const std::string& frame, const std::vector<std::string>& names,
                                              const std::vector<PosePoint>& points) const {
  check_frame(frame, "trajectory");
  if (!names.empty() && names != std::vector<std::string>{frames_.ee}) {
    refuse("joint_names " + join(names), "trajectory", frames_.ee + ", or none");
  }
  std::vector<TimedPose> read;
  for (const PosePoint& given : points) {
    const std::string where = point_name("trajectory", read.size());
    check_count(given.transforms.size(), 1, 1, where + ".transforms");
    check_count(given.velocities.size(), 0, 1, where + ".velocities");
    check_count(given.accelerations.size(), 0, 1, where + ".accelerations");
    const PoseTarget pose = read_pose(given.transforms[0], where);
    TimedPose& point = read.emplace_back();
    point.time = given.time;
    point.position = pose.position;
    point.orientation = pose.orientation;
    if (!given.velocities.empty()) point.twist = given.velocities[0];
    if (!given.accelerations.empty()) point.acceleration = given.accelerations[0];
  }
  return read;
}

std::vector<double> ReferenceReader::position(const std::string& frame, const PoseNumbers& pose,
                                              const std::string& topic) const {
  check_frame(frame, topic);
  if (!all_finite(pose.data(), 3)) refuse("a position is not finite", topic, "numbers");
  return {pose.begin(), pose.begin() + 3};
}

std::vector<double> ReferenceReader::wrench(const std::string& frame, const TwistNumbers& wrench,
                                            const std::string& topic) const {
  check_frame(frame, topic);
  return {wrench.begin(), wrench.end()};
}

std::vector<TimedJoints> ReferenceReader::joints(const std::vector<std::string>& names,
                                                 const std::vector<TimedJoints>& points) const {
  const std::vector<std::size_t> order = order_of(names, configuration_.joints, "joint_trajectory: joint_names");
  std::vector<TimedJoints> read;
  for (const TimedJoints& given : points) {
    const std::string where = point_name("joint_trajectory", read.size());
    TimedJoints& point = read.emplace_back();
    point.time = given.time;
    point.q = reordered(given.q, order, order.size(), where + ".positions");
    point.qd = reordered(given.qd, order, 0, where + ".velocities");
    point.qdd = reordered(given.qdd, order, 0, where + ".accelerations");
  }
  return read;
}

}  // namespace thunder
