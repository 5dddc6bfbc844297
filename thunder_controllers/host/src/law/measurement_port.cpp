// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/measurement_port.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thunder/host/error.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder {
namespace {

void check_fed(const thunder_signal& signal, int first, const char* what, const std::vector<std::string>& fed,
               const std::string& law, const std::string& where) {
  for (const thunder_entry& entry : Entries{signal}) {
    const bool is_filled_in = (entry.flags & THUNDER_ENTRY_AGE) != 0;
    if (entry.offset < first || is_filled_in || std::find(fed.begin(), fed.end(), entry.name) != fed.end()) continue;
    throw HostError(ErrorKind::law, "the law " + law + " needs the " + what + " '" + entry.name + "'", where,
                    join(fed));
  }
}

/// The age of an entry, which follows it; null if it has none.
const thunder_entry* age_of(const thunder_law& law, const thunder_entry& entry) {
  const thunder_entry* next = &entry + 1;
  const bool is_last = next == law.measurements.entries + law.measurements.n_entries;
  return is_last || (next->flags & THUNDER_ENTRY_AGE) == 0 ? nullptr : next;
}

std::vector<const thunder_entry*> ages(const thunder_law& law) {
  std::vector<const thunder_entry*> found;
  for (const thunder_entry& entry : Entries{law.measurements}) {
    if ((entry.flags & THUNDER_ENTRY_AGE) != 0) found.push_back(&entry);
  }
  return found;
}

}  // namespace

MeasurementPort::MeasurementPort(const thunder_law& law)
    : law_(&law),
      ages_(ages(law)),
      written_(default_values(law.measurements)),
      current_(written_),
      buffer_(written_) {
  forget();
}

bool MeasurementPort::has_age(const std::string& name) const {
  return age_of(*law_, find_entry(law_->measurements, name, std::string(law_->name) + ".measurements")) != nullptr;
}

void MeasurementPort::forget() {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  for (const thunder_entry* age : ages_) written_[static_cast<std::size_t>(age->offset)] = kNever;
  publish();
}

void MeasurementPort::refresh(double time) noexcept {
  if (!buffer_.fetch() && ages_.empty()) return;
  const std::vector<double>& taken = buffer_.value();
  std::copy(taken.begin(), taken.end(), current_.begin());
  for (const thunder_entry* age : ages_) {
    double& value = current_[static_cast<std::size_t>(age->offset)];
    value = std::min(std::max(time - value, 0.0), *age->defaults);  // a clock may be a little ahead
  }
}

void MeasurementPort::publish() {
  std::copy(written_.begin(), written_.end(), buffer_.slot().begin());
  buffer_.publish();
}

void MeasurementPort::write(const std::string& name, const std::vector<double>& values, std::optional<double> time) {
  const std::string where = std::string(law_->name) + ".measurements";
  const thunder_entry& entry = find_entry(law_->measurements, name, where);
  if (values.size() != static_cast<std::size_t>(entry_size(entry))) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(values.size()) + " values", where + "." + name,
                    std::to_string(entry_size(entry)));
  }
  const thunder_entry* age = age_of(*law_, entry);
  const auto refuse = [&](const char* what, const char* valid) {
    throw HostError(ErrorKind::law, what, where + "." + name, valid);
  };
  if ((entry.flags & THUNDER_ENTRY_AGE) != 0) refuse("is an age", "the measurement before it, with its time");
  if (!age && time) refuse("has no age", "no time");
  if (age && !(time && std::isfinite(*time))) refuse("comes without the time at which it was measured", "a finite time");
  if (age && !all_finite(values.data(), entry_size(entry))) refuse("is not finite", "numbers");
  std::copy(values.begin(), values.end(), written_.begin() + entry.offset);
  if (age) written_[static_cast<std::size_t>(age->offset)] = *time;
  publish();
}

void check_feeds(const thunder_law& law, int n_joints, const Feeds& feeds, const std::string& where) {
  check_fed(law.measurements, 0, "measurement", feeds.measurements, law.name, where);
  const int standard = SampleLayout(law, n_joints).standard;
  check_fed(law.reference, standard, "further reference", feeds.references, law.name, where);
}

}  // namespace thunder
