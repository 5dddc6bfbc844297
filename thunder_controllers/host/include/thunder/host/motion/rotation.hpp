// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

namespace thunder {

using Vector3 = std::array<double, 3>;
/// Components x, y, z, w.
using Quaternion = std::array<double, 4>;

inline double dot(const Vector3& a, const Vector3& b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

inline double dot(const Quaternion& a, const Quaternion& b) noexcept {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

/// sum + factor·vector.
inline Vector3 plus(const Vector3& sum, double factor, const Vector3& vector) noexcept {
  return {sum[0] + factor * vector[0], sum[1] + factor * vector[1], sum[2] + factor * vector[2]};
}
inline double norm(const Vector3& a) noexcept { return std::sqrt(dot(a, a)); }

inline Vector3 cross(const Vector3& a, const Vector3& b) noexcept {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// The product a b: the rotation b, then a.
inline Quaternion product(const Quaternion& a, const Quaternion& b) noexcept {
  return {a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
          a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
}

/// ½ (vector, 0) b. With b of unit norm and ω in the world frame: ḃ = ½ ω b and b̈ = ½ (ω̇ b + ω ḃ).
inline Quaternion half_product(const Vector3& vector, const Quaternion& b) noexcept {
  const double x = 0.5 * vector[0], y = 0.5 * vector[1], z = 0.5 * vector[2];
  return {x * b[3] + y * b[2] - z * b[1], y * b[3] + z * b[0] - x * b[2], z * b[3] + x * b[1] - y * b[0],
          -(x * b[0] + y * b[1] + z * b[2])};
}

/// The inverse of a unit quaternion; of any other, the inverse times its squared norm.
inline Quaternion conjugate(const Quaternion& a) noexcept { return {-a[0], -a[1], -a[2], a[3]}; }

inline Quaternion normalized(const Quaternion& a) noexcept {
  const double factor = 1.0 / std::sqrt(dot(a, a));
  return {factor * a[0], factor * a[1], factor * a[2], factor * a[3]};
}

/// Exp: the unit quaternion of a rotation vector [rad].
Quaternion from_rotation_vector(const Vector3& vector) noexcept;

/// Log: the rotation vector of a unit quaternion, of length π at most [rad].
Vector3 to_rotation_vector(const Quaternion& a) noexcept;

/// The unit quaternion of a rotation matrix, column-major, from one column to the next `stride` values: 4 within a pose.
Quaternion from_matrix(const double* matrix, int stride = 3) noexcept;

/// The rotation matrix of a quaternion of any norm but zero, nine values column-major.
void to_matrix(const Quaternion& a, double* matrix) noexcept;

}  // namespace thunder
