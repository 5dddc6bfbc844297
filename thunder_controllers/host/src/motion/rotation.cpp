// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/rotation.hpp"

namespace thunder {
namespace {

constexpr double kSmallAngle = 1e-4;  // the series below are then exact to rounding

Quaternion scaled(const Quaternion& a, double factor) noexcept {
  return {a[0] * factor, a[1] * factor, a[2] * factor, a[3] * factor};
}

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
  const double angle = norm(vector);
  const double half = 0.5 * angle;
  const double ratio = angle < kSmallAngle ? 0.5 - angle * angle / 48.0 : std::sin(half) / angle;
  return {ratio * vector[0], ratio * vector[1], ratio * vector[2], std::cos(half)};
}

Vector3 to_rotation_vector(const Quaternion& a) noexcept {
  const double sign = a[3] < 0.0 ? -1.0 : 1.0;  // of the two quaternions of a rotation, the one of the shorter turn
  const double sine = std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
  const double cosine = sign * a[3];
  const double ratio = sign * (sine < kSmallAngle ? 2.0 / cosine * (1.0 - sine * sine / (3.0 * cosine * cosine))
                                                  : 2.0 * std::atan2(sine, cosine) / sine);
  return {ratio * a[0], ratio * a[1], ratio * a[2]};
}

Quaternion from_matrix(const double* matrix) noexcept {
  const auto at = [matrix](int row, int column) { return matrix[3 * column + row]; };
  // Four times the square of each component: the greatest is taken, so that nothing is divided by a small one.
  const double squares[4] = {1.0 + at(0, 0) - at(1, 1) - at(2, 2), 1.0 - at(0, 0) + at(1, 1) - at(2, 2),
                             1.0 - at(0, 0) - at(1, 1) + at(2, 2), 1.0 + at(0, 0) + at(1, 1) + at(2, 2)};
  int greatest = 3;
  for (int i = 0; i < 3; ++i) greatest = squares[i] > squares[greatest] ? i : greatest;
  const Vector3 turn = {at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1)};
  Quaternion a;
  if (greatest == 3) {
    a = {turn[0], turn[1], turn[2], squares[3]};
  } else {
    const std::size_t i = static_cast<std::size_t>(greatest);
    for (std::size_t j = 0; j < 3; ++j) {
      a[j] = i == j ? squares[i]
                    : at(static_cast<int>(i), static_cast<int>(j)) + at(static_cast<int>(j), static_cast<int>(i));
    }
    a[3] = turn[i];
  }
  return normalized(a);
}

void to_matrix(const Quaternion& a, double* matrix) noexcept {
  const Quaternion unit = normalized(a);
  const double x = unit[0], y = unit[1], z = unit[2], w = unit[3];
  const double elements[9] = {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w),
                              2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w),
                              2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)};
  for (int i = 0; i < 9; ++i) matrix[i] = elements[i];
}

}  // namespace thunder
