// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/options.hpp"

#include <cmath>
#include <string>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

void require(bool holds, const char* name, double value, const char* valid) {
  if (!holds) throw HostError(ErrorKind::law, "is " + format(value), std::string("options.") + name, valid);
}

void check_limit(const std::vector<double>& limit, const char* name) {
  for (const double value : limit) require(value > 0.0, name, value, "positive values, one per joint");
}

void check_finite_limit(const std::vector<double>& limit, const char* name) {
  for (const double value : limit) {
    require(std::isfinite(value) && value > 0.0, name, value, "positive, finite values, one per joint");
  }
}

void check_length(const std::vector<double>& limit, const char* name, int n_joints) {
  if (limit.empty() || limit.size() == static_cast<std::size_t>(n_joints)) return;
  throw HostError(ErrorKind::dimension, "has " + std::to_string(limit.size()) + " values",
                  std::string("options.") + name, std::to_string(n_joints) + ", one per joint");
}

}  // namespace

void check_options(const Options& options) {
  require(std::isfinite(options.nominal_dt) && options.nominal_dt > 0.0, "nominal_dt", options.nominal_dt,
          "a positive period [s]");
  require(std::isfinite(options.measurement_timeout) && options.measurement_timeout > options.nominal_dt,
          "measurement_timeout", options.measurement_timeout, "a finite time above nominal_dt [s]");
  require(std::isfinite(options.gap_limit) && options.gap_limit > 0.0, "gap_limit", options.gap_limit,
          "a positive, finite time [s]");
  require(std::isfinite(options.max_dt_ratio) && options.max_dt_ratio >= 1.0, "max_dt_ratio", options.max_dt_ratio,
          "a finite ratio of at least 1");
  require(options.reference_timeout > 0.0, "reference_timeout", options.reference_timeout,
          "a positive time [s], infinite for none");
  require(options.approach_patience > 0.0, "approach_patience", options.approach_patience,
          "a positive time [s], infinite for none");
  check_finite_limit(options.effort_limit, "effort_limit");
  check_finite_limit(options.effort_rate_limit, "effort_rate_limit");
  check_limit(options.velocity_limit, "velocity_limit");
  require(options.velocity_limit_patience > 0.0, "velocity_limit_patience", options.velocity_limit_patience,
          "a positive time [s], infinite for none");
  require(std::isfinite(options.velocity_stop_ratio) && options.velocity_stop_ratio >= 1.0, "velocity_stop_ratio",
          options.velocity_stop_ratio, "a finite ratio of at least 1");
  for (const double value : options.stop_damping) {
    require(std::isfinite(value) && value >= 0.0, "stop_damping", value, "finite values, not negative, one per joint");
  }
}

void check_options(const Options& options, int n_joints) {
  check_options(options);
  check_length(options.effort_limit, "effort_limit", n_joints);
  check_length(options.effort_rate_limit, "effort_rate_limit", n_joints);
  check_length(options.velocity_limit, "velocity_limit", n_joints);
  check_length(options.stop_damping, "stop_damping", n_joints);
}

}  // namespace thunder
