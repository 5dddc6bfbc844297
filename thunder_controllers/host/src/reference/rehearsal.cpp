// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/rehearsal.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr double kPeriod = 0.01;            // [s] between samples
constexpr double kFewestSamples = 8.0;      // from one timed point to the next
constexpr double kMostSamples = 20000.0;    // of timed points; longer ones are sampled more rarely
constexpr double kLongestWay = 600.0;       // [s] of a motion to a pose, or of a figure, that is rehearsed
constexpr double kSlack = PoseFollower::kSlack;

[[noreturn]] void refuse(const char* where, double time, const std::string& wrong, const std::string& valid) {
  throw HostError(ErrorKind::law, "after " + format(time) + " s " + wrong, where, valid);
}

}  // namespace

Rehearsal::Rehearsal(std::shared_ptr<const Library> library, const thunder_law& law, const SampleLayout& layout,
                     const Limits& limits)
    : library_(std::move(library)),
      layout_(layout),
      limits_(limits),
      player_(layout, Circles(library_->data())),
      sample_(static_cast<std::size_t>(layout.size)),
      q_(static_cast<std::size_t>(layout.n_joints)) {
  if (layout.is_cartesian) follower_.emplace(library_, law, limits);
}

void Rehearsal::check(const MotionPlan& plan) {
  sample_ = plan.reference;
  q_ = plan.q;
  if (follower_) follower_->approach(q_.data(), sample_.data());
  player_.begin(plan.reference.data(), plan.motion);
  if (plan.motion.figure) {
    trace(plan.motion);
  } else if (plan.motion.knots) {
    follow(plan.motion);
  } else {
    go(plan.motion);
  }
}

void Rehearsal::go(const Motion& motion) {
  for (double time = kPeriod; player_.is_running() && time < kLongestWay; time += kPeriod) {
    play(motion, time, kPeriod, "move_to_pose");
  }
}

void Rehearsal::follow(const Motion& motion) {
  const SplineKnots& knots = *motion.knots;
  const double longest = std::max(kPeriod, knots.duration() / kMostSamples);
  double before = 0.0;
  for (std::size_t k = 0; k < knots.count(); ++k) {
    const double piece = knots.time(k) - before;
    const double count = std::max(std::ceil(piece / longest), kFewestSamples);
    for (double i = 1.0; i <= count && player_.is_running(); ++i) {
      play(motion, before + i / count * piece, piece / count, "follow");
    }
    before = knots.time(k);
  }
}

/// Coming to rest, the start, and one period: what follows is the same again.
void Rehearsal::trace(const Motion& motion) {
  const Figure& figure = *motion.figure;
  double fastest = 0.0;
  for (std::size_t i = 0; i < figure.amplitude.size(); ++i) {
    if (figure.amplitude[i] != 0.0) fastest = std::max(fastest, figure.frequency[i]);
  }
  const double period = std::min(kPeriod, 1.0 / (kFewestSamples * fastest));
  const double longest = kLongestWay / kPeriod * period;
  double end = std::min(kLongestWay, figure.ramp_time + figure.period(longest));
  if (end > longest) {
    refuse("trace", longest, "the figure, of " + format(fastest) + " Hz, has not begun anew",
           "a shorter ramp_time, slower sinusoids, or frequencies that are multiples of one");
  }
  for (double time = period; time <= std::min(end, longest); time += period) {
    if (player_.is_stopping()) end += period;
    play(motion, time, period, "trace");
  }
}

void Rehearsal::play(const Motion& motion, double time, double period, const char* where) {
  if (!player_.advance(period, motion, sample_.data())) {
    player_.cancel();  // no orientation can be made of these points: the controller comes to rest here
  } else if (layout_.is_cartesian) {
    check_pose(time, period, where);
  } else {
    check_joints(time, where);
  }
}

void Rehearsal::check_joints(double time, const char* where) const {
  const auto check = [&](const double* values, std::size_t i, double lower, double upper, const char* what) {
    if (lower <= values[i] && values[i] <= upper) return;
    refuse(where, time, std::string(what) + " of " + library_->data().joint_names[i] + " is " + format(values[i]),
           "[" + format(lower) + ", " + format(upper) + "]");
  };
  for (std::size_t i = 0; i < q_.size(); ++i) {
    const double velocity = kSlack * limits_.velocity[i], acceleration = kSlack * limits_.acceleration[i];
    check(sample_.data() + layout_.position, i, limits_.position_lower[i], limits_.position_upper[i], "the position");
    check(sample_.data() + layout_.velocity, i, -velocity, velocity, "the velocity");
    check(sample_.data() + layout_.acceleration, i, -acceleration, acceleration, "the acceleration");
  }
}

void Rehearsal::check_pose(double time, double period, const char* where) {
  const std::vector<double> before = q_;
  const double left = follower_->approach(q_.data(), sample_.data());
  if (!(left <= PoseFollower::kReached)) {
    refuse(where, time, "the pose is out of reach by " + format(left),
           "poses that the joints can reach from here [m, rad]");
  }
  for (std::size_t i = 0; i < q_.size(); ++i) {
    const double speed = std::abs(q_[i] - before[i]) / period;
    if (speed <= kSlack * limits_.velocity[i]) continue;
    refuse(where, time, std::string("the velocity of ") + library_->data().joint_names[i] + " is " + format(speed),
           "at most " + format(limits_.velocity[i]) + ", more time, or a way around the singularity");
  }
}

}  // namespace thunder
