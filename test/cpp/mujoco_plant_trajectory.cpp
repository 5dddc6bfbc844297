// SPDX-License-Identifier: Apache-2.0
//
// Drives a plant open-loop: rows of n efforts come as doubles from the standard input; a row of positions, velocities
// and applied efforts before each, and one after the last, goes to the standard output.
// Usage: mujoco_plant_trajectory <model> <period> <gravity compensation: 0|1> <joint> ...
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "check.hpp"
#include "plant/plant.hpp"

namespace {

void write_row(const thunder::MujocoPlant& plant, std::vector<double>& row) {
  const std::size_t n = plant.n_joints();
  for (std::size_t i = 0; i < n; ++i) {
    const thunder::JointState now = plant.state(i);
    row[i] = now.position;
    row[n + i] = now.velocity;
    row[2 * n + i] = now.effort;
  }
  CHECK(std::fwrite(row.data(), sizeof(double), row.size(), stdout) == row.size());
}

void drive(const thunder::PlantOptions& options, double period) {
  thunder::MujocoPlant plant(options);
  std::vector<double> effort(options.joints.size());
  std::vector<double> row(3 * options.joints.size());
  write_row(plant, row);
  while (std::fread(effort.data(), sizeof(double), effort.size(), stdin) == effort.size()) {
    CHECK(plant.command(effort.data()));
    CHECK(plant.step(period));
    write_row(plant, row);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc > 4);
  thunder::PlantOptions options;
  options.model = argv[1];
  options.gravity_compensation = std::string(argv[3]) == "1";
  options.joints.assign(argv + 4, argv + argc);
  try {
    drive(options, std::atof(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
