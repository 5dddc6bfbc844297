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

inline double norm(const Vector3& a) noexcept { return std::sqrt(dot(a, a)); }

inline Vector3 cross(const Vector3& a, const Vector3& b) noexcept {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// The product a b: the rotation b, then a.
Quaternion product(const Quaternion& a, const Quaternion& b) noexcept;

/// ½ (vector, 0) b. With b of unit norm and ω in the world frame: ḃ = ½ ω b and b̈ = ½ (ω̇ b + ω ḃ).
Quaternion half_product(const Vector3& vector, const Quaternion& b) noexcept;

/// The inverse of a unit quaternion; of any other, the inverse times its squared norm.
inline Quaternion conjugate(const Quaternion& a) noexcept { return {-a[0], -a[1], -a[2], a[3]}; }

Quaternion normalized(const Quaternion& a) noexcept;

/// Exp: the unit quaternion of a rotation vector [rad].
Quaternion from_rotation_vector(const Vector3& vector) noexcept;

/// Log: the rotation vector of a unit quaternion, of length π at most [rad].
Vector3 to_rotation_vector(const Quaternion& a) noexcept;

/// The unit quaternion of a rotation matrix, column-major, from one column to the next `stride` values: 4 within a pose.
Quaternion from_matrix(const double* matrix, int stride = 3) noexcept;

/// The rotation matrix of a quaternion of any norm but zero, nine values column-major.
void to_matrix(const Quaternion& a, double* matrix) noexcept;

}  // namespace thunder
