/* A law at 1 kHz in a loop with a simple plant: the host loads the library, guards the law and plans the motion to a goal.
 *
 * Usage: closed_loop <planar3r_generatedFiles>. Prints where the arm is in the end [rad]; status 0 if that is the goal.
 */
#include <Eigen/Cholesky>
#include <cstdio>

#include "thunder/host/controller.hpp"
#include "thunder/host/error.hpp"
#include "thunder_planar3r.h"

namespace {

constexpr double kPeriod = 1e-3;  // [s]
constexpr double kDuration = 3.0;  // [s]

/* The true arm: q'' = M^-1 (effort - C q' - G), by semi-implicit steps. A real one has measurements and motors here. */
struct Plant {
  thunder_planar3r robot;
  Eigen::Vector3d q = Eigen::Vector3d(0.2, -0.4, 0.3), qd = Eigen::Vector3d::Zero();

  void step(const Eigen::Vector3d& effort) {
    robot.set_q(q);
    robot.set_dq(qd);
    qd += kPeriod * robot.get_M().llt().solve(effort - robot.get_C() * qd - robot.get_G());
    q += kPeriod * qd;
  }
};

int run(const char* folder) {
  Plant plant;
  const Eigen::Vector3d goal(0.8, 0.1, -0.2);
  double t = 0.0;

  thunder::Options options;
  options.nominal_dt = kPeriod;
  options.clock = [&t] { return t; };  // not in real time; leave it out on a robot

  thunder::Controller controller;
  controller.configure(thunder::Library::load(folder), "pd_plus", {}, {}, options);
  controller.activate(plant.q.data(), plant.qd.data());
  controller.follow({thunder::TimedJoints{2.0, {goal[0], goal[1], goal[2]}}});

  Eigen::Vector3d effort;
  while (t < kDuration) {
    t += kPeriod;
    const auto guards = controller.update(t, plant.q.data(), plant.qd.data(), kPeriod, effort.data());
    if (const char* fault = thunder::fault_text(guards)) {
      std::fprintf(stderr, "t = %.3f s: %s\n", t, fault);
      return 1;
    }
    plant.step(effort);
  }
  for (const double value : plant.q) std::printf("%.9f\n", value);
  return (plant.q - goal).norm() < 1e-3 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: closed_loop <planar3r_generatedFiles>\n");
    return 2;
  }
  try {
    return run(arguments[1]);
  } catch (const thunder::HostError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
