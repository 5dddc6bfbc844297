// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/runner.hpp"

#include <algorithm>
#include <utility>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

std::vector<double> initial_values(const thunder_law& law, const NamedValues& values) {
  std::vector<double> state = default_values(law.state);
  write_entries(law.state, values, std::string(law.name) + ".initial_state", state);
  return state;
}

bool has_adapted_entry(const thunder_signal& state) noexcept {
  return std::any_of(state.entries, state.entries + state.n_entries,
                     [](const thunder_entry& entry) { return (entry.flags & THUNDER_ENTRY_ADAPTED) != 0; });
}

}  // namespace

LawRunner::LawRunner(std::shared_ptr<const Library> library, const thunder_law& law, const NamedValues& initial_state)
    : library_(std::move(library)),
      law_(&law),
      adapts_(has_adapted_entry(law.state)),
      initial_state_(initial_values(law, initial_state)),
      state_(initial_state_),
      telemetry_(static_cast<std::size_t>(law.telemetry.size), 0.0),
      effort_(static_cast<std::size_t>(library_->n_joints()), 0.0),
      next_state_(state_),
      next_telemetry_(telemetry_),
      iw_(static_cast<std::size_t>(law.size_iw)),
      w_(static_cast<std::size_t>(law.size_w)) {}

bool LawRunner::step(const double* q, const double* qd, const double* reference, const double* gains,
                     double dt) noexcept {
  const double* arguments[] = {q, qd, reference, state_.data(), gains, &dt};
  double* results[] = {effort_.data(), next_state_.data(), next_telemetry_.data()};
  return law_->step(arguments, results, iw_.data(), w_.data(), 0) == 0 &&
         all_finite(effort_.data(), static_cast<int>(effort_.size())) &&
         all_finite(next_state_.data(), law_->state.size) && all_finite(next_telemetry_.data(), law_->telemetry.size);
}

void LawRunner::commit(bool keep_adapted) noexcept {
  take_over(next_state_, keep_adapted);
  std::copy(next_telemetry_.begin(), next_telemetry_.end(), telemetry_.begin());
}

void LawRunner::reset(bool keep_adapted) noexcept { take_over(initial_state_, keep_adapted); }

void LawRunner::take_over(const std::vector<double>& source, bool keep_adapted) noexcept {
  for (int i = 0; i < law_->state.n_entries; ++i) {
    const thunder_entry& entry = law_->state.entries[i];
    if (keep_adapted && (entry.flags & THUNDER_ENTRY_ADAPTED) != 0) continue;
    std::copy_n(source.begin() + entry.offset, entry_size(entry), state_.begin() + entry.offset);
  }
}

bool LawRunner::may_activate() const noexcept {
  for (int i = 0; i < law_->telemetry.n_entries; ++i) {
    const thunder_entry& entry = law_->telemetry.entries[i];
    if ((entry.flags & THUNDER_ENTRY_ACTIVATION) == 0) continue;
    const double* values = next_telemetry_.data() + entry.offset;
    for (int k = 0; k < entry_size(entry); ++k) {
      if (!(entry.lower[k] <= values[k] && values[k] <= entry.upper[k])) return false;
    }
  }
  return true;
}

void LawRunner::check_activation() const {
  for (int i = 0; i < law_->telemetry.n_entries; ++i) {
    const thunder_entry& entry = law_->telemetry.entries[i];
    if ((entry.flags & THUNDER_ENTRY_ACTIVATION) == 0) continue;
    check_values(entry, next_telemetry_.data() + entry.offset, "activate: " + std::string(law_->name) + ".telemetry");
  }
}

}  // namespace thunder
