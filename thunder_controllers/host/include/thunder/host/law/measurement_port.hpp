// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder {

/// The further measurements of a law: written by the thread that has them, read by the updating thread.
///
/// What was not written has its default; what was stays until it is written again.
class MeasurementPort {
 public:
  explicit MeasurementPort(const thunder_law& law);

  /// Writing thread: one measurement, whatever its values; a step is not made with one that is not finite.
  ///
  /// Throws HostError(name_not_found) or HostError(dimension); nothing changes then.
  void write(const std::string& name, const std::vector<double>& values);

  /// Updating thread: take over what was written.
  void refresh() noexcept { buffer_.fetch(); }
  /// Updating thread: the flat measurements.
  const double* values() const noexcept { return buffer_.value().data(); }
  bool is_finite() const noexcept { return all_finite(values(), law_->measurements.size); }

 private:
  const thunder_law* law_;
  std::vector<double> written_;
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
