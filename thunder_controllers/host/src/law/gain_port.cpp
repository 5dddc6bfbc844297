// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/gain_port.hpp"

#include <algorithm>

namespace thunder {
namespace {

std::vector<double> initial_gains(const thunder_law& law, const NamedValues& values) {
  std::vector<double> gains = default_values(law.gains);
  write_entries(law.gains, values, std::string(law.name) + ".gains", gains);
  return gains;
}

}  // namespace

GainPort::GainPort(const thunder_law& law, const NamedValues& values)
    : law_(&law), written_(initial_gains(law, values)), buffer_(written_) {}

void GainPort::write(const std::string& name, const std::vector<double>& values) {
  write(NamedValues{{name, values}});
}

void GainPort::write(const NamedValues& values) {
  std::vector<double> candidate = written_;
  write_entries(law_->gains, values, std::string(law_->name) + ".gains", candidate);
  written_.swap(candidate);
  std::copy(written_.begin(), written_.end(), buffer_.slot().begin());
  buffer_.publish();
}

}  // namespace thunder
