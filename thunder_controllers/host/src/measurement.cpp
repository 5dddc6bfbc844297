// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/measurement.hpp"

namespace thunder {

double velocity_delay(const Options& options) {
  constexpr double kPi = 3.14159265358979323846;
  const double difference = options.velocity_by_differences ? 0.5 * options.nominal_dt : 0.0;
  return 1.0 / (2.0 * kPi * options.velocity_cutoff) + difference;
}

double total_delay(const Options& options) {
  return options.dead_time + options.drive_lag + velocity_delay(options) + 0.5 * options.nominal_dt;
}

}  // namespace thunder
