// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/gain_port.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

constexpr const char* kLower = "_lower";
constexpr const char* kUpper = "_upper";

const thunder_entry* upper_of(const thunder_signal& gains, const thunder_entry& lower) {
  const std::string name = lower.name;
  const std::size_t end = name.size() - std::min(name.size(), std::strlen(kLower));
  if (name.substr(end) != kLower) return nullptr;
  const thunder_entry* upper = entry_if_any(gains, name.substr(0, end) + kUpper);
  return upper && entry_size(*upper) == entry_size(lower) ? upper : nullptr;
}

/// Where gains bound the same quantity from below and above, they must not cross.
void check_ranges(const thunder_law& law, const std::vector<double>& gains) {
  for (const thunder_entry& lower : Entries{law.gains}) {
    const thunder_entry* upper = upper_of(law.gains, lower);
    for (int k = 0; upper && k < entry_size(lower); ++k) {
      const double from = gains[static_cast<std::size_t>(lower.offset + k)];
      const double to = gains[static_cast<std::size_t>(upper->offset + k)];
      if (from <= to) continue;
      throw HostError(ErrorKind::law, "element " + std::to_string(k) + " is " + format(from),
                      std::string(law.name) + ".gains." + lower.name, "at most " + format(to) + ", " + upper->name);
    }
  }
}

}  // namespace

std::vector<double> changed_gains(const thunder_law& law, std::vector<double> gains, const NamedValues& values) {
  write_entries(law.gains, values, std::string(law.name) + ".gains", gains);
  check_ranges(law, gains);
  return gains;
}

GainPort::GainPort(const thunder_law& law, const NamedValues& values)
    : law_(&law), written_(changed_gains(law, default_values(law.gains), values)), buffer_(written_) {}

void GainPort::write(std::vector<double> gains) {
  written_ = std::move(gains);
  std::copy(written_.begin(), written_.end(), buffer_.slot().begin());
  buffer_.publish();
}

}  // namespace thunder
