// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thunder/host/options.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// Why a reading of one joint cannot be true, and both numbers.
struct Doubt {
  enum class Kind : std::uint8_t {
    none,
    no_position,  ///< It is infinite or NaN.
    no_velocity,  ///< The same.
    position,    ///< The joint cannot be there: position read, position expected [rad or m].
    velocity,    ///< The position did not move like that: velocity read, velocity by positions [rad/s or m/s].
    drift,       ///< Positions and the integral of velocities have parted: way by positions, way by velocities [rad or m].
    stands,      ///< The position stands where the joint moved and others do: way read, way expected [rad or m].
  };
  Kind kind = Kind::none;
  std::size_t joint = 0;
  double read = 0.0, expected = 0.0;
};

/// For people: "joint elbow is read at 1.2, expected at 0.2: it cannot have moved that far".
std::string doubt_text(const Doubt& doubt, const thunder_library& library);

/// Judges readings of a joint against those before, and predicts what cannot be true.
///
/// With the velocity limit v_i, the stop ratio s, the noise ε of positions and the time Δ since the reading before:
///
/// - |q_i − q_i⁻| > s v_i Δ + ε: the joint cannot be there.
/// - |q̇_i| > s v_i while positions differ from it by more than that: the velocity is not the joint's.
///
/// Either is bridged: the joint is taken to go on with the velocity that it had. For no longer than the timeout of
/// measurements, then the measurement is lost. Until the velocity agrees with the positions again, within 0.1 v_i, theirs is
/// taken, through a low-pass of T_v, the delay of the velocity. The measurement is lost at once
///
/// - where ∫(dq_i − q̇_i dt), old differences forgotten, leaves 2 s v_i T_v + 4 ε: less is what a late velocity makes of
///   the largest change of speed;
/// - where q_i repeats bit for bit, while the joint, with the speed that it had, should have gone kWay + ε on within kTime,
///   and another joint moves. A joint that comes to rest is slow before.
///
/// A joint without a velocity limit is judged by neither of the first three.
class Plausibility {
 public:
  Plausibility(const Options& options, const Limits& limits);

  /// Begin anew: nothing was doubted yet, and q is believed, at rest or at q̇.
  void restart(const double* q, const double* qd) noexcept;
  /// Believe q and q̇, whatever was before.
  void believe(const double* q, const double* qd) noexcept;

  /// Judge a reading after an interval [s]; n_joints values each, finite. Whether it is believed, or bridged.
  bool check(const double* q, const double* qd, double interval) noexcept;

  /// Forget what was doubted: something else is missing now.
  void forget() noexcept { doubt_ = {}; }
  /// Say that a reading is not finite, where one is not.
  void miss(const double* q, const double* qd) noexcept;
  /// Say that a joint is not where it can be after a gap.
  void displace(std::size_t joint, double q) noexcept { doubt(Doubt::Kind::position, joint, q, position_[joint]); }

  /// The joint whose counter was lost or turned while nobody looked for a time [s]: it cannot have come where it is read,
  /// and another joint is where it was. An arm that was carried elsewhere moves in all joints. Its number, or -1.
  int lost_counter(const double* q, double time) const noexcept;

  /// What is believed: read, or predicted. [rad or m, per second]
  const double* position() const noexcept { return position_.data(); }
  const double* velocity() const noexcept { return velocity_.data(); }
  /// Why the last reading that was not believed was not.
  const Doubt& doubt() const noexcept { return doubt_; }

 private:
  void doubt(Doubt::Kind kind, std::size_t joint, double read, double expected) noexcept;
  bool stands(std::size_t joint, double q, double interval, bool others_move) noexcept;

  double ratio_, noise_, late_, timeout_;
  std::vector<double> velocity_limit_;
  std::vector<double> position_, velocity_;  ///< believed
  std::vector<double> read_;                 ///< position read last
  std::vector<double> parted_;               ///< ∫(dq − q̇ dt)
  std::vector<double> speed_;                ///< while it moved
  std::vector<double> missed_, stood_;       ///< way and time of a position that stands
  std::vector<bool> is_suspect_;             ///< whether the velocity is that of the positions
  double bridged_ = 0.0;                     ///< [s]
  Doubt doubt_;
};

}  // namespace thunder
