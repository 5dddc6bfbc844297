// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/motion/circles.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/reference/channel.hpp"
#include "thunder/host/reference/rehearsal.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Checks what is asked of a law's reference, and hands it to the ReferenceFollower; configuring thread.
///
/// Entries written one by one after a hold replace their part; the others keep holding. Further entries are apart from
/// all that: each has what was written last, its default at first, and writing one changes nothing else. Of several
/// requests between two updates the last one wins. What needs memory is made, and freed, here: each message owns the
/// knots of its points, and the updating thread only looks at them.
class ReferenceWriter {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q) or J_ee(q). The channel outlives this.
  ReferenceWriter(const std::shared_ptr<const Library>& library, const thunder_law& law, const Options& options,
                  const Limits& limits, ReferenceChannel& channel);

  /// The whole flat reference, law.reference.size values, or its standard entries alone; due at a
  /// time on the clock of the updates [s], or when it is taken.
  ///
  /// Throws HostError(dimension) for another size, HostError(law) for values or a time that are not finite, values out
  /// of bounds, or no rotation (RᵀR = 1 to 1e-6, det R > 0); the reference is then unchanged.
  void write(const double* values, int size, std::optional<double> due = std::nullopt);
  /// One entry; throws as above and as find_entry does.
  void write_entry(const std::string& name, const std::vector<double>& values);
  /// Hold the place where the next update finds the robot.
  void hold() noexcept;

  /// Bounds of motions that begin from now on. Throws as check_limits does.
  void set_limits(const MotionLimits& limits);
  /// Plan to go to rest at a pose, on a straight line, turning about one axis, within the limits, as
  /// fast as they allow; a moving reference first comes to rest. Position [m], quaternion x, y, z, w of norm 1 to 1e-3.
  ///
  /// Throws HostError(law) for a joint law, for numbers that are not finite or out of the entries' bounds, for another
  /// norm. The two below do so too.
  MotionPlan plan(const double position[3], const double orientation[4]);
  /// Plan to go through timed points, starting now, to rest at the last one; see SplineKnots. A point at
  /// time zero is where the motion starts: it must lie within 0.01 (m, rad, quaternion elements) of the sample in
  /// effect, and is otherwise left out.
  ///
  /// Throws HostError(law) also for times that do not increase or have no positive one, velocities or accelerations
  /// given to a part of the points only, a velocity at the end, or a turn above kLargestTurn between two points;
  /// HostError(dimension) for a wrong number of joints.
  MotionPlan plan(const std::vector<TimedPose>& points);
  MotionPlan plan(const std::vector<TimedJoints>& points);
  /// Plan to come to rest, then to go along a figure, which has no end. Throws as prepare_figure does.
  MotionPlan plan(const Figure& figure);
  /// One thread at a time, beside this one: gives a motion to a pose the time that it needs, and throws HostError(law) where
  /// the motion would leave limits or reach, see Rehearsal.
  void rehearse(MotionPlan& plan);
  /// Begin what was planned; returns the number of the request. Throws HostError(law) if something else was asked for since
  /// then.
  std::uint64_t begin(MotionPlan plan);
  /// Come to rest, and hold that place.
  void stop() noexcept;

 private:
  void check_entry(const thunder_entry& entry, const double* values) const;
  void check_pose(const Vector3& position, const Quaternion& orientation) const;
  void require_kind(bool is_cartesian, const char* what) const;
  const ReferenceInEffect* find_start();
  MotionPlan plan_from_here();
  void publish() noexcept;
  void begin_request(ReferenceMessage::Request request) noexcept;

  const thunder_law* law_;
  SampleLayout layout_;
  Circles circles_;
  ReferenceChannel& channel_;
  ReferenceMessage written_;
  std::uint64_t requests_ = 0;  ///< those for other limits included
  bool start_is_known_ = false;
  std::optional<Rehearsal> rehearsal_;
};

}  // namespace thunder
