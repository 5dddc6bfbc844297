// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/safety/plausibility.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/measurement.hpp"

namespace thunder {
namespace {

constexpr double kForget = 0.2;  // [s] of parted positions and velocities: rounding and jitter of stamps add up
constexpr double kWay = 0.01;    // [rad or m] a fifth of what an arm may move unseen: it gains speed meanwhile
constexpr double kLost = 0.05;   // [rad or m] less than any counter loses
constexpr double kFastest = 10.0;  // velocity limits: no motor turns as fast as that, not even without a load
constexpr double kAgrees = 0.1;  // of the velocity limit: a velocity that is believed again after a doubt
constexpr double kTime = 0.2;    // [s] slower than kWay in this time, a joint may have come to rest at one step of an encoder

}  // namespace

std::string doubt_text(const Doubt& doubt, const thunder_library& library) {
  const std::string joint = std::string("joint ") + library.joint_names[doubt.joint];
  const std::string read = format(doubt.read), expected = format(doubt.expected);
  switch (doubt.kind) {
    case Doubt::Kind::no_position:
      return joint + " has no position: it is read as " + read;
    case Doubt::Kind::no_velocity:
      return joint + " has no velocity: it is read as " + read;
    case Doubt::Kind::position:
      return joint + " is read at " + read + ", expected at " + expected + ": it cannot have moved that far";
    case Doubt::Kind::velocity:
      return joint + " is read to move with " + read + ", its positions with " + expected;
    case Doubt::Kind::drift:
      return joint + " has moved by " + read + " according to its positions, by " + expected +
             " according to its velocities";
    case Doubt::Kind::stands:
      return joint + " is read to stand, expected to have moved by " + expected + ", as it moved before and others do";
    case Doubt::Kind::none:
      break;
  }
  return {};
}

Plausibility::Plausibility(const Options& options, const Limits& limits)
    : ratio_(options.velocity_stop_ratio),
      noise_(options.position_noise),
      late_(velocity_delay(options)),
      timeout_(options.measurement_timeout),
      velocity_limit_(limits.velocity),
      position_(velocity_limit_.size(), 0.0),
      velocity_(position_),
      read_(position_),
      parted_(position_),
      speed_(position_),
      missed_(position_),
      stood_(position_),
      is_suspect_(position_.size(), false) {}

void Plausibility::restart(const double* q, const double* qd) noexcept {
  believe(q, qd);
  forget();
}

void Plausibility::believe(const double* q, const double* qd) noexcept {
  for (std::size_t i = 0; i < position_.size(); ++i) {
    const double fastest = kFastest * velocity_limit_[i], read = qd ? qd[i] : 0.0;
    position_[i] = read_[i] = q[i];
    velocity_[i] = std::clamp(read, -fastest, fastest);
    parted_[i] = speed_[i] = missed_[i] = stood_[i] = 0.0;
    is_suspect_[i] = velocity_[i] != read;
  }
  bridged_ = 0.0;
}

void Plausibility::doubt(Doubt::Kind kind, std::size_t joint, double read, double expected) noexcept {
  doubt_ = {kind, joint, read, expected};
}

int Plausibility::lost_counter(const double* q, double time) const noexcept {
  int lost = -1;
  bool is_there = false;
  for (std::size_t i = 0; i < position_.size(); ++i) {
    const double way = std::abs(q[i] - position_[i]);
    if (way > ratio_ * velocity_limit_[i] * time + kLost) lost = static_cast<int>(i);
    is_there = is_there || way <= noise_;
  }
  return is_there ? lost : -1;
}

void Plausibility::miss(const double* q, const double* qd) noexcept {
  for (std::size_t i = 0; i < position_.size(); ++i) {
    if (!std::isfinite(q[i])) return doubt(Doubt::Kind::no_position, i, q[i], position_[i]);
    if (!std::isfinite(qd[i])) return doubt(Doubt::Kind::no_velocity, i, qd[i], velocity_[i]);
  }
}

/// Whether a position stands that should not.
bool Plausibility::stands(std::size_t joint, double q, double interval, bool others_move) noexcept {
  if (q != read_[joint]) {
    missed_[joint] = stood_[joint] = 0.0;
    return false;
  }
  stood_[joint] += interval;
  if (stood_[joint] > kTime || !others_move) return false;
  missed_[joint] += interval * std::abs(speed_[joint]);
  return missed_[joint] > kWay + noise_;
}

bool Plausibility::check(const double* q, const double* qd, double interval) noexcept {
  const std::size_t n = position_.size();
  bool is_bridged = false, is_believed = true;
  std::size_t moving = 0;
  for (std::size_t i = 0; i < n; ++i) moving += q[i] != read_[i];
  const double forget = std::exp(-interval / kForget);
  for (std::size_t i = 0; i < n; ++i) {
    const double fastest = ratio_ * velocity_limit_[i], reach = fastest * interval + noise_;
    const double expected = position_[i] + velocity_[i] * interval, way = q[i] - position_[i];
    const bool others_move = moving > (q[i] != read_[i] ? 1u : 0u);
    if (stands(i, q[i], interval, others_move)) {
      doubt(Doubt::Kind::stands, i, 0.0, std::copysign(missed_[i], speed_[i]));
      is_believed = false;
    }
    read_[i] = q[i];
    const bool is_elsewhere = std::abs(way) > reach;
    const bool is_too_fast = std::abs(qd[i]) > fastest && std::abs(qd[i] * interval - way) > reach;
    if (is_elsewhere || is_too_fast) {
      if (is_elsewhere) {
        doubt(Doubt::Kind::position, i, q[i], expected);
      } else {
        doubt(Doubt::Kind::velocity, i, qd[i], way / interval);
      }
      is_bridged = is_suspect_[i] = true;
    }
    if (is_suspect_[i]) {
      // A filter of differences remembers for long what was read once.
      const double share = std::min(1.0, interval / std::max(late_, interval));
      if (!is_elsewhere) velocity_[i] += share * (way / interval - velocity_[i]);
      position_[i] = is_elsewhere ? expected : q[i];
      is_suspect_[i] = is_elsewhere || std::abs(qd[i] - velocity_[i]) > kAgrees * velocity_limit_[i];
      continue;
    }
    parted_[i] = forget * parted_[i] + way - qd[i] * interval;
    if (std::abs(parted_[i]) > 2.0 * fastest * late_ + 4.0 * noise_) {
      doubt(Doubt::Kind::drift, i, way, way - parted_[i]);
      is_believed = false;
    }
    position_[i] = q[i];
    velocity_[i] = qd[i];
    if (stood_[i] == 0.0) speed_[i] = qd[i];
  }
  bridged_ = is_bridged ? bridged_ + interval : 0.0;
  return is_believed && bridged_ <= timeout_;
}

}  // namespace thunder
