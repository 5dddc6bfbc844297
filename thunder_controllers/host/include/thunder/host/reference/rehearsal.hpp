// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/error.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/motion/player.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/reference/joint_ways.hpp"
#include "thunder/host/reference/pose_follower.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

class DryRun;

/// A motion that was asked for and can be made, as far as can be said without a rehearsal.
struct MotionPlan {
  Motion motion;
  std::vector<double> q, reference;  ///< where it starts; empty: that is not known
  std::vector<double> gains;         ///< the law's
  std::uint64_t requests = 0;        ///< how many there had been
  bool finds_slower = true;          ///< a rehearsal that refuses it looks for a slower one that it does not
};

/// What a motion would leave.
enum class MotionLimit { position, velocity, acceleration, effort, reach, law };

/// "position", "velocity", "acceleration", "effort", "reach" or "law".
const char* to_string(MotionLimit limit) noexcept;

/// Why a motion is refused, for programs.
struct Refusal {
  MotionLimit limit;
  double time;                       ///< [s] after which it happens
  std::optional<std::size_t> joint;  ///< none where the law or the reach is
  std::optional<double> slower;      ///< a motion so many times as long is accepted, see Motion::slowed; none is known
};

/// A motion that a rehearsal refuses.
class RefusedMotionError : public HostError {
 public:
  RefusedMotionError(const Refusal& refusal, const std::string& wrong, const char* where, const std::string& valid)
      : HostError(ErrorKind::law, wrong, where, valid), refusal_(refusal) {}

  const Refusal& refusal() const noexcept { return refusal_; }

 private:
  Refusal refusal_;
};

/// Plays a motion before it begins, and finds out whether the arm can make it within its limits, see Limits.
///
/// Joint motions are compared with the limits, sample by sample. Cartesian ones are followed by the joints from where they
/// are, see PoseFollower. What passes is then made by the law on the arm of the description, see DryRun, with a margin.
/// One thread at a time; allocates, and may take seconds.
class Rehearsal {
 public:
  /// Share of velocity and effort limits that is left to the feedback of the real arm [1].
  static constexpr double kMargin = 0.02;

  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q) or J_ee(q).
  Rehearsal(std::shared_ptr<const Library> library, const thunder_law& law, const SampleLayout& layout,
            const Options& options, const Limits& limits);
  ~Rehearsal();

  /// A plan with a known start. A motion to a pose takes the time that it needs: where its own time leaves a limit, its pace
  /// is set, and where the straight line does, or takes long, it gets the knots of a way by the joints, unless moves_straight.
  ///
  /// Throws RefusedMotionError, `where` naming the motion, that says when which joint would leave which limit, or how much of
  /// the way to a pose is missing, and how much longer a motion would have to take; HostError(law) where a figure turns too
  /// often to be played to where it begins anew.
  void check(MotionPlan& plan);

 private:
  void attempt(const MotionPlan& plan);
  std::optional<double> find_slower(const MotionPlan& plan, int slowest, std::string& instead);
  bool go_by_joints(MotionPlan& plan);
  std::vector<double> goal(const MotionPlan& plan) const;
  void begin(const MotionPlan& plan);
  void go(const Motion& motion);
  void follow(const Motion& motion);
  void trace(const Motion& motion);
  void play(const Motion& motion, double time, double period);
  void play_dry(const MotionPlan& plan);
  static double period_of(const Figure& figure);
  double end_of(const Figure& figure) const;
  void check_joints(double time) const;
  void check_pose(double time, double period);
  void check_arm(double time) const;
  [[noreturn]] void refuse(MotionLimit limit, std::size_t joint, double time, double value, double lower, double upper) const;

  std::shared_ptr<const Library> library_;
  SampleLayout layout_;
  Limits limits_;
  std::optional<PoseFollower> follower_;  ///< cartesian laws
  std::optional<JointWays> ways_;         ///< the same, unless moves_straight
  std::unique_ptr<DryRun> dry_run_;       ///< none where it cannot be made
  MotionPlayer player_;
  const char* where_ = "";
  std::vector<double> lower_, upper_;  ///< of positions: those of the start are no worse
  std::vector<double> sample_;
  std::vector<double> q_;
};

}  // namespace thunder
