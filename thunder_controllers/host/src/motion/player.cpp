// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/player.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kAtRest = 1e-9;       // velocities and accelerations below this are none, SI units
constexpr double kSamePose = 1e-9;     // poses closer than this are one [m, rad]: there is no way between them

Vector3 scaled(double factor, const Vector3& vector) noexcept { return plus({0.0, 0.0, 0.0}, factor, vector); }

/// The acceleration of what moves by a clock.
Vector3 on_clock(const ScalarSample& clock, const Vector3& velocity, const Vector3& acceleration) noexcept {
  return plus(scaled(clock.velocity * clock.velocity, acceleration), clock.acceleration, velocity);
}

}  // namespace

Motion Motion::slowed(double factor) const {
  Motion slow = *this;
  slow.pace *= factor;
  if (knots) {
    slow.knots = std::make_shared<const SplineKnots>(knots->slowed(factor));
  } else if (figure) {
    Figure other = *figure;
    for (double& frequency : other.frequency) frequency /= factor;
    other.ramp_time *= factor;
    slow.figure = std::make_shared<const Figure>(std::move(other));
  }
  return slow;
}

std::string to_string(const PoseWay& way) {
  const std::string kind = way.is_straight ? "on a straight line" : "by all joints at once, as a straight line is not possible or takes long";
  return way.pace > 1.0 ? kind + ", in " + format(way.pace) + " times the time that the motion limits ask for" : kind;
}

MotionPlayer::MotionPlayer(const SampleLayout& layout, const Circles& circles)
    : layout_(layout),
      circles_(circles),
      joints_(layout.is_cartesian ? 0 : static_cast<std::size_t>(layout.n_joints)),
      turns_(joints_.size()),
      cursor_(layout.is_cartesian ? 7 : joints_.size()) {}

void MotionPlayer::start_at(const double* reference) noexcept {
  if (layout_.is_cartesian) start_ = sample_ = PoseSample::from(layout_, reference);
  for (std::size_t i = 0; i < joints_.size(); ++i) joints_[i] = layout_.joint(reference, i);
}

double MotionPlayer::stop_time(const double* reference, const MotionLimits& limits) const noexcept {
  if (layout_.is_cartesian) {
    const PoseSample pose = PoseSample::from(layout_, reference);
    return std::max(StopShape::shortest(norm(pose.velocity), limits.linear_acceleration),
                    StopShape::shortest(norm(pose.angular_velocity), limits.angular_acceleration));
  }
  double time = 0.0;
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const double speed = std::abs(layout_.joint(reference, i).velocity);
    time = std::max(time, StopShape::shortest(speed, limits.joint_acceleration));
  }
  return time;
}

void MotionPlayer::stop(const double* reference, const MotionLimits& limits) noexcept {
  start_at(reference);
  next_ = Phase::none;
  time_ = 0.0;
  shape_.duration = stop_time(reference, limits);
  const bool is_at_rest = std::all_of(reference + layout_.velocity, reference + layout_.standard,
                                      [](double rate) { return std::abs(rate) <= kAtRest; });
  phase_ = is_at_rest ? Phase::none : Phase::stop;
}

bool MotionPlayer::end(const double* reference, const Motion& motion) noexcept {
  const void* way = phase_ == Phase::trace ? static_cast<const void*>(motion.figure.get()) : motion.knots.get();
  if ((phase_ != Phase::trace && phase_ != Phase::follow) || way != on_) return false;
  if (clock_.steady == 0.0) return true;
  shape_.duration = stop_time(reference, motion.limits);
  start_clock(phase_, way, {now_.value, 0.0, now_.velocity, now_.acceleration});
  return true;
}

void MotionPlayer::start_clock(Phase phase, const void* way, const Clock& clock) noexcept {
  phase_ = phase, on_ = way, clock_ = clock;
  time_ = 0.0;
  now_ = {clock.from, clock.steady + clock.rate, clock.change};
}

/// A clock that rests ends the motion.
ScalarSample MotionPlayer::advance_clock(double dt) noexcept {
  time_ += dt;
  const ScalarSample shape = shape_.at(time_, clock_.rate, clock_.change);
  now_ = {clock_.from + clock_.steady * time_ + shape.value, clock_.steady + shape.velocity, shape.acceleration};
  if (clock_.steady == 0.0 && time_ >= shape_.duration) phase_ = Phase::none;
  return now_;
}

bool MotionPlayer::begin(const double* reference, const Motion& motion) noexcept {
  if (motion.knots) {
    start_at(reference);
    return begin_spline(*motion.knots);
  }
  stop(reference, motion.limits);
  next_ = motion.figure ? Phase::trace : Phase::go;
  if (!is_running()) go_on(motion, reference);
  return true;
}

/// After coming to rest.
void MotionPlayer::go_on(const Motion& motion, const double* reference) noexcept {
  phase_ = next_;
  time_ = 0.0;
  sample_.come_to_rest();
  if (phase_ == Phase::go) plan_way(motion);
  if (phase_ != Phase::trace) return;
  shape_.duration = motion.figure->ramp_time;
  start_clock(phase_, motion.figure.get(), {0.0, 1.0, -1.0, 0.0});
  start_ = sample_;
  for (std::size_t i = 0; i < joints_.size(); ++i) joints_[i] = layout_.joint(reference, i);
}

void MotionPlayer::plan_way(const Motion& motion) noexcept {
  way_.from = sample_.position;
  way_.first = sample_.orientation;
  way_.line = plus(motion.target.position, -1.0, sample_.position);
  way_.turn = to_rotation_vector(product(motion.target.orientation, conjugate(sample_.orientation)));
  const double length = norm(way_.line), angle = norm(way_.turn);
  const MotionLimits& l = motion.limits;
  const double k = motion.pace;
  law_ = TimeLaw(std::min(l.linear_velocity / length, l.angular_velocity / angle) / k,
                 std::min(l.linear_acceleration / length, l.angular_acceleration / angle) / (k * k),
                 std::min(l.linear_jerk / length, l.angular_jerk / angle) / (k * k * k));
  // Not finite: a place so far away that there are no numbers for the way.
  const bool goes = (length >= kSamePose || angle >= kSamePose) && std::isfinite(law_.duration());
  if (!goes) cancel();
}

bool MotionPlayer::begin_spline(const SplineKnots& knots) noexcept {
  cursor_.begin();
  phase_ = Phase::none;
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    ScalarSample start = joints_[i];
    turns_[i] = circles_.turns(i, knots.value(0, i), start.value);
    start.value -= turns_[i];
    cursor_.set_start(i, start);
  }
  if (layout_.is_cartesian) {
    const Quaternion first = {knots.value(0, 3), knots.value(0, 4), knots.value(0, 5), knots.value(0, 6)};
    const double cosine = dot(start_.orientation, first);
    if (std::abs(cosine) < std::cos(0.5 * kLargestTurn)) return false;
    // The knots are given; of the start's two quaternions the one nearer to the first is taken.
    PoseSample start = start_;
    for (double& element : start.orientation) element = std::copysign(1.0, cosine) * element;
    const PoseColumns columns = to_columns(start);
    for (std::size_t i = 0; i < columns.size(); ++i) cursor_.set_start(i, columns[i]);
  }
  start_clock(Phase::follow, &knots, {0.0, 1.0, 0.0, 0.0});
  return true;
}

bool MotionPlayer::advance(double dt, const Motion& motion, double* reference) noexcept {
  bool is_sound = true;
  if (phase_ == Phase::go) {
    advance_way(dt, motion.target);
  } else if (phase_ == Phase::follow) {
    is_sound = advance_spline(advance_clock(dt), *motion.knots, reference);
  } else if (phase_ == Phase::trace) {
    advance_figure(advance_clock(dt), *motion.figure, reference);
  } else {
    advance_stop(dt, motion, reference);
  }
  if (layout_.is_cartesian && is_sound) sample_.write(layout_, reference);
  return is_sound;
}

void MotionPlayer::advance_stop(double dt, const Motion& motion, double* reference) noexcept {
  const double begin = time_;
  time_ = std::min(begin + dt, shape_.duration);
  if (layout_.is_cartesian) advance_pose_stop(begin);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    ScalarSample now = shape_.at(time_, joints_[i].velocity, joints_[i].acceleration);
    now.value += joints_[i].value;
    layout_.write_joint(now, i, reference);
  }
  if (time_ >= shape_.duration) go_on(motion, reference);
}

void MotionPlayer::advance_pose_stop(double begin) noexcept {
  constexpr double kGauss = 0.28867513459481287;  // √3/6: the Gauss points of a step
  const double h = time_ - begin, middle = begin + 0.5 * h;
  Vector3 first, second;
  for (std::size_t i = 0; i < 3; ++i) {
    const ScalarSample linear = shape_.at(time_, start_.velocity[i], start_.acceleration[i]);
    sample_.position[i] = start_.position[i] + linear.value;
    sample_.velocity[i] = linear.velocity, sample_.acceleration[i] = linear.acceleration;
    const double omega = start_.angular_velocity[i], change = start_.angular_acceleration[i];
    first[i] = shape_.at(middle - kGauss * h, omega, change).velocity;
    second[i] = shape_.at(middle + kGauss * h, omega, change).velocity;
    const ScalarSample angular = shape_.at(time_, omega, change);
    sample_.angular_velocity[i] = angular.velocity, sample_.angular_acceleration[i] = angular.acceleration;
  }
  // Ω = h/2 (ω₁ + ω₂) + √3/12 h² ω₂ × ω₁
  const Vector3 mean = plus(scaled(0.5 * h, first), 0.5 * h, second);
  const Vector3 turn = plus(mean, 0.5 * kGauss * h * h, cross(second, first));
  sample_.orientation = normalized(product(from_rotation_vector(turn), sample_.orientation));
}

void MotionPlayer::advance_way(double dt, const PoseTarget& target) noexcept {
  time_ += dt;
  if (time_ >= law_.duration()) {
    sample_.position = target.position;
    sample_.orientation = target.orientation;
    sample_.come_to_rest();
    phase_ = Phase::none;
    return;
  }
  const ScalarSample s = law_.at(time_);
  sample_.position = plus(way_.from, s.value, way_.line);
  sample_.orientation = product(from_rotation_vector(scaled(s.value, way_.turn)), way_.first);
  sample_.velocity = scaled(s.velocity, way_.line);
  sample_.angular_velocity = scaled(s.velocity, way_.turn);
  sample_.acceleration = scaled(s.acceleration, way_.line);
  sample_.angular_acceleration = scaled(s.acceleration, way_.turn);
}

void MotionPlayer::advance_figure(const ScalarSample& clock, const Figure& figure, double* reference) noexcept {
  const std::size_t n = layout_.is_cartesian ? 3 : joints_.size();
  for (std::size_t k = 0; k < n; ++k) {
    ScalarSample now = figure.at(k, n, clock);
    if (layout_.is_cartesian) {
      sample_.position[k] = start_.position[k] + now.value;
      sample_.velocity[k] = now.velocity, sample_.acceleration[k] = now.acceleration;
    } else {
      now.value += joints_[k].value;
      layout_.write_joint(now, k, reference);
    }
  }
}

bool MotionPlayer::advance_spline(const ScalarSample& clock, const SplineKnots& knots, double* reference) noexcept {
  const bool goes_on = cursor_.advance(clock.value, knots);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    ScalarSample now = cursor_.sample(knots, i);
    now.value += turns_[i];
    now.acceleration = clock.velocity * clock.velocity * now.acceleration + clock.acceleration * now.velocity;
    now.velocity *= clock.velocity;
    layout_.write_joint(now, i, reference);
  }
  if (layout_.is_cartesian) {
    PoseColumns columns;
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = cursor_.sample(knots, i);
    if (!from_columns(columns, sample_)) return false;
    sample_.acceleration = on_clock(clock, sample_.velocity, sample_.acceleration);
    sample_.angular_acceleration = on_clock(clock, sample_.angular_velocity, sample_.angular_acceleration);
    sample_.velocity = scaled(clock.velocity, sample_.velocity);
    sample_.angular_velocity = scaled(clock.velocity, sample_.angular_velocity);
  }
  if (!goes_on) phase_ = Phase::none;
  return true;
}

}  // namespace thunder
