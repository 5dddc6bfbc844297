// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// States that every row cycles through.
inline constexpr std::size_t kStates = 256;

/// Kinds of joints; a free one has position and quaternion as configuration and the twist in its link as velocity.
enum class Kind { kPrismatic = 0, kRevolute = 1, kFree = 2 };

/// One link and the joint that moves it, as robot_text.py writes them: SI units, link frame, inertia about the CoM.
struct Link {
  int parent = -1;
  Kind kind = Kind::kRevolute;
  Eigen::Vector3d axis;
  Eigen::Matrix3d rotation;
  Eigen::Vector3d translation;
  double mass = 0.0;
  Eigen::Vector3d com;
  Eigen::Matrix3d inertia;
};

/// A tree of links in a uniform gravity field, with an end-effector frame and limits; SI units.
struct Robot {
  Eigen::Vector3d gravity;
  std::vector<Link> links;
  int ee_link = 0;
  Eigen::Matrix3d ee_rotation;
  Eigen::Vector3d ee_translation;
  Eigen::VectorXd lower, upper, velocity;  ///< Of every configuration value; of every velocity.

  int n() const { return static_cast<int>(links.size()); }
};

/// Read what robot_text.py wrote. Throws std::runtime_error naming the file and the word that cannot be read.
Robot read_robot(const std::string& file);

/// Arguments of every function, one column per state.
///
/// `q` to `qdd_r` are drawn at random inside the limits; `path_q` and `path_qd` follow a small closed curve, one
/// millisecond from column to column, as a controller meets them.
struct States {
  Eigen::MatrixXd q, qd, qdd, qd_r, qdd_r, path_q, path_qd;
};

/// The same states in every run.
States make_states(const Robot& robot);

/// One line of the table: something that is called with the index of a state.
struct Row {
  std::string name;
  std::function<void(std::size_t)> call;
};

}  // namespace bench
