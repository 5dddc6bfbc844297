// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/spline.hpp"

#include <numeric>
#include <utility>

namespace thunder {
ScalarSample evaluate_quintic(const ScalarSample& a, const ScalarSample& b, double h, double u) noexcept {
  const double va = h * a.velocity, vb = h * b.velocity;
  const double ca = 0.5 * h * h * a.acceleration, cb = 0.5 * h * h * b.acceleration;
  // What value, slope and curvature at the end need beyond the quadratic a + va u + ca u².
  const double way = b.value - (a.value + va + ca), slope = vb - (va + 2.0 * ca), curvature = cb - ca;
  const double c3 = 10.0 * way - 4.0 * slope + curvature;
  const double c4 = -15.0 * way + 7.0 * slope - 2.0 * curvature;
  const double c5 = 6.0 * way - 3.0 * slope + curvature;
  return {a.value + u * (va + u * (ca + u * (c3 + u * (c4 + u * c5)))),
          (va + u * (2.0 * ca + u * (3.0 * c3 + u * (4.0 * c4 + u * 5.0 * c5)))) / h,
          (2.0 * ca + u * (6.0 * c3 + u * (12.0 * c4 + u * 20.0 * c5))) / (h * h)};
}

SplineKnots::SplineKnots(std::vector<double> times, std::vector<double> values, std::size_t width, KnotRates given)
    : width_(width),
      times_(std::move(times)),
      values_(std::move(values)),
      given_(std::move(given)),
      slopes_(values_.size()) {
  std::vector<double> y(count() + 1, 0.0);
  of_velocity_ = solve_slopes(y, 1.0);
  y[0] = 1.0;
  of_value_ = solve_slopes(y, 0.0);
  y[0] = 0.0;
  for (std::size_t c = 0; c < width_; ++c) {
    for (std::size_t i = 0; i < count(); ++i) y[i + 1] = value(i, c);
    const std::vector<double> slopes = solve_slopes(y, 0.0);
    for (std::size_t i = 0; i < count(); ++i) slopes_[i * width_ + c] = slopes[i];
  }
}

SplineKnots SplineKnots::slowed(double factor) const {
  std::vector<double> times = times_;
  KnotRates given = given_;
  for (double& time : times) time *= factor;
  for (double& velocity : given.velocity) velocity /= factor;
  for (double& acceleration : given.acceleration) acceleration /= factor * factor;
  return SplineKnots(std::move(times), values_, width_, std::move(given));
}

/// The end is at rest. The cubic piece that begins at knot i has ÿ_i = 6 Δy/h² − (4 s_i + 2 s_{i+1})/h.
ScalarSample SplineKnots::at(std::size_t knot, std::size_t column, const ScalarSample& start) const noexcept {
  const std::size_t k = knot * width_ + column;
  if (knot + 1 == count()) return {values_[k], 0.0, 0.0};
  const double h = times_[knot + 1] - times_[knot], s = slope(knot, column, start);
  const double bend = 6.0 * (values_[k + width_] - values_[k]) / (h * h) -
                      (4.0 * s + 2.0 * slope(knot + 1, column, start)) / h;
  return {values_[k], given_.velocity.empty() ? s : given_.velocity[k],
          given_.acceleration.empty() ? bend : given_.acceleration[k]};
}

/// The slopes at the knots of the clamped cubic spline through count() + 1 values, the first one at time 0, by
/// elimination of h_{i+1} s_{i-1} + 2(h_i + h_{i+1}) s_i + h_i s_{i+1} = 3(h_{i+1} d_i + h_i d_{i+1}), d_i = Δy_i/h_i.
std::vector<double> SplineKnots::solve_slopes(const std::vector<double>& y, double first_slope) const {
  std::vector<double> h(times_);
  std::adjacent_difference(times_.begin(), times_.end(), h.begin());
  const std::size_t last = count() - 1;  // its slope is zero
  std::vector<double> ratio(count(), 0.0), slopes(count(), 0.0);
  double before_ratio = 0.0, before = first_slope;
  for (std::size_t i = 0; i < last; ++i) {
    const double d = (y[i + 1] - y[i]) / h[i], next = (y[i + 2] - y[i + 1]) / h[i + 1];
    const double pivot = 2.0 * (h[i] + h[i + 1]) - h[i + 1] * before_ratio;
    ratio[i] = before_ratio = h[i] / pivot;
    slopes[i] = before = (3.0 * (h[i + 1] * d + h[i] * next) - h[i + 1] * before) / pivot;
  }
  for (std::size_t i = last; i-- > 0;) slopes[i] -= ratio[i] * slopes[i + 1];
  return slopes;
}

bool SplineCursor::advance(double time, const SplineKnots& knots) noexcept {
  time_ = time;
  if (time_ >= knots.duration()) {
    time_ = knots.duration();
    piece_ = knots.count() - 1;
    return false;
  }
  while (time_ >= knots.time(piece_)) ++piece_;  // below the duration, so a knot ahead is there
  return true;
}

ScalarSample SplineCursor::sample(const SplineKnots& knots, std::size_t column) const noexcept {
  const double begin = piece_ == 0 ? 0.0 : knots.time(piece_ - 1);
  const double length = knots.time(piece_) - begin;
  const ScalarSample first = piece_ == 0 ? start_[column] : knots.at(piece_ - 1, column, start_[column]);
  return evaluate_quintic(first, knots.at(piece_, column, start_[column]), length, (time_ - begin) / length);
}

}  // namespace thunder
