// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/rotation.hpp"

#include <Eigen/Geometry>

namespace thunder {

Quaternion from_rotation_vector(const Vector3& vector) noexcept {
  const double angle = norm(vector), share = angle > 0.0 ? std::sin(0.5 * angle) / angle : 0.0;
  return {share * vector[0], share * vector[1], share * vector[2], std::cos(0.5 * angle)};
}

Vector3 to_rotation_vector(const Quaternion& a) noexcept {
  const Eigen::AngleAxisd turn{Eigen::Quaterniond(a.data())};
  return {turn.angle() * turn.axis().x(), turn.angle() * turn.axis().y(), turn.angle() * turn.axis().z()};
}

/// From 4 q_i q, which is linear in the matrix, with a component q_i that is no small one.
Quaternion from_matrix(const double* matrix, int stride) noexcept {
  const auto step = static_cast<std::size_t>(stride);
  const auto m = [&](std::size_t row, std::size_t column) { return matrix[step * column + row]; };
  const double trace = m(0, 0) + m(1, 1) + m(2, 2);
  if (trace > 0.0) return normalized({m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), 1.0 + trace});
  std::size_t i = m(1, 1) > m(0, 0) ? 1 : 0;
  if (m(2, 2) > m(i, i)) i = 2;
  const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
  Quaternion q;
  q[i] = 1.0 + m(i, i) - m(j, j) - m(k, k);
  q[j] = m(j, i) + m(i, j);
  q[k] = m(k, i) + m(i, k);
  q[3] = m(k, j) - m(j, k);
  return normalized(q);
}

void to_matrix(const Quaternion& a, double* matrix) noexcept {
  Eigen::Map<Eigen::Matrix3d> rotation(matrix);
  rotation = Eigen::Quaterniond(a.data()).normalized().toRotationMatrix();
}

}  // namespace thunder
