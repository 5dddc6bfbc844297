// SPDX-License-Identifier: Apache-2.0
//
// What a driver reports of an arm's joints.
#pragma once

#include <cmath>

#include "plant.hpp"

namespace test {

/// Positions in steps of an encoder; velocities from their differences, through a first-order low-pass.
///
///     v_k = v_{k−1} + (1 − e^{−2πfΔ}) ((q_k − q_{k−1})/Δ − v_{k−1})
///
/// An infinite cut-off f, the default, reports the true velocity.
struct Sensor {
  double resolution = 0.0;       ///< [rad or m]
  double cutoff = HUGE_VAL;      ///< f [Hz]
  Vector q, qd;                  ///< What was reported last.
  Vector offset;                 ///< [rad or m] By which positions are reported wrong; empty: none.
  int frozen = -1;               ///< The joint whose position is reported no more; -1: none.

  /// Report an arm that has moved like this for long.
  void settle(const Plant& plant) { q = rounded(plant.q), qd = plant.qd; }

  /// Report the arm a period Δ [s] after the report before.
  void measure(const Plant& plant, double period) {
    const Vector before = q;
    q = rounded(offset.size() == 0 ? plant.q : Vector(plant.q + offset));
    if (frozen >= 0) q[frozen] = before[frozen];
    if (std::isinf(cutoff)) {
      qd = plant.qd;
      return;
    }
    qd += (1.0 - std::exp(-2.0 * M_PI * cutoff * period)) * ((q - before) / period - qd);
  }

 private:
  Vector rounded(const Vector& values) const {
    return resolution > 0.0 ? Vector(resolution * (values / resolution).array().round()) : values;
  }
};

}  // namespace test
