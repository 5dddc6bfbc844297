// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder {

/// The further measurements of a law: written by the thread that has them, read by the updating thread.
///
/// What was not written has its default; what was stays until it is written again. An entry with an age is written with
/// the time at which it was measured, and the age is filled in at every step.
class MeasurementPort {
 public:
  explicit MeasurementPort(const thunder_law& law);

  /// Writing thread: one measurement, whatever its values; a step is not made with one that is not finite.
  ///
  /// Args: time, of the measurement [s], of one that has an age; those must be finite, for the law does without them.
  ///
  /// Throws HostError(name_not_found), HostError(dimension), or HostError(law) for a time that is missing, of no use or not
  /// finite, for an age, and for values with an age that are not finite; nothing changes then.
  void write(const std::string& name, const std::vector<double>& values, std::optional<double> time = std::nullopt);
  /// Whether a measurement has an age. Throws HostError(name_not_found).
  bool has_age(const std::string& name) const;
  /// Writing thread: take all that has an age for not written, as where time goes on elsewhere.
  void forget();

  /// Updating thread: take over what was written, as it is at a time [s] on the clock of measurements.
  void refresh(double time) noexcept;
  /// Updating thread: the flat measurements.
  const double* values() const noexcept { return current_.data(); }
  bool is_finite() const noexcept { return all_finite(values(), law_->measurements.size); }

 private:
  void publish();

  const thunder_law* law_;
  std::vector<const thunder_entry*> ages_;
  std::vector<double> written_, current_;  ///< written_ has times where current_ has ages
  TripleBuffer<std::vector<double>> buffer_;
};

/// What a shell knows how to feed, beside joint states and the standard reference.
struct Feeds {
  std::vector<std::string> measurements;
  std::vector<std::string> references;
};

/// Throws HostError(law), `where` naming the shell, unless it can feed all that the law asks for.
void check_feeds(const thunder_law& law, int n_joints, const Feeds& feeds, const std::string& where);

}  // namespace thunder
