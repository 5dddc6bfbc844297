// SPDX-License-Identifier: Apache-2.0
//
// Which velocity is better: the one that a driver reports, differences of positions through a low-pass of 100 Hz, or the one
// by the model (VelocityObserver). An arm may differ from its description as those of host_stops do.
// Usage: host_velocities <count> <seed> <lib1.so> [<lib2.so> …]        <count> trials of each library's arm
//        host_velocities replay <seed> <robot> <law> <number> <lib.so>  one of them
//
// A trial moves an arm from rest in a random pose with a small velocity and lets its law hold that place, with all gains
// multiplied by a factor. `bears` is the largest factor with which the arm comes to rest. `off` is the root mean square of
// what the velocity in use is off, in velocity limits, with the gains as they are. A library that does not know its rotors
// is left out. Exit status: 0, or 1 if an arm comes to rest with the first velocity and its gains as they are, but not with
// the other one. JSON to stdout, what is wrong to stderr.
#include <array>
#include <cstdio>
#include <deque>

#include "sensor.hpp"
#include "subject.hpp"
#include "thunder/host/controller.hpp"

namespace {

using test::Draw;
using test::knows_rotors;
using test::speed_limit;
using test::Subject;
using test::Vector;

constexpr double kPeriod = 1e-3, kStep = 5e-4, kDuration = 1.0, kEnd = 0.8;  // [s]
constexpr double kLongestDelay = 3e-3, kLongestLag = 2e-3;                   // [s]
constexpr double kCutoff = 100.0, kResolution = 1e-5;                        // [Hz], [rad or m]
constexpr double kUncertainty = 0.3, kRotors = 2.0;
constexpr double kSpeed = 0.05;  // of the velocity limits, at the start
constexpr double kRest = 0.02;   // of them, in the end: the steps of the encoders keep joints moving
constexpr double kMost = 30.0;   // factors that are tried
constexpr int kBisections = 7;
enum Case { described, uncertain, rotors, cases };
constexpr std::array<const char*, cases> kNames = {"as described", "uncertain", "rotors twice as heavy"};

/// An arm as it is, which a controller may try to hold again and again.
struct Arm {
  Arm(const Subject& source, std::uint64_t seed) : subject(source), plant(source.library) {
    const thunder_library& data = subject.data();
    Draw draw(seed);
    kind = static_cast<Case>(draw.below(cases));
    const bool is_uncertain = kind == uncertain;
    plant.q = test::random_pose(data, draw);
    plant.qd.setZero();
    plant.scale = is_uncertain ? draw.uniform(1.0 - kUncertainty, 1.0 + kUncertainty) : 1.0;
    plant.load = is_uncertain && draw.one_in(2) ? draw.uniform(0.0, subject.load) : 0.0;
    plant.lag = is_uncertain && draw.one_in(2) ? draw.uniform(0.0, kLongestLag) : 0.0;
    delay = is_uncertain ? draw.uniform(0.0, kLongestDelay) : thunder::Options{}.dead_time;
    for (int i = 0; i < plant.n; ++i) {
      const double known = data.rotor_inertia[i], lower = data.position_lower[i], upper = data.position_upper[i];
      plant.rotor[i] = kind == rotors ? (kRotors - 1.0) * known : is_uncertain ? draw.uniform(-kUncertainty, kUncertainty) * known : 0.0;
      if (std::isfinite(lower)) plant.q[i] = 0.8 * plant.q[i] + 0.1 * (lower + upper);
      plant.qd[i] = draw.uniform(-kSpeed, kSpeed) * speed_limit(data, i);
    }
  }

  const Subject& subject;
  test::Plant plant;
  Case kind = described;
  double delay = 0.0;  ///< [s]
};

struct Held {
  double off = 0.0;
  bool is_at_rest = false;
};

/// Let the law hold the arm, with its gains times a factor.
Held hold(const Arm& arm, bool by_model, double factor) {
  const thunder_library& data = arm.subject.data();
  test::Plant plant(arm.subject.library);
  plant.q = arm.plant.q, plant.qd = arm.plant.qd, plant.rotor = arm.plant.rotor;
  plant.scale = arm.plant.scale, plant.load = arm.plant.load, plant.lag = arm.plant.lag;
  test::Sensor sensor;
  sensor.cutoff = kCutoff, sensor.resolution = kResolution;
  sensor.settle(plant);
  double now = 0.0;
  thunder::Options options;
  options.accepts_unstable_gains = true;
  options.velocity_by_model = by_model;
  options.clock = [&now] { return now; };
  thunder::NamedValues gains;
  const thunder_signal& given = arm.subject.law_data().gains;
  for (int e = 0; e < given.n_entries; ++e) {
    const thunder_entry& entry = given.entries[e];
    std::vector<double>& values = gains[entry.name];
    for (int k = 0; k < thunder::entry_size(entry); ++k) values.push_back(std::min(factor * entry.defaults[k], entry.upper[k]));
  }
  thunder::Controller controller;
  controller.configure(arm.subject.library, arm.subject.law, gains, {}, options);
  controller.activate(sensor.q.data(), sensor.qd.data());
  Vector effort = plant.model_gravity(plant.q);
  std::deque<Vector> efforts(static_cast<std::size_t>(std::lround(arm.delay / kStep)) + 1, effort);
  Held held;
  double last = 0.0, squares = 0.0;
  while (now < kDuration) {
    now += kPeriod;
    controller.update(now, sensor.q.data(), sensor.qd.data(), kPeriod, effort.data());
    for (int i = 0; i < plant.n; ++i) {
      const double limit = speed_limit(data, i), off = (controller.velocity()[static_cast<std::size_t>(i)] - plant.qd[i]) / limit;
      squares += off * off / plant.n;
      if (now > kEnd) last = std::max(last, std::abs(plant.qd[i]) / limit);
    }
    for (double passed = 0.0; passed < 0.999 * kPeriod; passed += kStep) {
      efforts.push_back(effort), efforts.pop_front();
      plant.move(efforts.front(), Vector::Zero(plant.n), kStep);
    }
    sensor.measure(plant, kPeriod);
  }
  held.off = std::sqrt(squares * kPeriod / kDuration);
  held.is_at_rest = last < kRest && (controller.guards() & thunder::kStopping) == 0;
  return held;
}

struct Ending {
  Case kind = described;
  std::array<double, 2> off{}, bears{};
  std::array<bool, 2> is_at_rest{};
  bool is_wrong() const { return is_at_rest[false] && !is_at_rest[true]; }
};

Ending try_one(const Subject& subject, std::uint64_t seed) {
  const Arm arm(subject, seed);
  Ending ending;
  ending.kind = arm.kind;
  for (const bool by_model : {false, true}) {
    const Held held = hold(arm, by_model, 1.0);
    ending.off[by_model] = held.off, ending.is_at_rest[by_model] = held.is_at_rest;
    double most = kMost, least = 1.0;
    for (int k = 0; k < kBisections; ++k) {
      const double factor = std::sqrt(least * most);
      (hold(arm, by_model, factor).is_at_rest ? least : most) = factor;
    }
    ending.bears[by_model] = least;
  }
  return ending;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double least(const std::vector<double>& values) {
  return values.empty() ? 0.0 : *std::min_element(values.begin(), values.end());
}

struct Totals {
  std::array<std::vector<double>, 2> off, bears;
  std::vector<double> gained;
};

bool try_all(const std::vector<Subject>& subjects, double count, std::uint64_t seed) {
  std::vector<const Subject*> arms;
  for (const Subject& subject : subjects) {
    if (knows_rotors(subject.data()) && subject.library->n_elastic() == 0) arms.push_back(&subject);
  }
  std::vector<std::array<Totals, cases>> totals(arms.size());
  const auto make = [&](std::size_t which, long number) { return try_one(*arms[which], arms[which]->seed(seed, number)); };
  bool is_content = true;
  test::try_each(arms.size(), count, make, [&](std::size_t which, long number, const Ending& ending) {
    Totals& t = totals[which][ending.kind];
    for (const std::size_t by_model : {0u, 1u}) {
      t.off[by_model].push_back(ending.off[by_model]), t.bears[by_model].push_back(ending.bears[by_model]);
    }
    t.gained.push_back(ending.bears[1] / ending.bears[0]);
    if (!ending.is_wrong()) return;
    is_content = false;
    std::fprintf(stderr, "%s %s, seed %llu, number %ld, %s: not at rest\n", arms[which]->data().robot,
                 arms[which]->law.c_str(), static_cast<unsigned long long>(seed), number, kNames[ending.kind]);
  });
  std::printf("{\"subjects\": [\n");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    std::printf("{\"robot\": \"%s\", \"law\": \"%s\"", arms[i]->data().robot, arms[i]->law.c_str());
    for (std::size_t kind = 0; kind < cases; ++kind) {
      const Totals& t = totals[i][kind];
      std::printf(", \"%s\": {\"count\": %zu, \"off\": [%.3g, %.3g], \"bears\": [%.3g, %.3g], \"least\": [%.3g, %.3g], \"gained\": %.3g}",
                  kNames[kind], t.gained.size(), median(t.off[0]), median(t.off[1]), median(t.bears[0]), median(t.bears[1]),
                  least(t.bears[0]), least(t.bears[1]), median(t.gained));
    }
    std::printf("}%s\n", i + 1 < arms.size() ? "," : "]}");
  }
  return is_content;
}

bool replay(const Subject& subject, std::uint64_t seed, long number) {
  const Ending ending = try_one(subject, subject.seed(seed, number));
  std::printf("%s: off %.3g, %.3g; bears %.3g, %.3g\n", kNames[ending.kind], ending.off[0], ending.off[1], ending.bears[0],
              ending.bears[1]);
  return !ending.is_wrong();
}

}  // namespace

int main(int count, char** arguments) { return test::run_command(count, arguments, try_all, replay); }
