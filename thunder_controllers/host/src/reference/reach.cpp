// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/reach.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "thunder/host/motion/sample.hpp"

namespace thunder {
namespace {

constexpr double kAtRest = 1e-3;        // [m/s, rad/s]
constexpr double kRestless = 0.1;       // [rad/s or m/s] of the fastest joint, on average
constexpr double kPeriodPatiences = 1.5;
constexpr double kCalmer = 0.7;         // of the way in the period before
constexpr int kRestlessPeriods = 3;     // on end: a push, or a tip that is seen elsewhere, moves an arm in two at most
constexpr double kByOthers = 0.05;      // of the work exchanged: friction and stops take work from joints, hands give it
constexpr double kWindow = 0.05;        // [s]
constexpr double kMostLeftOver = 0.5;   // of the way, by the joints
constexpr double kDamping = 2.5e-3;     // [m²] a singular value of 0.05 leaves half over
constexpr double kAtLimit = 0.05;       // [rad or m] from a joint limit: a soft stop may hold the joint

}  // namespace

Reach::Reach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits, double patience)
    : velocity_(SampleLayout(law, library->n_joints()).velocity),
      rows_(static_cast<std::size_t>(library->n_joints())),
      patience_(patience),
      distance_(library, law.name),
      before_(rows_) {
  if (law.reference_kind != THUNDER_REFERENCE_CARTESIAN) return;
  kinematics_.emplace(std::move(library), law, limits);
  rows_ = kinematics_->rows();
}

void Reach::restart() noexcept {
  nearest_ = std::numeric_limits<double>::infinity();
  waited_ = 0.0;
  is_beyond_ = false;
  forget_travel();
}

void Reach::forget_travel() noexcept {
  window_ = period_ = travelled_ = work_ = exchanged_ = 0.0;
  travelled_before_ = 0.0;
  restless_periods_ = 0;
  is_restless_ = false;
}

bool Reach::is_hopeless(const Motion& motion, const double* reference, double dt, bool is_unknown) noexcept {
  const double* q = motion.q;
  const double* velocity = reference + velocity_;
  if (std::any_of(velocity, velocity + rows_, [](double value) { return std::abs(value) > kAtRest; })) {
    restart();
    return false;
  }
  const double now = distance(q, reference);
  if (now < nearest_ - kProgress) {
    nearest_ = now;
    waited_ = 0.0;
    forget_travel();
  }
  waited_ += dt;
  travel(motion, dt);
  const bool is_away = kinematics_ && is_unknown && waited_ > patience_ && now > kNoticed;
  const bool is_out = is_away && is_at_boundary(q) && now > kAlmostThere;
  is_beyond_ = is_out || (is_away && kinematics_->meets_limit());
  return is_restless_ || is_out;
}

/// In windows, for noise moves a joint to and fro with each measurement.
void Reach::travel(const Motion& motion, double dt) noexcept {
  const double* q = motion.q;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const double work = motion.effort[i] * motion.qd[i] * dt;
    work_ += work;
    exchanged_ += std::abs(work);
  }
  window_ += dt;
  if (window_ < kWindow) return;
  double way = 0.0;
  for (std::size_t i = 0; i < before_.size(); ++i) way = std::max(way, std::abs(q[i] - before_[i]));
  if (waited_ > window_) travelled_ += way;
  std::copy_n(q, before_.size(), before_.begin());
  period_ += window_;
  window_ = 0.0;
  if (period_ > kPeriodPatiences * patience_) judge_rest();
}

void Reach::judge_rest() noexcept {
  const bool is_guided = work_ < -kByOthers * exchanged_;
  const bool goes_on = travelled_ > kRestless * period_ && travelled_ > kCalmer * travelled_before_ && !is_guided;
  restless_periods_ = goes_on ? restless_periods_ + 1 : 0;
  is_restless_ = restless_periods_ >= kRestlessPeriods;
  travelled_before_ = travelled_;
  period_ = travelled_ = work_ = exchanged_ = 0.0;
}

/// At the place that the distance was found for last.
bool Reach::is_at_boundary(const double* q) noexcept {
  return !(kinematics_->left_over(q, distance_.error(), kDamping, kAtLimit) < kMostLeftOver);
}

}  // namespace thunder
