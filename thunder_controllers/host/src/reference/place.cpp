// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/place.hpp"

#include <algorithm>
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

}  // namespace thunder
