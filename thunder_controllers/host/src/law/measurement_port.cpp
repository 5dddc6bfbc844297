// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/measurement_port.hpp"

#include <algorithm>

#include "thunder/host/error.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder {
namespace {

void check_fed(const thunder_signal& signal, int first, const char* what, const std::vector<std::string>& fed,
               const std::string& law, const std::string& where) {
  for (const thunder_entry& entry : Entries{signal}) {
    if (entry.offset < first || std::find(fed.begin(), fed.end(), entry.name) != fed.end()) continue;
    throw HostError(ErrorKind::law, "the law " + law + " needs the " + what + " '" + entry.name + "'", where,
                    join(fed));
  }
}

}  // namespace

MeasurementPort::MeasurementPort(const thunder_law& law)
    : law_(&law), written_(default_values(law.measurements)), buffer_(written_) {}

void MeasurementPort::write(const std::string& name, const std::vector<double>& values) {
  const std::string where = std::string(law_->name) + ".measurements";
  const thunder_entry& entry = find_entry(law_->measurements, name, where);
  if (values.size() != static_cast<std::size_t>(entry_size(entry))) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(values.size()) + " values", where + "." + name,
                    std::to_string(entry_size(entry)));
  }
  std::copy(values.begin(), values.end(), written_.begin() + entry.offset);
  std::copy(written_.begin(), written_.end(), buffer_.slot().begin());
  buffer_.publish();
}

void check_feeds(const thunder_law& law, int n_joints, const Feeds& feeds, const std::string& where) {
  check_fed(law.measurements, 0, "measurement", feeds.measurements, law.name, where);
  const int standard = SampleLayout(law, n_joints).standard;
  check_fed(law.reference, standard, "further reference", feeds.references, law.name, where);
}

}  // namespace thunder
