// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/points.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/player.hpp"

namespace thunder {
namespace {

constexpr double kNormTolerance = 1e-3;
constexpr std::size_t kPoseWidth = 7;

[[noreturn]] void refuse(const std::string& wrong, const std::string& where, const std::string& valid) {
  throw HostError(ErrorKind::law, wrong, where, valid);
}

std::string place(std::size_t index, const char* field) {
  return "follow: points[" + std::to_string(index) + "]" + field;
}

void check_finite(const double* values, std::size_t count, const std::string& where) {
  if (!all_finite(values, static_cast<int>(count))) refuse("is not finite", where, "numbers");
}

/// Points as rows of numbers: rates are empty where they are not given.
struct Rows {
  std::size_t width;
  std::vector<double> times;
  std::vector<double> values;
  KnotRates rates;
};

template <class Point>
std::vector<double> checked_times(const std::vector<Point>& points) {
  std::vector<double> times;
  for (const Point& point : points) times.push_back(point.time);
  bool is_valid = !times.empty() && times.front() >= 0.0 && times.back() > 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    is_valid = is_valid && std::isfinite(times[i]) && (i == 0 || times[i] > times[i - 1]);
  }
  if (is_valid) return times;
  std::vector<std::string> texts;
  for (const double time : times) texts.push_back(format(time));
  refuse("the times are " + join(texts), "follow",
         "at least one point, times from zero or later, strictly increasing, the last one positive");
}

/// Whether all points have something; throws if a part of them has.
template <class Point, class Has>
bool all_have(const std::vector<Point>& points, const char* field, Has has) {
  const auto count = std::count_if(points.begin(), points.end(), has);
  if (count != 0 && count != static_cast<std::ptrdiff_t>(points.size())) {
    refuse(std::to_string(count) + " of " + std::to_string(points.size()) + " points have one",
           std::string("follow: points.") + field, "all or none");
  }
  return count != 0;
}

void check_end(const std::vector<double>& velocities, std::size_t width) {
  if (velocities.empty()) return;
  const bool rests = std::all_of(velocities.end() - static_cast<std::ptrdiff_t>(width), velocities.end(),
                                 [](double value) { return value == 0.0; });
  if (!rests) refuse("the last point moves", "follow", "velocity zero at the end");
}

/// Leave a point at time zero out, once it is where the start is.
std::shared_ptr<const SplineKnots> knots_of(Rows rows, const double* start) {
  check_end(rows.rates.velocity, rows.width);
  if (rows.times.front() == 0.0) {
    double distance = 0.0;
    for (std::size_t i = 0; start && i < rows.width; ++i) {
      distance = std::max(distance, std::abs(rows.values[i] - start[i]));
    }
    if (distance > kStartTolerance) {
      refuse("the first point is " + format(distance) + " away", "follow",
             format(kStartTolerance) + " from the reference in effect, or a later first time");
    }
    rows.times.erase(rows.times.begin());
    for (std::vector<double>* values : {&rows.values, &rows.rates.velocity, &rows.rates.acceleration}) {
      if (!values->empty()) values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(rows.width));
    }
  }
  return std::make_shared<const SplineKnots>(std::move(rows.times), std::move(rows.values), rows.width,
                                             std::move(rows.rates));
}

/// Of the two quaternions of an orientation, the one nearer to the one before.
Quaternion nearest(const Quaternion& q, const Quaternion& before, std::size_t index) {
  const double cosine = dot(q, before);
  if (std::abs(cosine) < std::cos(0.5 * kLargestTurn)) {
    refuse("too large a turn since the point before", place(index, ".orientation"), format(kLargestTurn) + " rad");
  }
  return cosine < 0.0 ? Quaternion{-q[0], -q[1], -q[2], -q[3]} : q;
}

/// A point as a sample; rates that are not given are zero.
PoseSample checked(const TimedPose& point, std::size_t index) {
  const std::array<double, 6> v = point.twist.value_or(std::array<double, 6>{});
  const std::array<double, 6> a = point.acceleration.value_or(std::array<double, 6>{});
  check_finite(point.position.data(), 3, place(index, ".position"));
  check_finite(v.data(), 6, place(index, ".twist"));
  check_finite(a.data(), 6, place(index, ".acceleration"));
  return {point.position,
          checked_orientation(point.orientation.data(), place(index, ".orientation").c_str()),
          {v[0], v[1], v[2]},
          {v[3], v[4], v[5]},
          {a[0], a[1], a[2]},
          {a[3], a[4], a[5]}};
}

void append_joints(std::vector<double>& rows, const std::vector<double>& values, int n, std::size_t index,
                   const char* field) {
  if (static_cast<int>(values.size()) != n) {
    throw HostError(ErrorKind::dimension, "has " + std::to_string(values.size()) + " values", place(index, field),
                    std::to_string(n) + ", one per joint");
  }
  check_finite(values.data(), values.size(), place(index, field));
  rows.insert(rows.end(), values.begin(), values.end());
}

}  // namespace

Quaternion checked_orientation(const double* orientation, const char* where) {
  const Quaternion q = {orientation[0], orientation[1], orientation[2], orientation[3]};
  const double length = std::sqrt(dot(q, q));
  if (!(std::abs(length - 1.0) <= kNormTolerance)) {
    refuse("a quaternion of norm " + format(length), where, "norm 1");
  }
  return normalized(q);
}

std::shared_ptr<const SplineKnots> prepare_knots(const std::vector<TimedPose>& points, const SampleLayout& layout,
                                                 const double* start) {
  Rows rows{kPoseWidth, checked_times(points), {}, {}};
  const bool has_twist = all_have(points, "twist", [](const TimedPose& point) { return point.twist.has_value(); });
  const bool has_acceleration =
      all_have(points, "acceleration", [](const TimedPose& point) { return point.acceleration.has_value(); });
  std::vector<double> first;
  Quaternion before{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    PoseSample sample = checked(points[i], i);
    if (i > 0) sample.orientation = nearest(sample.orientation, before, i);
    before = sample.orientation;
    if (i == 0 && start) {
      PoseSample now = PoseSample::from(layout, start);
      now.orientation = nearest(now.orientation, before, i);
      for (const ScalarSample& column : to_columns(now)) first.push_back(column.value);
    }
    for (const ScalarSample& column : to_columns(sample)) {
      rows.values.push_back(column.value);
      if (has_twist) rows.rates.velocity.push_back(column.velocity);
      if (has_acceleration) rows.rates.acceleration.push_back(column.acceleration);
    }
  }
  return knots_of(std::move(rows), start ? first.data() : nullptr);
}

std::shared_ptr<const SplineKnots> prepare_knots(const std::vector<TimedJoints>& points, const SampleLayout& layout,
                                                 const Circles& circles, const double* start) {
  Rows rows{static_cast<std::size_t>(layout.n_joints), checked_times(points), {}, {}};
  const bool has_qd = all_have(points, "qd", [](const TimedJoints& point) { return !point.qd.empty(); });
  const bool has_qdd = all_have(points, "qdd", [](const TimedJoints& point) { return !point.qdd.empty(); });
  if (start) start += layout.position;
  for (std::size_t i = 0; i < points.size(); ++i) {
    append_joints(rows.values, points[i].q, layout.n_joints, i, ".q");
    double* const here = rows.values.data() + i * rows.width;
    if (i > 0 || start) circles.unwrap(i > 0 ? here - rows.width : start, here);
    if (has_qd) append_joints(rows.rates.velocity, points[i].qd, layout.n_joints, i, ".qd");
    if (has_qdd) append_joints(rows.rates.acceleration, points[i].qdd, layout.n_joints, i, ".qdd");
  }
  return knots_of(std::move(rows), start);
}

}  // namespace thunder
