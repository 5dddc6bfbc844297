// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/motion/player.hpp"
#include "thunder/host/reference/pose_follower.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// A motion that was asked for and can be made, as far as can be said without a rehearsal.
struct MotionPlan {
  Motion motion;
  std::vector<double> q, reference;  ///< where it starts; empty: that is not known
  std::uint64_t requests = 0;        ///< how many there had been
};

/// Plays a motion before it begins, and finds out whether the joints can make it within their limits.
///
/// Joint motions are compared with the limits of position, velocity and acceleration, sample by sample. Cartesian ones
/// are followed by the joints from where they are, see PoseFollower.
/// One thread at a time; allocates, and may take seconds.
class Rehearsal {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q) or J_ee(q).
  Rehearsal(std::shared_ptr<const Library> library, const thunder_law& law, const SampleLayout& layout,
            const Limits& limits);

  /// A plan with a known start. Throws HostError(law), `where` naming the motion, that says when which joint would leave
  /// its limits, how much of the way to a pose is missing, or that a figure turns too often to be played to where it
  /// begins anew.
  void check(const MotionPlan& plan);

 private:
  void go(const Motion& motion);
  void follow(const Motion& motion);
  void trace(const Motion& motion);
  void play(const Motion& motion, double time, double period, const char* where);
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
