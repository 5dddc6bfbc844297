// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

/// The user's limit, or the library's where there is none.
std::vector<double> limit_or(const std::vector<double>& chosen, const double* values, int count) {
  return chosen.empty() ? std::vector<double>(values, values + count) : chosen;
}

const Options& checked(const Options& options, int n_joints) {
  check_options(options, n_joints);
  return options;
}

void check_finite(const double* values, int count, const std::string& where) {
  for (int i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    throw HostError(ErrorKind::law, "element " + std::to_string(i) + " is " + format(values[i]), where,
                    "finite values");
  }
}

void check_range(const double* values, const double* lower, const double* upper, const thunder_library& library,
                 const std::string& where) {
  for (int i = 0; i < library.n_joints; ++i) {
    if (lower[i] <= values[i] && values[i] <= upper[i]) continue;
    throw HostError(ErrorKind::law, std::string("joint ") + library.joint_names[i] + " is at " + format(values[i]),
                    where, "[" + format(lower[i]) + ", " + format(upper[i]) + "]");
  }
}

}  // namespace

const char* to_string(Lifecycle lifecycle) noexcept {
  if (lifecycle == Lifecycle::active) return "active";
  return lifecycle == Lifecycle::inactive ? "inactive" : "unconfigured";
}

Controller::Parts::Parts(std::shared_ptr<const Library> source, const std::string& law_name,
                         const NamedValues& gain_values, const NamedValues& initial_state, const Options& chosen)
    : library(std::move(source)),
      options(checked(chosen, library->n_joints())),
      gains(library->law(law_name), gain_values),
      reference(library, library->law(law_name)),
      law(library, library->law(law_name), initial_state),
      monitor(options, limit_or(options.velocity_limit, library->data().velocity_limit, library->n_joints())),
      limiter(limit_or(options.effort_limit, library->data().effort_limit, library->n_joints()),
              limit_or(options.effort_rate_limit, library->data().effort_rate_limit, library->n_joints())),
      brake(options, library->data()),
      gravity(library, "G", library->n_joints()),
      safe_effort(static_cast<std::size_t>(library->n_joints()), 0.0),
      braked_effort(safe_effort) {}

Controller::Parts& Controller::parts(const char* what) const {
  if (!parts_) throw HostError(ErrorKind::law, "the controller is unconfigured", what, "configure first");
  return *parts_;
}

void Controller::require(Lifecycle needed, const char* what) const {
  const Lifecycle now = lifecycle();
  if (now == needed) return;
  throw HostError(ErrorKind::law, std::string("the controller is ") + to_string(now), what,
                  std::string("while ") + to_string(needed));
}

void Controller::configure(std::shared_ptr<const Library> library, const std::string& law, const NamedValues& gains,
                           const NamedValues& initial_state, const Options& options) {
  if (lifecycle() == Lifecycle::active) {
    throw HostError(ErrorKind::law, "the controller is active", "configure", "while unconfigured or inactive");
  }
  parts_ = std::make_unique<Parts>(std::move(library), law, gains, initial_state, options);
  frozen_ = false;
  stopping_ = has_run_away_ = has_stopped_ = false;
  reset_requested_ = false;
  guards_ = 0;
  counters_.clear();
  step_times_.clear();
  lifecycle_.store(Lifecycle::inactive, std::memory_order_release);
}

void Controller::check_start(const double* q, const double* qd, const double* held_effort) const {
  const thunder_library& data = parts_->library->data();
  check_finite(q, data.n_joints, "activate: q");
  check_range(q, data.position_lower, data.position_upper, data, "activate: q");
  if (qd) check_finite(qd, data.n_joints, "activate: qd");
  if (!held_effort) return;
  std::vector<double> lower = parts_->limiter.limit();
  for (double& value : lower) value = -value;
  check_finite(held_effort, data.n_joints, "activate: held_effort");
  check_range(held_effort, lower.data(), parts_->limiter.limit().data(), data, "activate: held_effort");
}

void Controller::try_step(const double* q, const double* qd) {
  Parts& p = *parts_;
  const std::string name = p.law.law().name;
  if (!p.gravity.evaluate(q) || !p.reference.restart(q)) {
    throw HostError(ErrorKind::law, "gravity torque or pose is not finite here", "activate: q");
  }
  p.law.reset(true);
  if (!p.law.step(q, qd, p.reference.values().data(), p.gains.refresh(), p.options.nominal_dt)) {
    throw HostError(ErrorKind::law, "a trial step gives values that are not finite", "activate: " + name,
                    "another position, reference or gains");
  }
  p.law.check_activation();
}

void Controller::activate(const double* q, const double* qd, const double* held_effort) {
  require(Lifecycle::inactive, "activate");
  check_start(q, qd, held_effort);
  const std::vector<double> rest(static_cast<std::size_t>(parts_->library->n_joints()), 0.0);
  if (reset_requested_.exchange(false)) parts_->law.reset(false);
  try_step(q, qd ? qd : rest.data());
  Parts& p = *parts_;
  if (!p.options.gravity_compensated_by_robot) std::copy_n(p.gravity.result(), rest.size(), p.safe_effort.begin());
  p.monitor.restart(q);
  p.limiter.restart(held_effort ? held_effort : p.safe_effort.data());
  stopping_ = has_run_away_ = has_stopped_ = false;
  guards_ = 0;
  counters_.clear();
  step_times_.clear();
  lifecycle_.store(Lifecycle::active, std::memory_order_release);
}

void Controller::deactivate() {
  require(Lifecycle::active, "deactivate");
  lifecycle_.store(Lifecycle::inactive, std::memory_order_release);
  parts_->reference.hold();
}

void Controller::begin_stop() {
  require(Lifecycle::active, "begin_stop");
  stopping_.store(true, std::memory_order_relaxed);
}

void Controller::set_reference(const double* values, int size) { parts("set_reference").reference.write(values, size); }

void Controller::set_reference_entry(const std::string& name, const std::vector<double>& values) {
  parts("set_reference_entry").reference.write_entry(name, values);
}

void Controller::hold_reference() { parts("hold_reference").reference.hold(); }

void Controller::set_motion_limits(const MotionLimits& limits) {
  parts("set_motion_limits").reference.set_limits(limits);
}

void Controller::move_to_pose(const double position[3], const double orientation_xyzw[4]) {
  require(Lifecycle::active, "move_to_pose");
  parts_->reference.go_to(position, orientation_xyzw);
}

void Controller::follow(const std::vector<TimedPose>& points) {
  require(Lifecycle::active, "follow");
  parts_->reference.follow(points);
}

void Controller::follow(const std::vector<TimedJoints>& points) {
  require(Lifecycle::active, "follow");
  parts_->reference.follow(points);
}

void Controller::stop_motion() {
  require(Lifecycle::active, "stop_motion");
  parts_->reference.stop();
}

void Controller::set_gain(const std::string& name, const std::vector<double>& values) {
  parts("set_gain").gains.write(name, values);
}

void Controller::set_gains(const NamedValues& gains) { parts("set_gains").gains.write(gains); }

void Controller::freeze_adaptation(bool freeze) {
  parts("freeze_adaptation");
  frozen_.store(freeze, std::memory_order_relaxed);
}

void Controller::reset_state() {
  Parts& p = parts("reset_state");
  if (lifecycle() == Lifecycle::active) {
    reset_requested_.store(true, std::memory_order_relaxed);
  } else {
    p.law.reset(false);
  }
}

GuardBits Controller::update(double t, const double* q, const double* qd, double dt, double* effort) noexcept {
  if (!parts_) return kNotActive;
  const auto begin = std::chrono::steady_clock::now();
  guards_ = run(t, q, qd, dt, effort);
  counters_.record(guards_);
  const auto duration = std::chrono::steady_clock::now() - begin;
  step_times_.record(
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count()));
  return guards_;
}

GuardBits Controller::run(double t, const double* q, const double* qd, double dt, double* effort) noexcept {
  GuardBits guards = begin_update(t, q, qd, dt);
  has_stopped_ = false;
  if ((guards & kBlockingGuards) == 0) guards |= step(t, q, qd, dt, effort);
  if ((guards & kBlockingGuards) != 0) guards |= approach_safe_effort(guards, qd, parts_->monitor.ramp_dt(dt), effort);
  return guards;
}

GuardBits Controller::begin_update(double t, const double* q, const double* qd, double dt) noexcept {
  GuardBits guards = parts_->monitor.check(t, q, qd, dt);
  if (stopping_.load(std::memory_order_relaxed)) guards |= kStopping;
  if (lifecycle() != Lifecycle::active) guards |= kNotActive;
  // Only a law can run away; how fast an arm is moved by others is not for this controller to stop.
  if ((guards & (kStopping | kNotActive)) == 0 && parts_->monitor.has_run_away()) has_run_away_ = true;
  return guards | (has_run_away_ ? kRunaway | kStopping : 0u);
}

GuardBits Controller::step(double t, const double* q, const double* qd, double dt, double* effort) noexcept {
  Parts& p = *parts_;
  if (reset_requested_.load(std::memory_order_relaxed) && reset_requested_.exchange(false)) p.law.reset(false);
  const ReferenceState reference = p.reference.refresh(t, q, dt, p.options.reference_timeout);
  GuardBits guards = reference == ReferenceState::stale ? kReferenceStale : 0u;
  if (reference == ReferenceState::failed) return guards | kResultNonFinite;
  if (!p.law.step(q, qd, p.reference.values().data(), p.gains.refresh(), dt)) return guards | kResultNonFinite;
  if (p.options.gravity_compensated_by_robot) {
    if (!p.gravity.evaluate(q)) return guards | kResultNonFinite;
    const int n = p.library->n_joints();
    for (int i = 0; i < n; ++i) p.law.effort()[i] -= p.gravity.result()[i];
    if (!all_finite(p.law.effort(), n)) return guards | kResultNonFinite;
  }
  const GuardBits limited = p.limiter.apply(p.law.effort(), dt, effort);
  const bool freeze = p.law.adapts() && (frozen_.load(std::memory_order_relaxed) ||
                                         (limited != 0 && p.options.saturation_freezes_adaptation));
  p.law.commit(freeze);
  return guards | limited | (freeze ? kAdaptationFrozen : 0u);
}

GuardBits Controller::approach_safe_effort(GuardBits guards, const double* qd, double dt, double* effort) noexcept {
  Parts& p = *parts_;
  // A gravity torque that cannot be computed leaves the last one, which was finite, as the target.
  if (!p.options.gravity_compensated_by_robot && p.gravity.evaluate(p.monitor.position())) {
    std::copy_n(p.gravity.result(), p.safe_effort.size(), p.safe_effort.begin());
  }
  // A velocity that is not known cannot be braked, nor can one whose effort nobody corrects after a deactivation.
  const bool brakes = (guards & (kMeasurementNonFinite | kMeasurementStale | kNotActive)) == 0;
  p.braked_effort = p.safe_effort;
  if (brakes) p.brake.apply(p.safe_effort.data(), qd, p.braked_effort.data());
  const GuardBits limited = p.limiter.apply(p.braked_effort.data(), dt, effort);
  const bool at_rest = !brakes || p.brake.is_at_rest(qd);
  has_stopped_ = (guards & kStopping) != 0 && (limited & kEffortRateLimited) == 0 && at_rest;
  return limited;
}

}  // namespace thunder
