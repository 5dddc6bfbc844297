// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/rigid.hpp"

#include <array>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

using Twist = std::array<double, 6>;

Vector3 sum(const Vector3& a, const Vector3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

Vector3 rotated(const Quaternion& rotation, const Vector3& v) {
  double r[9];
  to_matrix(rotation, r);
  return {r[0] * v[0] + r[3] * v[1] + r[6] * v[2], r[1] * v[0] + r[4] * v[1] + r[7] * v[2],
          r[2] * v[0] + r[5] * v[1] + r[8] * v[2]};
}

Vector3 linear(const Twist& twist) { return {twist[0], twist[1], twist[2]}; }

Vector3 angular(const Twist& twist) { return {twist[3], twist[4], twist[5]}; }

Twist joined(const Vector3& v, const Vector3& w) { return {v[0], v[1], v[2], w[0], w[1], w[2]}; }

}  // namespace

TimedPose placed(const Rigid& frame, const TimedPose& point) {
  TimedPose found = point;
  found.position = sum(frame.translation, rotated(frame.rotation, point.position));
  found.orientation = normalized(product(frame.rotation, point.orientation));
  for (auto* part : {&found.twist, &found.acceleration}) {
    if (*part) *part = joined(rotated(frame.rotation, linear(**part)), rotated(frame.rotation, angular(**part)));
  }
  return found;
}

TimedPose end_effector_of(const Rigid& tool, const TimedPose& point, const std::string& where) {
  if (point.acceleration && !point.twist) {
    throw HostError(ErrorKind::law, "accelerations of a tool without velocities", where, "both, or velocities alone");
  }
  TimedPose found = point;
  found.orientation = normalized(product(point.orientation, conjugate(tool.rotation)));
  const Vector3 offset = rotated(found.orientation, tool.translation);
  const Vector3 d{-offset[0], -offset[1], -offset[2]};
  found.position = sum(point.position, d);
  if (!point.twist) return found;
  const Vector3 w = angular(*point.twist), turning = cross(w, d);
  found.twist = joined(sum(linear(*point.twist), turning), w);
  if (!point.acceleration) return found;
  const Vector3 alpha = angular(*point.acceleration);
  const Vector3 more = sum(cross(alpha, d), cross(w, turning));
  found.acceleration = joined(sum(linear(*point.acceleration), more), alpha);
  return found;
}

}  // namespace thunder
