// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/law/configuration.hpp"
#include "thunder/host/controller.hpp"
#include "thunder/host/freshness.hpp"
#include "thunder/host/priority_mutex.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/snapshot.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder {

/// A configured controller between the thread that updates it and all others: what every shell around it decides alike.
///
/// One thread updates: update, try_stream, measure, last, has_stopped and fault are its own; it waits for no lock in
/// them. Everything else may come from any thread and takes a lock with priority inheritance; activate, advance_stop and
/// deactivate must not overlap with an update.
///
/// A stop is either at once (deactivate, where no update will follow), or in stages: begin_stop brakes the arm to rest,
/// then the command approaches the safe effort without damping, as the last one may stay in force, then commanding
/// ends; advance_stop after each update leads from one to the next.
class ControlSession {
 public:
  /// Configure a controller. Gains and estimates that are not given have their defaults.
  ///
  /// Throws HostError as Controller::configure does, and HostError(dimension) for a gain that is not given whole.
  ControlSession(Configuration configuration, const Options& options, const NamedValues& gains = {},
                 const NamedValues& estimates = {});

  const Configuration& configuration() const noexcept { return configuration_; }
  const Options& options() const { return host_.options(); }
  const Limits& limits() const { return host_.limits(); }
  const std::vector<Note>& notes() const { return host_.notes(); }

  // --- updating thread ----------------------------------------------------------------------------------------------

  /// One control step; real-time safe. See Controller::update; stamp is the time stamp t as messages have it, [ns].
  GuardBits update(std::int64_t stamp, double t, const double* q, const double* qd, double dt, double* effort) noexcept;
  /// The same for a shell that reads whatever lies there each period: t is the sum of periods since activation, which
  /// no setting of a clock can turn back, and stands still while nothing new is read, which is then stale. See
  /// Freshness for `clock`, that of the hardware.
  GuardBits update(std::int64_t stamp, const double* q, const double* qd, double dt, double* effort,
                   const double* clock = nullptr) noexcept;
  /// Show a measurement in snapshots while nothing is commanded; real-time safe.
  void measure(std::int64_t stamp, double t, const double* q, const double* qd) noexcept;
  /// Follow a flat sample from the next update on, as `stream` does. False where it is refused, or another thread uses the
  /// session just now: what was followed before goes on. Real-time safe unless it is refused.
  bool try_stream(const std::vector<double>& sample) noexcept;
  /// The last step.
  const Snapshot& last() const noexcept { return step_; }
  /// Whether a stop, or a fault, has brought the arm to rest.
  bool has_stopped() const noexcept { return host_.has_stopped(); }
  /// Whether a fault was found since activation, which the controller stops but never ends by itself.
  bool has_fault() const noexcept { return (step_.guards & kFaults) != 0; }
  /// That fault, for people, with the joint and the numbers of a reading that cannot be true; empty if none.
  std::string fault() const;

  // --- transitions, while no update runs ----------------------------------------------------------------------------

  /// Let samples come from the updating thread alone, or from the others.
  void set_chained(bool is_chained) noexcept { is_chained_ = is_chained; }
  /// Start at q and qd, at rest if that is null, from held_effort, the effort commanded now, cut to the limits; from the
  /// safe one if it is null or not finite. See Controller::activate for what it throws.
  ///
  /// A stream that is still fresh on the wall clock is followed; otherwise the place is held. Of one that is further away
  /// than max_error, see ReferenceDistance, the next sample is approached from the place, as any that jumps; where jumps
  /// are not approached, that throws HostError(law).
  void activate(const double* q, const double* qd, const double* held_effort = nullptr,
                double max_error = std::numeric_limits<double>::infinity());
  /// Go on with a stop after an update. True once, where commanding has just ended.
  bool advance_stop();
  /// End commanding at once, and write the safe effort at the last good position, n_joints values.
  void deactivate(double* effort);

  // --- any thread ---------------------------------------------------------------------------------------------------

  bool is_active() const noexcept { return host_.lifecycle() == Lifecycle::active; }
  /// Whether updates are due: from activation to the end of the last ramp.
  bool is_commanding() const noexcept { return commanding_.load(std::memory_order_acquire); }
  bool is_stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }
  /// Brake the arm to rest; streams and motions are not followed any more. Nothing happens while inactive.
  void begin_stop();

  /// Follow a flat sample, see Stream, from the next update on, or from activation on; passed over while stopping.
  ///
  /// It is due at a stamp [ns] on the clock of the updates' stamps; 0, and while nothing is commanded: when it is taken.
  /// A sample replaces the one before, whatever their stamps. Throws as Controller::set_reference does, and
  /// HostError(law) for a negative stamp, or one that is further than reference_timeout from the last update's; what was
  /// followed before goes on. Chained, it throws HostError(law).
  /// A joint on a circle goes to the turn nearest to the sample before, or else to the place.
  void stream(const std::vector<double>& sample, std::int64_t stamp = 0);
  /// An entry beside the standard ones, from the next update on; what is followed otherwise goes on.
  ///
  /// Throws as Controller::set_reference_entry does, and HostError(law) for a standard one, which is streamed.
  void set_further_reference(const std::string& name, const std::vector<double>& values);
  /// A further measurement of the law, see MeasurementPort.
  ///
  /// One that has an age was made at a stamp [ns] on the clock of the updates' stamps, and is passed over while nothing is
  /// commanded; others need none. Throws HostError(law) for one without a stamp, or with a negative one, or one more than
  /// measurement_timeout ahead: it would stay new for as long.
  void set_measurement(const std::string& name, const std::vector<double>& values, std::int64_t stamp = 0);
  /// Whether a stream is followed; while inactive, whether one would be now.
  bool is_streamed() const;
  /// Hold the place where the next update finds the robot: where a clock was set, the old reference means nothing.
  void hold_reference();
  /// Motions of the controller's own; see Controller. Throw HostError(law) unless active, while streamed, or if another
  /// reference was asked for while they were rehearsed.
  PoseWay move_to_pose(const double position[3], const double orientation_xyzw[4]) {
    return move(position, orientation_xyzw).way;
  }
  /// Joints on a circle go the short way from one point to the next, whatever turns are between them.
  /// `follow` returns the number of the request, which snapshots have while it is followed, and after its end.
  std::uint64_t follow(const std::vector<TimedPose>& points) { return move(points).number; }
  std::uint64_t follow(const std::vector<TimedJoints>& points) { return move(points).number; }
  void trace(const Figure& figure) { move(figure); }
  /// The figure, or the largest half, quarter, … of it that the joints can follow, a sixteenth at least; returns its share.
  /// Throws as `trace` does of the whole figure.
  double trace_what_fits(const Figure& figure);
  /// Come to rest whatever is followed, and hold that place. Throws HostError(law) unless active.
  void stop_motion();
  /// Bound the motions that begin from now on, also coming to rest after a lost stream. Throws as check_limits does.
  void set_motion_limits(const MotionLimits& limits);

  /// Throws HostError if one of the gains is refused, or not given whole, without changing any.
  void check_gains(const NamedValues& gains) const;
  /// Change gains, all of them from the same update on, or none. Throws as check_gains does.
  void set_gains(const NamedValues& gains);
  void freeze_adaptation(bool freeze);
  void reset_estimates();

  /// Copy the last step; while nothing is commanded, state and effort are the host's.
  Snapshot snapshot();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::lock_guard<PriorityMutex>;

  void show(std::int64_t stamp, double t, const double* q, const double* qd) noexcept;
  void publish() noexcept;
  void take(const std::vector<double>& sample, std::optional<double> due);
  void observe_reference(GuardBits guards) noexcept;
  bool follows_stream() const;
  const Snapshot& newest() noexcept;
  std::optional<double> ahead(std::int64_t stamp, const std::string& where);
  std::optional<double> due(std::int64_t stamp);
  void require_active(const char* what) const;
  void require_motion() const;
  struct Begun {
    std::uint64_t number;
    PoseWay way;
  };
  /// Plan, rehearse and begin a motion, and forget the stream. Nobody waits for the rehearsal.
  template <class... Request>
  Begun move(const Request&... request) {
    const Lock alone(motions_);
    MotionPlan motion = plan(request...);
    host_.rehearse(motion);
    return {begin(motion), PoseWay(motion.motion)};
  }
  std::uint64_t begin(const MotionPlan& motion);
  template <class... Request>
  MotionPlan plan(const Request&... request) {
    const Lock lock(mutex_);
    require_motion();
    return host_.plan(request...);
  }
  std::vector<double> within_limits(const double* effort) const;
  bool is_far(const double* q, double max_error);
  void end();

  Configuration configuration_;
  PriorityMutex motions_;  ///< one motion is rehearsed at a time; taken before the next one
  mutable PriorityMutex mutex_;
  Controller host_;
  ReferenceDistance distance_;
  std::atomic<bool> commanding_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> is_chained_{false};
  std::atomic<bool> reference_is_lost_{false};  ///< written by the updating thread

  Snapshot step_;  ///< of the updating thread
  Freshness freshness_;
  double elapsed_ = 0.0;  ///< [s] sum of the periods since activation
  TripleBuffer<Snapshot> steps_;
  Snapshot taken_;  ///< of the other threads
  std::vector<double> first_state_;  ///< Of the last activation, until its first update.

  std::uint64_t activation_ = 0;
  std::vector<double> streamed_;
  Clock::time_point streamed_at_;
  bool has_stream_ = false;
};

}  // namespace thunder
