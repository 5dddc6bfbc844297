// SPDX-License-Identifier: Apache-2.0
//
// What a controller is told of the arm and of the time, which is not always so.
#pragma once

#include <array>
#include <cstring>
#include <limits>

#include "judge.hpp"
#include "sensor.hpp"

namespace test {

/// A measurement as an update gets it.
struct Told {
  double t = 0.0;
  Vector q, qd;
  double dt = 0.0;
  bool is_true = true;  ///< Nothing in it is a lie that no one could see through, noise aside.
};

/// Faults of measurement and time: each comes in bursts of one to some hundred updates; several may overlap.
class Faults {
 public:
  enum Kind {
    nothing_finite, any_bits, repeated, frozen, past, future, restless, noise, offset, no_period, jitter, count
  };
  static constexpr std::array<const char*, count> kNames = {
      "nothing_finite", "any_bits", "repeated", "frozen", "past", "future", "restless", "noise", "offset", "no_period",
      "jitter"};

  Faults(Draw& draw, int n) : draw_(draw), n_(n), offset_(Vector::Zero(n)) {}

  /// The name of the burst that begins with this update, or null.
  const char* advance() {
    for (int& left : left_) left -= left > 0;
    if (!draw_.one_in(250)) return nullptr;
    const int kind = draw_.below(count);
    left_[static_cast<std::size_t>(kind)] = static_cast<int>(draw_.power(0.0, 2.5));
    offset_ = draw_.vector(n_, 0.005);
    return kNames[static_cast<std::size_t>(kind)];
  }

  Told tell(const Sensor& sensor, double now, double dt) {
    Told told{now + clock_, sensor.q, sensor.qd, dt, true};
    if (is(noise)) told.q += draw_.vector(n_, 1e-4), told.qd += draw_.vector(n_, 0.02);
    if (is(offset)) told.q += offset_;
    spoil_time(told);
    if ((is(repeated) || is(frozen)) && last_.q.size() > 0) {
      told.q = last_.q, told.qd = last_.qd, told.is_true = false;
      if (is(repeated)) told.t = last_.t;
    }
    if (is(nothing_finite)) spoil(told, draw_.one_in(2) ? kNaN : kInfinity);
    if (is(any_bits)) spoil(told, anything());
    last_ = told;
    return told;
  }

  /// Any 64 bits: infinities, NaNs, denormals, huge ones.
  double anything() {
    const std::uint64_t pattern = draw_.bits();
    double value;
    std::memcpy(&value, &pattern, sizeof value);
    return value;
  }

 private:
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  bool is(Kind kind) const { return left_[static_cast<std::size_t>(kind)] > 0; }

  void spoil(Told& told, double value) {
    const int place = draw_.below(2 * n_ + 1);
    if (place == 2 * n_) {
      told.t = value;
    } else {
      (place < n_ ? told.q : told.qd)[place % n_] = value;
    }
    told.is_true = false;
  }

  void spoil_time(Told& told) {
    if (is(past)) told.t -= draw_.power(-4.0, 1.0);
    if (is(future)) told.t += draw_.power(-4.0, 1.0);
    if (is(restless)) clock_ += draw_.one_in(50) ? draw_.uniform(-1.0, 1.0) : 0.0;  // the clock is set, for good
    if (is(jitter)) told.dt *= draw_.uniform(0.2, 3.0);
    const double periods[] = {0.0, -told.dt, kNaN, kInfinity, 1e300, 1e-300, 1.0};
    if (is(no_period)) told.dt = periods[draw_.below(7)];
  }

  Draw& draw_;
  int n_;
  std::array<int, count> left_{};
  Vector offset_;
  double clock_ = 0.0;  ///< [s] How wrong it is.
  Told last_{};
};

}  // namespace test
