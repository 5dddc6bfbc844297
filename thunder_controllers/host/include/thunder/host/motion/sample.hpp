// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thunder/thunder_abi.h>

#include <array>

#include "thunder/host/motion/rotation.hpp"

namespace thunder {

/// A number at one time, with two derivatives.
struct ScalarSample {
  double value, velocity, acceleration;
};

/// Where the flat reference of a law has which entry: offsets of position, velocity and acceleration.
struct SampleLayout {
  /// By the names of the entries, which the library's checks have found to be there.
  SampleLayout(const thunder_law& law, int n_joints);

  bool is_cartesian;
  int size;                ///< Of the flat reference.
  int standard;            ///< Of its standard entries, which come first.
  int n_joints;
  int position;            ///< Entry q or position.
  int rotation;            ///< Entry rotation; none for joint laws.
  int velocity;            ///< Entry qd or twist.
  int acceleration;        ///< Entry qdd or acceleration.

  /// Joint laws: one joint of a flat reference.
  ScalarSample joint(const double* reference, std::size_t i) const noexcept {
    return {reference[position + i], reference[velocity + i], reference[acceleration + i]};
  }
  void write_joint(const ScalarSample& now, std::size_t i, double* reference) const noexcept {
    reference[position + i] = now.value, reference[velocity + i] = now.velocity;
    reference[acceleration + i] = now.acceleration;
  }
};

/// Whether a cartesian law depends on the orientation of its reference.
bool uses_orientation(const thunder_law& law);

/// A Cartesian sample with its orientation as a unit quaternion.
struct PoseSample {
  Vector3 position;                                     ///< [m]
  Quaternion orientation;
  Vector3 velocity, angular_velocity;                   ///< [m/s, rad/s]
  Vector3 acceleration, angular_acceleration;           ///< [m/s², rad/s²]

  static PoseSample from(const SampleLayout& layout, const double* reference) noexcept;
  void write(const SampleLayout& layout, double* reference) const noexcept;
  void come_to_rest() noexcept;
};

/// A pose as seven numbers, each with two derivatives: position [m], then a quaternion x y z w of any norm.
using PoseColumns = std::array<ScalarSample, 7>;

/// ṗ, p̈ as they are, q̇ = ½ ω q and q̈ = ½ (ω̇ q + ω q̇).
PoseColumns to_columns(const PoseSample& sample) noexcept;

/// The pose of the normalised quaternion. With N = ‖q‖²: ω = 2 vec(q̇ q̄)/N and ω̇ = 2 vec(q̈ q̄)/N − ω Ṅ/N exactly, so ω̇
/// is as continuous as q̈. False, and nothing written, where N is so small that q says little.
bool from_columns(const PoseColumns& columns, PoseSample& sample) noexcept;

}  // namespace thunder
