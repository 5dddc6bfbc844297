// SPDX-License-Identifier: Apache-2.0
//
// One session, one arm, some seconds, and all that can go wrong with them.
#pragma once

#include <map>
#include <optional>

#include "demands.hpp"

namespace test {

struct Tally {
  long episodes = 0, updates = 0, sighted = 0;
  long activations = 0, activations_refused = 0, requests = 0, requests_refused = 0;
  std::array<long, thunder::kGuards.size()> guards{};
  Vector margin, farthest;
  std::map<std::string, std::string> breaches;  ///< The first of each kind in an episode, and where it was.
  std::map<std::string, long> count;            ///< Episodes with a breach of a kind.

  void add(const Tally& other) {
    episodes += other.episodes, updates += other.updates, sighted += other.sighted;
    activations += other.activations, activations_refused += other.activations_refused;
    requests += other.requests, requests_refused += other.requests_refused;
    for (std::size_t i = 0; i < guards.size(); ++i) guards[i] += other.guards[i];
    const bool is_first = farthest.size() == 0;
    margin = is_first ? other.margin : margin.cwiseMax(other.margin).eval();
    for (const auto& [kind, place] : other.breaches) ++count[kind];
    farthest = is_first ? other.farthest : farthest.cwiseMax(other.farthest).eval();
  }
};

class Episode {
 public:
  /// External torques are at most this share of the effort limit, and of the half that gravity leaves of it.
  static constexpr double kPush = 0.3;
  static constexpr double kUncertainty = 0.3;  ///< Of rotors that the description knows.
  static constexpr double kLag = 5e-3;  ///< [s] The largest time constant of a drive, of half of the arms.
  static constexpr double kCutoff = 100.0, kResolution = 1e-4;  ///< [Hz], [rad or m] How half of the arms are measured.
  static constexpr double kSeen = 5e-3;  ///< [s] After a longer time a driver reports the velocity that the arm has.

  Episode(const Subject& subject, std::uint64_t seed, long index, Tally& tally, bool is_told)
      : subject_(subject),
        data_(subject.data()),
        n_(data_.n_joints),
        tally_(tally),
        is_told_(is_told),
        draw_(subject.seed(seed, index)),
        plant_(subject.library),
        faults_(draw_, n_),
        demands_(subject, draw_, faults_),
        effort_(Vector::Zero(n_)),
        push_(Vector::Zero(n_)) {}

  void run() {
    plant_.q = random_pose(data_, draw_);
    plant_.load = draw_.one_in(2) ? draw_.uniform(0.0, subject_.load) : 0.0;
    plant_.lag = draw_.one_in(2) ? draw_.uniform(0.0, kLag) : 0.0;
    for (int i = 0; i < n_; ++i) {
      if (!std::isnan(data_.rotor_inertia[i])) plant_.rotor[i] = draw_.uniform(-kUncertainty, kUncertainty) * data_.rotor_inertia[i];
    }
    if (draw_.one_in(2)) sensor_.cutoff = kCutoff, sensor_.resolution = draw_.uniform(0.0, kResolution);
    sensor_.settle(plant_);
    configure();
    effort_ = safe_effort();
    const int steps = static_cast<int>(draw_.power(2.5, 3.7));
    for (int k = 0; k < steps; ++k) session_->is_commanding() ? advance() : wait();
    tally_.episodes = 1;
    tally_.requests = demands_.made, tally_.requests_refused = demands_.refused;
    tally_.margin = judge_->envelope().margin, tally_.farthest = judge_->worst;
  }

 private:
  void record(const std::string& breach, thunder::GuardBits guards) {
    if (breach.empty()) return;
    std::string kind = breach.substr(0, breach.find(':'));
    if (updated_ <= activated_) kind += " at activation";
    if ((guards & thunder::kStopping) != 0) kind += " while stopping";
    const std::string place = breach.substr(breach.find(':') + 1) + ", " + thunder::format(now_) + " s";
    if (tally_.breaches.emplace(kind, place).second) tell("BREACH " + kind + place);
  }

  void tell(const std::string& what) const {
    if (is_told_) std::printf("%.4f %s\n", now_, what.c_str());
  }

  // --- configuration ------------------------------------------------------------------------------------------------

  thunder::Options options() {
    thunder::Options options;
    options.gravity_compensated_by_robot = gravity_by_robot_;
    options.clock = [this] { return now_; };
    options.accepts_unstable_gains = true;
    if (knows_rotors(data_) && subject_.library->n_elastic() == 0) options.velocity_by_model = draw_.one_in(2);
    if (draw_.one_in(2)) return options;
    options.measurement_timeout = draw_.uniform(2e-3, 0.05);
    options.max_dt_ratio = draw_.uniform(1.0, 20.0);
    options.reference_timeout = draw_.one_in(2) ? draw_.power(-2.0, 0.0) : Envelope::kInfinity;
    options.saturation_freezes_adaptation = draw_.one_in(2);
    options.gap_limit = draw_.power(-1.5, 0.5);
    options.velocity_limit_patience = draw_.power(-1.0, 0.0);
    options.velocity_stop_ratio = draw_.uniform(1.0, 3.0);
    for (int i = 0; i < n_; ++i) {
      const double effort = draw_.uniform(0.9, 1.0) * data_.effort_limit[i];
      const double rate = draw_.uniform(0.5, 1.0) * data_.effort_rate_limit[i];
      options.effort_limit.push_back(effort);
      if (std::isfinite(rate)) options.effort_rate_limit.push_back(rate);
    }
    return options;
  }

  /// A new session; whose effort is commanded is known then.
  void configure() {
    const bool is_first = !session_;
    gravity_by_robot_ = is_first ? draw_.one_in(4) : gravity_by_robot_;
    const thunder::Options chosen = options();
    const auto configuration = thunder::make_configuration(subject_.library, "", subject_.law, {});
    session_.emplace(configuration, chosen, thunder::NamedValues{}, estimates());
    judge_.emplace(subject_, session_->limits(), plant_.lag);
    judge_->place_stops(plant_);
    is_new_ = true;
    timeout_ = chosen.measurement_timeout;
    period_ = chosen.nominal_dt;
    longest_dt_ = chosen.max_dt_ratio * period_;
    tell("configured");
  }

  thunder::NamedValues estimates() {
    thunder::NamedValues values;
    if (draw_.one_in(2)) return values;
    const thunder_signal& state = subject_.law_data().state;
    for (int e = 0; e < state.n_entries; ++e) {
      const thunder_entry& entry = state.entries[e];
      std::vector<double> given(static_cast<std::size_t>(thunder::entry_size(entry)));
      for (std::size_t k = 0; k < given.size(); ++k) {
        given[k] = std::clamp(entry.defaults[k] * draw_.uniform(0.0, 2.0), entry.lower[k], entry.upper[k]);
      }
      values[entry.name] = given;
    }
    return values;
  }

  /// What holds the arm while nothing is commanded, as far as a host knows.
  Vector safe_effort() {
    const Vector limit = judge_->effort_limit();
    const Vector gravity = gravity_by_robot_ ? Vector::Zero(n_).eval() : plant_.model_gravity(sensor_.q);
    return gravity.cwiseMin(limit).cwiseMax(-limit);
  }

  // --- while nothing is commanded: brakes hold the arm --------------------------------------------------------------

  void wait() {
    if (draw_.one_in(2)) return activate();
    if (draw_.one_in(50)) plant_.q = random_pose(data_, draw_), session_->hold_reference();
    pass(1e-3, true);
    if (draw_.one_in(50)) configure();
    demands_.advance(*session_, plant_.q, now_);
  }

  void activate() {
    if (!has_commanded_) effort_ = safe_effort();
    const bool tells = (is_new_ && has_commanded_) || draw_.one_in(2);  // only the same session knows it otherwise
    Vector held = effort_;
    if (!tells && draw_.one_in(4)) held.setConstant(std::numeric_limits<double>::quiet_NaN());
    try {
      session_->activate(sensor_.q.data(), sensor_.qd.data(), tells || !held.allFinite() ? held.data() : nullptr,
                         draw_.one_in(2) ? 0.5 : Envelope::kInfinity);
      ++tally_.activations;
      tell(tells ? "activated from the effort held" : "activated");
      has_commanded_ = true, is_new_ = false, activated_ = now_;
      judge_->check_position(plant_, motor_effort() + push_, false);
      pass(1e-3, false);
    } catch (const thunder::HostError&) {
      ++tally_.activations_refused;
      pass(1e-3, true);
    }
  }

  // --- while commanded ----------------------------------------------------------------------------------------------

  void advance() {
    demands_.advance(*session_, plant_.q, now_);
    if (const char* fault = faults_.advance()) tell(fault);
    if (draw_.one_in(400)) push();
    if (--pushed_ == 0) push_.setZero();
    if (draw_.one_in(3000)) lose_time();
    if (draw_.one_in(1500)) interfere();
    if (session_->is_commanding()) update();
    if (session_->is_commanding() && draw_.one_in(300)) update();  // once more at the same time
    if (session_->is_commanding()) pass(1e-3 * (draw_.one_in(20) ? draw_.uniform(0.3, 3.0) : 1.0), false);
  }

  /// Someone pushes, for half a second at most.
  void push() {
    for (int i = 0; i < n_; ++i) {
      const double limit = data_.effort_limit[i], left = 0.5 * (limit - subject_.heaviest.gravity[i]);
      const double most = std::isfinite(limit) ? std::min(kPush * limit, std::max(left, 0.0)) : 5.0;
      push_[i] = draw_.uniform(-most, most);
    }
    pushed_ = 1 + static_cast<int>(draw_.power(0.0, 2.7));
    tell("pushed for " + std::to_string(pushed_) + " updates");
  }

  /// No update for a while: the effort stays, or someone takes hold of the arm.
  void lose_time() {
    const double gap = draw_.power(-3.0, 1.0);
    const bool is_held = gap > 0.05 || draw_.one_in(2);
    if (is_held && draw_.one_in(2)) {
      plant_.q = draw_.one_in(2) ? random_pose(data_, draw_) : Vector(plant_.q + draw_.vector(n_, 1.0));
    }
    tell("no update for " + thunder::format(gap) + " s, arm " + (is_held ? "held or moved" : "free"));
    pass(gap, is_held);
    judge_->check_position(plant_, motor_effort() + push_, false);
  }

  /// Somebody uses the life cycle.
  void interfere() {
    const int kind = draw_.below(6);
    constexpr const char* kNames[] = {"deactivated", "stop begun", "estimates reset",
                                      "frozen",      "unfrozen",   "reconfigured"};
    tell(kNames[kind]);
    if (kind == 0) return end_at_once();
    if (kind == 1) return session_->begin_stop();
    if (kind == 2) return session_->reset_estimates();
    if (kind == 3 || kind == 4) return session_->freeze_adaptation(kind == 3);
    end_at_once();
    configure();
  }

  /// The last command before brakes close: it may be any distance from the one before.
  void end_at_once() {
    session_->deactivate(effort_.data());
    record(judge_->check_effort(effort_, effort_, 0.0), 0);
    updated_ = now_;
    tell("commanding ended at once");
  }

  void update() {
    const Told told = faults_.tell(sensor_, now_, now_ - std::max(updated_, activated_));
    const double advanced = told.t - stamp_;
    const double real = now_ - updated_;
    double time = real;
    if (told.dt > 0.0 && told.dt <= longest_dt_) time = std::max(time, told.dt);
    if (advanced > 0.0 && advanced <= timeout_) time = std::max(time, advanced);
    const Vector before = effort_;
    const thunder::GuardBits guards = session_->update(static_cast<std::int64_t>(1e9 * now_), told.t, told.q.data(),
                                                       told.qd.data(), told.dt, effort_.data());
    ++tally_.updates;
    for (std::size_t i = 0; i < tally_.guards.size(); ++i) tally_.guards[i] += guards >> i & 1u;
    constexpr thunder::GuardBits kBlind =
        thunder::kMeasurementNonFinite | thunder::kMeasurementStale | thunder::kTimeStepInvalid | thunder::kNotActive;
    const bool is_sighted = told.is_true && (guards & kBlind) == 0;
    tally_.sighted += is_sighted;
    if (is_told_) trace(guards, told);
    record(judge_->check_effort(effort_, before, std::min(time, period_)), guards);
    record(judge_->check_position(plant_, motor_effort() + push_, is_sighted), guards);
    updated_ = now_, stamp_ = told.t;
    session_->advance_stop();
    if (session_->has_fault() && session_->has_stopped()) end_at_once();  // as the shells do
  }

  void trace(thunder::GuardBits guards, const Told& told) const {
    std::printf("%.4f guards %x dt %g |", now_, guards, told.dt);
    for (int i = 0; i < n_; ++i) std::printf(" %.3f %.2f %.2f,", plant_.q[i], plant_.qd[i], effort_[i]);
    std::printf("\n");
  }

  /// What the arm gets: the command, and gravity where the robot compensates that itself.
  Vector motor_effort() {
    return gravity_by_robot_ ? Vector(effort_ + plant_.model_gravity(plant_.q)) : effort_;
  }

  void pass(double time, bool is_held) {
    now_ += time;
    if (is_held) {
      plant_.qd.setZero();
    } else {
      plant_.move(motor_effort(), push_, time);
    }
    is_held || time > kSeen ? sensor_.settle(plant_) : sensor_.measure(plant_, time);
  }

  const Subject& subject_;
  const thunder_library& data_;
  const int n_;
  Tally& tally_;
  const bool is_told_;
  Draw draw_;
  Plant plant_;
  Sensor sensor_;
  Faults faults_;
  Demands demands_;
  Vector effort_, push_;
  std::optional<thunder::ControlSession> session_;
  std::optional<Judge> judge_;
  bool gravity_by_robot_ = false, is_new_ = false, has_commanded_ = false;
  double now_ = 0.0, updated_ = 0.0, activated_ = 0.0, stamp_ = 0.0;  ///< [s]
  double timeout_ = 0.0, period_ = 0.0, longest_dt_ = 0.0;  ///< [s]
  int pushed_ = 0;
};

}  // namespace test
