// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "thunder/host/motion/sample.hpp"

namespace thunder {

/// From a pose, 4×4 column-major, to another: the way [m], then the rotation vector [rad], both in the world frame.
std::array<double, 6> pose_difference(const double* from, const PoseSample& to) noexcept;
std::array<double, 6> pose_difference(const double* from, const double* to) noexcept;

}  // namespace thunder
