// SPDX-License-Identifier: Apache-2.0
//
// Streams that an arm can follow, in closed loop with it: none may be limited, and all must end as if nothing guarded them.
// Usage: host_streams <count> <seed> <lib1.so> [<lib2.so> …]        <count> streams for every law of each library
//        host_streams replay <seed> <robot> <law> <number> <lib.so>  one of them, its figures to stdout
//
// A stream is made of a harmonic motion of each joint about a random pose, inside the position limits, at 0.1 to 0.4 of
// the velocity limits, from rest to rest; poses, twists and accelerations follow from T_0_ee. Each is streamed in the
// ways of kWays, guarded and as it is (`approaches_jumps` off).
// Exit status: 0, or 1 if the guard limited, delayed or stopped what was followed without it, or (of samples in time)
// ended farther from the goal than kSlack times what these or a sample with every update give without it, and kClose, or
// if the arm was farther away on the way than kCoarse times what the latter give, and kClose. JSON to stdout, what is
// wrong to stderr.
#include <cstdio>

#include "subject.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/motion/rotation.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/session.hpp"

namespace {

using test::Draw;
using test::Sampler;
using test::Subject;
using test::Vector;

constexpr double kPeriod = 1e-3;    // [s]
constexpr double kDuration = 6.0;   // [s] of a stream
constexpr double kRest = 2.0;       // [s] after it
constexpr double kRamp = 1.0;       // [s] in which the motion begins, and ends
constexpr double kDifference = 3e-4;  // [s] of the differences that rates are made of
constexpr double kSlack = 1.1;
constexpr double kCoarse = 1.25;
constexpr double kClose = 1e-3;     // [m, rad]
constexpr std::int64_t kFirst = 1000000000;  // [ns]

struct Way {
  const char* name;
  double period;   ///< [s]
  double latest;   ///< [s] after its time that a sample comes
};
constexpr Way kWays[] = {{"1 kHz", 1e-3, 0.0}, {"100 Hz", 1e-2, 0.0}, {"50 Hz, late by 0 to 10 ms", 2e-2, 1e-2}};
constexpr std::size_t kWayCount = 3;

struct Figures {
  long limited = 0, late = 0, rate_limited = 0;  ///< steps
  double mean = 0.0, end = 0.0;                  ///< [m, rad] from the stream
  bool is_stopped = false;
};

/// One way of one stream.
struct Pair {
  Figures plain, guarded;
};

/// A motion of all joints that their limits permit.
class Motion {
 public:
  Motion(const thunder_library& data, Draw& draw)
      : middle_(data.n_joints), width_(data.n_joints), rate_(data.n_joints), phase_(data.n_joints) {
    const double share = draw.uniform(0.1, 0.4);
    for (int i = 0; i < data.n_joints; ++i) {
      const bool is_bounded = std::isfinite(data.position_lower[i]);
      const double lower = is_bounded ? data.position_lower[i] : -M_PI;
      const double upper = is_bounded ? data.position_upper[i] : M_PI;
      const double speed = share * (std::isfinite(data.velocity_limit[i]) ? data.velocity_limit[i] : 3.0);
      rate_[i] = draw.uniform(1.0, 4.0), phase_[i] = draw.uniform(0.0, 2.0 * M_PI);
      width_[i] = draw.uniform(0.3, 1.0) * std::min(speed / rate_[i], 0.2 * (upper - lower));
      const double room = 0.05 * (upper - lower) + width_[i];
      middle_[i] = draw.uniform(lower + room, upper - room);
    }
  }

  Vector at(double time) const {
    return middle_ - width_.cwiseProduct((phase_ + passed(time) * rate_).array().cos().matrix());
  }

 private:
  /// [s] The time that has passed for the joints: its rate is a smooth step from 0 to 1, and back at the end.
  static double passed(double time) {
    const auto ramp = [](double u) { return kRamp * u * u * u * u * (2.5 - u * (3.0 - u)); };
    time = std::clamp(time, 0.0, kDuration);
    if (time < kRamp) return ramp(time / kRamp);
    const double left = kDuration - time;
    return left < kRamp ? kDuration - kRamp - ramp(left / kRamp) : time - 0.5 * kRamp;
  }

  Vector middle_, width_, rate_, phase_;
};

/// Samples of a motion with their rates.
class Source {
 public:
  Source(const Subject& subject, const Motion& motion) : sampler_(subject), motion_(motion) {}

  std::vector<double> at(double time) {
    const thunder::SampleLayout& layout = sampler_.layout;
    std::vector<double> now = sampler_.rest_at(motion_.at(time));
    const std::vector<double> before = sampler_.rest_at(motion_.at(time - kDifference));
    const std::vector<double> after = sampler_.rest_at(motion_.at(time + kDifference));
    const auto write = [&](int i, double back, double forth) {
      now[layout.velocity + i] = (forth - back) / (2.0 * kDifference);
      now[layout.acceleration + i] = (forth + back) / (kDifference * kDifference);
    };
    for (int i = 0; i < sampler_.place_size; ++i) {
      const int k = layout.position + i;
      write(i, before[k] - now[k], after[k] - now[k]);
    }
    if (!layout.is_cartesian) return now;
    const thunder::Vector3 back = turn(now, before), forth = turn(now, after);
    for (int i = 0; i < 3; ++i) write(3 + i, back[i], forth[i]);
    return now;
  }

 private:
  thunder::Vector3 turn(const std::vector<double>& from, const std::vector<double>& to) const {
    const auto orientation = [this](const std::vector<double>& at) {
      return thunder::from_matrix(&at[sampler_.layout.rotation]);
    };
    return thunder::to_rotation_vector(thunder::product(orientation(to), thunder::conjugate(orientation(from))));
  }

  Sampler sampler_;
  const Motion& motion_;
};

Figures run(const Subject& subject, const Way& way, bool is_guarded, std::uint64_t seed) {
  Draw draw(seed);
  const Motion motion(subject.data(), draw);
  Source source(subject, motion);
  test::Plant plant(subject.library);
  thunder::Options options;
  options.approaches_jumps = is_guarded;
  thunder::ControlSession session(thunder::make_configuration(subject.library, "", subject.law, {}), options);
  thunder::ReferenceDistance distance(subject.library, subject.law);
  plant.q = motion.at(0.0);
  session.activate(plant.q.data(), plant.qd.data());
  Vector effort = plant.gravity(plant.q);
  Figures figures;
  const long steps = std::lround((kDuration + kRest) / kPeriod);
  double due = 0.0, comes = 0.0;
  for (long k = 1; k <= steps; ++k) {
    const double time = static_cast<double>(k) * kPeriod;
    plant.move(effort, Vector::Zero(plant.n), kPeriod);
    for (; comes <= time + 1e-9 && due <= kDuration + way.period; comes = due + draw.uniform(0.0, way.latest)) {
      session.stream(source.at(due), kFirst + std::llround(1e9 * due));
      due += way.period;
    }
    const thunder::GuardBits guards = session.update(kFirst + std::llround(1e9 * time), time, plant.q.data(),
                                                     plant.qd.data(), kPeriod, effort.data());
    figures.limited += (guards & (thunder::kReferenceLimited | thunder::kReferenceUnreached)) != 0;
    figures.late += (guards & thunder::kReferenceLate) != 0;
    figures.rate_limited += (guards & thunder::kEffortRateLimited) != 0;
    figures.is_stopped = figures.is_stopped || (guards & thunder::kFaults) != 0;
    figures.end = distance.evaluate(plant.q.data(), source.at(time).data());
    figures.mean += figures.end / static_cast<double>(steps);
  }
  return figures;
}

using Stream = std::array<Pair, kWayCount>;

Stream run_all(const Subject& subject, std::uint64_t seed) {
  Stream stream;
  for (std::size_t i = 0; i < kWayCount; ++i) {
    stream[i] = {run(subject, kWays[i], false, seed), run(subject, kWays[i], true, seed)};
  }
  return stream;
}

/// What is wrong with one way of a stream that can be followed as it is; empty if nothing is.
std::string find_wrong(const Stream& stream, std::size_t way) {
  const Figures &plain = stream[way].plain, &guarded = stream[way].guarded, &finest = stream[0].plain;
  if (plain.is_stopped) return {};  // the law cannot follow it
  if (guarded.is_stopped) return "stopped";
  const auto than = [](double has, double before) { return thunder::format(has) + ", not " + thunder::format(before); };
  if (plain.limited == 0 && guarded.limited > 0) return "limited steps " + than(guarded.limited, 0.0);
  if (plain.late == 0 && guarded.late > 0) return "late steps " + than(guarded.late, 0.0);
  const bool is_late = kWays[way].latest > 0.0;  // then an arm whose estimates have not converged may end anywhere
  const double end = std::max(plain.end, finest.end);
  if (!is_late && guarded.end > kSlack * end + kClose) return "away at the end " + than(guarded.end, end);
  if (guarded.mean > kCoarse * finest.mean + kClose) return "away on the way " + than(guarded.mean, finest.mean);
  return {};
}

void print(const Figures& figures) {
  std::printf("{\"limited\": %ld, \"late\": %ld, \"rate_limited\": %ld, \"mean\": %.6g, \"end\": %.6g, \"stopped\": %s}",
              figures.limited, figures.late, figures.rate_limited, figures.mean, figures.end,
              figures.is_stopped ? "true" : "false");
}

void print(const Pair& pair) {
  std::printf("{\"plain\": "), print(pair.plain), std::printf(", \"guarded\": "), print(pair.guarded);
  std::printf("}");
}

void print(const Subject& subject, const std::vector<Stream>& streams, long wrong) {
  std::printf("{\"robot\": \"%s\", \"law\": \"%s\", \"updates\": %ld, \"wrong\": %ld, \"ways\": {", subject.data().robot,
              subject.law.c_str(), static_cast<long>(streams.size() * 2 * kWayCount * 8000), wrong);
  for (std::size_t i = 0; i < kWayCount; ++i) {
    std::printf("%s\n  \"%s\": [", i == 0 ? "" : ",", kWays[i].name);
    for (std::size_t k = 0; k < streams.size(); ++k) std::printf("%s", k == 0 ? "" : ", "), print(streams[k][i]);
    std::printf("]");
  }
  std::printf("}}");
}

bool try_all(const std::vector<Subject>& subjects, double count, std::uint64_t seed) {
  std::vector<std::vector<Stream>> streams(subjects.size());
  std::vector<long> wrong(subjects.size(), 0);
  const auto make = [&](std::size_t which, long number) {
    return run_all(subjects[which], subjects[which].seed(seed, number));
  };
  test::try_each(subjects.size(), count, make, [&](std::size_t which, long number, const Stream& stream) {
    streams[which].push_back(stream);
    for (std::size_t i = 0; i < kWayCount; ++i) {
      const std::string what = find_wrong(stream, i);
      if (what.empty()) continue;
      ++wrong[which];
      std::fprintf(stderr, "%s %s, seed %llu, number %ld, %s: %s\n", subjects[which].data().robot, subjects[which].law.c_str(),
                   static_cast<unsigned long long>(seed), number, kWays[i].name, what.c_str());
    }
  });
  std::printf("{\"subjects\": [\n");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    print(subjects[i], streams[i], wrong[i]);
    std::printf(i + 1 < subjects.size() ? ",\n" : "]}\n");
  }
  return std::all_of(wrong.begin(), wrong.end(), [](long number) { return number == 0; });
}

bool replay(const Subject& subject, std::uint64_t seed, long number) {
  const Stream stream = run_all(subject, subject.seed(seed, number));
  bool is_well = true;
  for (std::size_t i = 0; i < kWayCount; ++i) {
    const std::string what = find_wrong(stream, i);
    print(stream[i]), std::printf(" %s %s\n", kWays[i].name, what.c_str());
    is_well = is_well && what.empty();
  }
  return is_well;
}

}  // namespace

int main(int count, char** arguments) { return test::run_command(count, arguments, try_all, replay); }
