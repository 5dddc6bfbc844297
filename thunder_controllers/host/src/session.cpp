// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/session.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kNanoseconds = 1e9;
constexpr double kLongestJitter = 1e15;  // [ns] beyond, a period is nonsense that no integer may hold

/// Updates after which the ramp to the safe effort ends at the latest: ten seconds of 1 kHz.
constexpr int kLongestRamp = 10000;

/// Of a figure that the joints cannot follow whole: less is hardly a motion.
constexpr double kSmallestShare = 1.0 / 16.0;

/// A snapshot whose vectors have the sizes of the configuration.
Snapshot sized(const Configuration& configuration) {
  const auto n = static_cast<std::size_t>(configuration.library->n_joints());
  const thunder_law& law = configuration.law_data();
  Snapshot snapshot;
  snapshot.q.assign(n, kNaN);
  snapshot.qd.assign(n, kNaN);
  snapshot.effort.assign(n, 0.0);
  snapshot.state.assign(static_cast<std::size_t>(law.state.size), 0.0);
  snapshot.telemetry.assign(static_cast<std::size_t>(law.telemetry.size), 0.0);
  snapshot.reference.assign(static_cast<std::size_t>(law.reference.size), 0.0);
  return snapshot;
}

/// An array must be given whole: one number would stand for every element, which is right for nobody's gains file.
const NamedValues& whole(const thunder_law& law, const NamedValues& gains) {
  const std::string where = std::string(law.name) + ".gains";
  for (const auto& [name, values] : gains) {
    const auto size = static_cast<std::size_t>(entry_size(find_entry(law.gains, name, where)));
    if (values.size() == size) continue;
    throw HostError(ErrorKind::dimension, "got " + std::to_string(values.size()) + " values", "gains." + name,
                    std::to_string(size));
  }
  return gains;
}

}  // namespace

const char* source_text(const Snapshot& snapshot) noexcept {
  return snapshot.is_reference_lost ? "stopping after a lost stream" : to_string(snapshot.source);
}

ControlSession::ControlSession(Configuration configuration, const Options& options, const NamedValues& gains,
                               const NamedValues& estimates)
    : configuration_(std::move(configuration)),
      distance_(configuration_.library, configuration_.law),
      step_(sized(configuration_)),
      steps_(step_),
      taken_(step_) {
  host_.configure(configuration_.library, configuration_.law, whole(configuration_.law_data(), gains), estimates,
                  options);
  freshness_ = Freshness(host_.limits(), host_.options().measurement_timeout);
}

GuardBits ControlSession::update(std::int64_t stamp, double t, const double* q, const double* qd, double dt,
                                 double* effort) noexcept {
  const double late = std::abs(dt - host_.options().nominal_dt) * kNanoseconds;
  if (late < kLongestJitter) step_.jitter.record(static_cast<std::uint64_t>(late));
  const GuardBits guards = host_.update(t, q, qd, dt, effort);
  show(stamp, t, host_.position().data(), qd);
  step_.guards = guards;
  std::copy_n(effort, step_.effort.size(), step_.effort.begin());
  observe_reference(guards);
  publish();
  return guards;
}

GuardBits ControlSession::update(std::int64_t stamp, const double* q, const double* qd, double dt, double* effort,
                                 const double* clock) noexcept {
  if (std::isfinite(dt)) elapsed_ += dt;
  const bool is_fresh = freshness_.record(q, qd, dt, clock);
  return update(stamp, is_fresh ? elapsed_ : step_.time, q, qd, dt, effort);
}

void ControlSession::show(std::int64_t stamp, double t, const double* q, const double* qd) noexcept {
  step_.stamp = stamp;
  step_.time = t;
  std::copy_n(q, step_.q.size(), step_.q.begin());
  std::copy_n(qd, step_.qd.size(), step_.qd.begin());
}

void ControlSession::measure(std::int64_t stamp, double t, const double* q, const double* qd) noexcept {
  show(stamp, t, q, qd);
  steps_.slot() = step_;
  steps_.publish();
}

std::string ControlSession::fault() const {
  const char* text = fault_text(step_.guards);
  if (!text) return {};
  const std::string doubt = host_.doubt();
  return doubt.empty() ? text : std::string(text) + ": " + doubt;
}

/// A step that was blocked says nothing of the reference.
void ControlSession::observe_reference(GuardBits guards) noexcept {
  if ((guards & kBlockingGuards) == 0) {
    const bool is_lost = (guards & kReferenceStale) != 0;
    if (is_lost && !step_.is_reference_lost) ++step_.lost_references;
    step_.is_reference_lost = is_lost;
  }
  reference_is_lost_.store(step_.is_reference_lost, std::memory_order_relaxed);
}

void ControlSession::publish() noexcept {
  step_.source = host_.reference_source();
  step_.request = host_.reference_request();
  step_.counters = host_.counters();
  step_.step_times = host_.step_times();
  std::copy(host_.state().begin(), host_.state().end(), step_.state.begin());
  std::copy(host_.telemetry().begin(), host_.telemetry().end(), step_.telemetry.begin());
  std::copy(host_.reference().begin(), host_.reference().end(), step_.reference.begin());
  steps_.slot() = step_;
  steps_.publish();
}

std::uint64_t ControlSession::begin(const MotionPlan& motion) {
  const Lock lock(mutex_);
  require_motion();
  const std::uint64_t number = host_.begin(motion);
  has_stream_ = false;
  return number;
}

double ControlSession::trace_what_fits(const Figure& figure) {
  const Lock alone(motions_);
  MotionPlan whole = plan(figure);
  MotionPlan motion = whole;
  motion.finds_slower = false;
  for (double share = 1.0;; share *= 0.5) {
    try {
      host_.rehearse(motion);
    } catch (const HostError&) {
      if (share <= kSmallestShare) host_.rehearse(whole);
      Figure half = *motion.motion.figure;
      for (double& amplitude : half.amplitude) amplitude *= 0.5;
      motion.motion.figure = std::make_shared<const Figure>(std::move(half));
      continue;
    }
    begin(motion);
    return share;
  }
}

std::vector<double> ControlSession::within_limits(const double* effort) const {
  const int n = configuration_.library->n_joints();
  if (!effort || !all_finite(effort, n)) return {};
  const std::vector<double>& limit = limits().effort;
  std::vector<double> cut(effort, effort + n);
  for (std::size_t i = 0; i < cut.size(); ++i) cut[i] = std::clamp(cut[i], -limit[i], limit[i]);
  return cut;
}

/// Whether the streamed reference is so far away that the next sample of it is approached as a jump.
bool ControlSession::is_far(const double* q, double max_error) {
  const double distance = distance_.evaluate(q, streamed_.data());
  if (distance <= max_error) return false;
  if (options().approaches_jumps) return true;
  throw HostError(ErrorKind::law, "the streamed reference is " + format(distance) + " away", "activate",
                  format(max_error) + ", parameter max_activation_error, or no stream");
}

void ControlSession::activate(const double* q, const double* qd, const double* held_effort, double max_error) {
  const Lock lock(mutex_);
  const std::vector<double> rest(step_.qd.size(), 0.0);
  if (qd == nullptr) qd = rest.data();
  const bool is_checked = max_error < std::numeric_limits<double>::infinity();
  has_stream_ = follows_stream() && !(is_checked && is_far(q, max_error));
  if (!has_stream_) host_.hold_reference();
  const std::vector<double> held = within_limits(held_effort);
  host_.activate(q, qd, held.empty() ? nullptr : held.data());
  elapsed_ = 0.0;
  show(step_.stamp, elapsed_, q, qd);
  first_state_ = host_.state();
  step_.activation = ++activation_;
  freshness_.restart();
  step_.guards = 0;
  step_.is_reference_lost = false;
  step_.jitter.clear();
  reference_is_lost_ = false;
  stopping_ = false;
  commanding_.store(true, std::memory_order_release);
}

bool ControlSession::advance_stop() {
  if (is_active() ? !has_stopped() : (step_.guards & kEffortRateLimited) != 0) return false;
  const Lock lock(mutex_);
  if (!is_commanding()) return false;
  if (is_active()) {
    host_.deactivate();
    return false;
  }
  end();
  return true;
}

void ControlSession::deactivate(double* effort) {
  const Lock lock(mutex_);
  if (is_active()) host_.deactivate();
  // No update will follow, so the host's ramp to the safe effort is let run to its end here.
  const double period = options().nominal_dt;
  for (int i = 0; i < kLongestRamp; ++i) {
    step_.time += period;
    const GuardBits guards = host_.update(step_.time, step_.q.data(), step_.qd.data(), period, effort);
    if ((guards & kEffortRateLimited) == 0) break;
  }
  end();
}

void ControlSession::end() {
  host_.hold_reference();
  has_stream_ = false;
  stopping_ = false;
  commanding_.store(false, std::memory_order_release);
}

void ControlSession::begin_stop() {
  const Lock lock(mutex_);
  if (!is_active() || is_stopping()) return;
  host_.begin_stop();
  stopping_ = true;
}

const Snapshot& ControlSession::newest() noexcept {
  steps_.fetch();
  return steps_.value();
}

/// By how much a stamp is ahead of the last update's [s]; none for 0, and while no update says when now is.
std::optional<double> ControlSession::ahead(std::int64_t stamp, const std::string& where) {
  if (stamp < 0) throw HostError(ErrorKind::law, "is " + std::to_string(stamp) + " ns", where + ": stamp", "0 or more");
  const Snapshot& last = newest();
  if (stamp == 0 || last.activation != activation_ || !is_commanding()) return std::nullopt;
  return static_cast<double>(stamp - std::max<std::int64_t>(last.stamp, 0)) / kNanoseconds;
}

/// The time of a stamp as updates count it [s]; none: now.
std::optional<double> ControlSession::due(std::int64_t stamp) {
  const std::optional<double> early = ahead(stamp, "stream");
  if (!early) return std::nullopt;
  if (std::abs(*early) > options().reference_timeout) {
    throw HostError(ErrorKind::law, "is " + format(*early) + " s ahead of the measurements", "stream: stamp",
                    "a stamp of their clock, within " + format(options().reference_timeout) + " s, or 0 for now");
  }
  return newest().time + *early;
}

void ControlSession::stream(const std::vector<double>& sample, std::int64_t stamp) {
  const Lock lock(mutex_);
  if (is_chained_) {
    throw HostError(ErrorKind::law, "another controller gives the reference", "stream", "deactivate that controller first");
  }
  if (!is_stopping()) take(sample, due(stamp));
}

bool ControlSession::try_stream(const std::vector<double>& sample) noexcept {
  const std::unique_lock<PriorityMutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_stopping()) return false;
  try {
    take(sample, std::nullopt);
    return true;
  } catch (const HostError&) {
    return false;
  }
}

void ControlSession::take(const std::vector<double>& sample, std::optional<double> due) {
  host_.set_reference(sample.data(), static_cast<int>(sample.size()), due);
  streamed_ = sample;
  streamed_at_ = Clock::now();
  has_stream_ = true;
}

void ControlSession::set_further_reference(const std::string& name, const std::vector<double>& values) {
  const Lock lock(mutex_);
  const thunder_law& law = configuration_.law_data();
  const std::string where = configuration_.law + ".reference";
  if (find_entry(law.reference, name, where).offset < SampleLayout(law, configuration_.library->n_joints()).standard) {
    throw HostError(ErrorKind::law, "'" + name + "' is no further entry", where, "entries after the standard ones");
  }
  host_.set_reference_entry(name, values);
}

void ControlSession::set_measurement(const std::string& name, const std::vector<double>& values, std::int64_t stamp) {
  const Lock lock(mutex_);
  if (!host_.has_age(name)) return host_.set_measurement(name, values);
  if (stamp == 0) throw HostError(ErrorKind::law, "is 0 ns", name + ": stamp", "when it was measured");
  const std::optional<double> early = ahead(stamp, name);
  if (early && *early > options().measurement_timeout) {
    throw HostError(ErrorKind::law, "is " + format(*early) + " s ahead of the joints", name + ": stamp",
                    "a stamp of their clock, at most " + format(options().measurement_timeout) + " s ahead");
  }
  if (early) host_.set_measurement(name, values, newest().time + *early);
}

bool ControlSession::follows_stream() const {
  if (!has_stream_) return false;
  if (is_active()) return !reference_is_lost_.load(std::memory_order_relaxed);
  const std::chrono::duration<double> age = Clock::now() - streamed_at_;
  return age.count() <= options().reference_timeout;
}

bool ControlSession::is_streamed() const {
  const Lock lock(mutex_);
  return follows_stream();
}

void ControlSession::hold_reference() {
  const Lock lock(mutex_);
  host_.hold_reference();
  has_stream_ = false;
}

void ControlSession::require_active(const char* what) const {
  if (!is_active()) throw HostError(ErrorKind::law, "the controller is not active", what, "activate it first");
}

void ControlSession::require_motion() const {
  require_active("motion");
  if (!follows_stream()) return;
  throw HostError(ErrorKind::law, "a reference is being streamed", "motion", "stop the stream first");
}

void ControlSession::stop_motion() {
  const Lock lock(mutex_);
  require_active("stop");
  host_.stop_motion();
  has_stream_ = false;
}

void ControlSession::set_motion_limits(const MotionLimits& limits) {
  const Lock lock(mutex_);
  host_.set_motion_limits(limits);
}

void ControlSession::check_gains(const NamedValues& gains) const {
  const Lock lock(mutex_);
  static_cast<void>(host_.checked_gains(whole(configuration_.law_data(), gains)));
}

void ControlSession::set_gains(const NamedValues& gains) {
  const Lock lock(mutex_);
  host_.set_gains(whole(configuration_.law_data(), gains));
}

void ControlSession::freeze_adaptation(bool freeze) {
  const Lock lock(mutex_);
  host_.freeze_adaptation(freeze);
}

void ControlSession::reset_estimates() {
  const Lock lock(mutex_);
  host_.reset_state();
  if (!is_commanding()) host_.apply_reset();  // no update will
}

Snapshot ControlSession::snapshot() {
  const Lock lock(mutex_);
  taken_ = newest();
  taken_.is_frozen = host_.is_frozen();
  taken_.is_active = is_active() && taken_.activation == activation_;
  if (!is_active()) {
    taken_.source = follows_stream() ? ReferenceSource::stream : ReferenceSource::hold;
    taken_.is_reference_lost = false;
  }
  if (!is_commanding()) {
    taken_.state = host_.state();  // nobody else uses the host now: an activation waits for the lock
    taken_.effort = host_.effort();
  } else if (taken_.activation != activation_) {
    taken_.state = first_state_;  // no update has come yet
  }
  return taken_;
}

}  // namespace thunder
