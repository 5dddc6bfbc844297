// SPDX-License-Identifier: Apache-2.0
//
// From the numbers and names of reference messages to samples, targets and timed points: frames, names, sizes,
// quaternions. What a motion must satisfy beyond that (times, start, end) the controller checks.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "thunder/host/law/configuration.hpp"
#include "thunder/host/motion/motion.hpp"

namespace thunder {

/// Names of the frames that poses are given in, and of.
struct Frames {
  std::string base;
  std::string ee;
};

/// Position x y z [m] and quaternion x y z w, in the base frame.
using PoseNumbers = std::array<double, 7>;
/// Linear, then angular, in the base frame.
using TwistNumbers = std::array<double, 6>;

/// A point as a trajectory_msgs/MultiDOFJointTrajectoryPoint has it, not yet checked.
struct PosePoint {
  double time = 0.0;  ///< [s] From start.
  std::vector<PoseNumbers> transforms;
  std::vector<TwistNumbers> velocities = {};     ///< [m/s, rad/s]
  std::vector<TwistNumbers> accelerations = {};  ///< [m/s², rad/s²]
};

/// Reads references, and measured wrenches, for one configuration. All throw HostError(law), `where` naming the topic
/// and field.
class ReferenceReader {
 public:
  /// Throws HostError(law) if the law asks for something that no message says.
  ReferenceReader(Configuration configuration, Frames frames);

  /// A streamed point as a flat sample of a cartesian law: one transform, at most one velocity and one acceleration,
  /// which are zero where there is none. A quaternion's norm may differ from one by 1e-3; it is then normalised.
  std::vector<double> sample(const PosePoint& point) const;
  /// A streamed point as a flat sample of a joint law, its time aside: positions in the order of the joints; velocities and
  /// accelerations or none, which stands for zeros.
  std::vector<double> sample(const TimedJoints& point) const;

  /// A target given in a frame, which must be the base frame.
  PoseTarget target(const std::string& frame, const PoseNumbers& pose) const;
  /// Poses of the end effector at times; `names` holds the frame of the end effector, or nothing.
  std::vector<TimedPose> poses(const std::string& frame, const std::vector<std::string>& names,
                               const std::vector<PosePoint>& points) const;
  /// Joint positions at times, in the library's order; the message may have the joints in any order.
  std::vector<TimedJoints> joints(const std::vector<std::string>& names, const std::vector<TimedJoints>& points) const;
  /// The position [m] of a pose of the end effector that was measured outside of the arm, given in a frame, which must be the
  /// base frame; nothing is asked of the orientation, which is not used.
  std::vector<double> position(const std::string& frame, const PoseNumbers& pose, const std::string& topic) const;
  /// A wrench [N, N·m], given in a frame, which must be the base frame.
  std::vector<double> wrench(const std::string& frame, const TwistNumbers& wrench, const std::string& topic) const;

 private:
  void check_frame(const std::string& frame, const std::string& where) const;

  Configuration configuration_;
  Frames frames_;
};

}  // namespace thunder
