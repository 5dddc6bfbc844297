// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/options.hpp"

namespace thunder {

/// The velocity feedback of a law at rest, where it is fastest.
struct FeedbackMargin {
  /// [1] Of a speed, what the feedback takes away in a period: the largest real part of an eigenvalue of M⁻¹D times the
  /// nominal period, D = −∂τ/∂q̇ of the compiled step. The arm is rigid, without friction.
  double share = 0.0;
  int joint = 0;          ///< the one that does most of it: largest part of vᵀDv, v the eigenvector
  std::vector<double> q;  ///< [rad or m] the pose
};

/// [periods] The delay that a loop should bear, and that the notes are about.
inline constexpr int kMarginDelay = 2;

/// What a sampled loop bears of it with that delay, 0.62: v ← v − share · (v of two periods ago) is stable up to
/// 2 sin(π/10).
inline constexpr double kLargestFeedbackShare = 0.61803398874989485;

/// What a sampled loop bears of it without any delay: v ← (1 − share) v.
inline constexpr double kStableFeedbackShare = 2.0;

/// Poses evenly spread within the joint limits (±π without), [rad or m]: always the same, fewer are the first of more.
std::vector<std::vector<double>> margin_poses(const Library& library, int count, const Options& options);

/// Look at the first 20 of `margin_poses` and, from the fastest of them on, joint by joint, for a faster one, holding
/// each: the reference is the pose, and so is the posture of a redundant arm (gain q_home).
///
/// None if the step is finite at no pose. Throws HostError as Controller::configure does. Takes some 20 ms.
std::optional<FeedbackMargin> feedback_margin(const std::shared_ptr<const Library>& library, const std::string& law,
                                              const NamedValues& gains, const NamedValues& initial_state,
                                              const Options& options);

/// What a person should know of the margin before the arm moves: a sentence if the feedback makes speeds grow, or leaves
/// no margin as it starts. If it leaves one, a sentence if none is left once moments of inertia of the estimates are at
/// their upper bounds: those of the state, or where a step of the law brings them from there. M̂ acts on the velocity in
/// some laws.
///
/// Throws as feedback_margin does, and as check_feedback unless `accepts_unstable_gains`.
std::vector<std::string> feedback_notes(const std::shared_ptr<const Library>& library, const std::string& law,
                                        const NamedValues& gains, const NamedValues& initial_state,
                                        const Options& options);

/// Throws HostError(law) for gains that no loop of this rate bears: a share above kStableFeedbackShare. `gains`: all of
/// them, as in the law's signal.
void check_feedback(const std::shared_ptr<const Library>& library, const std::string& law,
                    const std::vector<double>& gains, const NamedValues& initial_state, const Options& options);

}  // namespace thunder
