// SPDX-License-Identifier: Apache-2.0
//
// Two controllers on one simulated elbow that turns without end: one reads, and is told, positions at random turns, the
// other never does. Their efforts are the same to rounding, whatever is asked of them.
// Usage: host_circles <libpendulum2.so, its elbow on a circle> [updates]
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "check.hpp"
#include "thunder/host/motion/circles.hpp"
#include "thunder/host/session.hpp"

namespace {

using thunder::kTurn;
constexpr double kPeriod = 1e-3;

void check_unwrapping(const thunder_library& library, std::mt19937_64& random) {
  const thunder::Circles circles(library);
  std::uniform_real_distribution<double> place(-1e3, 1e3), near(-3.14, 3.14);
  std::uniform_int_distribution<int> turns(-1000, 1000);
  for (int k = 0; k < 100000; ++k) {
    const double expected[2] = {place(random), place(random)}, way = near(random);
    double q[2] = {place(random), expected[1] + way + kTurn * turns(random)};
    const double before = q[0];
    circles.unwrap(expected, q);
    CHECK(q[0] == before);
    CHECK(std::abs(q[1] - expected[1] - way) < 1e-9);
    double same[2] = {0.0, expected[1] + way};
    circles.unwrap(expected, same);
    CHECK(same[1] == expected[1] + way);  // bit for bit
  }
  double nowhere[2] = {0.0, std::nan("")};
  const double zeros[2] = {0.0, 0.0};
  circles.unwrap(zeros, nowhere);
  CHECK(std::isnan(nowhere[1]));
}

/// The elbow of a crude pendulum: the shoulder is held.
struct Elbow {
  double q = 3.0, qd = 0.0;
  void step(double effort) {
    qd += kPeriod * (effort - 0.8 * 9.81 * 0.4 * std::sin(0.1 + q) - 0.2 * qd) / 0.2;
    q += kPeriod * qd;
  }
};

void compare(std::shared_ptr<const thunder::Library> library, std::mt19937_64& random, long updates) {
  const auto make = [&] {
    return std::make_unique<thunder::ControlSession>(thunder::make_configuration(library, "", "joint_adaptive", {}),
                                                     thunder::Options{});
  };
  const auto whole = make(), wrapped = make();
  std::uniform_int_distribution<int> turns(-4, 4), choice(0, 999);
  std::uniform_real_distribution<double> way(-2.0, 2.0);
  Elbow elbow;
  const double start[2] = {0.1, elbow.q}, rest[2] = {};
  whole->activate(start, rest);
  wrapped->activate(start, rest);
  double goal = elbow.q, effort[2] = {}, other[2] = {};
  const double first = elbow.q;
  double furthest = 0.0;
  for (long k = 1; k <= updates; ++k) {
    const double qd[2] = {0.0, elbow.qd};
    const double q[2] = {0.1, elbow.q}, read[2] = {0.1, elbow.q + kTurn * turns(random)};
    const auto stamp = static_cast<std::int64_t>(k * 1000000);
    const double t = kPeriod * static_cast<double>(k);
    const thunder::GuardBits guards = whole->update(stamp, t, q, qd, kPeriod, effort);
    CHECK(wrapped->update(stamp, t, read, qd, kPeriod, other) == guards);
    CHECK((guards & thunder::kFaults) == 0);
    CHECK(std::abs(effort[0] - other[0]) < 1e-6 && std::abs(effort[1] - other[1]) < 1e-6);
    CHECK(std::abs(wrapped->last().q[1] - whole->last().q[1]) < 1e-9);
    elbow.step(effort[1]);
    furthest = std::max(furthest, std::abs(elbow.q - first));
    if (choice(random) != 0) continue;
    goal = whole->last().reference[1] + 2.0 + 0.5 * way(random);  // on and on, the short way
    whole->follow({thunder::TimedJoints{1.5, {0.1, goal}}});
    wrapped->follow({thunder::TimedJoints{1.5, {0.1, goal + kTurn * turns(random)}}});
  }
  CHECK(updates < 100000 || furthest > 10.0 * kTurn);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  std::mt19937_64 random(20260);
  const auto library = thunder::Library::load(argv[1]);
  check_unwrapping(library->data(), random);
  compare(library, random, argc > 2 ? std::atol(argv[2]) : 1000000);
}
