// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/pose_difference.hpp"

#include <algorithm>

namespace thunder {
namespace {

Quaternion orientation_of(const double* pose) noexcept {
  double rotation[9];
  for (int column = 0; column < 3; ++column) std::copy_n(pose + 4 * column, 3, rotation + 3 * column);
  return from_matrix(rotation);
}

std::array<double, 6> difference(const double* from, const double* position, const Quaternion& orientation) noexcept {
  const Vector3 turn = to_rotation_vector(product(orientation, conjugate(orientation_of(from))));
  return {position[0] - from[12], position[1] - from[13], position[2] - from[14], turn[0], turn[1], turn[2]};
}

}  // namespace

std::array<double, 6> pose_difference(const double* from, const PoseSample& to) noexcept {
  return difference(from, to.position.data(), to.orientation);
}

std::array<double, 6> pose_difference(const double* from, const double* to) noexcept {
  return difference(from, to + 12, orientation_of(to));
}

}  // namespace thunder
