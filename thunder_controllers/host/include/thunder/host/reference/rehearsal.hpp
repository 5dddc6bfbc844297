// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/motion/player.hpp"
#include "thunder/host/reference/pose_follower.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Plays a motion before it begins, and finds out whether the joints can make it within their limits.
///
/// Joint motions are compared with the limits of position, velocity and acceleration, sample by sample. Cartesian ones
/// are followed by the joints from where they are, see PoseFollower.
/// Configuring thread; allocates.
class Rehearsal {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q).
  Rehearsal(std::shared_ptr<const Library> library, const thunder_law& law, const SampleLayout& layout,
            const Limits& limits);

  /// From joints at q and the flat reference in effect. Both throw HostError(law), `where` naming the motion, that says
  /// when which joint would leave its limits, or how much of the way to a pose is missing.
  void go(const double* q, const double* reference, const PoseTarget& target, const MotionLimits& limits);
  void follow(const double* q, const double* reference, const SplineKnots& knots, const MotionLimits& limits);

 private:
  void begin(const double* q, const double* reference);
  void play(const SplineKnots* knots, double time, double period, const char* where);
  void check_joints(double time, const char* where) const;
  void check_pose(double time, double period, const char* where);

  std::shared_ptr<const Library> library_;
  SampleLayout layout_;
  Limits limits_;
  std::optional<PoseFollower> follower_;  ///< cartesian laws
  MotionPlayer player_;
  std::vector<double> sample_;
  std::vector<double> q_;
};

}  // namespace thunder
