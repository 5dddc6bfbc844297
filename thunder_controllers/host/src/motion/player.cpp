// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/player.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/pose_columns.hpp"

namespace thunder {
namespace {

constexpr double kAtRest = 1e-9;       // velocities and accelerations below this are none, SI units
constexpr double kSamePose = 1e-9;     // poses closer than this are one [m, rad]: there is no way between them

/// sum + factor·vector.
Vector3 plus(const Vector3& sum, double factor, const Vector3& vector) noexcept {
  return {sum[0] + factor * vector[0], sum[1] + factor * vector[1], sum[2] + factor * vector[2]};
}

Vector3 scaled(double factor, const Vector3& vector) noexcept { return plus({0.0, 0.0, 0.0}, factor, vector); }

}  // namespace

MotionPlayer::MotionPlayer(const SampleLayout& layout)
    : layout_(layout),
      joint_start_(layout.is_cartesian ? 0 : static_cast<std::size_t>(layout.size)),
      cursor_(layout.is_cartesian ? 7 : static_cast<std::size_t>(layout.n_joints)) {}

void MotionPlayer::begin(const double* reference, const MotionLimits& limits) noexcept {
  limits_ = limits;
  if (layout_.is_cartesian) {
    start_ = sample_ = PoseSample::from(layout_, reference);
  } else {
    std::copy_n(reference, joint_start_.size(), joint_start_.begin());
  }
}

bool MotionPlayer::is_at_rest(const double* reference) const noexcept {
  const int count = layout_.is_cartesian ? 6 : layout_.n_joints;
  const auto is_zero = [](double value) { return std::abs(value) <= kAtRest; };
  return std::all_of(reference + layout_.velocity, reference + layout_.velocity + count, is_zero) &&
         std::all_of(reference + layout_.acceleration, reference + layout_.acceleration + count, is_zero);
}

void MotionPlayer::stop(const double* reference, const MotionLimits& limits) noexcept {
  begin(reference, limits);
  phase_ = is_at_rest(reference) ? Phase::none : Phase::stop;
  double duration = 0.0;
  if (layout_.is_cartesian) {
    duration = std::max(StopShape::shortest(norm(start_.velocity), limits.linear_acceleration),
                        StopShape::shortest(norm(start_.angular_velocity), limits.angular_acceleration));
  } else {
    for (int i = 0; i < layout_.n_joints; ++i) {
      const double speed = std::abs(reference[layout_.velocity + i]);
      duration = std::max(duration, StopShape::shortest(speed, limits.joint_acceleration));
    }
  }
  shape_.duration = duration;
  time_ = 0.0;
}

void MotionPlayer::go(const double* reference, const PoseTarget& target, const MotionLimits& limits) noexcept {
  target_ = target;
  stop(reference, limits);
  if (is_running()) {
    phase_ = Phase::stop_then_go;
  } else {
    plan_way();
  }
}

void MotionPlayer::plan_way() noexcept {
  sample_.come_to_rest();
  way_.from = sample_.position;
  way_.first = sample_.orientation;
  way_.line = plus(target_.position, -1.0, sample_.position);
  way_.turn = to_rotation_vector(product(target_.orientation, conjugate(sample_.orientation)));
  const double length = norm(way_.line), angle = norm(way_.turn);
  const MotionLimits& l = limits_;
  law_ = TimeLaw(std::min(l.linear_velocity / length, l.angular_velocity / angle),
                 std::min(l.linear_acceleration / length, l.angular_acceleration / angle),
                 std::min(l.linear_jerk / length, l.angular_jerk / angle));
  time_ = 0.0;
  // Not finite: a place so far away that there are no numbers for the way.
  const bool goes = (length >= kSamePose || angle >= kSamePose) && std::isfinite(law_.duration());
  phase_ = goes ? Phase::go : Phase::none;
}

void MotionPlayer::trace(const double* reference, const Figure& figure, const MotionLimits& limits) noexcept {
  ramp_time_ = figure.ramp_time;
  stop(reference, limits);
  if (is_running()) {
    phase_ = Phase::stop_then_trace;
  } else {
    begin_figure(reference);
  }
}

void MotionPlayer::begin_figure(const double* reference) noexcept {
  if (layout_.is_cartesian) {
    sample_.come_to_rest();
    start_ = sample_;
  } else {
    std::copy_n(reference, joint_start_.size(), joint_start_.begin());
  }
  shape_.duration = ramp_time_;
  time_ = 0.0;
  phase_ = Phase::trace;
}

bool MotionPlayer::follow(const double* reference, const SplineKnots& knots, const MotionLimits& limits) noexcept {
  begin(reference, limits);
  cursor_.begin();
  phase_ = layout_.is_cartesian && !begin_pose_spline(knots) ? Phase::none : Phase::follow;
  for (int i = 0; !layout_.is_cartesian && i < layout_.n_joints; ++i) {
    cursor_.set_start(static_cast<std::size_t>(i),
                      {reference[layout_.position + i], reference[layout_.velocity + i],
                       reference[layout_.acceleration + i]});
  }
  return is_running();
}

bool MotionPlayer::begin_pose_spline(const SplineKnots& knots) noexcept {
  const double cosine = dot(start_.orientation, {knots.value(0, 3), knots.value(0, 4), knots.value(0, 5), knots.value(0, 6)});
  if (std::abs(cosine) < std::cos(0.5 * kLargestTurn)) return false;
  // The knots are given; of the start's two quaternions the one nearer to the first is taken.
  PoseSample start = start_;
  for (double& element : start.orientation) element = cosine < 0.0 ? -element : element;
  const PoseColumns columns = to_columns(start);
  for (std::size_t i = 0; i < columns.size(); ++i) cursor_.set_start(i, columns[i]);
  return true;
}

bool MotionPlayer::advance(double dt, const SplineKnots* knots, const Figure* figure, double* reference) noexcept {
  bool is_sound = true;
  if (phase_ == Phase::go) {
    advance_way(dt);
  } else if (phase_ == Phase::follow) {
    is_sound = advance_spline(dt, *knots, reference);
  } else if (phase_ == Phase::trace) {
    advance_figure(dt, *figure, reference);
  } else {
    advance_stop(dt, reference);
  }
  if (layout_.is_cartesian && is_sound) sample_.write(layout_, reference);
  return is_sound;
}

void MotionPlayer::advance_stop(double dt, double* reference) noexcept {
  const double begin = time_;
  time_ = std::min(begin + dt, shape_.duration);
  if (layout_.is_cartesian) {
    advance_pose_stop(begin);
  } else {
    advance_joint_stop(reference);
  }
  if (time_ < shape_.duration) return;
  if (phase_ == Phase::stop_then_go) {
    plan_way();
  } else if (phase_ == Phase::stop_then_trace) {
    begin_figure(reference);
  } else {
    phase_ = Phase::none;
  }
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

void MotionPlayer::advance_joint_stop(double* reference) const noexcept {
  for (int i = 0; i < layout_.n_joints; ++i) {
    const double* start = joint_start_.data() + i;
    const ScalarSample now = shape_.at(time_, start[layout_.velocity], start[layout_.acceleration]);
    reference[layout_.position + i] = start[layout_.position] + now.value;
    reference[layout_.velocity + i] = now.velocity;
    reference[layout_.acceleration + i] = now.acceleration;
  }
}

void MotionPlayer::advance_way(double dt) noexcept {
  time_ += dt;
  if (time_ >= law_.duration()) {
    sample_.position = target_.position;
    sample_.orientation = target_.orientation;
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

/// On the clock that lacks a rate of one at first, which comes to rest: σ = t + ∫ lack, σ̇ = 1 + lack.
void MotionPlayer::advance_figure(double dt, const Figure& figure, double* reference) noexcept {
  time_ += dt;
  const ScalarSample lack = shape_.at(time_, -1.0, 0.0);
  const ScalarSample clock{time_ + lack.value, 1.0 + lack.velocity, lack.acceleration};
  const std::size_t n = layout_.is_cartesian ? 3 : static_cast<std::size_t>(layout_.n_joints);
  for (std::size_t k = 0; k < n; ++k) {
    const ScalarSample now = figure.at(k, n, clock);
    if (layout_.is_cartesian) {
      sample_.position[k] = start_.position[k] + now.value;
      sample_.velocity[k] = now.velocity, sample_.acceleration[k] = now.acceleration;
    } else {
      const int i = static_cast<int>(k);
      reference[layout_.position + i] = joint_start_[k + static_cast<std::size_t>(layout_.position)] + now.value;
      reference[layout_.velocity + i] = now.velocity;
      reference[layout_.acceleration + i] = now.acceleration;
    }
  }
}

bool MotionPlayer::advance_spline(double dt, const SplineKnots& knots, double* reference) noexcept {
  const bool goes_on = cursor_.advance(dt, knots);
  if (layout_.is_cartesian) {
    if (!advance_pose_spline(knots)) return false;
    if (!goes_on) sample_.come_to_rest();
  } else {
    const double scale = goes_on ? 1.0 : 0.0;  // the derivatives end with rounding
    for (int i = 0; i < layout_.n_joints; ++i) {
      const ScalarSample now = cursor_.sample(knots, static_cast<std::size_t>(i));
      reference[layout_.position + i] = now.value;
      reference[layout_.velocity + i] = scale * now.velocity;
      reference[layout_.acceleration + i] = scale * now.acceleration;
    }
  }
  if (!goes_on) phase_ = Phase::none;
  return true;
}

bool MotionPlayer::advance_pose_spline(const SplineKnots& knots) noexcept {
  PoseColumns columns;
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = cursor_.sample(knots, i);
  return from_columns(columns, sample_);
}

}  // namespace thunder
