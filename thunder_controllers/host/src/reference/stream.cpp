// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/stream.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/motion/spline.hpp"

namespace thunder {
namespace {

/// Of the two quaternions of the second pose, take the one nearer to the first.
void align(const std::vector<ScalarSample>& pose, std::vector<ScalarSample>& other) noexcept {
  double cosine = 0.0;
  for (std::size_t i = 3; i < 7; ++i) cosine += pose[i].value * other[i].value;
  if (cosine >= 0.0) return;
  for (std::size_t i = 3; i < 7; ++i) other[i] = {-other[i].value, -other[i].velocity, -other[i].acceleration};
}

/// A value that is carried on for a time, and how fast that passes.
ScalarSample carried(const ScalarSample& x, const ScalarSample& time) noexcept {
  const double rate = x.velocity + time.value * x.acceleration;
  return {x.value + time.value * (x.velocity + 0.5 * time.value * x.acceleration), time.velocity * rate,
          time.velocity * time.velocity * x.acceleration + time.acceleration * rate};
}

ScalarSample sum(const ScalarSample& a, double factor, const ScalarSample& b) noexcept {
  return {a.value + factor * b.value, a.velocity + factor * b.velocity, a.acceleration + factor * b.acceleration};
}

void fill(std::vector<ScalarSample>& columns, const PoseSample& sample) noexcept {
  const PoseColumns pose = to_columns(sample);
  std::copy(pose.begin(), pose.end(), columns.begin());
}

/// The length of the vector of a number of each of some columns.
template <class Number>
double length(std::size_t first, std::size_t last, Number number) noexcept {
  double sum = 0.0;
  for (std::size_t i = first; i < last; ++i) sum += number(i) * number(i);
  if (std::isfinite(sum)) return std::sqrt(sum);
  sum = 0.0;  // squares may be too large where numbers are not; hypot is slow
  for (std::size_t i = first; i < last; ++i) sum = std::hypot(sum, number(i));
  return sum;
}

bool is_finite(const ScalarSample& x) noexcept {
  return std::isfinite(x.value) && std::isfinite(x.velocity) && std::isfinite(x.acceleration);
}

}  // namespace

Stream::Stream(const thunder_law& law, const SampleLayout& layout, const Options& options, const Limits& limits)
    : layout_(layout),
      approaches_jumps_(options.approaches_jumps),
      turns_(layout.is_cartesian && uses_orientation(law)),
      speed_(limits.velocity),
      flat_(static_cast<std::size_t>(layout.standard)),
      sample_(layout.is_cartesian ? 7 : speed_.size()),
      carried_(sample_),
      away_(sample_),
      next_(sample_),
      news_(sample_.size()),
      jolt_(news_),
      kept_(news_) {}

void Stream::begin() noexcept {
  due_.reset();
  duration_ = 0.0;
}

/// Columns that go one way together, from one to before another, with bounds of velocity and acceleration.
template <class Visit>
void Stream::visit_groups(const MotionLimits& limits, Visit visit) const noexcept {
  for (std::size_t i = 0; i < speed_.size() && !layout_.is_cartesian; ++i) {
    visit(i, i + 1, kSpeedShare * speed_[i], limits.joint_acceleration);
  }
  if (layout_.is_cartesian) visit(0, 3, limits.linear_velocity, limits.linear_acceleration);
  // A quaternion goes half of the angle.
  if (turns_) visit(3, 7, 0.5 * limits.angular_velocity, 0.5 * limits.angular_acceleration);
}

double Stream::speed_of_sample(std::size_t first, std::size_t last) const noexcept {
  return length(first, last, [this](std::size_t i) { return sample_[i].velocity; });
}

void Stream::read(const double* reference, Columns& columns) const noexcept {
  if (layout_.is_cartesian) return fill(columns, PoseSample::from(layout_, reference));
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = layout_.joint(reference, i);
}

void Stream::write(const Columns& columns, double* reference) const noexcept {
  if (layout_.is_cartesian) {
    PoseColumns pose;
    PoseSample sample;
    std::copy_n(columns.begin(), pose.size(), pose.begin());
    if (from_columns(pose, sample)) sample.write(layout_, reference);
    return;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) layout_.write_joint(columns[i], i, reference);
}

void Stream::take(const double* sample, double due, double now, double dt, const Rhythm& rhythm, const MotionLimits& limits,
                  const double* reference, double settle) noexcept {
  const double elapsed = std::max(0.0, now - dt - begun_);
  const double left = std::max(0.0, duration_ - elapsed);
  for (std::size_t i = 0; i < away_.size(); ++i) kept_[i] = approach(i, elapsed).acceleration;
  period_ = rhythm.longest(), horizon_ = rhythm.horizon();
  begun_ = now - dt;
  if (std::equal(flat_.begin(), flat_.end(), reference)) {
    away_ = sample_;  // the sample before was reached
  } else {
    read(reference, away_);
  }
  const Columns& before = due_ ? carried_ : away_;
  due_ = due;
  std::copy_n(sample, flat_.size(), flat_.begin());
  moves_ = std::any_of(flat_.begin() + layout_.velocity, flat_.end(), [](double r) { return std::abs(r) > kAtRest; });
  if (layout_.is_cartesian) {
    pose_ = PoseSample::from(layout_, sample);
    fill(sample_, pose_);
    align(before, away_);
    align(away_, sample_);
    pose_.orientation = {sample_[3].value, sample_[4].value, sample_[5].value, sample_[6].value};
  } else {
    read(sample, sample_);
  }
  for (std::size_t i = 0; i < news_.size(); ++i) news_[i] = before[i].value;
  plan_stop(limits);
  carry(begun_ - due);
  for (std::size_t i = 0; i < away_.size(); ++i) {
    news_[i] -= carried_[i].value;
    away_[i] = sum(away_[i], -1.0, carried_[i]);
    jolt_[i] = away_[i].acceleration - kept_[i];
    away_[i].acceleration = kept_[i];
  }
  soonest_ = std::max({dt, settle, period_, due - begun_});
  duration_ = 0.0;
  if (approaches_jumps_) plan_approach(limits, left);
  is_far_ = duration_ > std::max(soonest_, Rhythm::kPrompt);
}

/// How long it takes to bring the sample to rest, should it be the last one.
void Stream::plan_stop(const MotionLimits& limits) noexcept {
  shape_.duration = 0.0;
  visit_groups(limits, [this](std::size_t first, std::size_t last, double, double acceleration) {
    const double speed = speed_of_sample(first, last);
    shape_.duration = std::max(shape_.duration, StopShape::shortest(speed, acceleration));
  });
}

/// What is on its way arrives when it was to arrive, and later by what jumps take, which are more than samples that come
/// early or late make of their own velocity. Were it planned anew by how far it is away, a stream that is late again and
/// again, which brakes the reference each time, could drive it away for ever.
void Stream::plan_approach(const MotionLimits& limits, double left) noexcept {
  duration_ = soonest_;
  visit_groups(limits, [this, left](std::size_t first, std::size_t last, double velocity, double acceleration) {
    const double news = length(first, last, [this](std::size_t i) { return news_[i]; });
    const double jump = std::max(0.0, news - speed_of_sample(first, last) * period_);
    duration_ = std::max({duration_, left + 2.0 * jump / velocity, 2.0 * std::sqrt(news / acceleration)});
  });
}

/// The part of Δ that takes all of its duration, where that is not over.
ScalarSample Stream::approach(std::size_t i, double elapsed) const noexcept {
  if (elapsed > duration_ - kInstant) return {0.0, 0.0, 0.0};
  return evaluate_quintic(away_[i], {0.0, 0.0, 0.0}, duration_, elapsed / duration_);
}

void Stream::carry(double age) noexcept {
  const bool is_past = age > horizon_;
  is_late_ = is_past && moves_ && period_ > 0.0;
  if (age == 0.0) {
    carried_ = sample_;
    return;
  }
  ScalarSample time{age, 1.0, 0.0};
  if (is_past) time = sum({horizon_, 0.0, 0.0}, 1.0, shape_.at(age - horizon_, 1.0, 0.0));
  if (!layout_.is_cartesian) {
    std::transform(sample_.begin(), sample_.end(), carried_.begin(),
                   [&time](const ScalarSample& x) { return carried(x, time); });
    return;
  }
  PoseSample pose;
  Vector3 turn;
  for (std::size_t i = 0; i < 3; ++i) {
    const ScalarSample way = carried({pose_.position[i], pose_.velocity[i], pose_.acceleration[i]}, time);
    const ScalarSample angle = carried({0.0, pose_.angular_velocity[i], pose_.angular_acceleration[i]}, time);
    pose.position[i] = way.value, pose.velocity[i] = way.velocity, pose.acceleration[i] = way.acceleration;
    turn[i] = angle.value;
    pose.angular_velocity[i] = angle.velocity, pose.angular_acceleration[i] = angle.acceleration;
  }
  pose.orientation = product(from_rotation_vector(turn), pose_.orientation);
  fill(carried_, pose);
}

void Stream::advance(double now, double* reference) noexcept {
  const double elapsed = std::max(0.0, now - begun_);
  is_over_ = elapsed > duration_ - kInstant;
  carry(now - *due_);
  if (is_over_ && (now == *due_ || !moves_)) {
    std::copy(flat_.begin(), flat_.end(), reference);  // as it is, without rounding
    return;
  }
  next_ = carried_;
  for (std::size_t i = 0; i < next_.size() && !is_over_; ++i) {
    next_[i] = sum(next_[i], 1.0, approach(i, elapsed));
    if (elapsed < soonest_) {
      next_[i] = sum(next_[i], 1.0, evaluate_quintic({0.0, 0.0, jolt_[i]}, {0.0, 0.0, 0.0}, soonest_, elapsed / soonest_));
    }
  }
  if (std::all_of(next_.begin(), next_.end(), is_finite)) write(next_, reference);
}

}  // namespace thunder
