// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/rotation.hpp"

#include <Eigen/Geometry>

namespace thunder {
namespace {

Quaternion scaled(const Quaternion& a, double factor) noexcept {
  return {a[0] * factor, a[1] * factor, a[2] * factor, a[3] * factor};
}

Quaternion from_eigen(const Eigen::Quaterniond& a) noexcept { return {a.x(), a.y(), a.z(), a.w()}; }

}  // namespace

Quaternion product(const Quaternion& a, const Quaternion& b) noexcept {
  return {a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
          a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
}

Quaternion half_product(const Vector3& vector, const Quaternion& b) noexcept {
  return scaled(product({vector[0], vector[1], vector[2], 0.0}, b), 0.5);
}

Quaternion normalized(const Quaternion& a) noexcept { return scaled(a, 1.0 / std::sqrt(dot(a, a))); }

Quaternion from_rotation_vector(const Vector3& vector) noexcept {
  const Eigen::Vector3d turn(vector.data());
  return from_eigen(Eigen::Quaterniond(Eigen::AngleAxisd(turn.norm(), turn.normalized())));
}

Vector3 to_rotation_vector(const Quaternion& a) noexcept {
  const Eigen::AngleAxisd turn{Eigen::Quaterniond(a.data())};
  return {turn.angle() * turn.axis().x(), turn.angle() * turn.axis().y(), turn.angle() * turn.axis().z()};
}

Quaternion from_matrix(const double* matrix, int stride) noexcept {
  using Rotation = Eigen::Map<const Eigen::Matrix3d, Eigen::Unaligned, Eigen::OuterStride<>>;
  return from_eigen(Eigen::Quaterniond(Rotation(matrix, Eigen::OuterStride<>(stride))).normalized());
}

void to_matrix(const Quaternion& a, double* matrix) noexcept {
  Eigen::Map<Eigen::Matrix3d> rotation(matrix);
  rotation = Eigen::Quaterniond(a.data()).normalized().toRotationMatrix();
}

}  // namespace thunder
