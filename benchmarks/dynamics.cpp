// SPDX-License-Identifier: Apache-2.0
//
// Generated code beside Pinocchio, in one binary: first whether both give the same numbers, then how long they take.
//
//   dynamics ROBOT check                                          exit status 1 if a number differs
//   dynamics ROBOT time BATCHES BATCH_NS SAMPLES BYTES [LABEL LIB]…   check, two warm passes, one cold pass
//   dynamics ROBOT count ROW CALLS [LABEL LIB]…                   one row CALLS times, for an instruction counter
//   dynamics ROBOT rows [LABEL LIB]…                              names of the rows
//
// Output: one line per result, fields separated by tabs; run.py reads it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compiled.hpp"
#include "peer.hpp"
#include "robot.hpp"
#include "timing.hpp"

namespace {

using bench::Compiled;
using bench::Peer;
using bench::Row;
using bench::States;
using Libraries = std::vector<std::pair<std::string, std::string>>;

constexpr double kTolerance = 1e-9;

/// Largest deviation over all states, relative to the largest element there; NaN counts as infinite.
template <typename Expected>
double deviation(const std::string& name, const States& states, Expected expected) {
  Compiled function(name, states);
  double worst = 0.0;
  for (std::size_t k = 0; k < bench::kStates; ++k) {
    function.call(k);
    const Eigen::MatrixXd reference = expected(static_cast<Eigen::Index>(k));
    const double error = (function.result() - reference).cwiseAbs().maxCoeff() / reference.cwiseAbs().maxCoeff();
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

/// Compare every function with Pinocchio and print how far apart they are.
bool check(Peer& peer, const States& s) {
  const std::pair<const char*, double> results[] = {
      {"J_ee", deviation("J_ee", s, [&](auto k) { return peer.jacobian(s.q.col(k)); })},
      {"J_ee_dot", deviation("J_ee_dot", s, [&](auto k) { return peer.jacobian_dot(s.q.col(k), s.qd.col(k)); })},
      {"M", deviation("M", s, [&](auto k) { return peer.mass(s.q.col(k)); })},
      {"C", deviation("C", s, [&](auto k) { return peer.coriolis(s.q.col(k), s.qd.col(k)); })},
      {"G", deviation("G", s, [&](auto k) { return peer.gravity(s.q.col(k)); })},
      {"inverse_dynamics",
       deviation("inverse_dynamics", s,
                 [&](auto k) { return peer.inverse_dynamics(s.q.col(k), s.qd.col(k), s.qdd.col(k)); })},
      {"M_dot", deviation("M_dot", s, [&](auto k) { return peer.mass_dot(s.q.col(k), s.qd.col(k)); })},
      {"Y", deviation("Y", s, [&](auto k) { return peer.regressor(s.q.col(k), s.qd.col(k), s.qdd.col(k)); })},
      {"Yr", deviation("Yr", s, [&](auto k) {
         return peer.slotine_li_regressor(s.q.col(k), s.qd.col(k), s.qd_r.col(k), s.qdd_r.col(k));
       })}};
  bool good = true;
  for (const auto& [name, error] : results) {
    std::printf("check\t%s\t%.3e\t%.0e\n", name, error, kTolerance);
    good = good && error <= kTolerance;
  }
  return good;
}

void print(const char* kind, const std::vector<Row>& rows, const std::vector<std::vector<double>>& times) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::printf("%s\t%s", kind, rows[i].name.c_str());
    for (const double value : times[i]) std::printf("\t%.2f", value);
    std::printf("\n");
  }
  std::fflush(stdout);
}

std::vector<Row> all_rows(Peer& peer, const States& states, const Libraries& libraries) {
  std::vector<Row> rows = peer.rows(states);
  for (Row& row : rows) row.name = "pinocchio " + row.name;
  for (Row& row : bench::compiled_rows(states, libraries)) rows.push_back(std::move(row));
  return rows;
}

void time_all(const std::vector<Row>& rows, int batches, double batch_ns, int samples, std::size_t bytes) {
  print("warm1", rows, bench::time_warm(rows, batches, batch_ns));
  print("warm2", rows, bench::time_warm(rows, batches, batch_ns));
  print("cold", rows, bench::time_cold(rows, samples, bytes));
}

void count(const std::vector<Row>& rows, const std::string& name, long calls) {
  for (const Row& row : rows) {
    if (row.name != name) continue;
    for (long k = 0; k < calls; ++k) row.call(static_cast<std::size_t>(k) % bench::kStates);
    return;
  }
  throw std::runtime_error("no row '" + name + "'");
}

Libraries pairs(const std::vector<std::string>& words, std::size_t first) {
  Libraries libraries;
  for (std::size_t i = first; i + 1 < words.size(); i += 2) libraries.emplace_back(words[i], words[i + 1]);
  return libraries;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 2) throw std::runtime_error("usage: dynamics ROBOT check|time|count|rows …");
  const bench::Robot robot = bench::read_robot(words[0]);
  const States states = bench::make_states(robot);
  Peer peer(robot);
  const std::string& mode = words[1];
  if (mode == "rows") {
    for (const Row& row : all_rows(peer, states, pairs(words, 2))) std::printf("row\t%s\n", row.name.c_str());
  } else if (mode == "count") {
    count(all_rows(peer, states, pairs(words, 4)), words.at(2), std::stol(words.at(3)));
  } else if (mode == "check" || mode == "time") {
    std::printf("version\tEigen\t%d.%d.%d\n", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
    if (!check(peer, states)) return 1;
    if (mode == "check") return 0;
    time_all(all_rows(peer, states, pairs(words, 6)), std::stoi(words.at(2)), std::stod(words.at(3)),
             std::stoi(words.at(4)), std::stoul(words.at(5)));
  } else {
    throw std::runtime_error("no mode '" + mode + "'; valid: check, time, count, rows");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dynamics: %s\n", error.what());
    return 2;
  }
}
