/* The torque M (qdd_d + K_v e') + C qd + G at one state, with the generated class; the same as computed_torque.py. */
#include <cstdio>

#include "thunder_planar3r.h"

int main() {
  const Eigen::Vector3d q(0.1, 0.2, 0.3), qd(0.4, 0.5, 0.6), qd_desired(0.7, 0.8, 0.9), qdd_desired(1.0, 1.1, 1.2);
  const double K_v = 20.0;
  thunder_planar3r robot;
  robot.set_q(q);
  robot.set_dq(qd);
  const Eigen::Vector3d acceleration = qdd_desired + K_v * (qd_desired - qd);
  const Eigen::Vector3d torque = robot.get_M() * acceleration + robot.get_C() * qd + robot.get_G();
  for (const double value : torque) std::printf("%.17g\n", value);
  return 0;
}
