// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/place.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "thunder/host/library/signals.hpp"

namespace thunder {

Place::Place(std::shared_ptr<const Library> library, const thunder_law& law)
    : layout_(law, library->n_joints()), values_(default_values(law.reference)) {
  std::fill_n(values_.begin(), layout_.standard, 0.0);
  if (layout_.is_cartesian) pose_.emplace(std::move(library), "T_0_ee", 16);
}

bool Place::find(const double* q) noexcept {
  if (!pose_) {
    std::copy_n(q, layout_.n_joints, values_.begin() + layout_.position);
    return true;
  }
  if (!pose_->evaluate(q)) return false;
  const double* pose = pose_->result();
  std::copy_n(pose + 12, 3, values_.begin() + layout_.position);
  for (int column = 0; column < 3; ++column) {
    std::copy_n(pose + 4 * column, 3, values_.begin() + layout_.rotation + 3 * column);
  }
  return true;
}

void Place::copy(const double* reference) noexcept {
  std::copy_n(reference + layout_.position, layout_.is_cartesian ? 3 : layout_.n_joints,
              values_.begin() + layout_.position);
  if (layout_.is_cartesian) std::copy_n(reference + layout_.rotation, 9, values_.begin() + layout_.rotation);
}

ReferenceDistance::ReferenceDistance(std::shared_ptr<const Library> library, const std::string& law)
    : layout_(library->law(law), library->n_joints()), circles_(library->data()) {
  if (!layout_.is_cartesian) return;
  uses_orientation_ = uses_orientation(library->law(law));
  pose_.emplace(std::move(library), "T_0_ee", 16);
}

double ReferenceDistance::evaluate(const double* q, const double* reference) noexcept {
  double distance = 0.0;
  if (!pose_) {
    const double* wanted = reference + layout_.position;
    for (std::size_t i = 0; i < static_cast<std::size_t>(layout_.n_joints); ++i) {
      distance = std::max(distance, std::abs(wanted[i] + circles_.turns(i, wanted[i], q[i]) - q[i]));
    }
    return distance;
  }
  if (!pose_->evaluate(q)) return std::numeric_limits<double>::infinity();
  const double *here = pose_->result(), *there = reference + layout_.position;
  const Quaternion wanted = from_matrix(reference + layout_.rotation);
  const Vector3 turn = to_rotation_vector(product(wanted, conjugate(from_matrix(here, 4))));
  error_ = {there[0] - here[12], there[1] - here[13], there[2] - here[14], turn[0], turn[1], turn[2]};
  distance = norm({error_[0], error_[1], error_[2]});
  return uses_orientation_ ? std::max(distance, norm({error_[3], error_[4], error_[5]})) : distance;
}

}  // namespace thunder
