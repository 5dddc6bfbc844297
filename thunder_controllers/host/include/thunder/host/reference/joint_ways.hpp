// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "thunder/host/motion/circles.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/reference/pose_follower.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Ways to a pose on which all joints move at once, for where the straight line leaves limits or reach.
///
/// A posture q₁ at the pose is found from the start and from random postures, always the same ones, see PoseFollower. The
/// poses are those of q₀ + s (q₁ − q₀); the last ones make a bend, (1 − s)² q₀ + 2 s (1 − s) q_v + s² q₁, about a random q_v.
/// s(t) is a quintic from rest to rest, in the least time with which joints keep half of their velocity limits, all of them
/// about the joint acceleration, and the pose the velocities of the motion limits.
class JointWays {
 public:
  /// Throws as PoseFollower does.
  JointWays(const std::shared_ptr<const Library>& library, const thunder_law& law, const SampleLayout& layout,
            const Limits& limits);

  /// Timed poses of each way from rest at q [rad or m] to the pose of a flat reference, the quickest first, then bends.
  std::vector<std::vector<TimedPose>> find(const std::vector<double>& q, const std::vector<double>& reference,
                                           const MotionLimits& limits);

 private:
  struct Way {
    std::vector<double> from, via, to;
    double time = 0.0;

    std::vector<double> at(double share) const;
  };

  std::vector<double> posture(const std::vector<double>& q);
  std::vector<std::vector<double>> postures(const std::vector<double>& q, const std::vector<double>& reference);
  TimedPose pose_at(const std::vector<double>& q);
  std::vector<TimedPose> poses(const Way& way);
  double time(const Way& way, const MotionLimits& limits);
  void sort(std::vector<Way>& ways, const MotionLimits& limits);

  SampleLayout layout_;
  Circles circles_;
  Limits limits_;
  PoseFollower follower_;
  Place place_;
  std::mt19937_64 random_;
};

}  // namespace thunder
