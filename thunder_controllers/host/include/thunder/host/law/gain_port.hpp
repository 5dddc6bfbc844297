// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder {

/// The gains with some of them changed. Throws as write_entries does, and HostError(law) where gains `<name>_lower` and
/// `<name>_upper` of one size, which bound the same quantity, cross.
std::vector<double> changed_gains(const thunder_law& law, std::vector<double> gains, const NamedValues& values);

/// The gains of a law: checked and written by the configuring thread, read by the updating thread.
class GainPort {
 public:
  GainPort(const thunder_law& law, const NamedValues& values);

  /// All gains with some of them changed, see changed_gains.
  std::vector<double> changed(const NamedValues& values) const { return changed_gains(*law_, written_, values); }
  /// Configuring thread: what `changed` gave; the updating thread takes all over together.
  void write(std::vector<double> gains);
  /// Configuring thread: all gains as written last.
  const std::vector<double>& written() const noexcept { return written_; }

  /// Updating thread: the newest gains.
  const double* refresh() noexcept {
    buffer_.fetch();
    return buffer_.value().data();
  }

 private:
  const thunder_law* law_;
  std::vector<double> written_;
  TripleBuffer<std::vector<double>> buffer_;
};

}  // namespace thunder
