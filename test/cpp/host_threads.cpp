// SPDX-License-Identifier: Apache-2.0
//
// A configuring thread writes while another thread updates; meant for ThreadSanitizer.
// Usage: host_threads <libpendulum2.so>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "check.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/law/gain_port.hpp"
#include "thunder/host/session.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace {

/// Every value that crosses is whole, and values come in the order they were published.
void check_that_values_cross_whole_and_in_order() {
  constexpr double kLast = 20000.0;
  thunder::TripleBuffer<std::vector<double>> buffer(std::vector<double>(16, 0.0));
  std::thread writer([&buffer] {
    for (double value = 1.0; value <= kLast; value += 1.0) {
      for (double& element : buffer.slot()) element = value;
      buffer.publish();
    }
  });
  double latest = 0.0;
  while (latest < kLast) {
    if (!buffer.fetch()) {
      std::this_thread::yield();
      continue;
    }
    CHECK(buffer.value().front() > latest);
    for (const double element : buffer.value()) CHECK(element == buffer.value().front());
    latest = buffer.value().front();
  }
  writer.join();
}

/// Gains that are written together are taken over together.
void check_that_gains_change_together(const thunder_law& law) {
  constexpr int kWrites = 20000;
  constexpr double kLast = 100.0;
  const int first = thunder::find_entry(law.gains, "K_d", "gains").offset;
  const int second = thunder::find_entry(law.gains, "Lambda", "gains").offset;
  thunder::GainPort port(law, {{"K_d", {0.0}}, {"Lambda", {0.0}}});
  std::thread writer([&port] {
    for (int k = 1; k <= kWrites; ++k) {
      const double value = kLast * k / kWrites;
      port.write(port.changed({{"K_d", {value}}, {"Lambda", {value}}}));
    }
  });
  for (double latest = 0.0; latest < kLast; std::this_thread::yield()) {
    const double* gains = port.refresh();
    CHECK(gains[first] == gains[second] && gains[first] >= latest);
    latest = gains[first];
  }
  writer.join();
}

/// Begin a motion, or change the bounds of those to come; what it needs was made here and is freed here.
void move(thunder::Controller& controller, int k) {
  thunder::MotionLimits limits;
  limits.joint_acceleration = 1.0 + k % 4;
  controller.set_motion_limits(limits);
  std::vector<thunder::TimedJoints> points;
  for (int i = 0; i < 1 + k % 16; ++i) {
    const double value = 0.2 + 0.1 * std::sin(k + i);
    points.push_back({0.2 * (i + 1), {value, value}, {}, {}});
  }
  controller.follow(points);
  if (k % 2 == 0) controller.stop_motion();
}

/// Both elements of what is written are equal, so that a torn reference or gain would show.
void write(thunder::Controller& controller, std::atomic<int>& writes, const std::atomic<bool>& done) {
  for (int k = 0; !done; ++k, ++writes) {
    const double value = 0.2 + 0.1 * std::sin(0.1 * k);
    const double reference[6] = {value, value, 0.0, 0.0, 0.0, 0.0};
    controller.set_reference(reference, 6);
    controller.set_reference_entry("qd", {0.01 * value});
    controller.set_gains({{"Lambda", {10.0 * value}}});
    controller.set_gains({{"Lambda", {20.0 * value}}, {"K_d", {30.0 * value}}});
    controller.freeze_adaptation(k % 2 == 0);
    if (k % 5 == 0) controller.hold_reference();
    if (k % 3 == 0) move(controller, k);
    if (k % 7 == 0) controller.reset_state();
    std::this_thread::yield();
  }
  controller.begin_stop();
  controller.deactivate();
  controller.reset_state();
}

/// Everything that other threads may do to a session, from two of them; both elements of what is written are equal.
void use(thunder::ControlSession& session, std::atomic<int>& uses, const std::atomic<bool>& done) {
  for (int k = 0; !done; ++k, ++uses) {
    const double value = 0.2 + 0.1 * std::sin(0.1 * k);
    session.stream({value, value, 0.0, 0.0, 0.0, 0.0});
    session.set_gains({{"Lambda", {20.0 * value, 20.0 * value}}});
    session.freeze_adaptation(k % 2 == 0);
    if (k % 3 == 0) session.hold_reference();
    try {
      if (k % 3 == 0) session.follow(std::vector<thunder::TimedJoints>{{0.5, {value, value}, {}, {}}});
    } catch (const thunder::HostError&) {
      CHECK(session.is_active());  // the other thread streams
    }
    if (k % 7 == 0) session.reset_estimates();
    if (k % 11 == 0) session.stop_motion();
    const thunder::Snapshot snapshot = session.snapshot();
    CHECK(snapshot.reference[0] == snapshot.reference[1]);
    CHECK(snapshot.q[0] == snapshot.qd[0] || std::isnan(snapshot.q[0]));  // of one step
    std::this_thread::yield();
  }
}

void check_that_a_session_bears_all_threads(const std::shared_ptr<const thunder::Library>& library) {
  thunder::Options options;
  options.accepts_unstable_gains = true;
  options.approaches_jumps = false;  // the joints would go at speeds of their own
  thunder::ControlSession session(thunder::make_configuration(library, "", "joint_adaptive", {}), options);
  double place[2] = {0.2, 0.2};
  double effort[2] = {0.0, 0.0};
  std::vector<double> sample(6, 0.0);
  session.activate(place, place);
  std::atomic<int> uses{0};
  std::atomic<bool> done{false};
  std::thread first([&] { use(session, uses, done); });
  std::thread second([&] { use(session, uses, done); });
  for (int k = 0; k < 10000 || uses < 1000; ++k) {
    place[0] = place[1] = 0.2 + 1e-6 * (k % 1000);
    sample[0] = sample[1] = place[0];
    if (k % 5 == 0) session.try_stream(sample);
    session.update(k, place, place, 1e-3, effort);
    CHECK(std::isfinite(effort[0]) && std::isfinite(effort[1]));
    if (k % 64 == 0) std::this_thread::yield();
  }
  done = true;
  first.join();
  second.join();
  std::thread stopper([&] { session.begin_stop(); });
  bool has_ended = false;
  for (int k = 0; k < 20000 && !has_ended; ++k) {
    const double rest[2] = {0.0, 0.0};
    session.update(k, place, rest, 1e-3, effort);
    has_ended = session.advance_stop();
  }
  stopper.join();
  CHECK(has_ended && !session.is_commanding());
}

void check_that_a_chain_keeps_streams_out(const std::shared_ptr<const thunder::Library>& library) {
  thunder::ControlSession session(thunder::make_configuration(library, "", "joint_adaptive", {}), {});
  const double place[2] = {0.2, 0.2};
  double effort[2] = {0.0, 0.0};
  const std::vector<double> sample = {0.2, 0.2, 0.0, 0.0, 0.0, 0.0};
  session.set_chained(true);
  const double rest[2] = {0.0, 0.0};
  session.activate(place, rest);
  const auto is_refused = [&] {
    try {
      session.stream(sample);
      return false;
    } catch (const thunder::HostError&) {
      return true;
    }
  };
  CHECK(is_refused());
  session.update(0, place, rest, 1e-3, effort);
  CHECK(session.last().source == thunder::ReferenceSource::hold);
  CHECK(session.try_stream(sample));
  CHECK(!session.try_stream({0.2}));
  session.update(1, place, rest, 1e-3, effort);
  CHECK(session.last().source == thunder::ReferenceSource::stream);
  session.set_chained(false);
  CHECK(!is_refused());
}

}  // namespace

int main(int, char** arguments) {
  check_that_values_cross_whole_and_in_order();
  const std::shared_ptr<const thunder::Library> library = thunder::Library::load(arguments[1]);
  check_that_gains_change_together(library->law("joint_adaptive"));
  check_that_a_session_bears_all_threads(library);
  check_that_a_chain_keeps_streams_out(library);
  thunder::Controller controller;
  thunder::Options options;
  options.accepts_unstable_gains = true;
  options.approaches_jumps = false;
  controller.configure(library, "joint_adaptive", {}, {}, options);
  const double position[2] = {0.2, 0.2};
  const double velocity[2] = {0.0, 0.0};
  double effort[2] = {0.0, 0.0};
  controller.activate(position);
  std::atomic<int> writes{0};
  std::atomic<bool> done{false};
  std::thread writer([&] { write(controller, writes, done); });
  unsigned sources = 0;  // a bit for every kind of reference that was followed
  int k = 0;
  for (; k < 20000 || writes < 1000 || sources != 0xfu; ++k) {
    controller.update(1e-3 * k, position, velocity, 1e-3, effort);
    CHECK(controller.reference()[0] == controller.reference()[1]);
    sources |= 1u << static_cast<unsigned>(controller.reference_source());
    CHECK(std::isfinite(effort[0]) && std::isfinite(effort[1]));
    if (k % 64 == 0) std::this_thread::yield();
  }
  done = true;
  for (const int end = k + 1000; k < end; ++k) controller.update(1e-3 * k, position, velocity, 1e-3, effort);
  writer.join();
  CHECK((controller.update(1e-3 * k, position, velocity, 1e-3, effort) & thunder::kNotActive) != 0);
  CHECK(controller.counters().counts()[8] > 0);  // the freeze request arrived
  return 0;
}
