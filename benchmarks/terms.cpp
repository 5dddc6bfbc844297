// SPDX-License-Identifier: Apache-2.0
//
// M, C and G of a large robot, and their derivatives in time, beside Pinocchio's M, C and G.
//
//   terms ROBOT BATCHES BATCH_NS      check M, C, G and the rate of M, then two warm passes; exit status 1 if a number differs
//
// Output: one line per result, fields separated by tabs; humanoid.py reads it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "humanoid_gen.h"
#include "peer.hpp"
#include "robot.hpp"
#include "timing.hpp"

namespace {

using bench::Row;
using bench::States;
using Function = decltype(&humanoid_M);

constexpr double kTolerance = 1e-9;
constexpr std::size_t kWork = 1 << 16;

/// What the generated functions are called with, and where they put their results.
struct Calls {
  explicit Calls(const States& states) : s(states), n(states.qd.rows()), M(n, n), C(n, n), G(n), work(kWork) {}

  void call(Function function, double* result, std::size_t state) {
    const auto k = static_cast<Eigen::Index>(state);
    const double* arguments[] = {s.q.col(k).data(), s.qd.col(k).data(), s.qdd.col(k).data()};
    double* results[] = {result};
    function(arguments, results, nullptr, work.data(), 0);
  }
  void terms(std::size_t k) {
    call(humanoid_M, M.data(), k);
    call(humanoid_C, C.data(), k);
    call(humanoid_G, G.data(), k);
  }
  void rates(std::size_t k) {
    call(humanoid_M_dot, M.data(), k);
    call(humanoid_C_dot, C.data(), k);
    call(humanoid_G_dot, G.data(), k);
  }

  const States& s;
  Eigen::Index n;
  Eigen::MatrixXd M, C;
  Eigen::VectorXd G;
  std::vector<double> work;
};

/// Relative to the largest element; infinite if there is a NaN.
double deviation(const Eigen::MatrixXd& actual, const Eigen::MatrixXd& expected) {
  const double error = (actual - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
  return error <= kTolerance ? error : std::numeric_limits<double>::infinity();
}

bool check(Calls& calls, bench::Peer& peer) {
  const States& s = calls.s;
  double worst = 0.0;
  for (std::size_t k = 0; k < bench::kStates; k += 16) {
    calls.terms(k);
    const auto c = static_cast<Eigen::Index>(k);
    const Eigen::MatrixXd M = peer.mass(s.q.col(c)), C = peer.coriolis(s.q.col(c), s.qd.col(c));
    worst = std::max({worst, deviation(calls.M, M), deviation(calls.C, C), deviation(calls.G, peer.gravity(s.q.col(c)))});
    calls.rates(k);
    worst = std::max(worst, deviation(calls.M, C + C.transpose()));
    if (!(worst <= kTolerance)) break;
  }
  std::printf("check\t%.3e\t%.0e\n", worst, kTolerance);
  return worst <= kTolerance;
}

/// The rows of Pinocchio that are added up: the faster of two ways each, which the reader of the output chooses.
std::vector<Row> rows(Calls& calls, bench::Peer& peer) {
  std::vector<Row> result;
  for (Row& row : peer.rows(calls.s)) {
    if (row.name.rfind("M: ", 0) == 0 || row.name.rfind("C: ", 0) == 0 || row.name.rfind("G: ", 0) == 0) {
      row.name = "pinocchio " + row.name;
      result.push_back(std::move(row));
    }
  }
  result.push_back({"M, C, G", [&calls](std::size_t k) { calls.terms(k); }});
  result.push_back({"M_dot, C_dot, G_dot", [&calls](std::size_t k) { calls.rates(k); }});
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count != 4) throw std::runtime_error("usage: terms ROBOT BATCHES BATCH_NS");
    const bench::Robot robot = bench::read_robot(arguments[1]);
    const States states = bench::make_states(robot);
    bench::Peer peer(robot);
    Calls calls(states);
    if (!check(calls, peer)) return 1;
    const std::vector<Row> all = rows(calls, peer);
    for (const char* pass : {"warm1", "warm2"}) {
      const auto times = bench::time_warm(all, std::stoi(arguments[2]), std::stod(arguments[3]));
      for (std::size_t i = 0; i < all.size(); ++i) {
        std::printf("%s\t%s", pass, all[i].name.c_str());
        for (const double value : times[i]) std::printf("\t%.2f", value);
        std::printf("\n");
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "terms: %s\n", error.what());
    return 2;
  }
}
