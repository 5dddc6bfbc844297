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

/// Which entries start from what is measured: those that the law says, unless their values are given.
std::vector<bool> measured_entries(const thunder_law& law, const NamedValues& given) {
  std::vector<bool> starts(static_cast<std::size_t>(law.state.n_entries));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const thunder_entry& entry = law.state.entries[i];
    starts[i] = (entry.flags & THUNDER_ENTRY_INITIAL) != 0 && given.count(entry.name) == 0;
  }
  return starts;
}

bool is_adapted(const thunder_entry& entry) noexcept { return (entry.flags & THUNDER_ENTRY_ADAPTED) != 0; }

bool any_has(const thunder_signal& signal, int flag) noexcept {
  const Entries entries{signal};
  return std::any_of(entries.begin(), entries.end(), [=](const thunder_entry& e) { return (e.flags & flag) != 0; });
}

}  // namespace

LawRunner::LawRunner(std::shared_ptr<const Library> library, const thunder_law& law, const NamedValues& initial_state)
    : library_(std::move(library)),
      law_(&law),
      adapts_(any_has(law.state, THUNDER_ENTRY_ADAPTED)),
      measures_(any_has(law.telemetry, THUNDER_ENTRY_MEASURED)),
      starts_measured_(measured_entries(law, initial_state)),
      initial_state_(initial_values(law, initial_state)),
      state_(initial_state_),
      telemetry_(static_cast<std::size_t>(law.telemetry.size), 0.0),
      effort_(static_cast<std::size_t>(library_->n_joints()), 0.0),
      next_state_(state_),
      next_telemetry_(telemetry_),
      iw_(static_cast<std::size_t>(law.size_iw)),
      w_(static_cast<std::size_t>(law.size_w)) {}

bool LawRunner::start(const LawInputs& inputs) noexcept {
  const double* arguments[] = {inputs.q, inputs.qd, inputs.gains};
  double* results[] = {next_state_.data()};
  if (law_->initial(arguments, results, iw_.data(), w_.data(), 0) != 0) return false;
  for (std::size_t i = 0; i < starts_measured_.size(); ++i) {
    const thunder_entry& entry = law_->state.entries[i];
    if (!starts_measured_[i]) continue;
    const double* first = next_state_.data() + entry.offset;
    if (!all_finite(first, entry_size(entry))) return false;
    std::copy_n(first, entry_size(entry), state_.begin() + entry.offset);
  }
  return true;
}

bool LawRunner::begin(const LawInputs& inputs) noexcept {
  if (starts_ && law_->initial && !start(inputs)) return false;
  starts_ = false;
  return true;
}

Arguments LawRunner::arguments(const LawInputs& inputs) const noexcept {
  return {inputs.q,         inputs.qd,     inputs.applied_effort, inputs.measurements,
          inputs.reference, state_.data(), inputs.gains,          &inputs.dt};
}

bool LawRunner::step(const LawInputs& inputs) noexcept {
  if (!begin(inputs)) return false;
  Arguments given = arguments(inputs);
  Results taken = results();
  return law_->step(given.data(), taken.data(), iw_.data(), w_.data(), inputs.is_cold ? 1 : 0) == 0 && end();
}

bool LawRunner::end() const noexcept {
  return all_finite(effort_.data(), static_cast<int>(effort_.size())) &&
         all_finite(next_state_.data(), law_->state.size) && all_finite(next_telemetry_.data(), law_->telemetry.size);
}

void LawRunner::commit(bool keep_adapted) noexcept {
  take_over(next_state_, keep_adapted);
  std::copy(next_telemetry_.begin(), next_telemetry_.end(), telemetry_.begin());
}

void LawRunner::put(const thunder_entry& entry, const std::vector<double>& values) noexcept {
  std::copy(values.begin(), values.end(), state_.begin() + entry.offset);
}

void LawRunner::reset(bool keep_adapted) noexcept {
  take_over(initial_state_, keep_adapted);
  starts_ = true;
}

void LawRunner::take_over(const std::vector<double>& source, bool keep_adapted) noexcept {
  for (const thunder_entry& entry : Entries{law_->state}) {
    if (keep_adapted && is_adapted(entry)) continue;
    std::copy_n(source.begin() + entry.offset, entry_size(entry), state_.begin() + entry.offset);
  }
}

const thunder_entry* LawRunner::outside(int flag) const noexcept {
  for (const thunder_entry& entry : Entries{law_->telemetry}) {
    const bool is_meant = (entry.flags & flag) != 0;
    if (is_meant && !is_valid(entry, next_telemetry_.data() + entry.offset)) return &entry;
  }
  return nullptr;
}

void LawRunner::check_activation() const {
  const thunder_entry* entry = outside(THUNDER_ENTRY_ACTIVATION);
  if (!entry) return;
  check_values(*entry, next_telemetry_.data() + entry->offset, "activate: " + std::string(law_->name) + ".telemetry");
}

}  // namespace thunder
