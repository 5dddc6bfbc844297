// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/approach.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "thunder/host/motion/rotation.hpp"

namespace thunder {
namespace {

constexpr double kLargestSpeedShare = 0.5;  // leaves the law room to catch up
constexpr double kFollowed = 0.02;          // [m, rad] within which an arm follows
constexpr double kLead = 0.05;              // [m, rad] of a pose that is far, before the arm
constexpr double kSlowestStream = 0.02;     // [s] a stream slower than the loop jumps so little with each sample
constexpr double kLeastPace = 0.1;          // nearer to a singularity laws shake
constexpr double kMostLeftOver = 0.5;       // of a twist, by the joints
constexpr double kDamping = 1e-8;           // [m²]

}  // namespace

Approach::Approach(std::shared_ptr<const Library> library, const thunder_law& law, const Limits& limits)
    : layout_(law, library->n_joints()), limits_(limits), lag_(library, law.name) {
  if (layout_.is_cartesian) ik_.emplace(std::move(library), law, limits);
}

bool Approach::cut(double margins, double* reference) const noexcept {
  bool has_cut = false;
  const auto keep = [&has_cut](double& value, double lower, double upper) {
    const double kept = std::clamp(value, lower, upper);
    has_cut = has_cut || kept != value;
    value = kept;
  };
  for (int i = 0; i < layout_.n_joints && !layout_.is_cartesian; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double margin = margins * limits_.position_margin[k];
    keep(reference[layout_.position + i], limits_.position_lower[k] + margin, limits_.position_upper[k] - margin);
    keep(reference[layout_.velocity + i], -limits_.velocity[k], limits_.velocity[k]);
    keep(reference[layout_.acceleration + i], -limits_.acceleration[k], limits_.acceleration[k]);
  }
  return has_cut;
}

bool Approach::lead(const double* q, const double* qd, double dt, const MotionLimits& limits, const double* before,
                    double* reference) noexcept {
  is_blocked_ = false;
  return ik_ ? lead_pose(q, qd, dt, limits, before, reference) : lead_joints(dt, before, reference);
}

bool Approach::lead_joints(double dt, const double* before, double* reference) const noexcept {
  bool is_far = false;
  for (int i = 0; i < layout_.n_joints; ++i) {
    const double share = kLargestSpeedShare * limits_.velocity[static_cast<std::size_t>(i)];
    const double speed = std::max(share, std::abs(reference[layout_.velocity + i]));
    double& position = reference[layout_.position + i];
    const double start = before[layout_.position + i], way = position - start;
    if (!(std::abs(way) > speed * dt)) continue;
    position = start + std::copysign(speed * dt, way);
    is_far = is_far || std::abs(way) > speed * kSlowestStream;
  }
  return is_far;
}

/// A sample that is near is taken as it is, unless the arm cannot follow.
bool Approach::lead_pose(const double* q, const double* qd, double dt, const MotionLimits& limits,
                         const double* before, double* reference) noexcept {
  const PoseSample start = PoseSample::from(layout_, before);
  PoseSample sample = PoseSample::from(layout_, reference);
  Vector3 line;
  for (std::size_t i = 0; i < 3; ++i) line[i] = sample.position[i] - start.position[i];
  Vector3 turn = to_rotation_vector(product(sample.orientation, conjugate(start.orientation)));
  const double linear = limits.linear_velocity + norm(sample.velocity);
  const double angular = limits.angular_velocity + norm(sample.angular_velocity);
  // In seconds: how long the way takes.
  const double left = std::max(norm(line) / linear, norm(turn) / angular);
  const double lag = lag_.evaluate(q, before);
  if (!(left > dt) && lag < kFollowed) return false;
  double share = left > dt ? dt / left : 1.0;
  const double rate = share / dt;
  const double pace_there =
      pace(q, {rate * line[0], rate * line[1], rate * line[2], rate * turn[0], rate * turn[1], rate * turn[2]});
  is_blocked_ = pace_there == 0.0;
  share *= pace_there;
  const bool is_far = left > kSlowestStream;
  const bool waits = is_far && (lag > kLead || hurries(qd));
  if (waits) share = 0.0;
  if (share >= 1.0) return is_far;
  for (std::size_t i = 0; i < 3; ++i) {
    sample.position[i] = start.position[i] + share * line[i];
    turn[i] *= share;
  }
  sample.orientation = product(from_rotation_vector(turn), start.orientation);
  if (is_far || pace_there < 1.0) sample.come_to_rest();
  sample.write(layout_, reference);
  return is_far;
}

bool Approach::hurries(const double* qd) const noexcept {
  for (std::size_t i = 0; i < limits_.velocity.size(); ++i) {
    if (std::abs(qd[i]) > kLargestSpeedShare * limits_.velocity[i]) return true;
  }
  return false;
}

/// The share of a twist [m/s, rad/s] at which no joint needs more than its share of the velocity limit: at most 1, and
/// 0 instead of less than kLeastPace, or where the joints cannot make most of it.
double Approach::pace(const double* q, const DifferentialIk::Twist& twist) noexcept {
  if (!ik_->find_jacobian(q) || !(ik_->solve(twist, kDamping) < kMostLeftOver)) return 0.0;
  double share = 1.0;
  for (std::size_t i = 0; i < limits_.velocity.size(); ++i) {
    share = std::min(share, kLargestSpeedShare * limits_.velocity[i] / std::abs(ik_->step()[i]));
  }
  return share < kLeastPace ? 0.0 : share;
}

}  // namespace thunder
