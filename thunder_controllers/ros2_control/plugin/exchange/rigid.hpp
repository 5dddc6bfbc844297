// SPDX-License-Identifier: Apache-2.0
//
// Rigid transforms of timed poses, with their rates.
#pragma once

#include <array>

#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/rotation.hpp"

namespace thunder_controllers {

/// Where a frame is in another one: p = translation + rotation p_of_the_frame.
struct Rigid {
  thunder::Vector3 translation{};                    ///< [m]
  thunder::Quaternion rotation{0.0, 0.0, 0.0, 1.0};  ///< of unit norm
};

inline thunder::Vector3 sum(const thunder::Vector3& a, const thunder::Vector3& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

inline thunder::Vector3 rotated(const thunder::Quaternion& rotation, const thunder::Vector3& v) {
  double r[9];
  thunder::to_matrix(rotation, r);
  return {r[0] * v[0] + r[3] * v[1] + r[6] * v[2], r[1] * v[0] + r[4] * v[1] + r[7] * v[2],
          r[2] * v[0] + r[5] * v[1] + r[8] * v[2]};
}

/// Linear, then angular.
using Rates = std::array<double, 6>;

inline thunder::Vector3 linear(const Rates& rates) { return {rates[0], rates[1], rates[2]}; }
inline thunder::Vector3 angular(const Rates& rates) { return {rates[3], rates[4], rates[5]}; }
inline Rates rates(const thunder::Vector3& v, const thunder::Vector3& w) { return {v[0], v[1], v[2], w[0], w[1], w[2]}; }

/// A point that is given in `frame`, in the frame that this is in; `frame` stands still.
inline thunder::TimedPose placed(const Rigid& frame, thunder::TimedPose point) {
  point.position = sum(frame.translation, rotated(frame.rotation, point.position));
  point.orientation = thunder::normalized(thunder::product(frame.rotation, point.orientation));
  for (auto* given : {&point.twist, &point.acceleration}) {
    if (*given) *given = rates(rotated(frame.rotation, linear(**given)), rotated(frame.rotation, angular(**given)));
  }
  return point;
}

/// The end effector of a point of the tool, which is at `tool` in the end effector's frame. An acceleration needs the
/// twist beside it.
inline thunder::TimedPose end_effector_of(const Rigid& tool, thunder::TimedPose point) {
  point.orientation = thunder::normalized(thunder::product(point.orientation, thunder::conjugate(tool.rotation)));
  const thunder::Vector3 to_tool = rotated(point.orientation, tool.translation);
  const thunder::Vector3 d{-to_tool[0], -to_tool[1], -to_tool[2]};
  point.position = sum(point.position, d);
  if (!point.twist) return point;
  const thunder::Vector3 w = angular(*point.twist);
  const thunder::Vector3 turning = thunder::cross(w, d);
  point.twist = rates(sum(linear(*point.twist), turning), w);
  if (point.acceleration) {
    const thunder::Vector3 alpha = angular(*point.acceleration);
    const thunder::Vector3 more = sum(thunder::cross(alpha, d), thunder::cross(w, turning));
    point.acceleration = rates(sum(linear(*point.acceleration), more), alpha);
  }
  return point;
}

}  // namespace thunder_controllers
