// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/rehearsal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/points.hpp"
#include "thunder/host/reference/dry_run.hpp"

namespace thunder {
namespace {

constexpr double kPeriod = 0.01;            // [s] between samples
constexpr double kFewestSamples = 8.0;      // from one timed point to the next
constexpr double kMostSamples = 20000.0;    // of timed points; longer ones are sampled more rarely
constexpr double kLongestWay = 600.0;       // [s] of a motion to a pose, or of a figure, that is rehearsed
constexpr double kSettling = 0.1;           // [s] that the arm is watched for after a motion
constexpr double kShort = 0.05;             // [s] with too little effort in all: a law's first step into the posture that it likes
constexpr double kRounding = 1e-6;          // [rad or m] and of a limit
constexpr double kNoise = 1e-4;             // of a velocity limit: an arm that rests may be anywhere
constexpr int kSlowest = 3200;              // hundredths of the time of the motion
constexpr int kSlowestByJoints = 400;       // the same, where there are several ways
constexpr double kSlack = PoseFollower::kSlack;

const char* where_of(const Motion& motion) noexcept {
  return motion.figure ? "trace" : motion.knots ? "follow" : "move_to_pose";
}

/// Whether a motion in more time may keep the limit.
bool is_left_by_speed(MotionLimit limit) { return limit != MotionLimit::position && limit != MotionLimit::reach; }

/// How to ask for a motion that takes `slower` times as long.
std::string advice(const Motion& motion, double slower) {
  const std::string k = format(slower);
  if (motion.figure) return "frequencies / " + k + " and " + k + " times the ramp_time";
  return "times " + k + " times as long, " + format(slower * motion.knots->duration()) + " s in all";
}

}  // namespace

const char* to_string(MotionLimit limit) noexcept {
  constexpr const char* kNames[] = {"position", "velocity", "acceleration", "effort", "reach", "law"};
  return kNames[static_cast<int>(limit)];
}

Rehearsal::Rehearsal(std::shared_ptr<const Library> library, const thunder_law& law, const SampleLayout& layout,
                     const Options& options, const Limits& limits)
    : library_(std::move(library)),
      layout_(layout),
      limits_(limits),
      dry_run_(DryRun::make(library_, law, options, limits)),
      player_(layout, Circles(library_->data())),
      sample_(static_cast<std::size_t>(layout.size)),
      q_(static_cast<std::size_t>(layout.n_joints)) {
  if (layout.is_cartesian) follower_.emplace(library_, law, limits);
  if (layout.is_cartesian && !options.moves_straight) ways_.emplace(library_, law, layout, limits);
}

Rehearsal::~Rehearsal() = default;

void Rehearsal::check(MotionPlan& plan) {
  try {
    attempt(plan);
  } catch (const RefusedMotionError& error) {
    Refusal refusal = error.refusal();
    std::string instead;
    const bool may_be_slower = plan.finds_slower && is_left_by_speed(refusal.limit);
    if (may_be_slower) refusal.slower = find_slower(plan, kSlowest, instead);
    if (plan.motion.has_own_time()) {
      const bool takes_long = !refusal.slower || *refusal.slower > kSlowestByJoints / 100.0;
      if (takes_long && ways_ && go_by_joints(plan)) return;
      if (refusal.slower) {
        plan.motion = plan.motion.slowed(*refusal.slower);
        return;
      }
    }
    if (!may_be_slower) throw;
    throw RefusedMotionError(refusal, error.wrong(), error.where().c_str(), error.valid() + "; " + instead);
  }
}

/// The pose that the motion goes to, at rest.
std::vector<double> Rehearsal::goal(const MotionPlan& plan) const {
  std::vector<double> sample = plan.reference;
  const PoseTarget& target = plan.motion.target;
  std::copy(target.position.begin(), target.position.end(), sample.begin() + layout_.position);
  to_matrix(target.orientation, sample.data() + layout_.rotation);
  return sample;
}

/// From rest; a reference that moves would leave such a way.
bool Rehearsal::go_by_joints(MotionPlan& plan) {
  begin(plan);
  const auto twist = sample_.begin() + layout_.velocity;
  if (std::any_of(twist, twist + 6, [](double value) { return value != 0.0; })) return false;
  const std::vector<double> start = q_;
  MotionPlan other = plan;
  for (const std::vector<TimedPose>& way : ways_->find(start, goal(plan), plan.motion.limits)) {
    try {
      other.motion.knots = prepare_knots(way, layout_, plan.reference.data());
      attempt(other);
    } catch (const RefusedMotionError& error) {
      std::string unused;
      const std::optional<double> slower =
          is_left_by_speed(error.refusal().limit) ? find_slower(other, kSlowestByJoints, unused) : std::nullopt;
      if (!slower) continue;
      other.motion = other.motion.slowed(*slower);
    } catch (const HostError&) {
      continue;  // it turns too much between two poses
    }
    plan.motion = other.motion;
    return true;
  }
  return false;
}

/// The least, to a hundredth or one per cent: by bisection, so a still shorter one may be accepted.
std::optional<double> Rehearsal::find_slower(const MotionPlan& plan, int slowest, std::string& instead) {
  const auto is_accepted = [&](int hundredths) {
    MotionPlan slower = plan;
    slower.motion = plan.motion.slowed(hundredths / 100.0);
    try {
      attempt(slower);
    } catch (const HostError& error) {
      instead = "in " + format(hundredths / 100.0) + " times the time " + error.wrong();
      return false;
    }
    return true;
  };
  int refused = 100, accepted = 200;
  while (!is_accepted(accepted)) {
    refused = accepted;
    accepted *= 2;
    if (accepted > slowest) return std::nullopt;
  }
  while (accepted - refused > std::max(1, accepted / 100)) {
    const int middle = (accepted + refused) / 2;
    (is_accepted(middle) ? accepted : refused) = middle;
  }
  if (!plan.motion.has_own_time()) instead = "or " + advice(plan.motion, accepted / 100.0);
  return accepted / 100.0;
}

void Rehearsal::attempt(const MotionPlan& plan) {
  begin(plan);
  if (plan.motion.figure) {
    trace(plan.motion);
  } else if (plan.motion.knots) {
    follow(plan.motion);
  } else {
    go(plan.motion);
  }
  if (dry_run_) play_dry(plan);
}

void Rehearsal::begin(const MotionPlan& plan) {
  where_ = where_of(plan.motion);
  sample_ = plan.reference;
  q_ = plan.q;
  player_.begin(plan.reference.data(), plan.motion);
  lower_ = limits_.position_lower;
  upper_ = limits_.position_upper;
  for (std::size_t i = 0; i < q_.size(); ++i) {
    const double reference = layout_.is_cartesian ? q_[i] : layout_.joint(sample_.data(), i).value;
    lower_[i] = std::min({lower_[i], q_[i], reference}) - kRounding;
    upper_[i] = std::max({upper_[i], q_[i], reference}) + kRounding;
  }
  if (follower_) follower_->approach(q_.data(), sample_.data());
}

void Rehearsal::go(const Motion& motion) {
  for (double time = kPeriod; player_.is_running() && time < kLongestWay; time += kPeriod) play(motion, time, kPeriod);
}

void Rehearsal::follow(const Motion& motion) {
  const SplineKnots& knots = *motion.knots;
  const double longest = std::max(kPeriod, knots.duration() / kMostSamples);
  double before = 0.0;
  for (std::size_t k = 0; k < knots.count(); ++k) {
    const double piece = knots.time(k) - before;
    const double count = std::max(std::ceil(piece / longest), kFewestSamples);
    for (double i = 1.0; i <= count && player_.is_running(); ++i) {
      play(motion, before + i / count * piece, piece / count);
    }
    before = knots.time(k);
  }
}

/// The time between samples of a figure [s].
double Rehearsal::period_of(const Figure& figure) {
  double fastest = 0.0;
  for (std::size_t i = 0; i < figure.amplitude.size(); ++i) {
    if (figure.amplitude[i] != 0.0) fastest = std::max(fastest, figure.frequency[i]);
  }
  return std::min(kPeriod, 1.0 / (kFewestSamples * fastest));
}

/// The start, and one period: what follows is the same again [s].
double Rehearsal::end_of(const Figure& figure) const {
  const double period = period_of(figure), longest = kLongestWay / kPeriod * period;
  const double end = std::min(kLongestWay, figure.ramp_time + figure.period(longest));
  if (end <= longest) return end;
  throw HostError(ErrorKind::law, "after " + format(longest) + " s the figure, of " + format(1.0 / (kFewestSamples * period)) +
                  " Hz, has not begun anew", where_,
                  "a shorter ramp_time, slower sinusoids, or frequencies that are multiples of one");
}

void Rehearsal::trace(const Motion& motion) {
  const double period = period_of(*motion.figure);
  double end = end_of(*motion.figure);
  for (double time = period; time <= end; time += period) {
    if (player_.is_stopping()) end += period;  // before the start
    play(motion, time, period);
  }
}

void Rehearsal::play(const Motion& motion, double time, double period) {
  if (!player_.advance(period, motion, sample_.data())) {
    player_.cancel();  // no orientation can be made of these points: the controller comes to rest here
  } else if (layout_.is_cartesian) {
    check_pose(time, period);
  } else {
    check_joints(time);
  }
}

void Rehearsal::play_dry(const MotionPlan& plan) {
  begin(plan);
  std::vector<double> qd(q_.size());
  if (follower_) {
    PoseFollower::Twist twist;
    std::copy_n(sample_.begin() + layout_.velocity, twist.size(), twist.begin());
    qd = follower_->velocity(plan.q.data(), twist);
  } else {
    std::copy_n(sample_.begin() + layout_.velocity, qd.size(), qd.begin());
  }
  const double period = dry_run_->period();
  double end = plan.motion.figure ? end_of(*plan.motion.figure) : kLongestWay;
  dry_run_->begin(plan.q.data(), qd.data(), plan.gains);
  double settling = kSettling, patience = kShort;
  for (double time = period; time <= end && settling > 0.0; time += period) {
    if (plan.motion.figure && player_.is_stopping()) end += period;
    if (!player_.is_running()) {
      settling -= period;
    } else if (!player_.advance(period, plan.motion, sample_.data())) {
      player_.cancel();
    }
    if (!dry_run_->step(sample_.data())) {
      const std::string wrong = "after " + format(time) + " s the law gives what is not finite";
      throw RefusedMotionError({MotionLimit::law, time, {}, {}}, wrong, where_, "a motion that the law can follow");
    }
    // At first the effort goes from what the description holds the arm with to what the law believes, whatever the motion.
    if (time > kSettling && dry_run_->falls_short() && (patience -= period) < 0.0) {
      const std::string wrong = "after " + format(time) + " s limits of effort or its rate, or soft stops, leave too little to the law";
      throw RefusedMotionError({MotionLimit::effort, time, {}, {}}, wrong, where_, "a motion that takes less");
    }
    check_arm(time);
  }
}

void Rehearsal::refuse(MotionLimit limit, std::size_t joint, double time, double value, double lower, double upper) const {
  const std::string name = library_->data().joint_names[joint];
  const std::string wrong = "after " + format(time) + " s the " + to_string(limit) + " of " + name + " is " + format_apart(value, value > upper ? upper : lower);
  throw RefusedMotionError({limit, time, joint, {}}, wrong, where_, "[" + format(lower) + ", " + format(upper) + "]");
}

void Rehearsal::check_joints(double time) const {
  const auto check = [&](MotionLimit limit, std::size_t i, double value, double lower, double upper) {
    if (!(lower <= value && value <= upper)) refuse(limit, i, time, value, lower, upper);
  };
  for (std::size_t i = 0; i < q_.size(); ++i) {
    const ScalarSample now = layout_.joint(sample_.data(), i);
    check(MotionLimit::position, i, now.value, lower_[i], upper_[i]);
    const double rounding = kRounding * limits_.velocity[i];
    const double down = limits_.velocity_towards(i, now.value, -1.0), up = limits_.velocity_towards(i, now.value, 1.0);
    check(MotionLimit::velocity, i, now.velocity, -down - rounding, up + rounding);
    const double acceleration = (1.0 + kRounding) * limits_.acceleration[i];
    check(MotionLimit::acceleration, i, now.acceleration, -acceleration, acceleration);
  }
}

void Rehearsal::check_pose(double time, double period) {
  const std::vector<double> before = q_;
  const double left = follower_->approach(q_.data(), sample_.data());
  if (!(left <= PoseFollower::kReached)) {
    const std::string wrong = "after " + format(time) + " s the pose is out of reach by " + format(left);
    throw RefusedMotionError({MotionLimit::reach, time, {}, {}}, wrong, where_,
                             "poses that the joints can reach from here [m, rad]");
  }
  for (std::size_t i = 0; i < q_.size(); ++i) {
    const double velocity = (q_[i] - before[i]) / period;
    const double limit = kSlack * limits_.velocity_towards(i, before[i], velocity) + kRounding / period;
    if (std::abs(velocity) > limit) refuse(MotionLimit::velocity, i, time, velocity, -limit, limit);
  }
}

/// The arm as the law moves it.
void Rehearsal::check_arm(double time) const {
  for (std::size_t i = 0; i < q_.size(); ++i) {
    const double q = dry_run_->q()[i], qd = dry_run_->qd()[i], effort = dry_run_->effort()[i];
    if (!(lower_[i] <= q && q <= upper_[i])) refuse(MotionLimit::position, i, time, q, lower_[i], upper_[i]);
    const double room = kMargin * limits_.velocity[i];
    const double limit = std::isfinite(room) ? std::max(limits_.velocity_towards(i, q, qd) - room, kNoise * limits_.velocity[i])
                                             : limits_.velocity[i];
    if (!(std::abs(qd) <= limit)) refuse(MotionLimit::velocity, i, time, qd, -limit, limit);
    const double most = (1.0 - kMargin) * (effort * qd > 0.0 ? limits_.effort_at(i, qd) : limits_.effort[i]);
    if (!(std::abs(effort) <= most)) refuse(MotionLimit::effort, i, time, effort, -most, most);
  }
}

}  // namespace thunder
