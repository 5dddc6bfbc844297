// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/limits.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kMarginShare = 0.005;
constexpr double kLargestMargin = 0.025;  // [rad or m]

/// Names of the joints whose value is infinite.
std::vector<std::string> without(const std::vector<double>& limit, const thunder_library& library) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < limit.size(); ++i) {
    if (!std::isfinite(limit[i])) names.emplace_back(library.joint_names[i]);
  }
  return names;
}

void note(const char* code, const std::vector<std::string>& joints, const std::string& text, Limits& limits) {
  if (!joints.empty()) limits.notes.push_back({code, text + ": " + join(joints)});
}

}  // namespace

Limits limits_of(const Options& options, const thunder_library& library) {
  const auto chosen = [&library](const std::vector<double>& option, const double* values) {
    return option.empty() ? std::vector<double>(values, values + library.n_joints) : option;
  };
  Limits limits;
  limits.position_lower = chosen({}, library.position_lower);
  limits.position_upper = chosen({}, library.position_upper);
  limits.velocity = chosen(options.velocity_limit, library.velocity_limit);
  limits.acceleration = chosen({}, library.acceleration_limit);
  limits.effort = chosen(options.effort_limit, library.effort_limit);
  limits.effort_rate = chosen(options.effort_rate_limit, library.effort_rate_limit);
  if (const std::vector<std::string> joints = without(limits.effort, library); !joints.empty()) {
    throw HostError(ErrorKind::law, "no effort limit: " + join(joints), std::string("robot ") + library.robot,
                    "thunder.limits.effort in the robot file, or the option effort_limit");
  }
  for (std::size_t i = 0; i < limits.effort.size(); ++i) {
    const double range = limits.position_upper[i] - limits.position_lower[i];
    limits.position_margin.push_back(std::min(kMarginShare * range, kLargestMargin));
  }
  const std::vector<std::string> rates = without(limits.effort_rate, library);
  const double ramp = kDefaultRampPeriods * options.nominal_dt;
  note("no_effort_rate_limit", rates, "no effort rate limit is given; from zero to the effort limit it takes " + format(ramp) + " s", limits);
  for (std::size_t i = 0; i < limits.effort_rate.size(); ++i) {
    if (!std::isfinite(limits.effort_rate[i])) limits.effort_rate[i] = limits.effort[i] / ramp;
  }
  note("no_velocity_limit", without(limits.velocity, library), "no velocity limit is given, so no speed is too high", limits);
  std::vector<double> range = limits.position_upper;
  for (std::size_t i = 0; i < range.size(); ++i) {
    range[i] -= limits.position_lower[i];
    if (library.joint_topology[i] == THUNDER_TOPOLOGY_CIRCLE) range[i] = 0.0;  // has none to be given
  }
  note("no_position_limit", without(range, library), "no position limits are given, so no position is out of range", limits);
  return limits;
}

double largest_ratio(const double* qd, const std::vector<double>& velocity_limit) noexcept {
  double largest = 0.0;
  for (std::size_t i = 0; i < velocity_limit.size(); ++i) largest = std::max(largest, std::abs(qd[i]) / velocity_limit[i]);
  return largest;
}

}  // namespace thunder
