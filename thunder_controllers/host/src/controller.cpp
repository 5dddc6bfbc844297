// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/feedback_margin.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/measurement.hpp"

namespace thunder {
namespace {

constexpr const char* kAdaptationLimit = "adaptation_limit";
constexpr std::chrono::microseconds kWarmFor{100};  // after an update; then others have had the caches
constexpr double kSlowAdaptation = 0.01;  // of the damping, in each period: seconds for what is seen best

bool is_same_robot(const thunder_library& a, const thunder_library& b) {
  return a.n_joints == b.n_joints && std::strcmp(a.robot, b.robot) == 0;
}

const Options& checked(const Options& options, const Library& library) {
  const thunder_library& data = library.data();
  check_options(options, data.n_joints);
  if (!options.velocity_by_model) return options;
  const std::string where = "option velocity_by_model", valid = "false, or a robot file that states it";
  if (library.n_elastic() > 0) throw HostError(ErrorKind::law, "the joints are elastic", where, "false");
  for (int i = 0; i < data.n_joints; ++i) {
    if (!std::isnan(data.rotor_inertia[i])) continue;
    throw HostError(ErrorKind::law, std::string("the rotor of joint ") + data.joint_names[i] + " is not known", where, valid);
  }
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
                 const std::string& verb, const std::string& where) {
  for (int i = 0; i < library.n_joints; ++i) {
    if (lower[i] <= values[i] && values[i] <= upper[i]) continue;
    const bool is_above = values[i] > upper[i];
    const double limit = is_above ? upper[i] : lower[i];
    const std::string by = format(std::abs(values[i] - limit), 3) + (is_above ? " above" : " below") + " its limit";
    throw HostError(ErrorKind::law,
                    std::string("joint ") + library.joint_names[i] + verb + format_apart(values[i], limit) + ", " + by, where,
                    "[" + format(lower[i]) + ", " + format(upper[i]) + "], both ends included");
  }
}

/// That a law adapts slowly by default, as drives may have more inertia than the robot file says; empty if it does not, or if
/// its gains follow the rotors that it learns.
std::optional<Note> adaptation_note(const Library& library, const std::string& law, const NamedValues& gains) {
  const thunder_entry* limit = entry_if_any(library.law(law).gains, kAdaptationLimit);
  if (!limit || limit->defaults[0] > kSlowAdaptation) return std::nullopt;
  if (entry_if_any(library.law(law).telemetry, "K_d_used")) return std::nullopt;
  if (const auto given = gains.find(kAdaptationLimit); given != gains.end() && given->second[0] != limit->defaults[0]) {
    return std::nullopt;
  }
  const thunder_library& data = library.data();
  std::string joints;
  for (int i = 0; i < data.n_joints; ++i) {
    if (std::isnan(data.rotor_inertia[i])) joints += (joints.empty() ? "" : ", ") + std::string(data.joint_names[i]);
  }
  return Note{"slow_adaptation", "the adaptation is slow (" + std::string(kAdaptationLimit) + " " + format(limit->defaults[0]) +
         "), as the robot file does not say which rotors turn with " + joints +
         ": state them there (rotor) within 20 %, as `thunder commission` finds them, or that there are none "
         "(without_rotors), or let the law learn them (adaptation=least_squares, rotors=adapted)"};
}

}  // namespace

const char* to_string(Lifecycle lifecycle) noexcept {
  if (lifecycle == Lifecycle::active) return "active";
  return lifecycle == Lifecycle::inactive ? "inactive" : "unconfigured";
}

namespace {

/// [s] In which the difference between what held the arm and what the law believes fades. Where the law takes up what no
/// parameter explains, with a bandwidth K from its first step on, it is 2/K at most, the ramp of the area of e^(−Kt): what the
/// law has taken up beside the difference moves the arm.
double handover_time(const thunder_law& law, const GainPort& gains, const Options& options) {
  double time = options.handover_time;
  if (!entry_if_any(law.gains, "disturbance_upper")) return time;
  for (const char* bandwidth : {"observer_bandwidth", "integral_bandwidth"}) {
    const thunder_entry* entry = entry_if_any(law.gains, bandwidth);
    if (entry) time = std::min(time, 2.0 / gains.written()[static_cast<std::size_t>(entry->offset)]);
  }
  return time;
}

}  // namespace

Controller::Parts::Parts(std::shared_ptr<const Library> source, const std::string& law_name,
                         const NamedValues& gain_values, const NamedValues& initial, const Options& chosen)
    : library(std::move(source)),
      options(checked(chosen, *library)),
      limits(limits_of(options, library->data())),
      gains(library->law(law_name), gain_values),
      measurements(library->law(law_name)),
      channel(library->law(law_name), library->n_joints()),
      writer(library, library->law(law_name), options, limits, channel),
      reference(library, library->law(law_name), options, limits, channel),
      law(library, library->law(law_name), initial),
      circles(library->data()),
      monitor(options, limits),
      inertia(library),
      felt(options, limits),
      observer(options, limits.effort.size()),
      stops(inertia, felt, options, limits),
      limiter(limits.effort, limits.effort_rate, options.nominal_dt),
      shortfall(limits.effort),
      handover(limits.effort, limits.effort_rate, handover_time(law.law(), gains, options), options.nominal_dt),
      brake(options, limits, library->data()),
      gravity(library, "G", library->n_joints()),
      notes(limits.notes),
      given_gains(gain_values),
      initial_state(initial),
      position(static_cast<std::size_t>(library->n_joints()), 0.0),
      safe_effort(position),
      robot_effort(safe_effort),
      applied_effort(safe_effort),
      driven_effort(safe_effort),
      braked_effort(safe_effort),
      wanted_effort(safe_effort) {}

void Controller::Parts::look() {
  const std::string name = law.law().name;
  if (const auto margin = feedback_note(library, name, given_gains, initial_state, options)) notes.push_back(*margin);
  if (const auto springs = springs_note(*library, name)) notes.push_back(*springs);
  if (const auto slow = adaptation_note(*library, name, given_gains)) notes.push_back(*slow);
}

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

void Controller::require_idle() const {
  if (lifecycle() != Lifecycle::active) return;
  throw HostError(ErrorKind::law, "the controller is active", "configure", "while unconfigured or inactive");
}

void Controller::configure(std::shared_ptr<const Library> library, const std::string& law, const NamedValues& gains,
                           const NamedValues& initial_state, const Options& options) {
  require_idle();
  auto made = std::make_unique<Parts>(std::move(library), law, gains, initial_state, options);
  made->look();
  install(std::move(made));
}

void Controller::configure_as(const Controller& other) {
  require_idle();
  const Parts& p = other.parts("configure_as");
  auto made = std::make_unique<Parts>(p.library, p.law.law().name, p.given_gains, p.initial_state, p.options);
  made->notes = p.notes;
  install(std::move(made));
}

void Controller::install(std::unique_ptr<Parts> made) {
  // The arm may still have the effort that was commanded last: the rate limit goes on from there.
  has_commanded_ = has_commanded_ && is_same_robot(made->library->data(), parts_->library->data());
  if (has_commanded_) made->limiter.restart(parts_->limiter.previous().data());
  parts_ = std::move(made);
  frozen_ = false;
  stopping_ = has_stopped_ = false;
  faults_ = 0, doubt_ = {};
  reset_requested_ = false;
  guards_ = 0;
  counters_.clear();
  step_times_.clear();
  lifecycle_.store(Lifecycle::inactive, std::memory_order_release);
}

void Controller::check_start(const double* q, const double* qd, const double* held_effort) const {
  const thunder_library& data = parts_->library->data();
  check_finite(q, data.n_joints, "activate: q");
  // A soft stop brings a joint back that rests as far behind its limit as the stop begins before it.
  if (parts_->stops.is_exceeded(q)) {
    check_range(q, data.position_lower, data.position_upper, data, " is at ", "activate: q");
  }
  const double unseen = last_update_ ? std::max(0.0, time(Clock::now()) - *last_update_) : kInfinity;
  if (const int lost = parts_->monitor.lost_counter(q, unseen); lost >= 0) {
    throw HostError(ErrorKind::law,
                    std::string("joint ") + data.joint_names[lost] + " is read at " + format(q[lost]) + ", " +
                        format(unseen) + " s ago it was at " + format(parts_->monitor.position()[lost]) +
                        ": it cannot have come there, its counter may be lost",
                    "activate: q", "a reading that is right, then configure anew");
  }
  if (qd) check_finite(qd, data.n_joints, "activate: qd");
  if (!held_effort) return;
  std::vector<double> lower = parts_->limiter.limit();
  for (double& value : lower) value = -value;
  check_finite(held_effort, data.n_joints, "activate: held_effort");
  check_range(held_effort, lower.data(), parts_->limiter.limit().data(), data, " needs an effort of ",
              "activate: held_effort");
}

/// What the arm is held with: as given, as commanded last, or safely.
const double* Controller::held_effort(const double* given) const noexcept {
  if (given) return given;
  return has_commanded_ ? parts_->limiter.previous().data() : parts_->safe_effort.data();
}

/// G(q), the robot's part or the command's. False if it is not finite: the last one, which was, then stays.
bool Controller::find_gravity(const double* q) noexcept {
  Parts& p = *parts_;
  if (!p.gravity.evaluate(q)) return false;
  std::vector<double>& part = p.options.gravity_compensated_by_robot ? p.robot_effort : p.safe_effort;
  std::copy_n(p.gravity.result(), part.size(), part.begin());
  return true;
}

/// The efforts applied since the update before, less gravity [N·m or N].
const double* Controller::driven_effort() noexcept {
  Parts& p = *parts_;
  for (std::size_t i = 0; i < p.driven_effort.size(); ++i) {
    p.driven_effort[i] = p.applied_effort[i] - p.safe_effort[i] - p.robot_effort[i];
  }
  return p.driven_effort.data();
}

/// What those efforts have made of the velocity.
void Controller::observe(const double* q, const double* qd) noexcept {
  Parts& p = *parts_;
  p.inertia.find(q);  // where it cannot be computed, the last one stays, as with gravity
  p.felt.observe(p.inertia, qd, driven_effort());
}

void Controller::observe_velocity(const double* q, double elapsed) noexcept {
  Parts& p = *parts_;
  if (p.monitor.resumes()) p.observer.restart(q, p.monitor.velocity());
  p.inertia.find(q);
  p.observer.observe(p.inertia, q, driven_effort(), elapsed);
}

void Controller::note_applied(const double* effort) noexcept {
  Parts& p = *parts_;
  for (std::size_t i = 0; i < p.applied_effort.size(); ++i) p.applied_effort[i] = effort[i] + p.robot_effort[i];
}

/// The law's effort, less what the robot adds. False if anything is not finite.
bool Controller::step_law(const double* q, const double* qd, const std::vector<double>& reference, double dt) noexcept {
  LawInputs inputs{};
  if (!begin_law(q, qd, reference, dt, inputs) || !parts_->law.step(inputs)) return false;
  end_law();
  return true;
}

bool Controller::begin_law(const double* q, const double* qd, const std::vector<double>& reference, double dt,
                           LawInputs& inputs) noexcept {
  Parts& p = *parts_;
  inputs = {q, qd, p.applied_effort.data(), p.measurements.values(), reference.data(), p.gains.refresh(), dt, is_cold_};
  return find_gravity(q);
}

void Controller::end_law() noexcept {
  Parts& p = *parts_;
  for (std::size_t i = 0; i < p.robot_effort.size(); ++i) p.law.effort()[i] -= p.robot_effort[i];
}

void Controller::try_step(const double* q, const double* qd, const double* held) {
  Parts& p = *parts_;
  const std::string name = p.law.law().name;
  p.measurements.refresh(0.0);  // at no time: what has an age was forgotten
  if (!p.measurements.is_finite()) {
    throw HostError(ErrorKind::law, "a measurement is not finite", "activate: " + name + ".measurements", "numbers");
  }
  if (!find_gravity(q) || !p.reference.restart(q)) {
    throw HostError(ErrorKind::law, "gravity torque or pose is not finite here", "activate: q");
  }
  note_applied(held_effort(held));
  p.law.reset(true);
  if (!step_law(q, qd, p.reference.values(), p.options.nominal_dt)) {
    throw HostError(ErrorKind::law, "a trial step gives values that are not finite", "activate: " + name,
                    "another position, reference or gains");
  }
  p.law.check_activation();
}

/// Where the arm is at rest, compare what it is held by with what the law would hold it there with.
void Controller::begin_handover(const double* q, const double* qd, const double* rest) noexcept {
  Parts& p = *parts_;
  p.handover.restart();
  if (!p.brake.is_at_rest(qd)) return;
  p.law.reset(true);
  if (!step_law(q, rest, p.reference.place(), p.options.nominal_dt)) return;
  p.handover.begin(p.limiter.previous().data(), p.law.effort());
}

void Controller::activate(const double* q, const double* qd, const double* held) {
  require(Lifecycle::inactive, "activate");
  check_start(q, qd, held);
  parts_->measurements.forget();
  const std::vector<double> rest(static_cast<std::size_t>(parts_->library->n_joints()), 0.0);
  apply_reset();
  try_step(q, qd ? qd : rest.data(), held);
  Parts& p = *parts_;
  p.monitor.restart(q, qd);
  p.shortfall.restart();
  p.limiter.restart(held_effort(held));
  begin_handover(q, qd ? qd : rest.data(), rest.data());
  p.brake.restart();
  p.felt.restart();
  p.observer.restart(q, qd ? qd : rest.data());
  p.stops.restart(q);
  note_applied(p.limiter.previous().data());
  has_commanded_ = true;
  stopping_ = has_stopped_ = false;
  faults_ = guards_ = 0, doubt_ = {};
  last_update_.reset();
  counters_.clear();
  step_times_.clear();
  lifecycle_.store(Lifecycle::active, std::memory_order_release);
}

void Controller::deactivate() {
  require(Lifecycle::active, "deactivate");
  lifecycle_.store(Lifecycle::inactive, std::memory_order_release);
  parts_->writer.hold();
}

void Controller::begin_stop() {
  require(Lifecycle::active, "begin_stop");
  stopping_.store(true, std::memory_order_relaxed);
}

void Controller::set_measurement(const std::string& name, const std::vector<double>& values, std::optional<double> time) {
  parts("set_measurement").measurements.write(name, values, time);
}

bool Controller::has_age(const std::string& name) const { return parts("has_age").measurements.has_age(name); }

void Controller::set_reference(const double* values, int size, std::optional<double> due) {
  parts("set_reference").writer.write(values, size, due);
}

void Controller::set_reference_entry(const std::string& name, const std::vector<double>& values) {
  parts("set_reference_entry").writer.write_entry(name, values);
}

void Controller::hold_reference() { parts("hold_reference").writer.hold(); }

void Controller::set_motion_limits(const MotionLimits& limits) {
  parts("set_motion_limits").writer.set_limits(limits);
}

std::uint64_t Controller::begin(MotionPlan plan) {
  require(Lifecycle::active, "motion");
  return parts_->writer.begin(std::move(plan));
}

void Controller::stop_motion() {
  require(Lifecycle::active, "stop_motion");
  parts_->writer.stop();
}

std::vector<double> Controller::checked_gains(const NamedValues& gains) const {
  const Parts& p = parts("gains");
  std::vector<double> changed = p.gains.changed(gains);
  if (!p.options.accepts_unstable_gains && changed != p.gains.written()) {
    check_feedback(p.library, p.law.law().name, changed, p.initial_state, p.options);
  }
  return changed;
}

void Controller::set_gains(const NamedValues& gains) { parts("set_gains").gains.write(checked_gains(gains)); }

void Controller::freeze_adaptation(bool freeze) {
  parts("freeze_adaptation");
  frozen_.store(freeze, std::memory_order_relaxed);
}

void Controller::reset_state() {
  parts("reset_state");
  reset_requested_.store(true, std::memory_order_relaxed);
}

void Controller::apply_reset() noexcept {
  if (parts_ && reset_requested_.load(std::memory_order_relaxed) && reset_requested_.exchange(false)) {
    parts_->law.reset(false);
  }
}

Controller::Update Controller::begin_update(double t, const double* q, const double* qd, double dt) noexcept {
  const Clock::time_point now = Clock::now();
  is_cold_ = now - last_end_ > kWarmFor;
  Update update{now, unwrapped(q), qd, dt, elapsed(dt, now), 0, false, {}};
  apply_reset();
  update.guards = check(t, update.q, qd, dt, update.elapsed);
  if (parts_->monitor.is_known()) {
    update.q = parts_->monitor.position(), update.qd = parts_->monitor.velocity();
    if (parts_->options.velocity_by_model) observe_velocity(update.q, update.elapsed);
  }
  if ((update.guards & kBlockingGuards) == 0) begin_step(t, update);
  return update;
}

GuardBits Controller::end_update(const Update& begun, bool stepped, double* effort) noexcept {
  guards_ = begun.guards;
  has_stopped_ = false;
  if (stepped) {
    guards_ |= end_step(begun, effort);
  } else if (begun.steps) {
    guards_ |= kResultNonFinite;
  }
  if ((guards_ & kBlockingGuards) != 0) guards_ |= approach_safe_effort(guards_, begun.q, begun.qd, begun.elapsed, effort);
  counters_.record(guards_);
  last_end_ = Clock::now();
  step_times_.record(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(last_end_ - begun.began).count()));
  return guards_;
}

const double* Controller::unwrapped(const double* q) noexcept {
  std::vector<double>& position = parts_->position;
  std::copy_n(q, position.size(), position.begin());
  parts_->circles.unwrap(parts_->monitor.position(), position.data());
  return position.data();
}

/// As the clock has it [s].
double Controller::time(Clock::time_point now) const noexcept {
  const std::function<double()>& clock = parts_->options.clock;
  return clock ? clock() : std::chrono::duration<double>(now.time_since_epoch()).count();
}

/// The time since the update before [s]: the period where it is a valid one, else what a clock says.
double Controller::elapsed(double dt, Clock::time_point now) noexcept {
  const double read = time(now);
  const double measured = last_update_ ? std::max(0.0, read - *last_update_) : 0.0;  // not back, whatever the clock says
  last_update_ = read;
  return parts_->monitor.is_valid_dt(dt) ? dt : measured;
}

GuardBits Controller::check(double t, const double* q, const double* qd, double dt, double elapsed) noexcept {
  Parts& p = *parts_;
  p.measurements.refresh(t);
  GuardBits guards = p.monitor.check(t, q, qd, p.measurements.is_finite(), dt, elapsed);
  if (stopping_.load(std::memory_order_relaxed)) guards |= kStopping;
  if (lifecycle() != Lifecycle::active) guards |= kNotActive;
  // Only a law can run away; where an arm is moved by others is not for this controller to stop.
  if ((guards & (kStopping | kNotActive)) == 0) {
    if (p.monitor.has_run_away()) faults_ |= kRunaway;
    if (p.monitor.is_lost()) {
      if ((faults_ & kMeasurementLost) == 0) doubt_ = p.monitor.doubt();
      faults_ |= kMeasurementLost;
    }
    if (p.stops.is_exceeded(p.monitor.position())) faults_ |= kPositionExceeded;
  }
  return guards | faults_ | (faults_ != 0 ? kStopping : 0u);
}

void Controller::begin_step(double t, Update& update) noexcept {
  Parts& p = *parts_;
  const Reach::Motion motion{update.q, velocity(), driven_effort()};
  const ReferenceState reference = p.reference.refresh(t, motion, update.dt, p.options.reference_timeout);
  if (reference == ReferenceState::stale) update.guards |= kReferenceStale;
  if (reference == ReferenceState::failed) {
    update.guards |= kResultNonFinite;
    return;
  }
  if (p.reference.is_limited()) update.guards |= kReferenceLimited;
  if (p.reference.is_late()) update.guards |= kReferenceLate;
  if (p.reference.is_unreached()) update.guards |= kReferenceUnreached;
  if (p.reference.is_restless()) faults_ |= kRunaway;
  update.steps = begin_law(update.q, velocity(), p.reference.values(), update.dt, update.inputs);
  if (!update.steps) update.guards |= kResultNonFinite;
}

GuardBits Controller::end_step(const Update& begun, double* effort) noexcept {
  Parts& p = *parts_;
  end_law();
  if (p.monitor.resumes() && !p.law.may_activate()) {
    faults_ |= kMeasurementLost;
    return faults_ | kStopping;
  }
  p.brake.restart();
  p.handover.apply(begun.dt, p.law.effort());
  std::copy_n(p.law.effort(), p.library->n_joints(), p.wanted_effort.begin());
  observe(begun.q, begun.qd);
  const GuardBits stopped = p.stops.apply(begun.q, begun.qd, p.safe_effort.data(), false, p.law.effort());
  const GuardBits limited = stopped | p.limiter.apply(p.law.effort(), begun.dt, effort);
  note_applied(effort);
  const bool falls_short = p.shortfall.update(p.wanted_effort.data(), effort, begun.dt) && limited != 0;
  const bool freeze = p.law.adapts() && (frozen_.load(std::memory_order_relaxed) ||
                                         (falls_short && p.options.saturation_freezes_adaptation));
  const GuardBits unused = p.law.lacks_measurement() ? kMeasurementUnused : 0u;
  p.law.commit(freeze);
  return unused | limited | (freeze ? kAdaptationFrozen : 0u);
}

GuardBits Controller::approach_safe_effort(GuardBits guards, const double* q, const double* qd, double elapsed,
                                           double* effort) noexcept {
  Parts& p = *parts_;
  // A gravity torque that cannot be computed leaves the last one, which was finite, as the target.
  find_gravity(p.monitor.position());
  // A velocity that is not known cannot be braked, nor can one whose effort nobody corrects after a deactivation.
  const bool brakes = p.monitor.is_known() && (guards & kNotActive) == 0;
  p.braked_effort = p.safe_effort;
  GuardBits limited = 0;
  if (brakes) {
    observe(q, qd);
    p.brake.apply(p.inertia, p.felt, p.stops.stopped(), p.safe_effort.data(), qd, p.braked_effort.data());
    limited = p.stops.apply(q, qd, p.brake.bias(), true, p.braked_effort.data());
  }
  limited |= p.limiter.apply(p.braked_effort.data(), elapsed, effort);
  note_applied(effort);
  const bool at_rest = !brakes || p.brake.is_at_rest(qd);
  has_stopped_ = (guards & kStopping) != 0 && (limited & kEffortRateLimited) == 0 && at_rest;
  return limited;
}

}  // namespace thunder
