// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <realtime_tools/mutex.hpp>
#include <string>
#include <vector>

#include "configuration.hpp"
#include "snapshot.hpp"
#include "thunder/host/controller.hpp"
#include "thunder/host/reference/distance.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder_controllers {

/// The host of one configuration, between the real-time thread and all others.
///
/// The controller manager calls update, and on a switch activate and deactivate, in its real-time thread; messages,
/// services, parameters and timers come from the threads of its executor. These others take a lock, as the host allows
/// one of them at a time. The real-time thread takes it in activate and deactivate only, with priority inheritance, and
/// never in update.
class ControlCore {
 public:
  using Clock = std::chrono::steady_clock;

  /// Configure the host. Throws HostError for a gain or an estimate out of bounds.
  ControlCore(const Configuration& configuration, const thunder::NamedValues& gains,
              const thunder::NamedValues& estimates, const thunder::MotionLimits& limits);

  const Configuration& configuration() const noexcept { return configuration_; }
  bool is_active() const noexcept { return host_.lifecycle() == thunder::Lifecycle::active; }

  // --- real-time thread --------------------------------------------------------------------------------------------

  /// What the next update reads, n_joints values each: [rad or m], [rad/s or m/s]; NaN where there is none.
  double* q() noexcept { return step_.q.data(); }
  double* qd() noexcept { return step_.qd.data(); }

  /// One control step on q and qd; real-time safe. Returns n_joints efforts [N·m or N], always finite.
  ///
  /// Args: stamp, of the clock that messages are stamped with, [ns]; period, since the update before, [s].
  const double* update(std::int64_t stamp, double period) noexcept;
  /// Whether the host has stopped an arm that ran away, which it never ends by itself.
  bool has_given_up() const noexcept { return (step_.guards & thunder::kRunaway) != 0 && host_.has_stopped(); }
  /// Note that an interface could not be read or written; before `publish`.
  void count_unreadable_state() noexcept { ++step_.loop.unreadable_states; }
  void count_refused_command() noexcept { ++step_.loop.refused_commands; }
  /// Hand the step to the other threads; real-time safe.
  void publish() noexcept;

  /// Start at q and qd, from the effort that is now commanded; from the safe one if a value is no number.
  ///
  /// A stream that is still fresh is followed, from at most max_error away; otherwise the place is held.
  /// Throws HostError if reference, measurement or law speak against it.
  void activate(std::vector<double> held_effort, double max_error, bool freeze);
  /// End, and return the safe effort at the last good position, [N·m or N].
  const double* deactivate();

  // --- other threads -----------------------------------------------------------------------------------------------

  /// Follow a flat sample from the next update on, or from activation on. Throws HostError if it is none.
  void stream(const std::vector<double>& sample);
  /// Start a motion of the host's own. Throws HostError unless active, and while a reference is streamed.
  void move(const thunder::MotionLimits& limits, const std::function<void(thunder::Controller&)>& start);
  /// Bound the motions that begin from now on, coming to rest after a lost stream included. Throws HostError for a
  /// bound that is not positive and finite.
  void set_motion_limits(const thunder::MotionLimits& limits);
  /// Come to rest, and hold that place. Throws HostError unless active.
  void stop(const thunder::MotionLimits& limits);

  /// Throws HostError if one of the gains is refused, without changing any.
  void check_gains(const thunder::NamedValues& gains) const;
  /// Change gains that were checked, all of them from the same update on.
  void set_gains(const thunder::NamedValues& gains);
  void freeze_adaptation(bool freeze);
  bool is_frozen() const noexcept { return host_.is_frozen(); }
  void reset_estimates();

  /// The last step; state and effort of the inactive host while it is inactive.
  Snapshot snapshot();

 private:
  using Lock = std::lock_guard<realtime_tools::prio_inherit_mutex>;

  bool is_streamed() const;
  void require_active(const char* what) const;
  void clamp(std::vector<double>& effort) const;
  void check_distance(double max_error);

  Configuration configuration_;
  mutable realtime_tools::prio_inherit_mutex mutex_;
  thunder::Controller host_;
  thunder::ReferenceDistance distance_;

  Snapshot step_;  ///< of the real-time thread
  thunder::TripleBuffer<Snapshot> steps_;
  bool reference_is_lost_ = false;
  Snapshot taken_;  ///< of the other threads

  std::vector<double> streamed_;
  Clock::time_point streamed_at_;
  bool has_stream_ = false;
};

}  // namespace thunder_controllers
