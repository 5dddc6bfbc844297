// SPDX-License-Identifier: Apache-2.0
//
// What may never happen, and what of it is the host's doing.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "subject.hpp"
#include "thunder/host/safety/limits.hpp"

namespace test {

/// Where each joint may be, by what it can be stopped with.
///
/// A joint at its velocity limit v reaches its position limit with no more than its effort limit τ_max against it after
/// the time τ_max / r + t that the effort needs at its rate limit r, and the drive with its lag t, and then brakes with
/// τ_b, half of what the greatest gravity torque leaves of τ_max; the other half is for what disturbs it. It comes to rest at most
///     d(v) = v (τ_max / r + t) + v² M_max / (2 τ_b)
/// beyond, M_max the greatest inertia about the joint. The envelope is the position limits ± (d(v_max) + kSlack).
/// A joint without a limit of position, velocity or effort has none, nor has one whose motor cannot carry the arm.
struct Envelope {
  static constexpr double kSlack = 0.02;  ///< [rad or m] For noise and offsets of measurements.

  Envelope(const Heaviest& heaviest, const thunder::Limits& limits, double drive_lag = 0.0)
      : drive(drive_lag),
        lag((vector(limits.effort).cwiseQuotient(vector(limits.effort_rate)).array() + drive_lag).matrix()),
        brake(0.5 * (vector(limits.effort) - heaviest.gravity)),
        inertia(heaviest.inertia),
        lightest(heaviest.lightest),
        margin(lag.size()) {
    for (Eigen::Index i = 0; i < margin.size(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const bool has_one = brake[i] > 0.1 * limits.effort[k] && std::isfinite(limits.velocity[k]) &&
                           std::isfinite(limits.position_upper[k]);
      margin[i] = has_one ? stop_distance(i, limits.velocity[k]) + kSlack : kInfinity;
    }
  }

  double stop_distance(Eigen::Index i, double speed) const {
    return speed * lag[i] + 0.5 * speed * speed * inertia[i] / brake[i];
  }

  /// The same of a joint that is driven on at first, by its effort or its weight: until that is gone, it gains e²/(2 r M_min) of speed.
  double stop_distance(Eigen::Index i, double speed, double effort, double rate) const {
    const double time = effort > 0.0 ? effort / rate + drive : 0.0, fastest = speed + 0.5 * effort * time / lightest[i];
    return fastest * time + stop_distance(i, fastest);
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double drive;    ///< [s] The lag of a drive.
  Vector lag;      ///< [s] Until the whole effort is there.
  Vector brake;    ///< [N·m or N]
  Vector inertia;  ///< [kg·m² or kg]
  Vector lightest; ///< [kg·m² or kg]
  Vector margin;   ///< [rad or m] Infinite where there is no envelope.
};

/// Looks at every update. A breach is a text; none is empty.
class Judge {
 public:
  static constexpr double kWhirl = 1.5;

  Judge(const Subject& subject, const thunder::Limits& limits, double drive_lag = 0.0)
      : data_(subject.data()),
        limits_(limits),
        envelope_(subject.heaviest, limits, drive_lag),
        excused_(limits.effort.size(), false) {
    worst = Vector::Constant(data_.n_joints, -Envelope::kInfinity);
  }

  /// Put the arm's end stops where no excursion that is judged goes.
  void place_stops(Plant& plant) const {
    for (int i = 0; i < plant.n; ++i) {
      const double way = std::isfinite(envelope_.margin[i]) ? 2.0 * envelope_.margin[i] : 1.0;
      plant.stop_lower[i] = data_.position_lower[i] - way, plant.stop_upper[i] = data_.position_upper[i] + way;
    }
  }

  const Envelope& envelope() const { return envelope_; }
  Vector effort_limit() const { return vector(limits_.effort); }

  /// Efforts are finite, within their limits, and no further from the ones before than the rate limit times `time`.
  std::string check_effort(const Vector& effort, const Vector& before, double time) const {
    for (int i = 0; i < data_.n_joints; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (!std::isfinite(effort[i])) return text("effort not finite", i, effort[i]);
      if (std::abs(effort[i]) > limits_.effort[k]) return text("effort beyond limit", i, effort[i]);
      const double change = std::abs(effort[i] - before[i]);
      const double most = limits_.effort_rate[k] * time * (1.0 + 1e-9) + 1e-9;
      if (change > most) return text("effort beyond rate x time", i, change);
    }
    return {};
  }

  /// No joint is beyond its envelope while the host is responsible: it commands, and has just seen where the arm is.
  ///
  /// A joint that the host finds so, after a time in which it was not, that no motor could keep it inside, is excused
  /// until it can be kept inside again; so is every joint while one found so is faster than kWhirl times its velocity
  /// limit, for it throws the others about. `effort`: all that motors and others give.
  std::string check_position(Plant& plant, const Vector& effort, bool is_responsible) {
    bool whirls = false;
    for (int i = 0; i < data_.n_joints; ++i) {
      whirls = whirls || std::abs(plant.qd[i]) > kWhirl * limits_.velocity[static_cast<std::size_t>(i)];
    }
    const Vector net = effort - plant.gravity(plant.q);
    for (int i = 0; i < data_.n_joints; ++i) {
      const std::size_t k = static_cast<std::size_t>(i);
      const double beyond = std::max(plant.q[i] - data_.position_upper[i], data_.position_lower[i] - plant.q[i]);
      // What a host drives itself it must mind by itself.
      const double driven = is_responsible && !excused_[k] ? 0.0 : net[i];
      const bool is_lost = is_beyond_stopping(i, plant.q[i] - data_.position_upper[i], plant.qd[i], driven) ||
                           is_beyond_stopping(i, data_.position_lower[i] - plant.q[i], -plant.qd[i], -driven) || whirls;
      excused_[k] = is_lost && (!is_responsible || excused_[k]);
      if (!is_responsible || excused_[k] || !std::isfinite(envelope_.margin[i])) continue;
      worst[i] = std::max(worst[i], beyond);
      if (beyond > envelope_.margin[i]) return text("position beyond envelope", i, beyond);
    }
    return {};
  }

  Vector worst;  ///< [rad or m] Beyond the position limits, of all that the host is responsible for.

 private:
  /// Whether a joint that far beyond a limit leaves its envelope whatever its motor does; all three towards the limit.
  bool is_beyond_stopping(int i, double beyond, double speed, double effort) const {
    const double rate = limits_.effort_rate[static_cast<std::size_t>(i)];
    const double way = envelope_.stop_distance(i, std::max(speed, 0.0), std::max(effort, 0.0), rate);
    return beyond + way > envelope_.margin[i];
  }

  std::string text(const char* what, int joint, double value) const {
    return std::string(what) + ": " + data_.joint_names[joint] + " " + thunder::format(value);
  }

  const thunder_library& data_;
  thunder::Limits limits_;
  Envelope envelope_;
  std::vector<bool> excused_;
};

}  // namespace test
