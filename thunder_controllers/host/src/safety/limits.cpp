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

Limits described_limits(const thunder_library& library) {
  Limits limits;
#define THUNDER_LIMIT(name, field, model, text) limits.name.assign(library.field, library.field + library.n_joints);
  THUNDER_LIMITS(THUNDER_LIMIT)
#undef THUNDER_LIMIT
  return limits;
}

Limits limits_of(const Options& options, const thunder_library& library) {
  Limits limits = described_limits(library);
  if (!options.velocity_limit.empty()) limits.velocity = options.velocity_limit;
  if (!options.effort_limit.empty()) limits.effort = options.effort_limit;
  if (!options.effort_rate_limit.empty()) limits.effort_rate = options.effort_rate_limit;
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

double Limits::velocity_towards(std::size_t joint, double q, double direction) const noexcept {
  const double deceleration = velocity_deceleration[joint];
  if (!std::isfinite(deceleration)) return velocity[joint];
  const double distance = std::max(0.0, direction < 0.0 ? q - position_lower[joint] : position_upper[joint] - q);
  return std::min(velocity[joint], std::max(0.0, std::sqrt(2.0 * deceleration * distance) - velocity_offset[joint]));
}

double Limits::effort_at(std::size_t joint, double qd) const noexcept {
  const double corner = effort_corner_velocity[joint], no_load = effort_no_load_velocity[joint];
  if (!std::isfinite(no_load)) return effort[joint];
  return effort[joint] * std::clamp((no_load - std::abs(qd)) / (no_load - corner), 0.0, 1.0);
}

double Limits::largest_ratio(const double* q, const double* qd) const noexcept {
  double largest = 0.0;
  for (std::size_t i = 0; i < velocity.size(); ++i) {
    if (!std::isfinite(velocity[i])) continue;
    const double limit = std::max(velocity_towards(i, q[i], qd[i]), kRestShare * velocity[i]);
    largest = std::max(largest, 1.0 + (std::abs(qd[i]) - limit) / velocity[i]);
  }
  return largest;
}

double largest_ratio(const double* qd, const std::vector<double>& velocity_limit) noexcept {
  double largest = 0.0;
  for (std::size_t i = 0; i < velocity_limit.size(); ++i) largest = std::max(largest, std::abs(qd[i]) / velocity_limit[i]);
  return largest;
}

}  // namespace thunder
