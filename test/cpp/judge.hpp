// SPDX-License-Identifier: Apache-2.0
//
// What may never happen, and what of it is the host's doing.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plant.hpp"
#include "thunder/host/library/signals.hpp"

namespace test {

/// Random numbers that are the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint64_t bits() { return random_(); }
  double uniform(double lower, double upper) {
    return lower + (upper - lower) * (static_cast<double>(random_() >> 11) * 0x1p-53);
  }
  double power(double lower, double upper) { return std::pow(10.0, uniform(lower, upper)); }
  bool one_in(std::uint64_t count) { return random_() % count == 0; }
  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  Vector vector(int size, double bound) {
    Vector values(size);
    for (double& value : values) value = uniform(-bound, bound);
    return values;
  }

 private:
  std::mt19937_64 random_;
};

/// The largest effort and its largest rate that a configuration allows; infinite where there is none.
struct EffortLimits {
  Vector effort, rate;
};

/// A pose inside the limits; within half a turn either way where there are none.
inline Vector random_pose(const thunder_library& data, Draw& draw) {
  Vector q(data.n_joints);
  for (int i = 0; i < data.n_joints; ++i) {
    const double lower = data.position_lower[i], upper = data.position_upper[i];
    q[i] = std::isfinite(lower) ? draw.uniform(lower, upper) : draw.uniform(-M_PI, M_PI);
  }
  return q;
}

/// The greatest gravity torque and inertia about each joint of an arm with its load, over random poses.
struct Heaviest {
  Heaviest(Plant& plant, const thunder_library& data)
      : gravity(Vector::Zero(data.n_joints)), inertia(Vector::Zero(data.n_joints)) {
    Draw draw(1);
    for (int k = 0; k < 2000; ++k) {
      const Vector q = random_pose(data, draw);
      gravity = gravity.cwiseMax(plant.gravity(q).cwiseAbs());
      inertia = inertia.cwiseMax(plant.inertia(q));
    }
  }

  Vector gravity;  ///< [N·m or N]
  Vector inertia;  ///< [kg·m² or kg]
};

/// Where each joint may be, by what it can be stopped with.
///
/// A joint at its velocity limit v reaches its position limit with no more than its effort limit τ_max against it after
/// the time τ_max / r that the effort needs at its rate limit r, and then brakes with τ_b, half of what the greatest
/// gravity torque leaves of τ_max; the other half is for what disturbs it. It comes to rest at most
///     d(v) = v τ_max / r + v² M_max / (2 τ_b)
/// beyond, M_max the greatest inertia about the joint. The envelope is the position limits ± (d(v_max) + kSlack).
/// A joint without a limit of position, velocity or effort has none, nor has one whose motor cannot carry the arm.
struct Envelope {
  static constexpr double kSlack = 0.02;  ///< [rad or m] For noise and offsets of measurements.

  Envelope(const Heaviest& heaviest, const thunder_library& data, const EffortLimits& limits)
      : lag(limits.effort.cwiseQuotient(limits.rate)),
        brake(0.5 * (limits.effort - heaviest.gravity)),
        inertia(heaviest.inertia),
        margin(data.n_joints) {
    for (int i = 0; i < data.n_joints; ++i) {
      const bool has_one = brake[i] > 0.1 * limits.effort[i] && std::isfinite(limits.effort[i]) &&
                           std::isfinite(data.velocity_limit[i]) && std::isfinite(data.position_upper[i]);
      margin[i] = has_one ? stop_distance(i, data.velocity_limit[i]) + kSlack : kInfinity;
    }
  }

  double stop_distance(int i, double speed) const {
    return speed * (std::isfinite(lag[i]) ? lag[i] : 0.0) + 0.5 * speed * speed * inertia[i] / brake[i];
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Vector lag;      ///< [s]
  Vector brake;    ///< [N·m or N]
  Vector inertia;  ///< [kg·m² or kg]
  Vector margin;   ///< [rad or m] Infinite where there is no envelope.
};

/// Looks at every update. A breach is a text; none is empty.
class Judge {
 public:
  Judge(const thunder_library& data, EffortLimits limits, Envelope envelope)
      : data_(data), limits_(std::move(limits)), envelope_(std::move(envelope)) {
    excused_.assign(static_cast<std::size_t>(data.n_joints), false);
    worst = Vector::Constant(data.n_joints, -Envelope::kInfinity);
  }

  const Envelope& envelope() const { return envelope_; }
  const EffortLimits& limits() const { return limits_; }

  /// Efforts are finite, within their limits, and no further from the ones before than the rate limit times `time`.
  std::string check_effort(const Vector& effort, const Vector& before, double time) const {
    for (int i = 0; i < data_.n_joints; ++i) {
      if (!std::isfinite(effort[i])) return text("effort not finite", i, effort[i]);
      if (std::abs(effort[i]) > limits_.effort[i]) return text("effort beyond limit", i, effort[i]);
      const double change = std::abs(effort[i] - before[i]);
      if (std::isfinite(limits_.rate[i]) && change > limits_.rate[i] * time * (1.0 + 1e-9) + 1e-9) {
        return text("effort beyond rate x time", i, change / (limits_.rate[i] * time));
      }
    }
    return {};
  }

  /// No joint is beyond its envelope while the host is responsible: it commands, and has just seen where the arm is.
  ///
  /// A joint that the host finds so, after a time in which it was not, that no motor could keep it inside, is excused
  /// until it can be kept inside again.
  std::string check_position(const Plant& plant, bool is_responsible) {
    for (int i = 0; i < data_.n_joints; ++i) {
      const std::size_t k = static_cast<std::size_t>(i);
      const double beyond = std::max(plant.q[i] - data_.position_upper[i], data_.position_lower[i] - plant.q[i]);
      const double outward = plant.q[i] > 0.5 * (data_.position_lower[i] + data_.position_upper[i]) ? plant.qd[i] : -plant.qd[i];
      const bool is_lost = beyond + envelope_.stop_distance(i, std::max(outward, 0.0)) > envelope_.margin[i];
      excused_[k] = is_lost && (!is_responsible || excused_[k]);
      if (!is_responsible || excused_[k] || !std::isfinite(envelope_.margin[i])) continue;
      worst[i] = std::max(worst[i], beyond);
      if (beyond > envelope_.margin[i]) return text("position beyond envelope", i, beyond);
    }
    return {};
  }

  Vector worst;  ///< [rad or m] Beyond the position limits, of all that the host is responsible for.

 private:
  std::string text(const char* what, int joint, double value) const {
    return std::string(what) + ": " + data_.joint_names[joint] + " " + thunder::format(value);
  }

  const thunder_library& data_;
  EffortLimits limits_;
  Envelope envelope_;
  std::vector<bool> excused_;
};

}  // namespace test
