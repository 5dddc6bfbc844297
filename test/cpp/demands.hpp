// SPDX-License-Identifier: Apache-2.0
//
// What others ask of a session: references, motions, gains; sensible, absurd, and what must be refused.
#pragma once

#include "faults.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/session.hpp"

namespace test {

/// Draws requests for one session and makes them.
class Demands {
 public:
  Demands(const Subject& subject, Draw& draw, Faults& faults)
      : subject_(subject),
        draw_(draw),
        faults_(faults),
        sampler_(subject),
        layout_(sampler_.layout) {
    for (const thunder_entry& entry : thunder::Entries{subject.law_data().measurements}) {
      sees_end_effector_ = sees_end_effector_ || entry.name == std::string(kEndEffector);
    }
  }

  long made = 0, refused = 0;

  /// Once per update.
  void advance(thunder::ControlSession& session, const Vector& q, double now) {
    if (sees_end_effector_) see(session, q, now);
    if (streams_ > 0) stream(session);
    if (draw_.one_in(300)) ask(session, q);
    if (draw_.one_in(500)) change_gain(session);
  }

 private:
  template <class Action>
  void request(Action action) {
    ++made;
    try {
      action();
    } catch (const thunder::HostError&) {
      ++refused;
    }
  }

  /// Where the end effector is, as a camera tells: 100 Hz, noisy, late, now and then elsewhere or nowhere, or not at all.
  void see(thunder::ControlSession& session, const Vector& q, double now) {
    if (draw_.one_in(2000)) blind_ = static_cast<int>(draw_.power(1.0, 3.5));
    if (blind_ > 0) return void(--blind_);
    if (!draw_.one_in(10)) return;
    const std::vector<double> sample = sampler_.rest_at(q);
    std::vector<double> place(sample.begin() + layout_.position, sample.begin() + layout_.position + 3);
    const double far = draw_.one_in(50) ? draw_.power(-2.0, 1.0) : 1e-3;
    for (double& value : place) value += draw_.uniform(-far, far);
    if (draw_.one_in(200)) place[0] = faults_.anything();
    const double late = draw_.one_in(50) ? draw_.power(-3.0, 1.0) : 0.0;
    request([&] { session.set_measurement(kEndEffector, place, static_cast<std::int64_t>(1e9 * (now - late))); });
  }

  void ask(thunder::ControlSession& session, const Vector& q) {
    const double far = draw_.one_in(3) ? draw_.power(0.0, 4.0) : draw_.power(-3.0, 0.0);
    const Vector target = draw_.one_in(2) ? q : random_pose(subject_.data(), draw_);
    switch (draw_.below(8)) {
      case 0: return session.hold_reference();
      case 1: return request([&] { session.stop_motion(); });
      case 2: return request([&] { session.set_motion_limits(limits()); });
      case 3: return request([&] { session.stream(spoilt(sampler_.rest_at(q))); });
      case 4: return begin_stream(sampler_.rest_at(target), far);
      case 5: return request([&] { session.stream(shifted(sampler_.rest_at(target), far)); });
      default: return request([&] { move(session, target, far); });
    }
  }

  std::vector<double> shifted(std::vector<double> sample, double far) {
    for (int i = 0; i < sampler_.place_size; ++i) sample[layout_.position + i] += draw_.uniform(-far, far);
    return sample;
  }

  std::vector<double> spoilt(std::vector<double> sample) {
    for (int k = 0; k < 3; ++k) sample[draw_.bits() % sample.size()] = faults_.anything();
    return sample;
  }

  thunder::MotionLimits limits() {
    thunder::MotionLimits limits;
    for (double* value : {&limits.linear_velocity, &limits.linear_acceleration, &limits.linear_jerk,
                          &limits.angular_velocity, &limits.joint_acceleration}) {
      *value *= draw_.one_in(20) ? faults_.anything() : draw_.power(-2.0, 2.0);
    }
    return limits;
  }

  /// A harmonic motion of the place about a sample, its derivatives being its own.
  void begin_stream(std::vector<double> about, double width) {
    about_ = std::move(about);
    width_ = draw_.vector(sampler_.place_size, width);
    rate_ = draw_.power(-0.5, 1.5);
    phase_ = 0.0;
    streams_ = static_cast<int>(draw_.power(0.0, 3.0));
  }

  void stream(thunder::ControlSession& session) {
    --streams_;
    phase_ += 1e-3 * rate_;
    std::vector<double> sample = about_;
    for (int i = 0; i < sampler_.place_size; ++i) {
      sample[layout_.position + i] += width_[i] * (1.0 - std::cos(phase_));
      sample[layout_.velocity + i] = width_[i] * rate_ * std::sin(phase_);
      sample[layout_.acceleration + i] = width_[i] * rate_ * rate_ * std::cos(phase_);
    }
    request([&] { session.stream(sample); });
  }

  /// To a pose, or through points whose times are anything from absurd to idle.
  void move(thunder::ControlSession& session, const Vector& target, double far) {
    const int points = 1 + draw_.below(4);
    const double period = draw_.one_in(4) ? 1e-6 : draw_.power(-2.0, 1.0);
    if (!layout_.is_cartesian) {
      std::vector<thunder::TimedJoints> joints;
      for (int k = 1; k <= points; ++k) {
        const Vector q = target + draw_.vector(layout_.n_joints, far);
        joints.push_back({k * period, {q.begin(), q.end()}});
      }
      session.follow(joints);
      return;
    }
    std::vector<thunder::TimedPose> poses;
    for (int k = 1; k <= points; ++k) {
      const std::vector<double> at = shifted(sampler_.rest_at(target), far);
      const double* p = &at[layout_.position];
      poses.push_back({k * period, {p[0], p[1], p[2]}, thunder::from_matrix(&at[layout_.rotation])});
    }
    if (draw_.one_in(2)) {
      session.follow(poses);
    } else {
      session.move_to_pose(poses[0].position.data(), poses[0].orientation.data());
    }
  }

  void change_gain(thunder::ControlSession& session) {
    const thunder_signal& gains = subject_.law_data().gains;
    const thunder_entry& entry = gains.entries[draw_.below(gains.n_entries)];
    std::vector<double> values(static_cast<std::size_t>(thunder::entry_size(entry)));
    const int kind = draw_.below(8);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double lower = std::max(entry.lower[k], -1e3), upper = std::min(entry.upper[k], 1e3);
      const double near = entry.defaults[k] * draw_.uniform(0.5, 2.0);
      values[k] = std::clamp(kind < 5 ? near : draw_.uniform(lower, upper), entry.lower[k], entry.upper[k]);
      if (kind == 7) values[k] = faults_.anything();
    }
    request([&] { session.set_gains({{entry.name, values}}); });
  }

  static constexpr const char* kEndEffector = "ee_position";

  const Subject& subject_;
  Draw& draw_;
  Faults& faults_;
  Sampler sampler_;
  const thunder::SampleLayout& layout_;
  std::vector<double> about_;
  Vector width_;
  double rate_ = 0.0, phase_ = 0.0;
  int streams_ = 0;
  bool sees_end_effector_ = false;
  int blind_ = 0;  ///< updates
};

}  // namespace test
