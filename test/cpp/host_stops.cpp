// SPDX-License-Identifier: Apache-2.0
//
// Random stops: arms that move at up to four velocity limits, in any direction, are to be at rest after four seconds, and
// no brake may make them faster.
// Usage: host_stops <count> <seed> <lib1.so> [<lib2.so> …]        <count> stops of each library's arm
//        host_stops replay <seed> <robot> <law> <number> <lib.so>  one of them, step by step to stdout
//
// The arm differs from its description by up to 30 % in all inertias, by what the rotors have beyond it (where the library
// knows them, 30 % of that; else up to Plant::kRotor, one time in three nothing) and by a load. It is controlled at 1 kHz
// with a dead time of up to 3 ms, of its drives a lag of up to 2 ms half of the time, and measured by encoders of up to
// 1e-4 rad whose differences go through a low-pass of 100 Hz.
//
// A speed is the largest over the joints, in velocity limits. A stop grows where the speed passes 1.2 times the larger of
// its start and kSlow, and runs off where it passes 1.5 times the larger of its start and the limit. Exit status: 0, or 1
// if more than kGrowing of an arm's stops (and one) grow, one runs off, or one does not come to rest. An arm that its
// motors cannot hold somewhere on its way is counted apart. JSON to stdout, what is wrong to stderr.
#include <cstdio>
#include <deque>

#include "judge.hpp"
#include "sensor.hpp"
#include "thunder/host/session.hpp"

namespace {

using test::Draw;
using test::knows_rotors;
using test::speed_limit;
using test::Subject;
using test::Vector;

constexpr double kDuration = 4.0;    // [s]
constexpr double kFastest = 4.0;     // velocity limits, at the start
constexpr double kUncertainty = 0.3;
constexpr double kStep = 5e-4;       // [s] of the integration
constexpr double kLongestDelay = 3e-3, kLongestLag = 2e-3;  // [s]
constexpr double kCutoff = 100.0;    // [Hz]
constexpr double kResolution = 1e-4; // [rad or m]
constexpr double kRest = 0.05;       // of the velocity limit, as the host's own
constexpr double kSlow = 0.25;       // of the velocity limit: a load that sinks until it is held makes that
constexpr double kGrows = 1.2, kRunsOff = 1.5;
constexpr double kGrowing = 0.01;    // of the stops of an arm
constexpr double kEndStop = 1.0;     // [rad or m] beyond the position limits
constexpr double kHeld = 0.9;        // of the effort limit, that may take what holds the arm

struct Ending {
  double first = 0.0;   ///< Speed at the start.
  double most = 0.0;    ///< The greatest.
  double last = 0.0;    ///< In the end.
  long updates = 0;
  bool is_too_heavy = false;  ///< Somewhere the motors cannot hold the arm.
  double energy = 0.0;   ///< [J] Kinetic, at the start.
  double at_most = 0.0;  ///< [J] The same at the greatest speed.
  bool is_loaded = false;     ///< What nobody told of may drop before the brake holds it.
  bool is_at_rest() const { return last < kRest || is_too_heavy; }
  bool grows() const { return !is_too_heavy && most > kGrows * std::max(first, kSlow); }
  bool runs_off() const { return !is_too_heavy && most > kRunsOff * std::max(first, 1.0); }
  /// Whether one joint has lost what another one gained, as the end of a whip does: the arm as a whole has become slower.
  bool is_whip() const { return at_most <= energy; }
};

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
    delay_ = static_cast<std::size_t>(std::lround(draw_.uniform(0.0, kLongestDelay) / kStep));
    sensor_.cutoff = kCutoff, sensor_.resolution = draw_.uniform(0.0, kResolution);
    sensor_.settle(plant_);
    options_.accepts_unstable_gains = true;
    options_.clock = [this] { return now_; };
    session_.emplace(thunder::make_configuration(subject.library, "", subject.law, {}), options_);
  }

  Ending run() {
    session_->activate(plant_.q.data(), plant_.qd.data());
    session_->begin_stop();
    Vector effort = plant_.model_gravity(plant_.q);
    Ending ending;
    ending.first = speed(), ending.energy = energy(), ending.is_loaded = plant_.load > 0.0;
    std::deque<Vector> efforts(delay_ + 1, effort);
    while (now_ < kDuration) {
      session_->update(std::llround(1e9 * now_), now_ + period_, sensor_.q.data(), sensor_.qd.data(), period_,
                       effort.data());
      for (double passed = 0.0; passed < 0.999 * period_; passed += kStep) {
        efforts.push_back(effort);
        plant_.move(efforts.front(), Vector::Zero(plant_.n), kStep);
        efforts.pop_front();
      }
      now_ += period_, ++ending.updates;
      sensor_.measure(plant_, period_);
      record(ending);
      if (is_told_) tell(effort);
    }
    return ending;
  }

 private:
  void record(Ending& ending) {
    const Vector gravity = plant_.gravity(plant_.q).cwiseAbs();
    for (int i = 0; i < plant_.n; ++i) {
      ending.is_too_heavy = ending.is_too_heavy || gravity[i] > kHeld * data_.effort_limit[i];
    }
    ending.last = speed();
    if (ending.last <= ending.most) return;
    ending.most = ending.last;
    if (ending.grows()) ending.at_most = energy();
  }

  double energy() { return 0.5 * plant_.qd.dot(plant_.inertia(plant_.q) * plant_.qd); }

  double speed() const {
    double largest = 0.0;
    for (int i = 0; i < plant_.n; ++i) largest = std::max(largest, std::abs(plant_.qd[i]) / speed_limit(data_, i));
    return largest;
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
  double now_ = 0.0, period_ = 1e-3;  ///< [s]
  std::size_t delay_ = 0;            ///< steps
  test::Sensor sensor_;
};

struct Totals {
  long updates = 0, stops = 0, too_heavy = 0, moving = 0, growing = 0, running_off = 0, dropped = 0, whips = 0, fast_whips = 0;
  bool is_content() const {
    return moving == 0 && running_off == 0 && static_cast<double>(growing) <= std::max(1.0, kGrowing * static_cast<double>(stops));
  }
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
    Totals& t = totals[which];
    t.updates += ending.updates, ++t.stops, t.too_heavy += ending.is_too_heavy;
    t.moving += !ending.is_at_rest(), t.dropped += ending.is_loaded && ending.grows();
    const bool grows = !ending.is_loaded && ending.grows(), runs_off = !ending.is_loaded && ending.runs_off();
    t.growing += grows && !ending.is_whip(), t.running_off += runs_off && !ending.is_whip();
    t.whips += grows && ending.is_whip(), t.fast_whips += runs_off && ending.is_whip();
    if (ending.is_at_rest() && !ending.grows()) return;
    std::fprintf(stderr, "%s %s %s, seed %llu, number %ld%s%s: %s velocity limits, then up to %s, %s after %s s\n",
                 arms[which]->data().robot, knows_rotors(arms[which]->data()) ? "known" : "unknown",
                 arms[which]->law.c_str(), static_cast<unsigned long long>(seed), number, ending.is_loaded ? ", loaded" : "",
                 ending.grows() && ending.is_whip() ? ", a whip" : "",
                 thunder::format(ending.first).c_str(), thunder::format(ending.most).c_str(),
                 thunder::format(ending.last).c_str(), thunder::format(kDuration).c_str());
  });
  bool is_content = true;
  std::printf("{\"subjects\": [\n");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const Totals& t = totals[i];
    is_content = is_content && t.is_content();
    std::printf("{\"robot\": \"%s\", \"knows_rotors\": %s, \"updates\": %ld, \"stops\": %ld, \"too_heavy\": %ld, ",
                arms[i]->data().robot, knows_rotors(arms[i]->data()) ? "true" : "false", t.updates, t.stops, t.too_heavy);
    std::printf("\"moving\": %ld, \"growing\": %ld, \"running_off\": %ld, \"dropped\": %ld, \"whips\": %ld, \"fast_whips\": %ld}%s\n", t.moving,
                t.growing, t.running_off, t.dropped, t.whips, t.fast_whips,
                i + 1 < arms.size() ? "," : "]}");
  }
  return is_content;
}

bool replay(const Subject& subject, std::uint64_t seed, long number) {
  return Stop(subject, subject.seed(seed, number), true).run().is_at_rest();
}

}  // namespace

int main(int count, char** arguments) { return test::run_command(count, arguments, try_all, replay); }
