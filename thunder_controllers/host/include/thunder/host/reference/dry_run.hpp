// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/law/runner.hpp"
#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/safety/arm_inertia.hpp"
#include "thunder/host/safety/effort_limiter.hpp"
#include "thunder/host/safety/felt_inertia.hpp"
#include "thunder/host/safety/limits.hpp"
#include "thunder/host/safety/soft_stops.hpp"

namespace thunder {

/// A law and the arm of the library's description, without delay: what the joints do where a reference is followed.
///
/// M q̈ + C q̇ + G + d = τ, with the friction d where the description has one, by semi-implicit Euler steps of a period. The
/// law begins with its first state, so its estimates are those of the description; soft stops and limiter of the host act on
/// its effort. Only this says how the law resolves redundancy, and what it does near singularities.
class DryRun {
 public:
  /// None where the library lacks M, C or G, or the law anything to begin with.
  static std::unique_ptr<DryRun> make(const std::shared_ptr<const Library>& library, const thunder_law& law,
                                      const Options& options, const Limits& limits);

  /// At q, moving with qd, under these gains.
  void begin(const double* q, const double* qd, std::vector<double> gains);
  /// Let a period pass under a flat reference. False if the law or the arm gives something that is not finite.
  bool step(const double* reference) noexcept;

  /// Whether limits of effort, its rate or soft stops keep back what the law asks for, see Shortfall.
  bool falls_short() const noexcept { return falls_short_; }

  double period() const noexcept { return options_.nominal_dt; }
  const std::vector<double>& q() const noexcept { return q_; }    ///< [rad or m]
  const std::vector<double>& qd() const noexcept { return qd_; }  ///< [rad/s or m/s]
  /// What the motors do, gravity included [N·m or N].
  const std::vector<double>& effort() const noexcept { return effort_; }

 private:
  /// A term of the dynamics at the state.
  struct Term {
    Term(const std::shared_ptr<const Library>& library, const std::string& name, const DryRun& run);
    const double* find() noexcept { return evaluator.evaluate() ? evaluator.result(0) : nullptr; }
    Evaluator evaluator;
  };

  DryRun(const std::shared_ptr<const Library>& library, const thunder_law& law, const Options& options,
         const Limits& limits);
  bool accelerate(const double* gravity) noexcept;

  Options options_;
  LawRunner law_;
  ArmInertia arm_;
  FeltInertia felt_;  ///< none beyond that of the description
  SoftStops stops_;
  EffortLimiter limiter_;
  Shortfall shortfall_;
  bool falls_short_ = false;
  std::vector<double> measurements_;
  std::vector<double> gains_;
  std::vector<double> q_, qd_, effort_, wanted_, command_, bias_;
  std::unique_ptr<Term> inertia_, coriolis_, gravity_, friction_;
};

}  // namespace thunder
