// SPDX-License-Identifier: Apache-2.0
//
// Stability of a compiled law at rest: what its step makes of small errors, and whether a sampled loop bears it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/law/runner.hpp"
#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/note.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// The velocity feedback of a law at rest, where it is fastest.
struct FeedbackMargin {
  /// [1] Of a speed, what the feedback takes away in a period: the largest real part of an eigenvalue of M⁻¹D times the
  /// nominal period, D = −∂τ/∂q̇ of the compiled step. The arm is rigid, its motors' inertia with it, without friction.
  double share = 0.0;
  int joint = 0;          ///< the one that does most of it: largest part of vᵀDv, v the eigenvector
  std::vector<double> q;  ///< [rad or m] the pose
};

/// What a step makes of small errors: δτ = position δq + velocity δq̇ + effort δτ⁻ + output δx, column-major; τ⁻ is the
/// effort of the step before. [N·m/rad, N·m·s/rad, 1, or their likes for sliding joints]
///
/// x (m,) are the states of the law that no estimate is, such as those of an observer: δx⁺ = input (δq, δq̇, δτ⁻) +
/// transition δx, (m, 3 n) and (m, m). Estimates stay as they are.
struct Feedback {
  std::vector<double> position, velocity, effort, input, transition, output;
};

/// Share that the notes are about: what a sampled loop bears with the delay T_total of its measurements and drives,
/// 2 sin(π Δ/(4 T_total)): 2 without any, 0.62 with a dead time of two periods, and (π/2) Δ/T_total for a long one. At that
/// share v ← v − share · v(t − T_total) oscillates without end. See total_delay.
double largest_feedback_share(const Options& options);

/// What a sampled loop bears of it without any delay: v ← (1 − share) v.
inline constexpr double kStableFeedbackShare = 2.0;

/// Poses evenly spread within the joint limits (±π without), [rad or m]: from number `first` on of a sequence that is
/// always the same. Throws HostError(law) unless `count` is positive and `first` is not negative.
std::vector<std::vector<double>> margin_poses(const Library& library, int count, int first, const Options& options);

/// A law that holds a pose with the effort that gravity asks for, its states at their initial values: the reference is the
/// pose, and so is the posture of a redundant arm (gain q_home).
class RestingLaw {
 public:
  /// `gains`: all of them, as in the law's signal. Throws HostError as Controller::configure does.
  RestingLaw(const std::shared_ptr<const Library>& library, const std::string& law, std::vector<double> gains,
             const NamedValues& initial_state, const Options& options);

  const thunder_law& law() const noexcept { return law_.law(); }
  const Library& library() const noexcept { return law_.library(); }
  std::size_t n_joints() const noexcept { return qd_.size(); }
  const std::vector<double>& gains() const noexcept { return gains_; }
  /// Throws as changed_gains does; no gain is changed then.
  void set_gains(const NamedValues& gains);

  /// Differentiate the second step at a pose [rad or m], as a law may begin in the first. None if it is not finite there.
  std::optional<Feedback> feedback(const std::vector<double>& q);

  /// Look at the first 20 of `margin_poses` and, from the fastest of them on, joint by joint, for a faster one: random
  /// poses miss a straight arm. None if the step is finite at no pose. Takes some 20 ms.
  std::optional<FeedbackMargin> find_fastest();
  /// The slowest feedback that was looked at, where it makes speeds grow.
  const std::optional<FeedbackMargin>& adding() const noexcept { return adding_; }

  /// Take over what a step at rest makes of an entry of the state that had these values after the step before: the law
  /// puts estimates into the bounds that it keeps. Not what it began with, which a law may take for known.
  bool adapt(const thunder_entry& entry, const std::vector<double>& values);

 private:
  void sweep_joint(std::size_t joint, FeedbackMargin& fastest);
  void look(const std::vector<double>& q, FeedbackMargin& fastest);
  bool hold(const std::vector<double>& q);
  bool step(const std::vector<double>& q);
  bool differentiate(std::vector<double>& q, std::vector<double>& input, const std::vector<std::size_t>& inputs,
                     std::vector<double>& slope, std::vector<double>* of_state = nullptr);

  Limits limits_;
  double dt_;
  std::vector<double> gains_;
  const thunder_entry* posture_;
  LawRunner law_;
  std::vector<std::size_t> joints_, states_;  ///< indices of all joints, and of the states that are not adapted
  Place place_;
  PositionFunction inertia_, gravity_;
  std::vector<double> qd_;
  std::vector<double> applied_effort_;
  std::vector<double> measurements_;
  std::vector<double> velocity_;  ///< ∂τ/∂q̇ at the pose that was looked at last, as Feedback has it
  std::optional<FeedbackMargin> adding_;
};

/// Whether a law measures the motors of elastic joints. What it makes of their links alone says nothing of the loop, so no
/// margin is looked at.
bool minds_springs(const thunder_law& law) noexcept;

/// A note that a law for rigid joints is to control elastic ones; none of any other.
std::optional<Note> springs_note(const Library& library, const std::string& law);

/// What a person should know of the margin before the arm moves: a note if the feedback makes speeds grow, or leaves
/// no margin as it starts. If it leaves one, a note if none is left once moments of inertia of the estimates are at
/// their upper bounds: those of the state, or where a step of the law brings them from there. M̂ acts on the velocity in
/// some laws.
///
/// Throws as RestingLaw does, and as check_feedback unless `accepts_unstable_gains`.
std::optional<Note> feedback_note(const std::shared_ptr<const Library>& library, const std::string& law,
                                  const NamedValues& gains, const NamedValues& initial_state, const Options& options);

/// Throws HostError(law) for gains that no loop of this rate bears: a share above kStableFeedbackShare. `gains`: all of
/// them, as in the law's signal.
void check_feedback(const std::shared_ptr<const Library>& library, const std::string& law,
                    const std::vector<double>& gains, const NamedValues& initial_state, const Options& options);

}  // namespace thunder
