// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>
#include <vector>

namespace thunder {

struct DeleteModel {
  void operator()(mjModel* model) const noexcept { mj_deleteModel(model); }
};
struct DeleteData {
  void operator()(mjData* data) const noexcept { mj_deleteData(data); }
};
using ModelPtr = std::unique_ptr<mjModel, DeleteModel>;
using DataPtr = std::unique_ptr<mjData, DeleteData>;

/// Where one joint is found in MuJoCo's arrays.
struct JointAddress {
  int position;  ///< in qpos
  int velocity;  ///< in qvel and in all generalised forces
  int motor;     ///< in ctrl
};

/// Load an MJCF file (.xml) or a compiled model (.mjb).
///
/// Throws PlantError with MuJoCo's reason.
ModelPtr load_model(const std::string& file);

/// The simulation state of a model, all of its memory allocated.
DataPtr make_data(const mjModel& model, const std::string& file);

/// Find the joints, in the order of the names, each with the torque motor of its name.
///
/// Throws PlantError unless the model has exactly these joints, each turning or sliding and driven by a torque motor.
std::vector<JointAddress> find_joints(const mjModel& model, const std::vector<std::string>& names,
                                      const std::string& file);

/// The positions of key `start` [rad or m], or the model's zero positions without it; in the order of the joints.
std::vector<double> start_positions(const mjModel& model, const std::vector<JointAddress>& joints);

/// A copy without payloads: links with a numeric `own_inertia:<link>` (mass, CoM, quaternion w x y z, principal
/// moments) get that inertia back. This is the robot that its own firmware knows.
///
/// Throws PlantError if such a numeric has another size or names no link.
ModelPtr without_payloads(const mjModel& model, const std::string& file);

}  // namespace thunder
