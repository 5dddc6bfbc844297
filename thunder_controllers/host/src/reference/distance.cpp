// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr int kPoseRows = 4;

}  // namespace

ReferenceDistance::ReferenceDistance(std::shared_ptr<const Library> library, const std::string& law)
    : n_joints_(library->n_joints()) {
  const thunder_law& chosen = library->law(law);
  const auto offset = [&](const char* name) {
    return find_entry(chosen.reference, name, law + ".reference").offset;
  };
  if (chosen.reference_kind == THUNDER_REFERENCE_CARTESIAN) {
    position_ = offset("position");
    rotation_ = offset("rotation");
    pose_.emplace(std::move(library), "T_0_ee", kPoseRows * kPoseRows);
  } else {
    position_ = offset("q");
  }
}

double ReferenceDistance::evaluate(const double* q, const double* reference) noexcept {
  if (pose_) return pose_->evaluate(q) ? to_pose(reference) : std::numeric_limits<double>::infinity();
  double distance = 0.0;
  for (int i = 0; i < n_joints_; ++i) distance = std::max(distance, std::abs(reference[position_ + i] - q[i]));
  return distance;
}

double ReferenceDistance::to_pose(const double* reference) const noexcept {
  const double* pose = pose_->result();
  const double* wanted = reference + rotation_;
  double way = 0.0, trace = 0.0, sine = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double step = reference[position_ + i] - pose[3 * kPoseRows + i];
    way += step * step;
  }
  double turn[3][3];  // RᵀR_d
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      turn[i][j] = 0.0;
      for (int k = 0; k < 3; ++k) turn[i][j] += pose[kPoseRows * i + k] * wanted[3 * j + k];
    }
    trace += turn[i][i];
  }
  for (int i = 0; i < 3; ++i) {
    const double twice = turn[(i + 1) % 3][(i + 2) % 3] - turn[(i + 2) % 3][(i + 1) % 3];
    sine += twice * twice;
  }
  // The arc tangent is exact for small angles, where the arc cosine of the trace is not.
  const double angle = std::atan2(std::sqrt(sine), trace - 1.0);
  return std::max(std::sqrt(way), angle);
}

}  // namespace thunder
