// SPDX-License-Identifier: Apache-2.0
//
// From the host's numbers to messages.
#pragma once

#include <algorithm>
#include <functional>
#include <trajectory_msgs/msg/joint_trajectory_point.hpp>
#include <vector>

#include "thunder/host/snapshot.hpp"

namespace thunder_controllers {

template <class Vector>
void assign(Vector& vector, const double* values) {
  vector.x = values[0];
  vector.y = values[1];
  vector.z = values[2];
}

/// The k-th n values: of a joint law's reference q, q̇ and q̈.
inline std::vector<double> slice(const std::vector<double>& values, std::size_t n, std::size_t k) {
  const double* begin = values.data() + n * k;
  return {begin, begin + n};
}

inline std::vector<double> difference(std::vector<double> wanted, const std::vector<double>& is) {
  std::transform(wanted.begin(), wanted.end(), is.begin(), wanted.begin(), std::minus<>());
  return wanted;
}

/// What a joint law follows, and how far the joints are from it.
inline void write_joints(const thunder::Snapshot& snapshot, trajectory_msgs::msg::JointTrajectoryPoint& reference,
                         trajectory_msgs::msg::JointTrajectoryPoint& error) {
  const std::size_t n = snapshot.q.size();
  reference.positions = slice(snapshot.reference, n, 0);
  reference.velocities = slice(snapshot.reference, n, 1);
  reference.accelerations = slice(snapshot.reference, n, 2);
  error.positions = difference(reference.positions, snapshot.q);
  error.velocities = difference(reference.velocities, snapshot.qd);
}

}  // namespace thunder_controllers
