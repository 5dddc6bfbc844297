// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "thunder/host/motion/sample.hpp"

namespace thunder {

/// The quintic that has these values and two derivatives at the ends of an interval of length h, at u in [0, 1].
ScalarSample evaluate_quintic(const ScalarSample& a, const ScalarSample& b, double h, double u) noexcept;

/// Rates at the knots of a spline; empty where they are not given. Rows of `width` values, one row to a knot.
struct KnotRates {
  std::vector<double> velocity = {};
  std::vector<double> acceleration = {};
};

/// The part of a spline through timed points that can be prepared before its start is known. Constant.
///
/// Our own, for Ruckig asks a service on the network for a way through several points.
/// The spline is made of quintic Hermite pieces, twice continuously differentiable, from the start's value, velocity
/// and acceleration at time 0 to rest at the last knot. Velocities and accelerations that are not given are those of
/// the clamped cubic spline through start and knots. That one depends linearly on the start's value y₀ and velocity v₀:
/// its velocity at knot i is b_i + α_i y₀ + β_i v₀, column by column with the same α and β (de Boor, A Practical Guide
/// to Splines, 1978, chapter IV: the slopes solve a tridiagonal system whose right-hand side is linear in these).
class SplineKnots {
 public:
  /// Times increase from above 0 [s]; values has one row of `width` numbers for each.
  SplineKnots(std::vector<double> times, std::vector<double> values, std::size_t width, KnotRates given);

  /// The same way in so many times the time.
  SplineKnots slowed(double factor) const;
  std::size_t count() const noexcept { return times_.size(); }
  double time(std::size_t knot) const noexcept { return times_[knot]; }
  double duration() const noexcept { return times_.back(); }
  double value(std::size_t knot, std::size_t column) const noexcept { return values_[knot * width_ + column]; }
  /// One column at a knot, from a start with this value and velocity.
  ScalarSample at(std::size_t knot, std::size_t column, const ScalarSample& start) const noexcept;

 private:
  double slope(std::size_t knot, std::size_t column, const ScalarSample& start) const noexcept {
    return slopes_[knot * width_ + column] + of_value_[knot] * start.value + of_velocity_[knot] * start.velocity;
  }
  std::vector<double> solve_slopes(const std::vector<double>& with_start, double first_slope) const;

  std::size_t width_;
  std::vector<double> times_;
  std::vector<double> values_;
  KnotRates given_;
  std::vector<double> slopes_;                 ///< b of the cubic spline, width values to a knot
  std::vector<double> of_value_, of_velocity_; ///< α and β, one to a knot
};

/// Follows a spline from a start; everything that depends on the start and on time. Allocates only when it is made.
class SplineCursor {
 public:
  explicit SplineCursor(std::size_t width) : start_(width) {}

  /// Of one column, before `begin`.
  void set_start(std::size_t column, const ScalarSample& start) noexcept { start_[column] = start; }
  void begin() noexcept { time_ = 0.0, piece_ = 0; }

  /// Go on to a time since the start [s], not back; false once the last knot is reached.
  bool advance(double time, const SplineKnots& knots) noexcept;
  /// One column now.
  ScalarSample sample(const SplineKnots& knots, std::size_t column) const noexcept;

 private:
  std::vector<ScalarSample> start_;
  double time_ = 0.0;
  std::size_t piece_ = 0;  ///< it ends at the knot of this index
};

}  // namespace thunder
