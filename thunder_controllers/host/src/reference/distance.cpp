// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace thunder {

std::array<double, 6> pose_difference(const double* from, const double* position, const Quaternion& orientation) noexcept {
  const Vector3 turn = to_rotation_vector(product(orientation, conjugate(from_matrix(from, 4))));
  return {position[0] - from[12], position[1] - from[13], position[2] - from[14], turn[0], turn[1], turn[2]};
}

ReferenceDistance::ReferenceDistance(std::shared_ptr<const Library> library, const std::string& law)
    : layout_(library->law(law), library->n_joints()) {
  if (!layout_.is_cartesian) return;
  uses_orientation_ = uses_orientation(library->law(law));
  pose_.emplace(std::move(library), "T_0_ee", 16);
}

double ReferenceDistance::evaluate(const double* q, const double* reference) noexcept {
  double distance = 0.0;
  if (!pose_) {
    const double* wanted = reference + layout_.position;
    for (int i = 0; i < layout_.n_joints; ++i) distance = std::max(distance, std::abs(wanted[i] - q[i]));
    return distance;
  }
  if (!pose_->evaluate(q)) return std::numeric_limits<double>::infinity();
  error_ = pose_difference(pose_->result(), reference + layout_.position, from_matrix(reference + layout_.rotation));
  distance = norm({error_[0], error_[1], error_[2]});
  return uses_orientation_ ? std::max(distance, norm({error_[3], error_[4], error_[5]})) : distance;
}

}  // namespace thunder
