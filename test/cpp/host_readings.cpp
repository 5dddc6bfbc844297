// SPDX-License-Identifier: Apache-2.0
//
// Readings that cannot be true: none of them may move the arm far before it is found, and no healthy one may be doubted.
// Usage: host_readings <count> <seed> <lib1.so> [<lib2.so> …]        <count> trials of each library's first joint law
//        host_readings replay <seed> <robot> <law> <number> <lib.so>  one of them
//
// Two arms are alike: they move with up to half of their velocity limits and are brought to rest by the law, measured by
// encoders of up to 1e-4 rad whose differences go through a low-pass of 100 Hz, with a dead time of 2 ms. One of them is
// then told, of one joint, for one sample or from then on, a position that is wrong by 0.05 rad to a turn (`once`, `jump`),
// by a whole turn (`wrap`), or the last one for ever: of a joint that moves (`frozen`), or of one that hardly
// does and may as well stick (`sticks`), which no reading tells. In one trial of eight nothing is wrong (`healthy`).
//
// How far apart the two are when a fault is found, or at the end, is what the reading has moved. Exit status: 0, or 1 if that
// is more than kMoved anywhere but of a frozen joint, which is told alone, more than kBridged where one sample alone was
// wrong and no fault was found, if a fault is found in a healthy trial, or if a jump or a wrap stays without one. JSON to
// stdout, what is wrong to stderr.
#include <array>
#include <cstdio>
#include <deque>

#include "sensor.hpp"
#include "subject.hpp"
#include "thunder/host/session.hpp"

namespace {

using test::Draw;
using test::Subject;
using test::Vector;

constexpr double kPeriod = 1e-3, kDelay = 2e-3;  // [s]
constexpr int kLongestWait = 40, kAfter = 60;    // periods before and after it begins
constexpr double kMoved = 0.05, kBridged = 0.01; // [rad or m]
constexpr double kLeast = 0.05, kResolution = 1e-4, kSpeed = 0.5, kCutoff = 100.0;
constexpr double kSticks = 0.15;  // [rad/s or m/s]
enum Kind { healthy, once, jump, wrap, frozen, sticks, kinds };
constexpr std::array<const char*, kinds> kNames = {"healthy", "once", "jump", "wrap", "frozen", "sticks"};

/// An arm, its sensor, its controller, and the efforts on their way.
struct Loop {
  Loop(const Subject& subject, const Vector& q, const Vector& qd, double resolution) : plant(subject.library) {
    plant.q = q, plant.qd = qd;
    sensor.cutoff = kCutoff, sensor.resolution = resolution;
    sensor.settle(plant);
    thunder::Options options;
    options.accepts_unstable_gains = true;
    options.clock = [this] { return now; };
    session.emplace(thunder::make_configuration(subject.library, "", subject.law, {}), options);
    session->activate(sensor.q.data(), sensor.qd.data());
    effort = plant.model_gravity(plant.q);
    efforts.assign(static_cast<std::size_t>(kDelay / kPeriod) + 1, effort);
  }

  void advance() {
    now += kPeriod;
    session->update(std::llround(1e9 * now), now, sensor.q.data(), sensor.qd.data(), kPeriod, effort.data());
    efforts.push_back(effort), efforts.pop_front();
    plant.move(efforts.front(), Vector::Zero(plant.n), kPeriod);
    sensor.measure(plant, kPeriod);
  }

  test::Plant plant;
  test::Sensor sensor;
  std::optional<thunder::ControlSession> session;
  Vector effort;
  std::deque<Vector> efforts;
  double now = 0.0;
};

struct Ending {
  Kind kind = healthy;
  double moved = 0.0;
  bool is_found = false;
  std::string what;
  bool is_wrong() const {
    if (kind == healthy) return is_found;
    if (kind == once && !is_found) return moved > kBridged;
    if (kind == sticks) return false;
    return moved > kMoved || ((kind == jump || kind == wrap) && !is_found);
  }
};

Ending try_one(const Subject& subject, std::uint64_t seed) {
  const thunder_library& data = subject.data();
  Draw draw(seed);
  Ending ending;
  ending.kind = draw.one_in(8) ? healthy : static_cast<Kind>(1 + draw.below(sticks - 1));
  Vector q = test::random_pose(data, draw), qd(data.n_joints);
  for (int i = 0; i < data.n_joints; ++i) {
    if (std::isfinite(data.position_lower[i])) q[i] = 0.8 * q[i] + 0.1 * (data.position_lower[i] + data.position_upper[i]);
    qd[i] = draw.uniform(-kSpeed, kSpeed) * (std::isfinite(data.velocity_limit[i]) ? data.velocity_limit[i] : 1.0);
  }
  const double resolution = draw.uniform(0.0, kResolution);
  Loop told(subject, q, qd, resolution), true_one(subject, q, qd, resolution);
  const int joint = draw.below(data.n_joints), wait = 3 + draw.below(kLongestWait);
  const double way = (draw.one_in(2) ? 1.0 : -1.0) * (ending.kind == wrap ? 2.0 * M_PI : draw.uniform(kLeast, 2.0 * M_PI));
  for (int k = 0; k < wait + kAfter && !ending.is_found; ++k) {
    if (k == wait && ending.kind == frozen) {
      told.sensor.frozen = joint;
      if (std::abs(told.plant.qd[joint]) < kSticks) ending.kind = sticks;
    }
    if (k == wait && (ending.kind == once || ending.kind == jump || ending.kind == wrap)) {
      told.sensor.offset = Vector::Zero(data.n_joints), told.sensor.offset[joint] = way;
    }
    if (k == wait + 1 && ending.kind == once) told.sensor.offset.resize(0);
    told.advance(), true_one.advance();
    ending.is_found = told.session->has_fault();
    ending.moved = std::max(ending.moved, (told.plant.q - true_one.plant.q).cwiseAbs().maxCoeff());
  }
  ending.what = told.session->fault();
  return ending;
}

struct Totals {
  long count = 0, found = 0, wrong = 0;
  double moved = 0.0;
};

bool try_all(const std::vector<Subject>& subjects, double count, std::uint64_t seed) {
  std::vector<const Subject*> arms;
  for (const Subject& subject : subjects) {
    if (!subject.law_data().reference_kind && (arms.empty() || arms.back()->library != subject.library)) arms.push_back(&subject);
  }
  std::vector<std::array<Totals, kinds>> totals(arms.size());
  const auto make = [&](std::size_t which, long number) { return try_one(*arms[which], arms[which]->seed(seed, number)); };
  bool is_content = true;
  test::try_each(arms.size(), count, make, [&](std::size_t which, long number, const Ending& ending) {
    Totals& t = totals[which][ending.kind];
    ++t.count, t.found += ending.is_found, t.moved = std::max(t.moved, ending.moved), t.wrong += ending.is_wrong();
    if (!ending.is_wrong()) return;
    is_content = is_content && ending.kind == frozen;
    std::fprintf(stderr, "%s %s, seed %llu, number %ld, %s: moved %s, %s\n", arms[which]->data().robot,
                 arms[which]->law.c_str(), static_cast<unsigned long long>(seed), number, kNames[ending.kind],
                 thunder::format(ending.moved).c_str(), ending.is_found ? ending.what.c_str() : "not found");
  });
  std::printf("{\"subjects\": [\n");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    std::printf("{\"robot\": \"%s\"", arms[i]->data().robot);
    for (int kind = 0; kind < kinds; ++kind) {
      const Totals& t = totals[i][static_cast<std::size_t>(kind)];
      std::printf(", \"%s\": {\"count\": %ld, \"found\": %ld, \"moved\": %.3g, \"wrong\": %ld}",
                  kNames[static_cast<std::size_t>(kind)], t.count, t.found, t.moved, t.wrong);
    }
    std::printf("}%s\n", i + 1 < arms.size() ? "," : "]}");
  }
  return is_content;
}

bool replay(const Subject& subject, std::uint64_t seed, long number) {
  const Ending ending = try_one(subject, subject.seed(seed, number));
  std::printf("%s: moved %.3g, %s\n", kNames[ending.kind], ending.moved, ending.is_found ? ending.what.c_str() : "not found");
  return !ending.is_wrong();
}

}  // namespace

int main(int count, char** arguments) { return test::run_command(count, arguments, try_all, replay); }
