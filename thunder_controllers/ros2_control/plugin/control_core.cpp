// SPDX-License-Identifier: Apache-2.0
#include "control_core.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thunder/host/error.hpp"

namespace thunder_controllers {
namespace {

using thunder::ErrorKind;
using thunder::GuardBits;
using thunder::HostError;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kNanoseconds = 1e9;

/// Updates after which the ramp to the safe effort ends at the latest, ten periods each: ten seconds of 1 kHz.
constexpr int kLongestRamp = 1000;

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

}  // namespace

ControlCore::ControlCore(const Configuration& configuration, const thunder::NamedValues& gains,
                         const thunder::NamedValues& estimates, const thunder::MotionLimits& limits)
    : configuration_(configuration),
      distance_(configuration.library, configuration.law),
      step_(sized(configuration)),
      steps_(step_),
      taken_(step_) {
  host_.configure(configuration.library, configuration.law, gains, estimates, configuration.options);
  host_.set_motion_limits(limits);
}

const double* ControlCore::update(std::int64_t stamp, double period) noexcept {
  LoopStatistics& loop = step_.loop;
  // The sum of the periods is a time that no setting of a clock can turn back.
  if (std::isfinite(period)) loop.elapsed += period;
  const double late = std::abs(period - configuration_.options.nominal_dt) * kNanoseconds;
  if (std::isfinite(late)) loop.jitter.record(static_cast<std::uint64_t>(late));
  step_.stamp = stamp;
  step_.guards = host_.update(loop.elapsed, step_.q.data(), step_.qd.data(), period, step_.effort.data());
  const bool is_lost = (step_.guards & thunder::kReferenceStale) != 0;
  if (is_lost && !reference_is_lost_) ++loop.lost_references;
  reference_is_lost_ = is_lost;
  return step_.effort.data();
}

void ControlCore::publish() noexcept {
  step_.source = host_.reference_source();
  step_.counters = host_.counters();
  step_.step_times = host_.step_times();
  std::copy(host_.state().begin(), host_.state().end(), step_.state.begin());
  std::copy(host_.telemetry().begin(), host_.telemetry().end(), step_.telemetry.begin());
  std::copy(host_.reference().begin(), host_.reference().end(), step_.reference.begin());
  steps_.slot() = step_;
  steps_.publish();
}

void ControlCore::clamp(std::vector<double>& effort) const {
  const std::vector<double>& chosen = configuration_.options.effort_limit;
  const double* limit = chosen.empty() ? configuration_.library->data().effort_limit : chosen.data();
  for (std::size_t i = 0; i < effort.size(); ++i) effort[i] = std::clamp(effort[i], -limit[i], limit[i]);
}

bool ControlCore::is_streamed() const {
  const std::chrono::duration<double> age = Clock::now() - streamed_at_;
  return has_stream_ && age.count() <= configuration_.options.reference_timeout;
}

void ControlCore::check_distance(double max_error) {
  const double distance = distance_.evaluate(step_.q.data(), streamed_.data());
  if (distance <= max_error) return;
  throw HostError(ErrorKind::law, "the streamed reference is " + thunder::format(distance) + " away", "activate",
                  thunder::format(max_error) + ", parameter max_activation_error, or no stream");
}

void ControlCore::activate(std::vector<double> held_effort, double max_error, bool freeze) {
  const Lock lock(mutex_);
  if (is_streamed()) {
    check_distance(max_error);
  } else {
    host_.hold_reference();
  }
  const bool is_known = thunder::all_finite(held_effort.data(), static_cast<int>(held_effort.size()));
  if (is_known) clamp(held_effort);
  host_.freeze_adaptation(freeze);
  host_.activate(q(), qd(), is_known ? held_effort.data() : nullptr);
  step_.loop = LoopStatistics{};
  reference_is_lost_ = false;
}

const double* ControlCore::deactivate() {
  const Lock lock(mutex_);
  has_stream_ = false;
  if (is_active()) host_.deactivate();
  // No update will follow, so the host's ramp to the safe effort is let run to its end here.
  const double period = configuration_.options.nominal_dt * configuration_.options.max_dt_ratio;
  for (int i = 0; i < kLongestRamp; ++i) {
    step_.loop.elapsed += period;
    const GuardBits guards = host_.update(step_.loop.elapsed, q(), qd(), period, step_.effort.data());
    if ((guards & thunder::kEffortRateLimited) == 0) break;
  }
  return step_.effort.data();
}

void ControlCore::require_active(const char* what) const {
  if (!is_active()) throw HostError(ErrorKind::law, "the controller is not active", what, "activate it first");
}

void ControlCore::stream(const std::vector<double>& sample) {
  const Lock lock(mutex_);
  host_.set_reference(sample.data(), static_cast<int>(sample.size()));
  streamed_ = sample;
  streamed_at_ = Clock::now();
  has_stream_ = true;
}

void ControlCore::move(const thunder::MotionLimits& limits, const std::function<void(thunder::Controller&)>& start) {
  const Lock lock(mutex_);
  require_active("motion");
  if (is_streamed()) {
    throw HostError(ErrorKind::law, "a reference is being streamed", "motion", "stop the stream first");
  }
  host_.set_motion_limits(limits);
  start(host_);
}

void ControlCore::set_motion_limits(const thunder::MotionLimits& limits) {
  const Lock lock(mutex_);
  host_.set_motion_limits(limits);
}

void ControlCore::stop(const thunder::MotionLimits& limits) {
  const Lock lock(mutex_);
  require_active("stop");
  host_.set_motion_limits(limits);
  host_.stop_motion();
  has_stream_ = false;
}

void ControlCore::check_gains(const thunder::NamedValues& gains) const {
  const thunder_law& law = configuration_.law_data();
  std::vector<double> scratch = thunder::default_values(law.gains);
  thunder::write_entries(law.gains, gains, configuration_.law + ".gains", scratch);
}

void ControlCore::set_gains(const thunder::NamedValues& gains) {
  const Lock lock(mutex_);
  host_.set_gains(gains);
}

void ControlCore::freeze_adaptation(bool freeze) {
  const Lock lock(mutex_);
  host_.freeze_adaptation(freeze);
}

void ControlCore::reset_estimates() {
  const Lock lock(mutex_);
  host_.reset_state();
}

Snapshot ControlCore::snapshot() {
  const Lock lock(mutex_);
  if (steps_.fetch()) taken_ = steps_.value();
  if (!is_active()) {
    taken_.state = host_.state();  // nobody else uses the host now: a switch waits for the lock
    taken_.effort = host_.effort();
  }
  return taken_;
}

}  // namespace thunder_controllers
