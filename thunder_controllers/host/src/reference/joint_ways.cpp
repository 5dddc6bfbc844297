// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/joint_ways.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/motion/spline.hpp"

namespace thunder {
namespace {

constexpr int kTries = 400;        // postures that the search begins at
constexpr std::size_t kMost = 50;  // ways, the quickest, and as many bends
constexpr int kBends = 4;          // of each way
constexpr int kPoses = 40;         // of a way
constexpr double kShare = 0.5;     // of a velocity limit
constexpr double kSame = 1e-3;     // [rad or m] between postures
constexpr double kFastest = 15.0 / 8.0, kHardest = 10.0 / std::sqrt(3.0);  // of s(t), times T and T²

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

JointWays::JointWays(const std::shared_ptr<const Library>& library, const thunder_law& law, const SampleLayout& layout,
                     const Limits& limits)
    : layout_(layout), circles_(library->data()), limits_(limits), follower_(library, law, limits), place_(library, law) {}

std::vector<double> JointWays::Way::at(double share) const {
  std::vector<double> made = from;
  for (std::size_t i = 0; i < from.size(); ++i) {
    made[i] += share * ((1.0 - share) * 2.0 * (via[i] - from[i]) + share * (to[i] - from[i]));
  }
  return made;
}

/// A random one; joints without limits within half a turn of q.
std::vector<double> JointWays::posture(const std::vector<double>& q) {
  std::vector<double> made = q;
  for (std::size_t i = 0; i < q.size(); ++i) {
    const double share = static_cast<double>(random_() >> 11) * 0x1p-53;
    const double lower = limits_.position_lower[i], upper = limits_.position_upper[i];
    const bool is_bounded = std::isfinite(lower) && std::isfinite(upper);
    made[i] = is_bounded ? lower + share * (upper - lower) : q[i] + kTurn * (share - 0.5);
  }
  return made;
}

/// Where the pose is reached, each once.
std::vector<std::vector<double>> JointWays::postures(const std::vector<double>& q, const std::vector<double>& reference) {
  std::vector<std::vector<double>> found;
  for (int k = 0; k < kTries; ++k) {
    std::vector<double> there = k == 0 ? q : posture(q);
    if (!(follower_.approach(there.data(), reference.data()) <= PoseFollower::kReached)) continue;
    circles_.unwrap(q.data(), there.data());
    const auto is_same = [&](const std::vector<double>& other) { return largest_difference(there, other) < kSame; };
    if (std::none_of(found.begin(), found.end(), is_same)) found.push_back(there);
  }
  return found;
}

TimedPose JointWays::pose_at(const std::vector<double>& q) {
  place_.find(q.data());
  const double* values = place_.values().data();
  TimedPose pose;
  std::copy_n(values + layout_.position, 3, pose.position.begin());
  const Quaternion turn = from_matrix(values + layout_.rotation);
  std::copy_n(turn.begin(), 4, pose.orientation.begin());
  return pose;
}

std::vector<TimedPose> JointWays::poses(const Way& way) {
  std::vector<TimedPose> made;
  for (int k = 1; k <= kPoses; ++k) {
    const double share = static_cast<double>(k) / kPoses;
    made.push_back(pose_at(way.at(evaluate_quintic({0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, 1.0, share).value)));
    made.back().time = share * way.time;
  }
  return made;
}

double JointWays::time(const Way& way, const MotionLimits& limits) {
  double fastest = 0.0, furthest = 0.0;  // per s
  std::vector<double> before = way.from;
  TimedPose pose_before = pose_at(before);
  for (int k = 1; k <= kPoses; ++k) {
    const std::vector<double> now = way.at(static_cast<double>(k) / kPoses);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double passed = kPoses * std::abs(now[i] - before[i]);
      furthest = std::max(furthest, passed);
      fastest = std::max(fastest, passed / (kShare * limits_.velocity[i]));
    }
    const TimedPose pose = pose_at(now);
    const double passed = norm(plus(pose.position, -1.0, pose_before.position));
    const double turned = norm(to_rotation_vector(product(pose.orientation, conjugate(pose_before.orientation))));
    fastest = std::max({fastest, kPoses * passed / limits.linear_velocity, kPoses * turned / limits.angular_velocity});
    before = now, pose_before = pose;
  }
  return std::max(kFastest * fastest, std::sqrt(kHardest * furthest / limits.joint_acceleration));
}

/// The quickest first, not too many.
void JointWays::sort(std::vector<Way>& ways, const MotionLimits& limits) {
  for (Way& way : ways) way.time = time(way, limits);
  const auto is_none = [](const Way& way) { return !(way.time > 0.0) || !std::isfinite(way.time); };
  ways.erase(std::remove_if(ways.begin(), ways.end(), is_none), ways.end());
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.time < b.time; });
  ways.resize(std::min(ways.size(), kMost));
}

std::vector<std::vector<TimedPose>> JointWays::find(const std::vector<double>& q, const std::vector<double>& reference,
                                                    const MotionLimits& limits) {
  random_.seed(1);
  std::vector<Way> ways, bends;
  for (std::vector<double>& there : postures(q, reference)) {
    std::vector<double> middle = q;
    for (std::size_t i = 0; i < q.size(); ++i) middle[i] += 0.5 * (there[i] - q[i]);
    ways.push_back({q, std::move(middle), std::move(there)});
  }
  sort(ways, limits);
  for (const Way& way : ways) {
    for (int k = 0; k < kBends; ++k) bends.push_back({q, posture(q), way.to});
  }
  sort(bends, limits);
  std::vector<std::vector<TimedPose>> found;
  for (const std::vector<Way>* some : {&ways, &bends}) {
    for (const Way& way : *some) found.push_back(poses(way));
  }
  return found;
}

}  // namespace thunder
