// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/measurement.hpp"

namespace thunder {

double total_delay(const Options& options) {
  constexpr double kPi = 3.14159265358979323846;
  const double half_period = 0.5 * options.nominal_dt;
  const double filter = 1.0 / (2.0 * kPi * options.velocity_cutoff);
  const double difference = options.velocity_by_differences ? half_period : 0.0;
  return options.dead_time + options.drive_lag + filter + difference + half_period;
}

}  // namespace thunder
