// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/port.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/motion/points.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kNear = 0.1;  // [m, rad] a stream that was given up is followed again from here
constexpr double kRotationTolerance = 1e-6;  // far above rounding, far below what a law would notice

double dot(const double* a, const double* b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Column-major 3x3: orthonormal and right-handed.
bool is_rotation(const double* r) noexcept {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j <= i; ++j) {
      if (std::abs(dot(r + 3 * i, r + 3 * j) - (i == j ? 1.0 : 0.0)) > kRotationTolerance) return false;
    }
  }
  const double cross[3] = {r[1] * r[5] - r[2] * r[4], r[2] * r[3] - r[0] * r[5], r[0] * r[4] - r[1] * r[3]};
  return dot(cross, r + 6) > 0.0;
}

}  // namespace

ReferencePort::Message ReferencePort::first_message(const thunder_law& law) {
  Message message;
  message.values = default_values(law.reference);
  return message;
}

ReferencePort::ReferencePort(std::shared_ptr<const Library> library, const thunder_law& law, const Options& options,
                             const Limits& limits)
    : law_(&law),
      layout_(law, library->n_joints()),
      written_(first_message(law)),
      buffer_(written_),
      in_effect_({written_.values, std::vector<double>(limits.velocity.size(), 0.0)}),
      held_(static_cast<std::size_t>(law.reference.size), 0.0),
      values_(held_),
      next_(held_),
      wanted_(held_),
      player_(layout_),
      limits_(limits),
      stream_(law, layout_, options, limits),
      reach_(library, law, limits, options.approach_patience) {
  if (options.rehearses_motions) rehearsal_.emplace(library, law, layout_, limits);
  if (!layout_.is_cartesian) return;
  pose_.emplace(std::move(library), "T_0_ee", 16);
}

void ReferencePort::check_entry(const thunder_entry& entry, const double* values) const {
  const std::string where = std::string(law_->name) + ".reference";
  check_values(entry, values, where);
  if (layout_.is_cartesian && std::strcmp(entry.name, "rotation") == 0 && !is_rotation(values)) {
    throw HostError(ErrorKind::law, "is no rotation", where + ".rotation",
                    "RᵀR = 1 to 1e-6 and det R = 1, nine values column-major");
  }
}

void ReferencePort::check_pose(const Vector3& position, const Quaternion& orientation) const {
  const std::string where = std::string(law_->name) + ".reference";
  double rotation[9];
  to_matrix(orientation, rotation);
  check_entry(find_entry(law_->reference, "position", where), position.data());
  check_entry(find_entry(law_->reference, "rotation", where), rotation);
}

void ReferencePort::require_kind(bool is_cartesian, const char* what) const {
  if (layout_.is_cartesian == is_cartesian) return;
  const char* followed = is_cartesian ? " follows joints" : " follows poses";
  throw HostError(ErrorKind::law, std::string("the law ") + law_->name + followed, what,
                  is_cartesian ? "a cartesian law" : "a joint law");
}

void ReferencePort::write(const double* values, int size, std::optional<double> due) {
  if (size != layout_.size && size != layout_.standard) {
    const std::string standard = layout_.size == layout_.standard ? "" : std::to_string(layout_.standard) + " or ";
    throw HostError(ErrorKind::dimension, "got " + std::to_string(size) + " values",
                    std::string(law_->name) + ".reference", standard + std::to_string(layout_.size));
  }
  for (int i = 0; i < law_->reference.n_entries; ++i) {
    const thunder_entry& entry = law_->reference.entries[i];
    if (entry.offset < size) check_entry(entry, values + entry.offset);
  }
  if (due && !std::isfinite(*due)) {
    throw HostError(ErrorKind::law, "is " + format(*due), std::string(law_->name) + ".reference: time", "a finite time [s]");
  }
  std::copy_n(values, size, written_.values.begin());
  begin_request(Request::write);
  written_.due = due;
  written_.given = ~std::uint64_t{0};
  publish();
}

void ReferencePort::write_entry(const std::string& name, const std::vector<double>& values) {
  const std::string where = std::string(law_->name) + ".reference";
  const thunder_entry& entry = find_entry(law_->reference, name, where);
  std::vector<double> candidate = written_.values;
  thunder::write_entry(entry, values, where, candidate);
  check_entry(entry, candidate.data() + entry.offset);
  if (entry.offset < layout_.standard) {
    begin_request(Request::write);
    written_.given |= std::uint64_t{1} << (&entry - law_->reference.entries);
  }
  written_.values = std::move(candidate);
  publish();
}

void ReferencePort::hold() noexcept {
  begin_request(Request::write);
  written_.given = 0;
  ++written_.holds;
  in_effect_.fetch();  // what was in effect until now is no start any more
  start_is_known_ = false;
  publish();
}

void ReferencePort::set_limits(const MotionLimits& limits) {
  check_limits(limits);
  ++requests_;
  written_.limits = limits;
  publish();
}

MotionPlan ReferencePort::plan(const double position[3], const double orientation[4]) {
  require_kind(true, "move_to_pose");
  MotionPlan plan = plan_from_here();
  plan.target = {{position[0], position[1], position[2]},
                 checked_orientation(orientation, "move_to_pose: orientation")};
  check_pose(plan.target.position, plan.target.orientation);
  return plan;
}

MotionPlan ReferencePort::plan(const std::vector<TimedPose>& points) {
  require_kind(true, "follow poses");
  MotionPlan plan = plan_from_here();
  plan.knots = prepare_knots(points, layout_, plan.q.empty() ? nullptr : plan.reference.data());
  for (const TimedPose& point : points) check_pose(point.position, point.orientation);
  return plan;
}

MotionPlan ReferencePort::plan(const std::vector<TimedJoints>& points) {
  require_kind(false, "follow joints");
  MotionPlan plan = plan_from_here();
  plan.knots = prepare_knots(points, layout_, plan.q.empty() ? nullptr : plan.reference.data());
  const thunder_entry& entry = find_entry(law_->reference, "q", law_->name);
  for (const TimedJoints& point : points) check_entry(entry, point.q.data());
  return plan;
}

MotionPlan ReferencePort::plan(const Figure& figure) {
  MotionPlan plan = plan_from_here();
  plan.figure = prepare_figure(figure, layout_.is_cartesian ? 3 : layout_.n_joints);
  return plan;
}

MotionPlan ReferencePort::plan_from_here() {
  MotionPlan plan;
  plan.limits = written_.limits;
  plan.requests = requests_;
  if (const InEffect* start = find_start()) {
    plan.q = start->q;
    plan.reference = start->values;
  }
  return plan;
}

/// Without a known start the points are all that can be looked at.
void ReferencePort::rehearse(const MotionPlan& plan) {
  if (rehearsal_ && !plan.q.empty()) rehearsal_->check(plan);
}

void ReferencePort::begin(MotionPlan plan) {
  if (plan.requests != requests_) {
    throw HostError(ErrorKind::law, "something else was asked for while the motion was rehearsed", "motion",
                    "ask for it again");
  }
  begin_request(plan.figure ? Request::trace : plan.knots ? Request::follow : Request::go);
  written_.target = plan.target;
  written_.knots = std::move(plan.knots);
  written_.figure = std::move(plan.figure);
  publish();
}

void ReferencePort::stop() noexcept {
  begin_request(Request::stop);
  publish();
}

/// What is in effect, as the configuring thread knows it; null if it does not.
const ReferencePort::InEffect* ReferencePort::find_start() {
  if (in_effect_.fetch()) start_is_known_ = true;
  return start_is_known_ ? &in_effect_.value() : nullptr;
}

void ReferencePort::begin_request(Request request) noexcept {
  written_.request = request;
  ++requests_;
  ++written_.number;
  written_.due.reset();
  written_.knots.reset();
  written_.figure.reset();
  if (request == Request::write) return;
  written_.given = 0;
  ++written_.motions;
}

void ReferencePort::publish() noexcept {
  Message& slot = buffer_.slot();
  slot = written_;  // vectors of equal size are copied without allocation; old knots are freed here
  buffer_.publish();
}

bool ReferencePort::capture(const double* q) noexcept {
  has_moved_ = false;
  if (!pose_) {
    std::copy_n(q, layout_.n_joints, held_.begin() + layout_.position);
    return true;
  }
  if (!pose_->evaluate(q)) return false;
  const double* pose = pose_->result();
  std::copy_n(pose + 12, 3, held_.begin() + layout_.position);
  for (int column = 0; column < 3; ++column) {
    std::copy_n(pose + 4 * column, 3, held_.begin() + layout_.rotation + 3 * column);
  }
  return true;
}

/// Hold the place of the reference instead of the robot's.
void ReferencePort::keep_place() noexcept {
  std::copy_n(values_.begin() + layout_.position, layout_.is_cartesian ? 3 : layout_.n_joints,
              held_.begin() + layout_.position);
  if (layout_.is_cartesian) std::copy_n(values_.begin() + layout_.rotation, 9, held_.begin() + layout_.rotation);
}

/// Further entries are as written, whatever else is followed.
void ReferencePort::take_further() noexcept {
  const std::vector<double>& written = buffer_.value().values;
  for (std::vector<double>* values : {&held_, &wanted_, &values_}) {
    std::copy(written.begin() + layout_.standard, written.end(), values->begin() + layout_.standard);
  }
}

bool ReferencePort::take(const double* q) noexcept {
  const Message& message = buffer_.value();
  const bool is_sample = message.request == Request::write && message.given != 0;
  if (is_given_up_ && is_sample && reach_.distance(q, message.values.data()) > kNear) {
    taken_ = message.number;
    return true;
  }
  is_given_up_ = false;
  if (message.holds != holds_taken_) {
    if (!capture(q)) return false;
    std::copy(held_.begin(), held_.end(), values_.begin());
  } else if (has_moved_ || message.motions != motions_taken_) {
    keep_place();
  }
  holds_taken_ = message.holds;
  motions_taken_ = message.motions;
  taken_ = message.number;
  is_stale_ = false;
  player_.cancel();
  if (message.request == Request::write) {
    take_written(message);
  } else {
    take_motion(message);
  }
  return true;
}

void ReferencePort::take_written(const Message& message) noexcept {
  for (int i = 0; i < law_->reference.n_entries; ++i) {
    const thunder_entry& entry = law_->reference.entries[i];
    const std::vector<double>& source = (message.given >> i) & 1u ? message.values : held_;
    std::copy_n(source.begin() + entry.offset, entry_size(entry), wanted_.begin() + entry.offset);
  }
  std::copy(wanted_.begin(), wanted_.end(), values_.begin());
  if (source_ != ReferenceSource::stream) stream_.begin();
  source_ = message.given != 0 ? ReferenceSource::stream : ReferenceSource::hold;
  is_new_ = true;
}

/// Joint laws: cut a flat reference to the limits of position, velocity and acceleration, positions to so many margins
/// before, see Limits; others stay as they are. Whether something was cut.
bool ReferencePort::cut(double margins, double* reference) const noexcept {
  bool has_cut = false;
  const auto keep = [&has_cut](double& value, double lower, double upper) {
    const double kept = std::clamp(value, lower, upper);
    has_cut = has_cut || kept != value;
    value = kept;
  };
  for (int i = 0; i < layout_.n_joints && !layout_.is_cartesian; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double margin = margins * limits_.position_margin[k];
    keep(reference[layout_.position + i], limits_.position_lower[k] + margin, limits_.position_upper[k] - margin);
    keep(reference[layout_.velocity + i], -limits_.velocity[k], limits_.velocity[k]);
    keep(reference[layout_.acceleration + i], -limits_.acceleration[k], limits_.acceleration[k]);
  }
  return has_cut;
}

/// The stream, from the reference before, in next_.
void ReferencePort::follow_written(double t, double dt) noexcept {
  const Message& message = buffer_.value();
  if (is_new_) {
    is_cut_ = cut(kStreamMargins, wanted_.data());
    const double since = begins_on_stream_ ? 0.0 : dt;
    stream_.take(wanted_.data(), message.due.value_or(t), t, since, message.limits, next_.data());
    is_new_ = begins_on_stream_ = false;
  }
  std::copy(next_.begin(), next_.begin() + layout_.standard, values_.begin());
  stream_.advance(t, values_.data());
  is_limited_ = cut(kStreamMargins, values_.data()) || is_cut_ || stream_.is_far();
}

void ReferencePort::take_motion(const Message& message) noexcept {
  source_ = ReferenceSource::motion;
  if (message.request == Request::go) {
    player_.go(values_.data(), message.target, message.limits);
  } else if (message.request == Request::trace) {
    player_.trace(values_.data(), *message.figure, message.limits);
  } else if (message.request == Request::stop || !player_.follow(values_.data(), *message.knots, message.limits)) {
    stop(message.limits);
  }
  settle();
}

void ReferencePort::stop(const MotionLimits& limits) noexcept {
  source_ = ReferenceSource::stopping;
  player_.stop(values_.data(), limits);
}

/// Where a motion is over, or there is none to make: rest exactly.
void ReferencePort::settle() noexcept {
  has_moved_ = true;
  if (player_.is_running()) return;
  const int count = layout_.is_cartesian ? 6 : layout_.n_joints;
  std::fill_n(values_.begin() + layout_.velocity, count, 0.0);
  std::fill_n(values_.begin() + layout_.acceleration, count, 0.0);
  if (!is_stale_) source_ = ReferenceSource::hold;
}

void ReferencePort::move(double dt) noexcept {
  const Message& message = buffer_.value();
  std::copy(values_.begin(), values_.end(), next_.begin());
  if (player_.advance(dt, message.knots.get(), message.figure.get(), next_.data()) &&
      all_finite(next_.data(), static_cast<int>(next_.size()))) {
    values_.swap(next_);
  } else if (source_ == ReferenceSource::stopping) {
    player_.cancel();  // numbers so large that they cannot even be stopped
  } else {
    stop(message.limits);
  }
  settle();
}

bool ReferencePort::restart(const double* q) noexcept {
  buffer_.fetch();
  take_further();
  stamp_.reset();
  has_moved_ = is_given_up_ = is_limited_ = is_restless_ = false;
  if (!capture(q)) return false;
  std::copy(held_.begin(), held_.end(), values_.begin());
  holds_taken_ = buffer_.value().holds;
  motions_taken_ = buffer_.value().motions;
  if (!take(q)) return false;
  begins_on_stream_ = source_ == ReferenceSource::stream;
  if (begins_on_stream_) cut(kStreamMargins, values_.data());
  reach_.restart();
  show(q);
  return true;
}

void ReferencePort::show(const double* q) noexcept {
  InEffect& slot = in_effect_.slot();
  std::copy(values_.begin(), values_.end(), slot.values.begin());
  std::copy_n(q, slot.q.size(), slot.q.begin());
  in_effect_.publish();
}

/// Hold the place where the robot is, once it is known not to reach the reference. A place that it was found at, or that a
/// motion has led to, can be reached, however far something pushes it away.
void ReferencePort::give_up(const double* q, double dt) noexcept {
  const bool is_streamed = source_ == ReferenceSource::stream;
  const double* goal = is_streamed ? wanted_.data() : values_.data();
  if (source_ == ReferenceSource::motion) {
    reach_.restart();
  } else if (is_given_up_) {
    is_restless_ = is_restless_ || (reach_.is_hopeless(q, goal, dt, false) && reach_.is_restless());
  } else if (reach_.is_hopeless(q, goal, dt, is_streamed) && capture(q)) {
    std::copy(held_.begin(), held_.end(), values_.begin());
    is_limited_ = cut(kStreamMargins, values_.data()) || is_limited_;
    player_.cancel();
    source_ = ReferenceSource::hold;
    is_given_up_ = true;
    reach_.restart();
  }
}

ReferenceState ReferencePort::refresh(double t, const double* q, double dt, double timeout) noexcept {
  std::copy(values_.begin(), values_.end(), next_.begin());
  if (buffer_.fetch()) take_further();
  if (buffer_.value().number != taken_) {
    if (!take(q)) return ReferenceState::failed;
    stamp_ = t;
  }
  if (!stamp_ || t < *stamp_) stamp_ = t;  // the first update, or the clock was set back
  if (source_ == ReferenceSource::stream && t - *stamp_ > timeout) {
    is_stale_ = true;
    stop(buffer_.value().limits);
    settle();
  }
  is_limited_ = false;
  if (player_.is_running()) {
    move(dt);
    is_limited_ = cut(0.0, values_.data());
  } else if (source_ == ReferenceSource::stream) {
    follow_written(t, dt);
  }
  give_up(q, dt);
  show(q);
  return is_stale_ ? ReferenceState::stale : ReferenceState::fresh;
}

}  // namespace thunder
