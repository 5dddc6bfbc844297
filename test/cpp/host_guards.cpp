// SPDX-License-Identifier: Apache-2.0
//
// Random bit patterns as measurements, references and gains; meant for the address and undefined-behaviour sanitizers.
// Usage: host_guards <libpendulum2.so>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "thunder/host/controller.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace {

/// Mostly sensible numbers, else any 64 bits at all: infinities, NaNs, denormals, huge ones.
double draw(std::mt19937_64& random, double centre, double spread) {
  const std::uint64_t bits = random();
  if (bits % 4 != 0) return centre + spread * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
  const std::uint64_t pattern = random();
  double value;
  std::memcpy(&value, &pattern, sizeof value);
  return value;
}

template <class Action>
bool is_refused(Action action) {
  try {
    action();
  } catch (const thunder::HostError& error) {
    CHECK(!error.where().empty() && !error.wrong().empty());
    return true;
  }
  return false;
}

void check_limits(const thunder::Controller& controller, const double* effort, const double* previous, double dt) {
  const thunder_library& data = controller.library()->data();
  for (int i = 0; i < data.n_joints; ++i) {
    CHECK(std::isfinite(effort[i]) && std::abs(effort[i]) <= data.effort_limit[i]);
    CHECK(std::abs(effort[i] - previous[i]) <= data.effort_rate_limit[i] * dt * (1 + 1e-12) + 1e-12);
  }
}

/// Motions to anywhere, through anything, with any bounds; what is not refused must give finite references.
void ask_for_motion(thunder::Controller& controller, std::mt19937_64& random, int k) {
  const auto number = [&random](double centre) { return draw(random, centre, 1.0); };
  const thunder::MotionLimits limits{number(1.0), number(1.0), number(9.0), number(1.0)};
  if (k % 5 == 0) is_refused([&] { controller.set_motion_limits(limits); });
  if (k % 7 == 0) controller.stop_motion();
  const double position[3] = {number(0.0), number(0.0), number(-0.5)};
  const double turn[4] = {0.0, std::sin(0.1 * k), 0.0, k % 20 == 0 ? number(0.0) : std::cos(0.1 * k)};
  if (k % 3 == 0) is_refused([&] { controller.move_to_pose(position, turn); });
  std::vector<thunder::TimedPose> poses(1 + static_cast<std::size_t>(k % 4));
  std::vector<thunder::TimedJoints> joints(poses.size());
  double time = 0.0;
  for (std::size_t i = 0; i < poses.size(); ++i) {
    time += std::abs(draw(random, 0.0, 0.02));
    poses[i] = {time, {number(0.1), number(0.0), number(-0.5)}, {turn[0], turn[1], turn[2], turn[3]}, {}, {}};
    joints[i] = {time, {number(0.1), number(0.1)}, {}, {}};
    if (k % 2 == 0 && i + 1 < poses.size()) joints[i].qd = {number(0.0), number(0.0)};
    if (k % 2 == 0 && i + 1 == poses.size()) joints[i].qd = {0.0, 0.0};
  }
  is_refused([&] { controller.follow(poses); });
  is_refused([&] { controller.follow(joints); });
}

void bombard(thunder::Controller& controller, std::mt19937_64& random) {
  double effort[2] = {controller.effort()[0], controller.effort()[1]};
  auto before = std::chrono::steady_clock::now();
  for (int k = 1; k <= 5000; ++k) {
    const double previous[2] = {effort[0], effort[1]};
    const double q[2] = {draw(random, 0.1, 0.2), draw(random, 0.2, 0.2)};
    const double qd[2] = {draw(random, 0.0, 1.0), draw(random, 0.0, 1.0)};
    const double dt = draw(random, 1e-3, 1e-4);
    const auto begin = std::chrono::steady_clock::now();
    controller.update(draw(random, 1e-3 * k, 1e-5), q, qd, dt, effort);
    // Where the period is no valid one, the time that has passed counts: from before the update before.
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
    before = begin;
    const double used = dt > 0 && dt <= 0.01 ? dt : passed.count();
    check_limits(controller, effort, previous, used);
    for (const double value : controller.state()) CHECK(std::isfinite(value));
    std::vector<double> reference = controller.reference();
    for (double& value : reference) value = draw(random, value, 0.1);
    if (k % 64 < 8) is_refused([&] { controller.set_reference(reference.data(), static_cast<int>(reference.size())); });
    if (k % 16 == 0) ask_for_motion(controller, random, k / 16);
    for (const double value : controller.reference()) CHECK(std::isfinite(value));
  }
}

void check_misuse(const std::shared_ptr<const thunder::Library>& library) {
  thunder::Controller controller;
  double values[2] = {0.1, 0.2};
  CHECK(controller.update(0.0, values, values, 1e-3, values) == thunder::kNotActive);
  CHECK(is_refused([&] { controller.activate(values); }));
  CHECK(is_refused([&] { controller.state(); }));
  CHECK(is_refused([&] { controller.configure(library, "nothing"); }));
  CHECK(is_refused([&] { controller.configure(library, "joint_adaptive", {{"K_d", {1.0, 2.0, 3.0}}}); }));
  CHECK(controller.lifecycle() == thunder::Lifecycle::unconfigured);
}

/// A clock that is set back lets no time pass: the effort stays.
void check_clock(const std::shared_ptr<const thunder::Library>& library) {
  double now = 10.0;
  thunder::Options options;
  options.clock = [&now] { return now; };
  thunder::Controller controller;
  controller.configure(library, "joint_adaptive", {}, {}, options);
  const double q[2] = {0.1, 0.2}, qd[2] = {0.0, 0.0}, held[2] = {0.5, -0.5};
  controller.activate(q, qd, held);
  double effort[2];
  controller.update(1e-3, q, qd, 1e-3, effort);
  const double before[2] = {effort[0], effort[1]};
  for (const double time : {5.0, std::nan("")}) {
    now = time;
    controller.update(2e-3, q, qd, -1.0, effort);  // not a valid period
    CHECK(effort[0] == before[0] && effort[1] == before[1]);
  }
}

/// Of a motion and what is asked for while it is rehearsed, the latter is followed.
void check_rehearsal(const std::shared_ptr<const thunder::Library>& library) {
  thunder::Controller controller;
  controller.configure(library, "joint_adaptive");
  const double q[2] = {0.1, 0.2}, qd[2] = {0.0, 0.0};
  double effort[2];
  controller.activate(q);
  controller.update(1e-3, q, qd, 1e-3, effort);
  const std::vector<thunder::TimedJoints> points = {{1.0, {0.2, 0.2}}};
  const std::vector<std::function<void()>> others = {
      [&] { controller.stop_motion(); }, [&] { controller.hold_reference(); }, [&] { controller.follow(points); },
      [&] { controller.set_reference_entry("q", {0.1, 0.2}); }, [&] { controller.set_motion_limits({}); }};
  for (const auto& ask : others) {
    thunder::MotionPlan plan = controller.plan(points);
    controller.rehearse(plan);
    ask();
    CHECK(is_refused([&] { controller.begin(plan); }));
  }
  controller.begin(controller.plan(points));
  controller.update(2e-3, q, qd, 1e-3, effort);
  CHECK(controller.reference_source() == thunder::ReferenceSource::motion);
}

/// Some names, in any order, have the places of these; others and doubles are refused.
void check_names() {
  const std::vector<std::string> known = {"a", "b", "c"};
  CHECK((thunder::places_of({"c", "a"}, known, "here") == std::vector<std::size_t>{2, 0}));
  CHECK(thunder::places_of({}, known, "here").empty());
  for (const std::vector<std::string>& wrong : {{"a", "a"}, {"a", "d"}, std::vector<std::string>{""}}) {
    CHECK(is_refused([&] { thunder::places_of(wrong, known, "here"); }));
    CHECK(is_refused([&] { thunder::order_of(wrong, known, "here"); }));
  }
  CHECK(is_refused([&] { thunder::order_of({"c", "a"}, known, "here"); }));
}

}  // namespace

int main(int, char** arguments) {
  check_names();
  const auto library = thunder::Library::load(arguments[1]);
  check_misuse(library);
  check_clock(library);
  check_rehearsal(library);
  std::mt19937_64 random(1);
  const double start[2] = {0.1, 0.2};
  for (const char* law : {"joint_adaptive", "cartesian_spring"}) {
    for (const bool compensated : {false, true}) {
      thunder::Options options;
      options.gravity_compensated_by_robot = compensated;
      thunder::Controller controller;
      controller.configure(library, law, {}, {}, options);
      controller.activate(start);
      bombard(controller, random);
    }
  }
  return 0;
}
