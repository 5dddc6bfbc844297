// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/safety/arm_inertia.hpp"
#include "thunder/host/safety/brake.hpp"
#include "thunder/host/safety/effort_limiter.hpp"
#include "thunder/host/law/gain_port.hpp"
#include "thunder/host/law/measurement_port.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/law/runner.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/safety/limits.hpp"
#include "thunder/host/safety/measurement_monitor.hpp"
#include "thunder/host/safety/soft_stops.hpp"
#include "thunder/host/safety/velocity_observer.hpp"
#include "thunder/host/motion/circles.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/reference/follower.hpp"
#include "thunder/host/reference/writer.hpp"
#include "thunder/host/law/step_times.hpp"

namespace thunder {

enum class Lifecycle { unconfigured, inactive, active };

/// Runs one law of one library and guards what goes in and out.
///
/// Lifecycle: unconfigured -configure-> inactive -activate-> active -deactivate-> inactive.
///
/// The safe effort is the gravity torque G at the last good position, or zero if the robot compensates gravity itself;
/// while active and where the measured velocity is good, with damping (see Brake). Wherever the law is not stepped, the
/// command approaches it at the effort rate limit. An arm with a fault (kFaults) is stopped like this until the next
/// activation. Soft stops keep the joints in their ranges throughout.
///
/// Threads: one thread configures (configure, activate, deactivate, begin_stop, set_…, hold_reference, move_to_pose,
/// follow, stop_motion, freeze_adaptation, reset_state, gains), one thread updates (update and the accessors of what it
/// computes). They may be two threads; only configure and activate, which rebuild what update reads, must not overlap
/// with update or the accessors. Nothing waits: values cross through triple buffers and atomic flags.
class Controller {
 public:
  /// Prepare a law; gains and initial state that are not given have their defaults. Leads to inactive.
  ///
  /// Throws HostError(law) while active or for a value out of bounds, HostError(name_not_found),
  /// HostError(dimension), or HostError(build) if the library lacks G(q), or, for a cartesian law, T_0_ee(q) or J_ee(q). The
  /// former configuration then stays.
  void configure(std::shared_ptr<const Library> library, const std::string& law, const NamedValues& gains = {},
                 const NamedValues& initial_state = {}, const Options& options = {});

  /// The same as another one was configured, whose gains were looked at then. Throws HostError(law) while active, or if
  /// that is unconfigured.
  void configure_as(const Controller& other);

  /// Start from the measured position and velocity [rad or m, per second], n_joints values each.
  ///
  /// The reference is what was written since configure or deactivate, else holding the place. The effort starts from
  /// held_effort [N·m or N], the one now commanded, and goes over to the law's (see Handover); null means what this
  /// controller has commanded last to this robot, or the safe effort if nothing yet. Null qd means rest.
  /// Estimates are kept from an earlier activation, other states start anew; counters and times are cleared.
  ///
  /// Throws HostError(law) unless inactive, q is finite, inside the position limits or as far beyond as their soft stops begin
  /// before, and where the joints can have come to since the last update, qd and held_effort are finite
  /// and held_effort inside the effort limits, a trial step (which is discarded) is finite, and its telemetry does
  /// not forbid activation. The controller then stays inactive.
  void activate(const double* q, const double* qd = nullptr, const double* held_effort = nullptr);

  /// From now on updates approach the safe effort, without damping; the written reference is forgotten. Throws
  /// HostError(law) unless active.
  void deactivate();

  /// One further measurement of the law, for the next update; see MeasurementPort. Throws HostError(law) while unconfigured.
  ///
  /// One that has an age comes with its time [s], on the clock of the updates' `t`; activation forgets it.
  void set_measurement(const std::string& name, const std::vector<double>& values,
                       std::optional<double> time = std::nullopt);
  /// Whether a measurement of the law has an age. Throws HostError(name_not_found), HostError(law) while unconfigured.
  bool has_age(const std::string& name) const;

  /// One control step; real-time safe: no allocation, lock, system call or look-up by name.
  ///
  /// A joint on a circle is taken to be at the turn nearest to its last good position, at activation where q says.
  /// Args: t, the time stamp of the measurement, [s]; q, qd, [rad or m, per second]; dt, the period, [s]; effort,
  /// n_joints values to write, [N·m or N], always finite and inside the limits.
  /// Returns the guards that acted. Unconfigured, it writes nothing and returns kNotActive.
  GuardBits update(double t, const double* q, const double* qd, double dt, double* effort) noexcept {
    if (!parts_) return kNotActive;
    Update begun = begin_update(t, q, qd, dt);
    return end_update(begun, begun.steps && runner().step(begun.inputs), effort);
  }

  /// What `update` does before and after the law's step, for who steps several laws at once (Fleet).
  struct Update {
    std::chrono::steady_clock::time_point began;
    const double* q;
    const double* qd;
    double dt;
    double elapsed;
    GuardBits guards;
    bool steps;  ///< Whether the law is stepped, with the inputs.
    LawInputs inputs;
  };
  Update begin_update(double t, const double* q, const double* qd, double dt) noexcept;
  GuardBits end_update(const Update& begun, bool stepped, double* effort) noexcept;
  LawRunner& runner() noexcept { return parts_->law; }

  /// Approach the safe effort until the next activation; has_stopped tells when it is reached and the arm at rest.
  /// Throws HostError(law) unless active.
  void begin_stop();

  /// See ReferenceWriter and GainPort. All throw HostError(law) while unconfigured.
  void set_reference(const double* values, int size, std::optional<double> due = std::nullopt);
  void set_reference_entry(const std::string& name, const std::vector<double>& values);
  void hold_reference();
  /// Of motions that begin from now on, coming to rest after a lost stream included; configure brings the defaults
  /// back. Throws HostError(law) while unconfigured, and as check_limits does.
  void set_motion_limits(const MotionLimits& limits);
  /// Motions of the reference from the sample in effect; the last request wins, also over set_reference and
  /// hold_reference. See ReferenceWriter. They throw HostError(law) unless active.
  /// move_to_pose says on which way.
  PoseWay move_to_pose(const double position[3], const double orientation_xyzw[4]) {
    return move(position, orientation_xyzw);
  }
  void follow(const std::vector<TimedPose>& points) { move(points); }
  void follow(const std::vector<TimedJoints>& points) { move(points); }
  void trace(const Figure& figure) { move(figure); }
  /// Comes to rest, from timed points or a figure on their way.
  void stop_motion();
  /// The same motions in steps: `rehearse` may take seconds, in which others may configure whatever they like, but not
  /// rehearse nor call `configure`; `begin` returns the number of the request, and throws HostError(law) if they have asked
  /// for another reference.
  template <class... Request>
  MotionPlan plan(const Request&... request) {
    require(Lifecycle::active, "motion");
    MotionPlan plan = parts_->writer.plan(request...);
    plan.gains = parts_->gains.written();
    return plan;
  }
  void rehearse(MotionPlan& plan) { parts_->writer.rehearse(plan); }
  std::uint64_t begin(MotionPlan plan);
  /// All gains with these changed. Throws as changed_gains and, unless `accepts_unstable_gains`, as check_feedback, which
  /// takes some 20 ms.
  std::vector<double> checked_gains(const NamedValues& gains) const;
  /// All of them, from the same update on, or none. Throws as checked_gains.
  void set_gains(const NamedValues& gains);

  /// Keep the adapted part of the state constant until told otherwise.
  void freeze_adaptation(bool freeze);
  /// Back to the initial state, estimates included: from the next update or activation on.
  void reset_state();
  /// Do at once what reset_state has asked for; updating thread.
  void apply_reset() noexcept;

  Lifecycle lifecycle() const noexcept { return lifecycle_.load(std::memory_order_acquire); }
  bool is_frozen() const noexcept { return frozen_.load(std::memory_order_relaxed); }
  /// The gains as written last; configuring thread.
  const std::vector<double>& gains() const { return parts("gains").gains.written(); }

  /// What the last update computed or used; updating thread. All but the first four throw while unconfigured.
  GuardBits guards() const noexcept { return guards_; }
  /// Whether the last update returned kStopping with the safe effort reached and the joints, as far as the measurement
  /// is good, at rest (see Brake): commanding may end.
  bool has_stopped() const noexcept { return has_stopped_; }
  /// Why the measurement is lost, of the joints that the robot has, for people; empty where no joint is known to be why.
  std::string doubt() const { return doubt_text(doubt_, parts("doubt").library->data()); }
  const GuardCounters& counters() const noexcept { return counters_; }
  const StepTimes& step_times() const noexcept { return step_times_; }
  const std::vector<double>& state() const { return parts("state").law.state(); }
  const std::vector<double>& telemetry() const { return parts("telemetry").law.telemetry(); }
  const std::vector<double>& reference() const { return parts("reference").reference.values(); }
  /// hold while unconfigured.
  ReferenceSource reference_source() const noexcept {
    return parts_ ? parts_->reference.source() : ReferenceSource::hold;
  }
  /// The number of the request that the reference follows; 0 before the first update.
  std::uint64_t reference_request() const { return parts("reference").reference.request(); }
  const std::vector<double>& effort() const { return parts("effort").limiter.previous(); }
  /// The measured position, joints on a circle unwrapped; zeros before the first update.
  const std::vector<double>& position() const { return parts("position").position; }
  /// The velocity that the law is stepped with, n_joints values: as measured and believed, or by the model.
  const double* velocity() const {
    const Parts& p = parts("velocity");
    return p.options.velocity_by_model ? p.observer.velocity() : p.monitor.velocity();
  }

  /// What was configured.
  const thunder_law& law() const { return parts("law").law.law(); }
  const Options& options() const { return parts("options").options; }
  const std::shared_ptr<const Library>& library() const { return parts("library").library; }
  const Limits& limits() const { return parts("limits").limits; }
  /// What configure has noticed, for people: notes of the limits, and see feedback_note.
  const std::vector<Note>& notes() const { return parts("notes").notes; }

 private:
  /// Everything whose size depends on library and law; made anew by each configure.
  struct Parts {
    Parts(std::shared_ptr<const Library> library, const std::string& law, const NamedValues& gains,
          const NamedValues& initial_state, const Options& options);
    /// Notes of law and gains, beside those of the limits.
    void look();

    std::shared_ptr<const Library> library;
    Options options;
    Limits limits;
    GainPort gains;
    MeasurementPort measurements;
    ReferenceChannel channel;
    ReferenceWriter writer;
    ReferenceFollower reference;
    LawRunner law;
    Circles circles;
    MeasurementMonitor monitor;
    ArmInertia inertia;
    FeltInertia felt;
    VelocityObserver observer;
    SoftStops stops;
    EffortLimiter limiter;
    Shortfall shortfall;
    Handover handover;
    Brake brake;
    PositionFunction gravity;
    std::vector<Note> notes;
    NamedValues given_gains;
    NamedValues initial_state;
    std::vector<double> position;        ///< as measured last, joints on a circle unwrapped
    std::vector<double> safe_effort;     ///< gravity, or zero where the robot compensates it
    std::vector<double> robot_effort;    ///< what the robot adds to commands: the other of the two
    std::vector<double> applied_effort;  ///< in the step before, what the robot adds included
    std::vector<double> driven_effort;   ///< of what is applied, all beyond gravity
    std::vector<double> braked_effort;
    std::vector<double> wanted_effort;
  };

  template <class... Request>
  PoseWay move(const Request&... request) {
    MotionPlan planned = plan(request...);
    rehearse(planned);
    begin(planned);
    return PoseWay(planned.motion);
  }
  Parts& parts(const char* what) const;
  void require_idle() const;
  void install(std::unique_ptr<Parts> made);
  void require(Lifecycle needed, const char* what) const;
  void check_start(const double* q, const double* qd, const double* held_effort) const;
  const double* held_effort(const double* given) const noexcept;
  void try_step(const double* q, const double* qd, const double* held_effort);
  void begin_handover(const double* q, const double* qd, const double* rest) noexcept;
  bool step_law(const double* q, const double* qd, const std::vector<double>& reference, double dt) noexcept;
  bool begin_law(const double* q, const double* qd, const std::vector<double>& reference, double dt,
                 LawInputs& inputs) noexcept;
  void end_law() noexcept;
  bool find_gravity(const double* q) noexcept;
  const double* driven_effort() noexcept;
  void observe(const double* q, const double* qd) noexcept;
  void observe_velocity(const double* q, double elapsed) noexcept;
  void note_applied(const double* effort) noexcept;

  using Clock = std::chrono::steady_clock;

  const double* unwrapped(const double* q) noexcept;
  double time(Clock::time_point now) const noexcept;
  double elapsed(double dt, Clock::time_point now) noexcept;
  GuardBits check(double t, const double* q, const double* qd, double dt, double elapsed) noexcept;
  void begin_step(double t, Update& update) noexcept;
  GuardBits end_step(const Update& begun, double* effort) noexcept;
  GuardBits approach_safe_effort(GuardBits guards, const double* q, const double* qd, double elapsed,
                                 double* effort) noexcept;

  std::unique_ptr<Parts> parts_;
  std::atomic<Lifecycle> lifecycle_{Lifecycle::unconfigured};
  std::atomic<bool> frozen_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> reset_requested_{false};
  GuardBits guards_ = 0;
  GuardBits faults_ = 0;
  Doubt doubt_;  ///< at the fault
  bool has_stopped_ = false;
  bool has_commanded_ = false;  ///< since the robot was configured first: the limiter knows an effort
  std::optional<double> last_update_;  ///< [s]
  Clock::time_point last_end_;         ///< of an update
  bool is_cold_ = true;                ///< whether the law's code may have left the caches since
  GuardCounters counters_;
  StepTimes step_times_;
};

/// The lower-case name of a lifecycle state.
const char* to_string(Lifecycle lifecycle) noexcept;

}  // namespace thunder
