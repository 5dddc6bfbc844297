// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thunder/host/report/excitation.hpp"
#include "thunder/host/snapshot.hpp"

namespace thunder {

/// How bad it is; the numbers are those of diagnostic_msgs/DiagnosticStatus.
enum class HealthLevel : std::uint8_t { ok = 0, warn = 1, error = 2, stale = 3 };

using Counters = std::vector<std::pair<std::string, std::uint64_t>>;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// What a law says, in telemetry `change` and beside it, of the last change of what the arm carries.
struct BodyChange {
  /// The numbers are those of the telemetry: not told yet, another body, something that touches the arm, or did.
  enum class Kind : std::uint8_t { unknown = 1, body = 2, contact = 3, passed = 4 };

  Kind kind = Kind::unknown;
  double age = 0.0;                         ///< [s] Since then.
  double mass = 0.0, mass_deviation = 0.0;  ///< [kg] Of what was picked up, negative of what was put down.
};

/// The last change of an activation that lasts; none if none happened, or the law does not say all of it of one body.
std::optional<BodyChange> body_change(const thunder_law& law, const Snapshot& snapshot);

/// What is known of a controller since the last report; what a shell does not measure stays empty.
struct Condition {
  std::string state;                            ///< Of the lifecycle.
  std::optional<Snapshot> snapshot = {};        ///< None while unconfigured.
  std::optional<ExcitationReport> excitation = {};
  std::optional<BodyChange> change = {};        ///< See body_change.
  std::vector<std::string> messages = {};       ///< What a reader must know, such as why the last transition failed.
  std::string silence = {};                     ///< Why the measurements are too old; empty if they are not.
  Counters counters = {};                       ///< The shell's own faults by name; each increase is news once.
  TextPairs extra = {};                         ///< Further names and texts.
  std::vector<double> latencies = {};           ///< [s] From a measurement to its command.
  std::vector<double> intervals = {};           ///< [s] Between measurements; empty: those of the steps.
  std::optional<double> tracking_error = {};    ///< [rad or m] The largest, see TrackingError; none: not known.
  double period = 0.0;                          ///< [s] That the steps should keep: else a warning; zero: they wait for others.
  double tracking_error_limit = std::numeric_limits<double>::infinity();  ///< [rad or m] A larger one is a warning.
};

/// What is reported of it.
struct HealthReport {
  HealthLevel level = HealthLevel::ok;
  std::string message;
  TextPairs values;  ///< In order; names have their units in brackets.
};

/// Makes reports; remembers counters and steps, so that a fault is news in the report after it only.
class HealthReporter {
 public:
  HealthReport report(const Condition& condition);

 private:
  std::vector<std::string> news(const Counters& counters);
  void add_times(const Condition& condition, TextPairs& values) const;

  std::map<std::string, std::uint64_t> seen_;
  Snapshot before_;  ///< of the report before
};

}  // namespace thunder
