// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plant/model.hpp"

namespace thunder {

/// What the simulated robot is.
struct PlantOptions {
  std::string model;                  ///< file written by `thunder mjcf` (.xml or .mjb)
  std::vector<std::string> joints;    ///< in the order of all arrays
  std::vector<double> start;          ///< positions [rad or m]; empty: those of the file
  bool gravity_compensation = false;  ///< the robot adds the gravity torque of its description to every command
  bool brakes = true;                 ///< hold the arm while there is no command
};

/// Of one joint: position [rad or m], velocity [rad/s or m/s], effort [N·m or N].
struct JointState {
  double position, velocity, effort;
};

/// A robot in MuJoCo, driven by joint efforts: the plant of the Python simulation, from the file it writes.
///
/// Joints are in the order of PlantOptions::joints. The effort limits of the file saturate the motors. The brakes hold
/// the arm from reset() to the first command and after idle(): it does not move at all, and its effort is the one that
/// holds it.
///
/// Constructor and reset() allocate; the other methods do not: mj_step takes its memory from the arena of mjData, which
/// is allocated here, as long as the model has no plugins and needs no more than one thread.
class MujocoPlant {
 public:
  /// Throws PlantError if the file cannot be read, or does not fit the options.
  explicit MujocoPlant(const PlantOptions& options);

  std::size_t n_joints() const noexcept { return joints_.size(); }
  /// Of the integration [s].
  double timestep() const noexcept { return model_->opt.timestep; }

  /// To the start, at rest, without command.
  void reset() noexcept;

  /// There is no command: with brakes the joints stop where they are and stay there, without brakes zero effort acts.
  void idle() noexcept;

  /// Let these efforts, one per joint, act from now on and release the brakes. False, and nothing changes, if one is
  /// not finite or beyond MuJoCo's mjMAXVAL, where MuJoCo itself would quietly take zero.
  bool command(const double* effort) noexcept;

  /// Integrate for this time [s], 0.1 s at most, unless the brakes hold the arm. It is rounded to whole time steps; what
  /// is left counts with the next. False if the state is lost, not finite or beyond mjMAXVAL; then only
  /// reset() helps.
  bool step(double time) noexcept;

  /// The state now; its effort is what the motor applied during the last step: the command as far as the limits let
  /// it, without what the robot adds to it.
  JointState state(std::size_t joint) const noexcept {
    return {data_->qpos[joints_[joint].position], data_->qvel[joints_[joint].velocity], applied_[joint]};
  }

  /// Whether the brakes hold the arm.
  bool is_held() const noexcept { return is_held_; }
  /// Simulated time [s]; stands still while the brakes hold.
  double time() const noexcept { return data_->time; }

 private:
  void compute_gravity(const mjModel& model, mjData& scratch, std::vector<double>& effort) noexcept;
  void write_controls() noexcept;
  void note_applied_effort() noexcept;
  bool is_good() const noexcept;

  ModelPtr model_;
  DataPtr data_;
  DataPtr scratch_;      // for gravity of what the arm carries
  ModelPtr firmware_;    // what the robot's own gravity compensation knows; none without it
  DataPtr firmware_data_;
  std::vector<JointAddress> joints_;
  std::vector<double> start_;
  std::vector<double> bias_;      // generalised forces of the model, in its own order
  std::vector<double> gravity_;   // what the firmware adds
  std::vector<double> command_;
  std::vector<double> applied_;
  double due_ = 0.0;  // [s] that the steps so far have left
  bool has_brakes_;
  bool is_held_ = false;
};

}  // namespace thunder
