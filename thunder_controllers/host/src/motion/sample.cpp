// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/sample.hpp"

#include <algorithm>
#include <string>

#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kLeastNorm = 0.1;  // of an interpolated quaternion; below, its direction says little

Vector3 vector_part(double scale, const Quaternion& a, const Quaternion& b) noexcept {
  const Quaternion c = product(a, conjugate(b));
  return {scale * c[0], scale * c[1], scale * c[2]};
}

int offset_of(const thunder_law& law, const char* name) {
  return find_entry(law.reference, name, std::string(law.name) + ".reference").offset;
}

Vector3 vector_at(const double* values) noexcept { return {values[0], values[1], values[2]}; }

}  // namespace

bool uses_orientation(const thunder_law& law) {
  return (find_entry(law.reference, "rotation", law.name).flags & THUNDER_ENTRY_UNUSED) == 0;
}

SampleLayout::SampleLayout(const thunder_law& law, int joints)
    : is_cartesian(law.reference_kind == THUNDER_REFERENCE_CARTESIAN),
      size(law.reference.size),
      standard(is_cartesian ? 24 : 3 * joints),
      n_joints(joints),
      position(offset_of(law, is_cartesian ? "position" : "q")),
      rotation(is_cartesian ? offset_of(law, "rotation") : 0),
      velocity(offset_of(law, is_cartesian ? "twist" : "qd")),
      acceleration(offset_of(law, is_cartesian ? "acceleration" : "qdd")) {}

PoseSample PoseSample::from(const SampleLayout& layout, const double* reference) noexcept {
  const double* twist = reference + layout.velocity;
  const double* rate = reference + layout.acceleration;
  return {vector_at(reference + layout.position),
          from_matrix(reference + layout.rotation),
          vector_at(twist),
          vector_at(twist + 3),
          vector_at(rate),
          vector_at(rate + 3)};
}

void PoseSample::write(const SampleLayout& layout, double* reference) const noexcept {
  std::copy(position.begin(), position.end(), reference + layout.position);
  to_matrix(orientation, reference + layout.rotation);
  std::copy(velocity.begin(), velocity.end(), reference + layout.velocity);
  std::copy(angular_velocity.begin(), angular_velocity.end(), reference + layout.velocity + 3);
  std::copy(acceleration.begin(), acceleration.end(), reference + layout.acceleration);
  std::copy(angular_acceleration.begin(), angular_acceleration.end(), reference + layout.acceleration + 3);
}

void PoseSample::come_to_rest() noexcept {
  velocity = angular_velocity = acceleration = angular_acceleration = {0.0, 0.0, 0.0};
}

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
