// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/player.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/motion/spline.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/reference/reach.hpp"
#include "thunder/host/reference/rehearsal.hpp"
#include "thunder/host/reference/stream.hpp"
#include "thunder/host/safety/limits.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder {

/// What the updating thread found when it refreshed the reference.
enum class ReferenceState {
  fresh,   ///< As written, holding, or moving by request.
  stale,   ///< Nothing was written for longer than the timeout: coming to rest, or resting after that.
  failed,  ///< The place to hold could not be computed.
};

/// The reference of a law: checked and written by the configuring thread, read by the updating thread.
///
/// Until something is written, and after `hold`, the reference is the place where the updating thread finds the robot:
/// joint laws hold q, cartesian laws the pose T_0_ee(q); velocities and accelerations are zero. Entries written
/// one by one after that replace their part; the others keep holding. Further entries are apart from all that: each has
/// what was written last, its default at first, and writing one changes nothing else.
///
/// Motions begin at the sample in effect, continuous in position, velocity and acceleration, and end at rest; their end
/// is then held. Of several requests between two updates the last one wins. What needs memory is made, and freed, by
/// the configuring thread: each message owns the knots of its points, and the updating thread only looks at them.
///
/// Joint references are cut to the limits. What is written is a stream, which may jump, see Stream. What turns out not to
/// be reached is given up, see Reach: the place where the robot is then is held, until something else is asked for, or
/// the stream comes near it.
class ReferencePort {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q).
  ReferencePort(std::shared_ptr<const Library> library, const thunder_law& law, const Options& options,
                const Limits& limits);

  /// Configuring thread: the whole flat reference, law.reference.size values, or its standard entries alone; due at a
  /// time on the clock of `refresh` [s], or when it is taken.
  ///
  /// Throws HostError(dimension) for another size, HostError(law) for values or a time that are not finite, values out
  /// of bounds, or no rotation (RᵀR = 1 to 1e-6, det R > 0); the reference is then unchanged.
  void write(const double* values, int size, std::optional<double> due = std::nullopt);
  /// Configuring thread: one entry; throws as above and as find_entry does.
  void write_entry(const std::string& name, const std::vector<double>& values);
  /// Configuring thread: hold the place where the next update finds the robot.
  void hold() noexcept;

  /// Configuring thread: bounds of motions that begin from now on. Throws as check_limits does.
  void set_limits(const MotionLimits& limits);
  /// Configuring thread: plan to go to rest at a pose, on a straight line, turning about one axis, within the limits, as
  /// fast as they allow; a moving reference first comes to rest. Position [m], quaternion x, y, z, w of norm 1 to 1e-3.
  ///
  /// Throws HostError(law) for a joint law, for numbers that are not finite or out of the entries' bounds, for another
  /// norm. The two below do so too.
  MotionPlan plan(const double position[3], const double orientation[4]);
  /// Configuring thread: plan to go through timed points, starting now, to rest at the last one; see SplineKnots. A point at
  /// time zero is where the motion starts: it must lie within 0.01 (m, rad, quaternion elements) of the sample in
  /// effect, and is otherwise left out.
  ///
  /// Throws HostError(law) also for times that do not increase or have no positive one, velocities or accelerations
  /// given to a part of the points only, a velocity at the end, or a turn above kLargestTurn between two points;
  /// HostError(dimension) for a wrong number of joints.
  MotionPlan plan(const std::vector<TimedPose>& points);
  MotionPlan plan(const std::vector<TimedJoints>& points);
  /// Configuring thread: plan to come to rest, then to go along a figure, which has no end. Throws as prepare_figure does.
  MotionPlan plan(const Figure& figure);
  /// One thread at a time, beside the configuring thread: throws HostError(law) where the motion would leave limits or
  /// reach, see Rehearsal.
  void rehearse(const MotionPlan& plan);
  /// Configuring thread: begin what was planned. Throws HostError(law) if something else was asked for since then.
  void begin(MotionPlan plan);
  /// Configuring thread: come to rest, and hold that place.
  void stop() noexcept;

  /// Updating thread, at activation: take what was written; hold at q what was not. False if that place has no pose.
  bool restart(const double* q) noexcept;
  /// Updating thread: take what was asked for, with t as its time stamp [s], and let dt [s] of a motion pass.
  ReferenceState refresh(double t, const double* q, double dt, double timeout) noexcept;
  /// Updating thread: the flat reference in effect.
  const std::vector<double>& values() const noexcept { return values_; }
  /// Updating thread: what it follows.
  ReferenceSource source() const noexcept { return source_; }
  /// Updating thread: whether the last refresh has cut it to limits, or what is written is being approached.
  bool is_limited() const noexcept { return is_limited_; }
  /// Updating thread: whether a stream is followed, and late, see Stream.
  bool is_late() const noexcept { return source_ == ReferenceSource::stream && stream_.is_late(); }
  /// Updating thread: whether the reference was given up, see Reach.
  bool is_given_up() const noexcept { return is_given_up_; }
  /// Updating thread: whether the robot does not even come to rest where it was held after that.
  bool is_restless() const noexcept { return is_restless_; }

 private:
  enum class Request { write, go, follow, trace, stop };
  struct Message {
    Request request = Request::write;
    std::uint64_t number = 0;  ///< of the request
    std::vector<double> values;
    std::optional<double> due;  ///< [s] of the values
    std::uint64_t given = 0;  ///< bit i: entry i was written since the last hold or motion
    std::uint64_t holds = 0;    ///< how many holds were asked for
    std::uint64_t motions = 0;  ///< how many motions were asked for
    PoseTarget target;
    std::shared_ptr<const SplineKnots> knots;  ///< owned by the configuring thread, which alone copies and resets it
    std::shared_ptr<const Figure> figure;      ///< likewise
    MotionLimits limits;
  };

  /// Back to the configuring thread.
  struct InEffect {
    std::vector<double> values;
    std::vector<double> q;
  };

  static constexpr double kStreamMargins = 2.0;  ///< nearer to a limit, a soft stop would work against the law

  static Message first_message(const thunder_law& law);
  void check_entry(const thunder_entry& entry, const double* values) const;
  void check_pose(const Vector3& position, const Quaternion& orientation) const;
  void require_kind(bool is_cartesian, const char* what) const;
  const InEffect* find_start();
  MotionPlan plan_from_here();
  void publish() noexcept;
  void begin_request(Request request) noexcept;

  bool capture(const double* q) noexcept;
  void take_further() noexcept;
  bool take(const double* q) noexcept;
  void take_written(const Message& message) noexcept;
  void take_motion(const Message& message) noexcept;
  void stop(const MotionLimits& limits) noexcept;
  void settle() noexcept;
  void move(double dt) noexcept;
  void keep_place() noexcept;
  void show(const double* q) noexcept;
  void follow_written(double t, double dt) noexcept;
  bool cut(double margins, double* reference) const noexcept;
  void give_up(const double* q, double dt) noexcept;

  const thunder_law* law_;
  SampleLayout layout_;
  std::optional<PositionFunction> pose_;

  // Configuring thread.
  Message written_;
  std::uint64_t requests_ = 0;  ///< those for other limits included
  bool start_is_known_ = false;
  std::optional<Rehearsal> rehearsal_;

  TripleBuffer<Message> buffer_;
  TripleBuffer<InEffect> in_effect_;

  // Updating thread.
  std::vector<double> held_;
  std::vector<double> values_;
  std::vector<double> next_;
  std::vector<double> wanted_;  ///< what is written, before it is approached
  MotionPlayer player_;
  Limits limits_;
  Stream stream_;
  bool is_new_ = false;            ///< what is written, and not yet followed
  bool begins_on_stream_ = false;  ///< the sample of the activation is the reference, and no time has passed since
  bool is_cut_ = false;  ///< what is written, to the limits
  Reach reach_;
  ReferenceSource source_ = ReferenceSource::hold;
  std::uint64_t holds_taken_ = 0;
  std::uint64_t motions_taken_ = 0;
  std::uint64_t taken_ = 0;  ///< number of the request
  bool has_moved_ = false;   ///< by a motion, since the place to hold was captured
  bool is_stale_ = false;
  bool is_limited_ = false;
  bool is_given_up_ = false;
  bool is_restless_ = false;
  std::optional<double> stamp_;
};

}  // namespace thunder
