// SPDX-License-Identifier: Apache-2.0
//
// What the plant of MujocoSystem promises beside its trajectory.
// Usage: mujoco_plant_rules <model> <model of a joint `hinge` without effort limit> <joint> ...
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "check.hpp"
#include "plant/error.hpp"
#include "plant/plant.hpp"

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Vector = std::vector<double>;

struct Readings {
  explicit Readings(const thunder::MujocoPlant& plant) {
    for (std::size_t i = 0; i < plant.n_joints(); ++i) {
      const thunder::JointState now = plant.state(i);
      q.push_back(now.position);
      qd.push_back(now.velocity);
      effort.push_back(now.effort);
    }
  }
  Vector q, qd, effort;
};

/// The message of the error that `action` must throw.
std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const thunder::PlantError& error) {
    return error.what();
  }
  CHECK(!"an error is thrown");
  return {};
}

bool says(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

void run(thunder::MujocoPlant& plant, int steps) {
  for (int k = 0; k < steps; ++k) CHECK(plant.step(plant.timestep()));
}

void brakes_hold_until_a_command_and_again_after_idle(const thunder::PlantOptions& options) {
  thunder::MujocoPlant plant(options);
  const Readings start(plant);
  run(plant, 100);
  Readings now(plant);
  CHECK(plant.is_held() && now.q == start.q && now.qd == start.qd && plant.time() == 0.0);

  const Vector zero(start.q.size(), 0.0);
  CHECK(plant.command(zero.data()) && !plant.is_held());
  run(plant, 100);
  now = Readings(plant);
  CHECK(now.q != start.q && now.qd != start.qd && now.effort == zero);  // the arm sags

  plant.idle();
  const Readings stopped(plant);
  CHECK(plant.is_held() && stopped.q == now.q && stopped.qd == zero && stopped.effort != zero);
  run(plant, 100);
  CHECK(Readings(plant).q == stopped.q);
}

void the_effort_of_the_brakes_holds_the_arm(const thunder::PlantOptions& options) {
  thunder::MujocoPlant plant(options);
  const Readings start(plant);
  CHECK(plant.command(start.effort.data()));
  run(plant, 100);
  const Readings later(plant);
  // An exact equilibrium, left by rounding: 1e-16 in the acceleration grows to far less than 1e-9 rad in 0.1 s.
  for (std::size_t i = 0; i < start.q.size(); ++i) CHECK(std::abs(later.q[i] - start.q[i]) < 1e-9);
}

void without_brakes_zero_effort_acts(thunder::PlantOptions options) {
  options.brakes = false;
  thunder::MujocoPlant plant(options);
  const Readings start(plant);
  CHECK(!plant.is_held() && start.effort == Vector(start.q.size(), 0.0));
  run(plant, 100);
  CHECK(Readings(plant).q != start.q);
}

void efforts_that_are_not_finite_change_nothing(const thunder::PlantOptions& options) {
  thunder::MujocoPlant plant(options);
  const Readings start(plant);
  for (const double bad : {kNan, kInfinity, -kInfinity, 1e11}) {
    for (std::size_t i = 0; i < start.q.size(); ++i) {
      Vector effort(start.q.size(), 1.0);
      effort[i] = bad;
      CHECK(!plant.command(effort.data()) && plant.is_held());
    }
  }
  run(plant, 10);
  CHECK(Readings(plant).q == start.q);
}

void the_motors_saturate_and_say_so(const thunder::PlantOptions& options) {
  thunder::MujocoPlant plant(options);
  const Vector huge(options.joints.size(), 1e6);
  CHECK(plant.command(huge.data()));
  run(plant, 1);
  for (const double effort : Readings(plant).effort) CHECK(effort > 0.0 && effort < 1e3);
}

void a_reset_puts_the_arm_to_its_start(const thunder::PlantOptions& options) {
  thunder::MujocoPlant plant(options);
  const Readings start(plant);
  const Vector zero(start.q.size(), 0.0);
  CHECK(plant.command(zero.data()));
  run(plant, 50);
  plant.reset();
  const Readings again(plant);
  CHECK(again.q == start.q && again.qd == start.qd && again.effort == start.effort && plant.is_held());
}

void nothing_is_allocated_after_the_constructor(thunder::PlantOptions options) {
  options.gravity_compensation = true;
  thunder::MujocoPlant plant(options);
  Vector effort(plant.n_joints(), 0.5);
  Vector bad(plant.n_joints(), kNan);
  const long before = g_calls;
  for (int k = 0; k < 3000; ++k) {
    if (k % 500 == 499) plant.idle();
    plant.command(k % 7 == 0 ? bad.data() : effort.data());
    plant.step(2.0 * plant.timestep());
  }
  CHECK(g_calls == before);
}

void a_lost_state_is_reported_and_a_reset_helps(const std::string& unlimited) {
  thunder::PlantOptions options;
  options.model = unlimited;
  options.joints = {"hinge"};
  thunder::MujocoPlant plant(options);
  const double huge = 0.9 * mjMAXVAL;  // speeds the rod up by about 2e7 rad/s in each step
  int steps = 0;
  while (plant.command(&huge) && plant.step(plant.timestep())) CHECK(++steps < 1000);
  CHECK(steps > 0 && !plant.step(plant.timestep()));
  plant.reset();
  const double gentle = 0.1;
  CHECK(plant.command(&gentle) && plant.step(plant.timestep()) && std::isfinite(Readings(plant).q[0]));
}

void what_does_not_fit_is_refused_with_the_reason(const thunder::PlantOptions& options) {
  thunder::PlantOptions wrong = options;
  wrong.joints.back() = "elbow";
  const std::string names = refusal([&] { thunder::MujocoPlant plant(wrong); });
  CHECK(says(names, options.joints.back()) && says(names, "elbow") && says(names, options.model));

  wrong = options;
  wrong.start = {0.1};
  CHECK(says(refusal([&] { thunder::MujocoPlant plant(wrong); }), "q_start: 1 values"));

  wrong = options;
  wrong.model = "nowhere.xml";
  CHECK(says(refusal([&] { thunder::MujocoPlant plant(wrong); }), "nowhere.xml"));
}

void time_passes_in_whole_steps_and_none_of_it_is_lost(const thunder::PlantOptions& options) {
  thunder::MujocoPlant plant(options);
  const double h = plant.timestep();
  const std::vector<double> effort(options.joints.size(), 0.0);
  CHECK(plant.command(effort.data()));
  const std::vector<std::pair<double, double>> cases{{0.4, 0.0}, {0.4, 1.0}, {3.1, 4.0}, {-1.0, 4.0}, {1.0, 5.0}};
  for (const auto& [time, steps] : cases) {
    CHECK(plant.step(time * h) && std::abs(plant.time() - steps * h) < 1e-9);
  }
  CHECK(plant.step(1e9) && plant.time() < 5.0 * h + 0.101);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc > 3);
  thunder::PlantOptions options;
  options.model = argv[1];
  options.joints.assign(argv + 3, argv + argc);
  brakes_hold_until_a_command_and_again_after_idle(options);
  the_effort_of_the_brakes_holds_the_arm(options);
  without_brakes_zero_effort_acts(options);
  efforts_that_are_not_finite_change_nothing(options);
  the_motors_saturate_and_say_so(options);
  a_reset_puts_the_arm_to_its_start(options);
  nothing_is_allocated_after_the_constructor(options);
  a_lost_state_is_reported_and_a_reset_helps(argv[2]);
  what_does_not_fit_is_refused_with_the_reason(options);
  time_passes_in_whole_steps_and_none_of_it_is_lost(options);
  return 0;
}
