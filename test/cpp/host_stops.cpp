// SPDX-License-Identifier: Apache-2.0
//
// Random stops: arms that move at up to six velocity limits, in any direction, are to be at rest after four seconds.
// Usage: host_stops <count> <seed> <lib1.so> [<lib2.so> …]        <count> stops of each library's arm
//        host_stops replay <seed> <robot> <law> <number> <lib.so>  one of them, step by step to stdout
//
// The arm differs from its description by up to 30 % in all inertias, by what the rotors have beyond it (where the library
// knows them, 30 % of that; else up to Plant::kRotor, one time in three nothing) and by a load. It is controlled at 1 kHz
// or 500 Hz, with a delay of up to 3 ms, a lag of its drives of up to 5 ms, and noise; each of them half of the time.
// Exit status: 0, or 1 if of the arms whose rotors are all known more than kMoving (and one) are not at rest. JSON to stdout, what is not at rest to stderr.
#include <cstdio>
#include <deque>

#include "judge.hpp"
#include "thunder/host/session.hpp"

namespace {

using test::Draw;
using test::Subject;
using test::Vector;

constexpr double kDuration = 4.0;    // [s]
constexpr double kFastest = 6.0;     // velocity limits, at the start
constexpr double kUncertainty = 0.3;
constexpr double kStep = 5e-4;       // [s] of the integration
constexpr double kLongestDelay = 3e-3, kLongestLag = 5e-3;  // [s]
constexpr double kRest = 0.05;       // of the velocity limit, as the host's own
constexpr double kSpin = 0.2;        // of the velocity limit
constexpr double kLastPart = 0.5;    // of the duration
constexpr double kMoving = 1e-3;     // of all stops
constexpr double kEndStop = 1.0;     // [rad or m] beyond the position limits
constexpr double kHeld = 0.9;        // of the effort limit, that may take what holds the arm

struct Ending {
  double last = 0.0;      ///< [1] Speed over velocity limit, of the fastest joint, in the end.
  double least = 1e300;   ///< [1] The least of that in the last part.
  long updates = 0;
  bool is_too_heavy = false;  ///< Somewhere the motors cannot hold the arm.
  bool is_at_rest() const { return last < kRest || is_too_heavy; }
  bool spins() const { return least > kSpin; }
};

bool knows_rotors(const thunder_library& data) {
  return std::none_of(data.rotor_inertia, data.rotor_inertia + data.n_joints, [](double value) { return std::isnan(value); });
}

double speed_limit(const thunder_library& data, int joint) {
  return std::isfinite(data.velocity_limit[joint]) ? data.velocity_limit[joint] : 3.0;
}

class Stop {
 public:
  Stop(const Subject& subject, std::uint64_t seed, bool is_told)
      : data_(subject.data()), is_told_(is_told), draw_(seed), plant_(subject.library) {
    plant_.q = test::random_pose(data_, draw_);
    plant_.scale = draw_.uniform(1.0 - kUncertainty, 1.0 + kUncertainty);
    plant_.load = draw_.one_in(2) ? draw_.uniform(0.0, subject.load) : 0.0;
    plant_.lag = draw_.one_in(2) ? draw_.uniform(0.0, kLongestLag) : 0.0;
    const double share = draw_.one_in(3) ? 0.0 : draw_.uniform(0.0, 1.0), fastest = draw_.uniform(0.0, kFastest);
    for (int i = 0; i < plant_.n; ++i) {
      const double known = data_.rotor_inertia[i];
      plant_.rotor[i] = std::isnan(known) ? share * plant_.rotor[i] : draw_.uniform(-kUncertainty, kUncertainty) * known;
      plant_.qd[i] = draw_.uniform(-fastest, fastest) * speed_limit(data_, i);
    }
    plant_.stop_upper.array() += kEndStop, plant_.stop_lower.array() -= kEndStop;
    period_ = draw_.one_in(2) ? 1e-3 : 2e-3;
    delay_ = draw_.one_in(2) ? static_cast<std::size_t>(draw_.uniform(0.0, kLongestDelay) / kStep) : 0;
    is_noisy_ = draw_.one_in(2);
    options_.nominal_dt = period_;
    options_.measurement_timeout = 10.0 * period_;
    options_.accepts_unstable_gains = true;
    options_.clock = [this] { return now_; };
    session_.emplace(thunder::make_configuration(subject.library, "", subject.law, {}), options_);
  }

  Ending run() {
    session_->activate(plant_.q.data(), plant_.qd.data());
    session_->begin_stop();
    Vector effort = plant_.model_gravity(plant_.q);
    Ending ending;
    std::deque<Vector> efforts(delay_ + 1, effort);
    while (now_ < kDuration) {
      Vector q = plant_.q, qd = plant_.qd;
      if (is_noisy_) q += draw_.vector(plant_.n, 1e-4), qd += draw_.vector(plant_.n, 0.02);
      session_->update(std::llround(1e9 * now_), now_ + period_, q.data(), qd.data(), period_, effort.data());
      for (double passed = 0.0; passed < 0.999 * period_; passed += kStep) {
        efforts.push_back(effort);
        plant_.move(efforts.front(), Vector::Zero(plant_.n), kStep);
        efforts.pop_front();
      }
      now_ += period_, ++ending.updates;
      record(ending);
      if (is_told_) tell(effort);
    }
    return ending;
  }

 private:
  void record(Ending& ending) {
    ending.last = 0.0;
    const Vector gravity = plant_.gravity(plant_.q).cwiseAbs();
    for (int i = 0; i < plant_.n; ++i) {
      ending.is_too_heavy = ending.is_too_heavy || gravity[i] > kHeld * data_.effort_limit[i];
    }
    for (int i = 0; i < plant_.n; ++i) ending.last = std::max(ending.last, std::abs(plant_.qd[i]) / speed_limit(data_, i));
    if (now_ > kLastPart * kDuration) ending.least = std::min(ending.least, ending.last);
  }

  void tell(const Vector& effort) const {
    std::printf("%.4f |", now_);
    for (int i = 0; i < plant_.n; ++i) std::printf(" %.3f %.3f %.3f,", plant_.q[i], plant_.qd[i], effort[i]);
    std::printf("\n");
  }

  const thunder_library& data_;
  const bool is_told_;
  Draw draw_;
  test::Plant plant_;
  thunder::Options options_;
  std::optional<thunder::ControlSession> session_;
  double now_ = 0.0, period_ = 0.0;  ///< [s]
  std::size_t delay_ = 0;            ///< steps
  bool is_noisy_ = false;
};

struct Totals {
  long updates = 0, stops = 0, too_heavy = 0, moving = 0, spinning = 0;
};

bool try_all(const std::vector<Subject>& subjects, double count, std::uint64_t seed) {
  std::vector<const Subject*> arms;  // one law of each: no law is asked for anything
  for (const Subject& subject : subjects) {
    if (arms.empty() || arms.back()->library != subject.library) arms.push_back(&subject);
  }
  std::vector<Totals> totals(arms.size());
  const auto make = [&](std::size_t which, long number) {
    return Stop(*arms[which], arms[which]->seed(seed, number), false).run();
  };
  test::try_each(arms.size(), count, make, [&](std::size_t which, long number, const Ending& ending) {
    totals[which].updates += ending.updates, ++totals[which].stops, totals[which].too_heavy += ending.is_too_heavy;
    if (ending.is_at_rest()) return;
    ++totals[which].moving, totals[which].spinning += ending.spins();
    std::fprintf(stderr, "%s %s, seed %llu, number %ld: %s velocity limits after %s s\n", arms[which]->data().robot,
                 arms[which]->law.c_str(), static_cast<unsigned long long>(seed), number,
                 thunder::format(ending.last).c_str(), thunder::format(kDuration).c_str());
  });
  long known = 0, moving = 0;
  std::printf("{\"subjects\": [\n");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const Totals& t = totals[i];
    const bool is_known = knows_rotors(arms[i]->data());
    if (is_known) known += t.stops, moving += t.moving;
    std::printf("{\"robot\": \"%s\", \"knows_rotors\": %s, \"updates\": %ld, \"stops\": %ld, \"too_heavy\": %ld, ",
                arms[i]->data().robot, is_known ? "true" : "false", t.updates, t.stops, t.too_heavy);
    std::printf("\"moving\": %ld, \"spinning\": %ld}%s\n", t.moving, t.spinning, i + 1 < arms.size() ? "," : "]}");
  }
  return static_cast<double>(moving) <= std::max(1.0, kMoving * static_cast<double>(known));
}

bool replay(const Subject& subject, std::uint64_t seed, long number) {
  return Stop(subject, subject.seed(seed, number), true).run().is_at_rest();
}

}  // namespace

int main(int count, char** arguments) { return test::run_command(count, arguments, try_all, replay); }
