// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/follower.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/reference/rehearsal.hpp"

namespace thunder {
namespace {

constexpr double kNear = 0.1;  // [m, rad] a stream that was given up is followed again from here

constexpr double kRoom = 0.5;          // of what a rehearsal leaves to feedback
constexpr double kLooks = 16.0;        // at a stop
constexpr double kQuicker = 1.25;      // from one stop that is tried to the next
constexpr double kMostQuicker = 32.0;  // in all

/// Whether a stop keeps joints below their velocity limits, which fall towards the ends of their range, and makes none that
/// is near its limit faster.
bool keeps_joints(const SampleLayout& layout, const double* reference, const Limits& limits, double acceleration) noexcept {
  StopShape shape{0.0};
  for (std::size_t i = 0; i < limits.velocity.size(); ++i) {
    const double speed = std::abs(layout.joint(reference, i).velocity);
    shape.duration = std::max(shape.duration, StopShape::shortest(speed, acceleration));
  }
  for (std::size_t i = 0; i < limits.velocity.size(); ++i) {
    const ScalarSample begin = layout.joint(reference, i);
    for (double k = 1.0; k < kLooks; ++k) {
      const ScalarSample now = shape.at(k / kLooks * shape.duration, begin.velocity, begin.acceleration);
      const double limit = limits.velocity_towards(i, begin.value + now.value, now.velocity), speed = std::abs(now.velocity);
      const double least = limit < limits.velocity[i] ? 0.0 : std::abs(begin.velocity);
      if (std::isfinite(limit) && speed > std::max(limit - kRoom * Rehearsal::kMargin * limits.velocity[i], least)) return false;
    }
  }
  return true;
}

/// The bounds of a stop: those that are asked for, or quicker ones where they would lead beyond limits.
MotionLimits stop_limits(const SampleLayout& layout, const double* reference, const Limits& limits, MotionLimits motion) noexcept {
  for (double quicker = 1.0; quicker < kMostQuicker; quicker *= kQuicker) {
    if (layout.is_cartesian || keeps_joints(layout, reference, limits, motion.joint_acceleration)) break;
    motion.joint_acceleration *= kQuicker;
  }
  return motion;
}

}  // namespace

ReferenceFollower::ReferenceFollower(const std::shared_ptr<const Library>& library, const thunder_law& law,
                                     const Options& options, const Limits& limits, ReferenceChannel& channel)
    : law_(&law),
      layout_(law, library->n_joints()),
      circles_(library->data()),
      channel_(channel),
      place_(library, law),
      limits_(limits),
      rates_(law, layout_, options, limits),
      stream_(law, layout_, options, limits),
      player_(layout_, circles_),
      reach_(library, law, limits, options.approach_patience),
      values_(static_cast<std::size_t>(law.reference.size), 0.0),
      before_(values_),
      wanted_(values_),
      at_(layout_.is_cartesian ? 0 : static_cast<std::size_t>(layout_.n_joints)) {}

bool ReferenceFollower::restart(const double* q) noexcept {
  channel_.messages.fetch();
  take_further();
  stamp_.reset();
  source_ = ReferenceSource::hold;
  is_given_up_ = is_limited_ = is_restless_ = false;
  rates_.begin();
  if (!hold(q)) return false;
  remember();
  holds_taken_ = message().holds;
  if (!take(q)) return false;
  if (source_ == ReferenceSource::stream) cut(kStreamMargins, at_.data(), values_.data());
  taken_ = 0;  // a stream begins with the first update
  reach_.restart();
  show(q);
  return true;
}

ReferenceState ReferenceFollower::refresh(double t, const Reach::Motion& motion, double dt, double timeout) noexcept {
  const double* q = motion.q;
  if (channel_.messages.fetch()) take_further();
  const double since = stamp_ ? dt : 0.0;  // no time has passed since the activation
  if (message().number != taken_) {
    std::copy(values_.begin(), values_.end(), before_.begin());
    if (!take(q)) return ReferenceState::failed;
    taken_ = message().number;
    stamp_ = t;
    if (source_ == ReferenceSource::stream) take_sample(t, since);
  }
  if (!stamp_ || t < *stamp_) stamp_ = t;  // the first update, or the clock was set back
  if (source_ == ReferenceSource::stream) {
    const bool is_silent = t - *stamp_ > std::max(timeout, rates_.rhythm().patience());
    if (rates_.has_paused(t, is_silent)) rest_at_sample(t, since);
    is_stale_ = is_stale_ || is_silent;
    if (is_silent && !stream_.is_settling(t)) stop();
  }
  is_limited_ = false;
  if (player_.is_running()) {
    advance_motion(dt);
    is_limited_ = cut(0.0, at_.data(), values_.data());
  } else if (source_ == ReferenceSource::stream) {
    stream_.advance(t, values_.data());
    is_limited_ = cut(kStreamMargins, at_.data(), values_.data()) || is_cut_ || stream_.is_far();
  }
  give_up(motion, dt);
  remember();
  show(q);
  return is_stale_ ? ReferenceState::stale : ReferenceState::fresh;
}

/// Where the joints are led now.
void ReferenceFollower::remember() noexcept {
  std::copy_n(values_.begin() + layout_.position, at_.size(), at_.begin());
}

void ReferenceFollower::show(const double* q) noexcept {
  ReferenceInEffect& slot = channel_.in_effect.slot();
  std::copy(values_.begin(), values_.end(), slot.values.begin());
  std::copy_n(q, slot.q.size(), slot.q.begin());
  channel_.in_effect.publish();
}

/// Hold the place where the robot is.
bool ReferenceFollower::hold(const double* q) noexcept {
  if (!place_.find(q)) return false;
  std::copy(place_.values().begin(), place_.values().end(), values_.begin());
  return true;
}

/// Further entries are as written, whatever else is followed.
void ReferenceFollower::take_further() noexcept {
  const std::vector<double>& written = channel_.messages.value().values;
  for (std::vector<double>* values : {&place_.values(), &wanted_, &values_}) {
    std::copy(written.begin() + layout_.standard, written.end(), values->begin() + layout_.standard);
  }
}

bool ReferenceFollower::take(const double* q) noexcept {
  const bool is_written = message().request == ReferenceMessage::Request::write;
  const bool is_sample = is_written && message().given != 0;
  if (is_given_up_ && is_sample && reach_.distance(q, message().values.data()) > kNear) return true;
  if (message().holds != holds_taken_) {
    if (!hold(q)) return false;
  } else if (source_ != ReferenceSource::stream || (given_ & ~message().given) != 0) {
    place_.copy(values_.data());  // what a motion has led to, or a stream that is over
  }
  if (message().holds != holds_taken_ || !is_sample) rates_.begin();  // a stream that was lost keeps its rhythm
  holds_taken_ = message().holds;
  given_ = message().given;
  is_given_up_ = is_stale_ = false;
  if (message().request == ReferenceMessage::Request::stop && player_.end(values_.data(), message().motion)) {
    source_ = ReferenceSource::stopping;
    return true;
  }
  player_.cancel();
  if (is_written) {
    take_written(message());
  } else if (message().request == ReferenceMessage::Request::move &&
             player_.begin(values_.data(), message().motion)) {
    source_ = ReferenceSource::motion;
    settle();
  } else {
    stop();
  }
  return true;
}

/// Joints on a circle are unwrapped to the sample before of a stream, else to what is in effect.
void ReferenceFollower::take_written(const ReferenceMessage& message) noexcept {
  const bool goes_on = source_ == ReferenceSource::stream;
  std::vector<double>&before = goes_on ? wanted_ : values_, &taken = goes_on ? values_ : wanted_;
  std::copy(message.values.begin(), message.values.end(), taken.begin());
  for (int i = 0; i < law_->reference.n_entries; ++i) {
    if ((message.given >> i) & 1u) continue;
    const thunder_entry& entry = law_->reference.entries[i];
    std::copy_n(place_.values().begin() + entry.offset, entry_size(entry), taken.begin() + entry.offset);
  }
  if (!layout_.is_cartesian) circles_.unwrap(before.data() + layout_.position, taken.data() + layout_.position);
  std::copy(taken.begin(), taken.end(), before.begin());
  if (!goes_on) stream_.begin();
  source_ = message.given != 0 ? ReferenceSource::stream : ReferenceSource::hold;
}

/// Begin to follow what is wanted, which came with this update.
void ReferenceFollower::take_sample(double t, double dt) noexcept {
  is_cut_ = cut(kStreamMargins, at_.data(), wanted_.data());
  const double time = message().due.value_or(t);
  const MotionLimits& limits = message().motion.limits;
  const std::optional<double> delay = rates_.derive(wanted_.data(), time, dt, limits);
  const double settle = delay ? rates_.settle() : 0.0;
  stream_.take(wanted_.data(), time + delay.value_or(0.0), t, dt, rates_.rhythm(), limits, before_.data(), settle);
  std::copy(before_.begin(), before_.begin() + layout_.standard, values_.begin());
}

/// A stream that gives places alone ends at its last one.
void ReferenceFollower::rest_at_sample(double t, double dt) noexcept {
  std::fill(wanted_.begin() + layout_.velocity, wanted_.begin() + layout_.standard, 0.0);
  stream_.take(wanted_.data(), t, t, dt, rates_.rhythm(), message().motion.limits, values_.data(), rates_.settle());
}

void ReferenceFollower::stop() noexcept {
  source_ = ReferenceSource::stopping;
  player_.stop(values_.data(), stop_limits(layout_, values_.data(), limits_, message().motion.limits));
  settle();
}

/// A sample that cannot be made, or is not finite, ends the motion.
void ReferenceFollower::advance_motion(double dt) noexcept {
  std::copy(values_.begin(), values_.end(), wanted_.begin());
  if (player_.advance(dt, message().motion, wanted_.data()) &&
      all_finite(wanted_.data(), static_cast<int>(wanted_.size()))) {
    std::copy(wanted_.begin(), wanted_.end(), values_.begin());
  } else if (source_ == ReferenceSource::stopping) {
    player_.cancel();  // numbers so large that they cannot even be stopped
  } else {
    return stop();
  }
  settle();
}

/// Where a motion is over, or there is none to make: rest exactly. After a lost stream it counts as stopping at rest too.
void ReferenceFollower::settle() noexcept {
  if (player_.is_running()) return;
  std::fill(values_.begin() + layout_.velocity, values_.begin() + layout_.standard, 0.0);
  source_ = is_stale_ ? ReferenceSource::stopping : ReferenceSource::hold;
}

/// Hold the place where the robot is, once it is known not to reach the reference. A place that it was found at, or that a
/// motion has led to, can be reached, however far something pushes it away.
void ReferenceFollower::give_up(const Reach::Motion& motion, double dt) noexcept {
  const bool is_streamed = source_ == ReferenceSource::stream;
  const double* goal = is_streamed ? wanted_.data() : values_.data();
  if (source_ == ReferenceSource::motion) {
    reach_.restart();
  } else if (is_given_up_) {
    is_restless_ = is_restless_ || (reach_.is_hopeless(motion, goal, dt, false) && reach_.is_restless());
  } else if (reach_.is_hopeless(motion, goal, dt, is_streamed) && hold(motion.q)) {
    is_limited_ = cut(kStreamMargins, nullptr, values_.data()) || is_limited_;
    player_.cancel();
    source_ = ReferenceSource::hold;
    is_given_up_ = true;
    reach_.restart();
  }
}

/// Joint laws: cut a flat reference to the limits of position, velocity and acceleration, positions to so many margins
/// before, see Limits; others stay as they are. Joints that are led beyond already, `from` there, are not led back. Whether
/// something was cut.
bool ReferenceFollower::cut(double margins, const double* from, double* reference) const noexcept {
  bool has_cut = false;
  const auto keep = [&has_cut](double& value, double lower, double upper) {
    const double kept = std::clamp(value, lower, upper);
    has_cut = has_cut || kept != value;
    value = kept;
  };
  for (int i = 0; i < layout_.n_joints && !layout_.is_cartesian; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double margin = margins * limits_.position_margin[k];
    const double lower = limits_.position_lower[k] + margin, upper = limits_.position_upper[k] - margin;
    keep(reference[layout_.position + i], from ? std::min(lower, from[i]) : lower, from ? std::max(upper, from[i]) : upper);
    const double q = reference[layout_.position + i];
    keep(reference[layout_.velocity + i], -limits_.velocity_towards(k, q, -1.0), limits_.velocity_towards(k, q, 1.0));
    keep(reference[layout_.acceleration + i], -limits_.acceleration[k], limits_.acceleration[k]);
  }
  return has_cut;
}

}  // namespace thunder
