/* Identities that the library of robot $robot must satisfy, at a few states. Exit status 0 when they hold. */
#include <cmath>
#include <cstdio>

#include "thunder_$robot.h"

namespace {

constexpr int n = $n, nq = $nq, nv = $nv;
using Vector = Eigen::Matrix<double, nv, 1>;

template <int size = nv>
Eigen::Matrix<double, size, 1> signal(int k, double scale) {
  Eigen::Matrix<double, size, 1> v;
  for (int i = 0; i < size; ++i) v[i] = scale * std::sin(1.0 + 1.7 * i + 2.3 * k);
  return v;
}

bool small(double error, double scale, const char* what) {
  if (error <= 1e-9 * (1.0 + scale)) return true;
  std::printf("%s: off by %g of %g\n", what, error, scale);
  return false;
}

}  // namespace

int main() {
  Eigen::Matrix<double, 10 * n, 1> pi;
  const double values[10 * n] = {$pi};
  for (int i = 0; i < 10 * n; ++i) pi[i] = values[i];
  const double rotors[nv] = {$rotors};
  thunder_$robot robot;
  bool good = true;
  for (int k = 0; k < 5; ++k) {
    const Vector dq_r = signal(k, 1.1), ddq_r = signal(k + 20, 1.3);
    robot.setArguments(signal<nq>(k, 1.5), signal(k + 10, 0.9), dq_r, ddq_r);
    const auto M = robot.get_M();
    const auto C = robot.get_C();
    const Vector expected = M * ddq_r + C * dq_r + robot.get_G();
    Vector effort = robot.get_Yr() * pi;
    for (int i = 0; i < nv; ++i) effort[i] += rotors[i] * ddq_r[i];
    good &= small((effort - expected).norm(), expected.norm(), "Yr pi and rotors = M ddq_r + C dq_r + G");
    good &= small((robot.get_M_dot() - C - C.transpose()).norm(), C.norm(), "M_dot = C + C^T");
    good &= small((M - M.transpose()).norm(), M.norm(), "M = M^T");
  }
  std::printf("$robot: %s\n", good ? "identities hold" : "FAILED");
  return good ? 0 : 1;
}
