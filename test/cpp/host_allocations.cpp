// SPDX-License-Identifier: Apache-2.0
//
// No update allocates or frees, whatever path it takes. Usage: host_allocations <libpendulum2.so>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "allocations.hpp"
#include "check.hpp"
#include "thunder/host/session.hpp"

namespace {

constexpr int kUpdates = 10000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The update path of one situation; `spoil` makes every third measurement bad in one of several ways.
long calls_during_updates(thunder::Controller& controller, bool spoil, thunder::GuardBits& seen) {
  const double velocity[2] = {0.1, -0.2};
  double effort[2] = {0.0, 0.0};
  const long before = g_calls;
  for (int k = 0; k < kUpdates; ++k) {
    const bool bad = spoil && k % 3 == 0;
    const double position[2] = {0.1 + 0.05 * std::sin(1e-3 * k), bad && k % 2 == 0 ? kNan : 0.2};
    const double dt = bad && k % 5 == 0 ? -1.0 : 1e-3;
    const double t = bad && k % 7 == 0 ? 0.0 : 1e-3 * (k + 1);
    seen |= controller.update(t, position, velocity, dt, effort);
    CHECK(std::isfinite(effort[0]) && std::isfinite(effort[1]));
  }
  return g_calls - before;
}

void configure(thunder::Controller& controller, const std::shared_ptr<const thunder::Library>& library,
               const char* law, bool compensated) {
  thunder::Options options;
  options.gravity_compensated_by_robot = compensated;
  options.reference_timeout = 0.5;
  options.rehearses_motions = false;  // the pendulum reaches few of the poses asked for
  controller.configure(library, law, {}, {}, options);
}

void run(const std::shared_ptr<const thunder::Library>& library, const char* law, bool compensated, bool spoil) {
  const double start[2] = {0.1, 0.2};
  thunder::GuardBits seen = 0;
  thunder::Controller controller;
  configure(controller, library, law, compensated);
  controller.activate(start);
  const std::vector<double> reference = controller.reference();
  controller.set_reference(reference.data(), static_cast<int>(reference.size()));
  CHECK(calls_during_updates(controller, spoil, seen) == 0);
  CHECK((seen & thunder::kReferenceStale) != 0);
  CHECK(((seen & thunder::kMeasurementNonFinite) != 0) == spoil);
  controller.reset_state();
  controller.begin_stop();
  CHECK(calls_during_updates(controller, spoil, seen) == 0);
  CHECK((seen & thunder::kStopping) != 0);
}

/// Updates of one request: the request itself may allocate.
long calls_while_moving(thunder::Controller& controller, double& t, thunder::ReferenceSource expected,
                        int updates = 300) {
  const double position[2] = {0.1, 0.2};
  const double velocity[2] = {0.0, 0.0};
  double effort[2] = {0.0, 0.0};
  const long before = g_calls;
  for (int k = 0; k < updates; ++k) {
    controller.update(t += 1e-3, position, velocity, 1e-3, effort);
    CHECK(k > 0 || controller.reference_source() == expected);
  }
  return g_calls - before;
}

/// Every motion is begun, replaced by the next one while it runs, and finished.
template <class Request>
void move(thunder::Controller& controller, double& t, Request request, thunder::ReferenceSource source,
          int updates = 300) {
  request(controller);
  CHECK(calls_while_moving(controller, t, source, updates) == 0);
}

/// Make what is streamed move, so that a motion has to come to rest first: soon, as a single sample ends at rest.
void stream_a_moving_sample(thunder::Controller& controller, double& t, const char* rate) {
  controller.set_reference(controller.reference().data(), static_cast<int>(controller.reference().size()));
  controller.set_reference_entry(rate, {0.1});
  CHECK(calls_while_moving(controller, t, thunder::ReferenceSource::stream, 20) == 0);
}

void run_cartesian_motions(const std::shared_ptr<const thunder::Library>& library) {
  using Source = thunder::ReferenceSource;
  thunder::Controller controller;
  configure(controller, library, "cartesian_spring", false);
  const double start[2] = {0.1, 0.2};
  controller.activate(start);
  const double target[3] = {0.3, 0.1, -0.6}, turn[4] = {0.0, 0.0, 0.6, 0.8};
  const auto go = [&](thunder::Controller& c) { c.move_to_pose(target, turn); };
  const auto stop = [](thunder::Controller& c) { c.stop_motion(); };
  const auto follow = [&](thunder::Controller& c) {
    c.follow(std::vector<thunder::TimedPose>{{0.1, {0.2, 0.0, -0.7}, {0.0, 0.0, 0.6, 0.8}, {}, {}},
                                             {0.5, {0.3, 0.1, -0.6}, {0.0, 0.0, -0.6, -0.8}, {}, {}}});
  };
  double t = 0.0;
  move(controller, t, go, Source::motion);
  stream_a_moving_sample(controller, t, "twist");
  move(controller, t, go, Source::motion);
  const auto trace = [](thunder::Controller& c) { c.trace({{0.05, 0.1}, {0.5, 0.3}}); };
  move(controller, t, follow, Source::motion);
  move(controller, t, follow, Source::motion);
  move(controller, t, trace, Source::motion);
  move(controller, t, trace, Source::motion);
  move(controller, t, stop, Source::stopping);
  stream_a_moving_sample(controller, t, "twist");
  move(controller, t, [](thunder::Controller&) {}, Source::stream, 600);  // and lost
  CHECK(controller.reference_source() == Source::stopping);
}

void run_joint_motions(const std::shared_ptr<const thunder::Library>& library) {
  using Source = thunder::ReferenceSource;
  thunder::Controller controller;
  configure(controller, library, "joint_adaptive", false);
  const double start[2] = {0.1, 0.2};
  controller.activate(start);
  const auto follow = [](thunder::Controller& c) {
    c.follow(std::vector<thunder::TimedJoints>{{0.1, {0.2, 0.1}, {}, {}}, {0.2, {0.1, 0.3}, {}, {}},
                                               {0.5, {0.1, 0.2}, {}, {}}});
  };
  double t = 0.0;
  move(controller, t, follow, Source::motion);
  move(controller, t, follow, Source::motion);
  move(controller, t, [](thunder::Controller& c) { c.trace({{0.05, 0.1}, {0.5, 0.3}}); }, Source::motion);
  stream_a_moving_sample(controller, t, "qd");
  move(controller, t, [](thunder::Controller& c) { c.stop_motion(); }, Source::stopping);
  CHECK(controller.reference_source() == Source::hold);
}

/// The updates of a session, which also hand every step to the other threads.
void run_session(const std::shared_ptr<const thunder::Library>& library, const char* law) {
  thunder::Options options;
  options.reference_timeout = 0.1;
  options.rehearses_motions = false;
  thunder::ControlSession session(thunder::make_configuration(library, "", law, {}), options);
  const double position[2] = {0.1, 0.2};
  const double velocity[2] = {0.0, 0.0};
  double effort[2] = {0.0, 0.0};
  session.activate(position, velocity);
  const auto count = [&] {
    const long before = g_calls;
    for (int k = 0; k < 300; ++k) session.update(k, position, velocity, 1e-3, effort);
    return g_calls - before;
  };
  CHECK(count() == 0);
  session.stream(session.snapshot().reference);
  CHECK(count() == 0);
  CHECK(session.snapshot().lost_references == 1);
  const std::vector<double> sample = session.snapshot().reference;
  const long until = g_calls;
  for (int k = 0; k < 300; ++k) {
    CHECK(session.try_stream(sample));
    session.update(k, position, velocity, 1e-3, effort);
  }
  CHECK(g_calls == until && session.last().source == thunder::ReferenceSource::stream);
  session.begin_stop();
  CHECK(count() == 0);
  const long before = g_calls;
  session.measure(0, 0.0, position, velocity);
  CHECK(g_calls == before);
}

void check_that_the_counter_counts() {
  const long before = g_calls;
  auto number = std::make_unique<std::vector<double>>(1000, 1.0);
  volatile double kept = number->back();
  CHECK(kept == 1.0);
  number.reset();
  CHECK(g_calls - before >= 4);
}

}  // namespace

int main(int, char** arguments) {
  check_that_the_counter_counts();
  const auto library = thunder::Library::load(arguments[1]);
  for (const char* law : {"joint_adaptive", "cartesian_spring"}) {
    run_session(library, law);
    for (const bool compensated : {false, true}) {
      for (const bool spoil : {false, true}) run(library, law, compensated, spoil);
    }
  }
  run_cartesian_motions(library);
  run_joint_motions(library);
  return 0;
}
