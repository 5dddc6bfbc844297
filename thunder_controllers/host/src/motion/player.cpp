// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/player.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kShortestStop = 0.1;  // [s] even of a slow motion: its acceleration has to end smoothly
constexpr double kAtRest = 1e-9;       // velocities and accelerations below this are none, SI units
constexpr double kSamePose = 1e-9;     // poses closer than this are one [m, rad]: there is no way between them
constexpr double kLeastNorm = 0.1;     // of an interpolated quaternion; below, its direction says little

/// sum + factor·vector.
Vector3 plus(const Vector3& sum, double factor, const Vector3& vector) noexcept {
  return {sum[0] + factor * vector[0], sum[1] + factor * vector[1], sum[2] + factor * vector[2]};
}

Vector3 scaled(double factor, const Vector3& vector) noexcept { return plus({0.0, 0.0, 0.0}, factor, vector); }

Vector3 weighted(const StopShape::Weights& weights, const Vector3& velocity, const Vector3& acceleration) noexcept {
  return plus(scaled(weights.of_velocity, velocity), weights.of_acceleration, acceleration);
}

}  // namespace

StopShape::Weights StopShape::velocity_at(double time) const noexcept {
  const double u = time / duration_, v = 1.0 - u;
  return {v * v * (1.0 + 2.0 * u), duration_ * u * v * v};
}

StopShape::Weights StopShape::way() const noexcept {
  const double u = time_ / duration_;
  return {duration_ * u * (1.0 + u * u * (0.5 * u - 1.0)),
          duration_ * duration_ * u * u * (0.5 + u * (0.25 * u - 2.0 / 3.0))};
}

StopShape::Weights StopShape::acceleration() const noexcept {
  const double u = time_ / duration_, v = 1.0 - u;
  return {-6.0 * u * v / duration_, v * (1.0 - 3.0 * u)};
}

double StopShape::shortest(double speed, double bound) noexcept { return std::max(kShortestStop, 1.5 * speed / bound); }

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
  shape_.begin(duration);
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
  way_.duration =
      std::max(quintic_duration(length, l.linear_velocity, l.linear_acceleration, l.linear_jerk),
               quintic_duration(angle, l.angular_velocity, l.angular_acceleration, l.angular_jerk));
  way_.time = 0.0;
  phase_ = length < kSamePose && angle < kSamePose ? Phase::none : Phase::go;
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
  Quaternion q = start_.orientation;
  const double cosine = dot(q, {knots.value(0, 3), knots.value(0, 4), knots.value(0, 5), knots.value(0, 6)});
  if (std::abs(cosine) < std::cos(0.5 * kLargestTurn)) return false;
  // The knots are given; of the start's two quaternions the one nearer to the first is taken.
  for (double& element : q) element = cosine < 0.0 ? -element : element;
  const Quaternion rate = half_product(start_.angular_velocity, q);
  const Quaternion curvature = half_product(start_.angular_acceleration, q);
  const Quaternion centripetal = half_product(start_.angular_velocity, rate);
  for (std::size_t i = 0; i < 3; ++i) {
    cursor_.set_start(i, {start_.position[i], start_.velocity[i], start_.acceleration[i]});
  }
  for (std::size_t i = 0; i < 4; ++i) cursor_.set_start(3 + i, {q[i], rate[i], curvature[i] + centripetal[i]});
  return true;
}

bool MotionPlayer::advance(double dt, const SplineKnots* knots, double* reference) noexcept {
  bool is_sound = true;
  if (phase_ == Phase::go) {
    advance_way(dt);
  } else if (phase_ == Phase::follow) {
    is_sound = advance_spline(dt, *knots, reference);
  } else {
    advance_stop(dt, reference);
  }
  if (layout_.is_cartesian && is_sound) sample_.write(layout_, reference);
  return is_sound;
}

void MotionPlayer::advance_stop(double dt, double* reference) noexcept {
  const double begin = shape_.time();
  shape_.advance(dt);
  if (layout_.is_cartesian) {
    advance_pose_stop(begin);
  } else {
    advance_joint_stop(reference);
  }
  if (!shape_.is_over()) return;
  if (phase_ == Phase::stop_then_go) {
    plan_way();
  } else {
    phase_ = Phase::none;
  }
}

void MotionPlayer::advance_pose_stop(double begin) noexcept {
  constexpr double kGauss = 0.28867513459481287;  // √3/6: the Gauss points of a step
  const double h = shape_.time() - begin, middle = begin + 0.5 * h;
  const auto omega = [this](double time) {
    return weighted(shape_.velocity_at(time), start_.angular_velocity, start_.angular_acceleration);
  };
  const Vector3 first = omega(middle - kGauss * h), second = omega(middle + kGauss * h);
  // Ω = h/2 (ω₁ + ω₂) + √3/12 h² ω₂ × ω₁
  const Vector3 mean = plus(scaled(0.5 * h, first), 0.5 * h, second);
  const Vector3 turn = plus(mean, 0.5 * kGauss * h * h, cross(second, first));
  sample_.orientation = normalized(product(from_rotation_vector(turn), sample_.orientation));
  const auto now = [](const StopShape::Weights& weights, const Vector3& velocity, const Vector3& acceleration) {
    return weighted(weights, velocity, acceleration);
  };
  sample_.position = plus(start_.position, 1.0, now(shape_.way(), start_.velocity, start_.acceleration));
  sample_.velocity = now(shape_.velocity(), start_.velocity, start_.acceleration);
  sample_.angular_velocity = now(shape_.velocity(), start_.angular_velocity, start_.angular_acceleration);
  sample_.acceleration = now(shape_.acceleration(), start_.velocity, start_.acceleration);
  sample_.angular_acceleration = now(shape_.acceleration(), start_.angular_velocity, start_.angular_acceleration);
  if (shape_.is_over()) sample_.come_to_rest();
}

void MotionPlayer::advance_joint_stop(double* reference) noexcept {
  const StopShape::Weights way = shape_.way(), velocity = shape_.velocity(), acceleration = shape_.acceleration();
  const double scale = shape_.is_over() ? 0.0 : 1.0;  // the weights end with rounding
  for (int i = 0; i < layout_.n_joints; ++i) {
    const double* start = joint_start_.data() + i;
    const double v0 = start[layout_.velocity], a0 = start[layout_.acceleration];
    const auto now = [v0, a0](const StopShape::Weights& w) { return w.of_velocity * v0 + w.of_acceleration * a0; };
    reference[layout_.position + i] = start[layout_.position] + now(way);
    reference[layout_.velocity + i] = scale * now(velocity);
    reference[layout_.acceleration + i] = scale * now(acceleration);
  }
}

void MotionPlayer::advance_way(double dt) noexcept {
  way_.time += dt;
  if (way_.time >= way_.duration) {
    sample_.position = target_.position;
    sample_.orientation = target_.orientation;
    sample_.come_to_rest();
    phase_ = Phase::none;
    return;
  }
  const double T = way_.duration, u = way_.time / T, v = 1.0 - u;
  const double s = u * u * u * (10.0 + u * (6.0 * u - 15.0));
  const double rate = 30.0 * u * u * v * v / T, curvature = 60.0 * u * v * (1.0 - 2.0 * u) / (T * T);
  sample_.position = plus(way_.from, s, way_.line);
  sample_.orientation = product(from_rotation_vector(scaled(s, way_.turn)), way_.first);
  sample_.velocity = scaled(rate, way_.line);
  sample_.angular_velocity = scaled(rate, way_.turn);
  sample_.acceleration = scaled(curvature, way_.line);
  sample_.angular_acceleration = scaled(curvature, way_.turn);
}

bool MotionPlayer::advance_spline(double dt, const SplineKnots& knots, double* reference) noexcept {
  const bool goes_on = cursor_.advance(dt, knots);
  if (layout_.is_cartesian) {
    if (!advance_pose_spline(knots)) return false;
    if (!goes_on) sample_.come_to_rest();
  } else {
    const double scale = goes_on ? 1.0 : 0.0;  // the derivatives end with rounding
    for (int i = 0; i < layout_.n_joints; ++i) {
      const SplineSample now = cursor_.sample(knots, static_cast<std::size_t>(i));
      reference[layout_.position + i] = now.value;
      reference[layout_.velocity + i] = scale * now.velocity;
      reference[layout_.acceleration + i] = scale * now.acceleration;
    }
  }
  if (!goes_on) phase_ = Phase::none;
  return true;
}

/// With N = ‖q‖²: ω = 2 vec(q̇ q̄)/N and ω̇ = 2 vec(q̈ q̄)/N − ω Ṅ/N exactly, so ω̇ is as continuous as q̈.
bool MotionPlayer::advance_pose_spline(const SplineKnots& knots) noexcept {
  for (std::size_t i = 0; i < 3; ++i) {
    const SplineSample now = cursor_.sample(knots, i);
    sample_.position[i] = now.value, sample_.velocity[i] = now.velocity, sample_.acceleration[i] = now.acceleration;
  }
  Quaternion q, rate, curvature;
  for (std::size_t i = 0; i < 4; ++i) {
    const SplineSample now = cursor_.sample(knots, 3 + i);
    q[i] = now.value, rate[i] = now.velocity, curvature[i] = now.acceleration;
  }
  const double square = dot(q, q);
  if (!(square > kLeastNorm * kLeastNorm)) return false;
  const auto vector_part = [&q](const Quaternion& a) {
    const Quaternion b = product(a, conjugate(q));
    return Vector3{b[0], b[1], b[2]};
  };
  sample_.orientation = normalized(q);
  sample_.angular_velocity = scaled(2.0 / square, vector_part(rate));
  sample_.angular_acceleration =
      plus(scaled(2.0 / square, vector_part(curvature)), -2.0 * dot(q, rate) / square, sample_.angular_velocity);
  return true;
}

}  // namespace thunder
