// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/pose_columns.hpp"

namespace thunder {
namespace {

constexpr double kLeastNorm = 0.1;  // of an interpolated quaternion; below, its direction says little

Vector3 vector_part(double scale, const Quaternion& a, const Quaternion& b) noexcept {
  const Quaternion c = product(a, conjugate(b));
  return {scale * c[0], scale * c[1], scale * c[2]};
}

}  // namespace

PoseColumns to_columns(const PoseSample& sample) noexcept {
  const Quaternion& q = sample.orientation;
  const Quaternion rate = half_product(sample.angular_velocity, q);
  const Quaternion curvature = half_product(sample.angular_acceleration, q);
  const Quaternion centripetal = half_product(sample.angular_velocity, rate);
  PoseColumns columns;
  for (std::size_t i = 0; i < 3; ++i) columns[i] = {sample.position[i], sample.velocity[i], sample.acceleration[i]};
  for (std::size_t i = 0; i < 4; ++i) columns[3 + i] = {q[i], rate[i], curvature[i] + centripetal[i]};
  return columns;
}

bool from_columns(const PoseColumns& columns, PoseSample& sample) noexcept {
  Quaternion q, rate, curvature;
  for (std::size_t i = 0; i < 4; ++i) {
    q[i] = columns[3 + i].value, rate[i] = columns[3 + i].velocity, curvature[i] = columns[3 + i].acceleration;
  }
  const double square = dot(q, q);
  if (!(square > kLeastNorm * kLeastNorm)) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    sample.position[i] = columns[i].value;
    sample.velocity[i] = columns[i].velocity;
    sample.acceleration[i] = columns[i].acceleration;
  }
  sample.orientation = normalized(q);
  sample.angular_velocity = vector_part(2.0 / square, rate, q);
  sample.angular_acceleration = vector_part(2.0 / square, curvature, q);
  const double change = 2.0 * dot(q, rate) / square;
  for (std::size_t i = 0; i < 3; ++i) sample.angular_acceleration[i] -= change * sample.angular_velocity[i];
  return true;
}

}  // namespace thunder
