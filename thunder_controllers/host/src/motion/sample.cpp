// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/sample.hpp"

#include <algorithm>
#include <string>

#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

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

}  // namespace thunder
