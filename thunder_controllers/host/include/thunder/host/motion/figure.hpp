// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "thunder/host/motion/sample.hpp"

namespace thunder {

/// A motion without end about the place where the reference rests when it begins: a sum of sinusoids per coordinate.
///
/// x_k(σ) = x_k(0) + Σ_i A_i (sin(2π f_i σ + φ_i) − sin φ_i), i = k, k + n, k + 2n, …, of the n coordinates that move:
/// the position of a pose [m], whose orientation stays, or all joints [rad or m]. With one sinusoid for each coordinate
/// this is a Lissajous figure, with several a Fourier excitation (Swevers et al., "Optimal robot excitation and
/// identification", 1997). Of values that are fewer than the sinusoids, each is used again in turn. The clock σ(t) comes
/// from rest to the rate of time within ramp_time, as StopShape has it, so the acceleration begins with zero.
struct Figure {
  std::vector<double> amplitude;      ///< A [m or rad], of either sign.
  std::vector<double> frequency;      ///< f [Hz], not negative; none: 0.1, 0.2, 0.15, 0.25, in turn.
  std::vector<double> phase = {0.0};  ///< φ [rad]
  double ramp_time = 2.0;             ///< [s], positive.

  /// x_k − x_k(0) and two time derivatives; n: coordinates; σ, σ̇, σ̈ [s, 1, 1/s]. Allocates nothing.
  ScalarSample at(std::size_t k, std::size_t n, const ScalarSample& clock) const noexcept;
  /// After which all sinusoids begin anew [s]; infinite where that takes longer than `longest`, zero where none moves.
  double period(double longest) const noexcept;
};

/// A figure for n coordinates with a value of each kind for each of its sinusoids.
///
/// Throws HostError(dimension) unless there are n values of each kind, fewer, or a multiple of n; HostError(law) for
/// values that are not finite, a negative frequency, or a ramp time that is not positive.
std::shared_ptr<const Figure> prepare_figure(const Figure& figure, int n);

}  // namespace thunder
