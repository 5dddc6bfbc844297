// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {

/// What one step of a law is given beside its own state; thunder_abi.h says what each is.
struct LawInputs {
  const double* q;
  const double* qd;
  const double* applied_effort;
  const double* measurements;
  const double* reference;
  const double* gains;
  double dt;
  bool is_cold;  ///< whether the law's code may be in no cache
};

/// In the order of thunder_law::step.
using Arguments = std::array<const double*, 8>;
using Results = std::array<double*, 3>;

/// Owns the state of one law and steps it, see thunder_law.
///
/// A step computes into scratch; only `commit` changes the state, so a step can be thrown away. The first step after a
/// reset begins with what the law's `initial` says of the entries that are not among the initial values given.
class LawRunner {
 public:
  /// Throws as write_entries does, if the initial values do not fit the law's state.
  LawRunner(std::shared_ptr<const Library> library, const thunder_law& law, const NamedValues& initial_state);

  const Library& library() const noexcept { return *library_; }

  // The step's result pointers point into this object's own vectors.
  LawRunner(const LawRunner&) = delete;
  LawRunner& operator=(const LawRunner&) = delete;

  /// Compute a step. False unless it succeeded and effort, next state and telemetry are all finite.
  bool step(const LawInputs& inputs) noexcept;

  /// What `step` does before and after the law's function, for who calls that for several runners at once (LawLanes).
  bool begin(const LawInputs& inputs) noexcept;
  bool end() const noexcept;
  Arguments arguments(const LawInputs& inputs) const noexcept;
  Results results() noexcept { return {effort_.data(), next_state_.data(), next_telemetry_.data()}; }

  /// Take over the step's state and telemetry; adapted entries keep their value if asked for.
  void commit(bool keep_adapted) noexcept;

  /// Replace an entry of the state by as many values, in the middle of a run.
  void put(const thunder_entry& entry, const std::vector<double>& values) noexcept;

  /// Back to the initial state; adapted entries keep their value if asked for.
  void reset(bool keep_adapted) noexcept;

  /// Whether telemetry of the last step allows activation.
  bool may_activate() const noexcept { return outside(THUNDER_ENTRY_ACTIVATION) == nullptr; }
  /// Whether it went without a measurement that it takes.
  bool lacks_measurement() const noexcept { return measures_ && outside(THUNDER_ENTRY_MEASURED); }
  /// Throws HostError(law) if it does not.
  void check_activation() const;

  const thunder_law& law() const noexcept { return *law_; }
  bool adapts() const noexcept { return adapts_; }
  /// Of the last step, committed or not.
  double* effort() noexcept { return effort_.data(); }
  double* next_state() noexcept { return next_state_.data(); }
  /// Committed; what differentiates a step by it puts it back.
  const std::vector<double>& state() const noexcept { return state_; }
  std::vector<double>& state() noexcept { return state_; }
  const std::vector<double>& telemetry() const noexcept { return telemetry_; }

 private:
  /// Telemetry with that flag outside its bounds; null if there is none.
  const thunder_entry* outside(int flag) const noexcept;
  bool start(const LawInputs& inputs) noexcept;
  void take_over(const std::vector<double>& source, bool keep_adapted) noexcept;

  std::shared_ptr<const Library> library_;
  const thunder_law* law_;
  bool adapts_ = false, measures_ = false;
  std::vector<bool> starts_measured_;  ///< by entry of the state
  bool starts_ = true;                 ///< the next step is the first one after a reset
  std::vector<double> initial_state_;
  std::vector<double> state_;
  std::vector<double> telemetry_;
  std::vector<double> effort_;
  std::vector<double> next_state_;
  std::vector<double> next_telemetry_;
  std::vector<long long> iw_;
  std::vector<double> w_;
};

}  // namespace thunder
