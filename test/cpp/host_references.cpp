// SPDX-License-Identifier: Apache-2.0
//
// Random references, in closed loop with the arm: every one must end tracked, held, refused or stopped with a reason.
// Usage: host_references <count> <seed> <lib1.so> [<lib2.so> …]        <count> references for every law of each library
//        host_references replay <seed> <robot> <law> <number> <lib.so>  one of them, step by step to stdout
//
// Each begins at rest at a random pose, with default gains and options and the model's own arm (its rotors and friction
// aside). Exit status: 0, or 1 if the arm left its envelope (judge.hpp), or neither came to rest nor was stopped in
// kLongest. JSON to stdout, what is wrong to stderr.
#include <atomic>
#include <cstdio>
#include <map>

#include "judge.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/motion/rotation.hpp"
#include "thunder/host/session.hpp"

namespace {

using test::Draw;
using test::Sampler;
using test::Subject;
using test::Vector;

constexpr double kPeriod = 1e-3;      // [s]
constexpr double kLongest = 160.0;    // [s] after which a reference has not ended: soft laws swing long on arms with drives
constexpr double kRestTime = 0.5;     // [s] of which every step is at rest
constexpr double kRest = 0.02;        // of the velocity limit
constexpr double kTracked = 0.01;     // [m, rad] from the goal
constexpr double kHaste = 2.0;        // times the speeds that are permitted: half of the timed references want too much

enum Place { in_reach, at_edge, beyond_reach, through_singularity, near_limits, places };
constexpr const char* kPlaces[] = {"in_reach", "at_edge", "beyond_reach", "through_singularity", "near_limits"};
enum Way { step, stream, motion, ways };
constexpr const char* kWays[] = {"step", "stream", "motion"};
constexpr Place place_of(long number) { return static_cast<Place>(number % places); }
constexpr Way way_of(long number) { return static_cast<Way>(number / places % ways); }

struct Ending {
  std::string name;    ///< tracked, held, refused, stopped by …, restless
  std::string breach;
  Vector beyond;       ///< [rad or m] the limits, at worst
  long updates = 0;
};

/// One reference from its first sample to its end.
class Run {
 public:
  Run(const Subject& subject, std::uint64_t seed, long number, bool is_told)
      : place(place_of(number)),
        way(way_of(number)),
        subject_(subject),
        data_(subject.data()),
        n_(data_.n_joints),
        is_told_(is_told),
        draw_(subject.seed(seed, number)),
        plant_(subject.library),
        sampler_(subject),
        layout_(sampler_.layout),
        session_(thunder::make_configuration(subject.library, "", subject.law, {}), thunder::Options{}),
        judge_(subject, session_.limits()) {}

  Ending run() {
    plant_.q = inner_pose(place == near_limits ? 0.02 : 0.15);
    session_.activate(plant_.q.data(), plant_.qd.data());
    judge_.place_stops(plant_);
    effort_ = plant_.gravity(plant_.q);
    start_ = sampler_.rest_at(plant_.q);
    goal_ = goal();
    duration_ = duration();
    Ending ending;
    try {
      begin();
    } catch (const thunder::HostError& error) {
      if (is_told_) std::printf("%s\n", error.what());
      ending.name = "refused";
    }
    const bool is_refused = !ending.name.empty();
    while (time_ < kLongest && !is_over()) update(ending, is_refused);
    if (ending.name.empty()) ending.name = name();
    if (is_refused && name() == "restless") ending.name = "restless";
    ending.beyond = judge_.worst;
    return ending;
  }

 private:
  // --- where to -----------------------------------------------------------------------------------------------------

  /// A pose a share of the range away from the limits.
  Vector inner_pose(double share) {
    Vector q = test::random_pose(data_, draw_);
    for (int i = 0; i < n_; ++i) {
      if (!std::isfinite(data_.position_lower[i])) continue;
      const double room = share * (data_.position_upper[i] - data_.position_lower[i]);
      q[i] = std::clamp(q[i], data_.position_lower[i] + room, data_.position_upper[i] - room);
    }
    return q;
  }

  std::vector<double> goal() {
    if (!layout_.is_cartesian) return sampler_.rest_at(joint_goal());
    std::vector<double> sample = sampler_.rest_at(inner_pose(place == near_limits ? 0.01 : 0.15));
    double* p = &sample[layout_.position];
    const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    if (place == at_edge || place == beyond_reach) {
      const double wanted = reach() * (place == at_edge ? draw_.uniform(0.97, 1.0) : draw_.uniform(1.05, 3.0));
      for (int i = 0; i < 3; ++i) p[i] *= wanted / length;
    }
    if (place == through_singularity) {  // the other side of the first axis, so that the way leads through it
      for (int i = 0; i < 2; ++i) p[i] = -start_[layout_.position + i];
      p[2] = start_[layout_.position + 2];
      std::copy_n(&start_[layout_.rotation], 9, &sample[layout_.rotation]);
    }
    return sample;
  }

  Vector joint_goal() {
    Vector q = inner_pose(place == near_limits ? 0.01 : 0.15);
    for (int i = 0; i < n_; ++i) {
      const bool is_bounded = std::isfinite(data_.position_lower[i]);
      const double lower = is_bounded ? data_.position_lower[i] : -M_PI;
      const double upper = is_bounded ? data_.position_upper[i] : M_PI;
      const bool up = draw_.one_in(2);
      if (place == at_edge) q[i] = up ? upper : lower;
      if (place == beyond_reach) q[i] = up ? upper + draw_.power(-1.0, 1.3) : lower - draw_.power(-1.0, 1.3);
      if (place == through_singularity) q[i] = lower + upper - plant_.q[i];
    }
    return q;
  }

  /// [s] From start to goal, so that the quickest joint, or the end effector (at most 0.5 m/s in a line), comes near its
  /// greatest speed in the middle, 15/8 of the mean, or asks for kHaste times as much.
  double duration() {
    double least = 0.1;
    for (int i = 0; i < sampler_.place_size; ++i) {
      const double way = std::abs(goal_[layout_.position + i] - start_[layout_.position + i]);
      const double speed = layout_.is_cartesian ? 0.5 : data_.velocity_limit[i];
      least = std::max(least, std::isfinite(speed) ? 1.875 * way / speed : 0.0);
    }
    return std::min(least / draw_.uniform(0.2, kHaste), 0.25 * kLongest);
  }

  // --- how ----------------------------------------------------------------------------------------------------------

  void begin() {
    if (way == step) session_.stream(goal_);
    if (way == stream) send();
    if (way != motion) return;
    const double* place = &goal_[layout_.position];
    if (layout_.is_cartesian) {
      session_.move_to_pose(place, thunder::from_matrix(&goal_[layout_.rotation]).data());
    } else {
      session_.follow(std::vector<thunder::TimedJoints>{{duration_, {place, place + n_}}});
    }
  }

  /// A sample of the way from start to goal, u = 10 s³ − 15 s⁴ + 6 s⁵ of it; turning about one axis.
  void send() {
    const double s = std::min(time_ / duration_, 1.0);
    const double u = s * s * s * (10.0 - s * (15.0 - 6.0 * s));
    const double ud = 30.0 * s * s * (1.0 - s) * (1.0 - s) / duration_;
    const double udd = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (duration_ * duration_);
    std::vector<double> sample = goal_;
    for (int i = 0; i < sampler_.place_size; ++i) {
      const double from = start_[layout_.position + i], length = goal_[layout_.position + i] - from;
      sample[layout_.position + i] = from + u * length;
      sample[layout_.velocity + i] = ud * length, sample[layout_.acceleration + i] = udd * length;
    }
    if (layout_.is_cartesian) {
      const thunder::Quaternion first = thunder::from_matrix(&start_[layout_.rotation]);
      const thunder::Quaternion last = thunder::from_matrix(&goal_[layout_.rotation]);
      const thunder::Vector3 turn = thunder::to_rotation_vector(thunder::product(last, thunder::conjugate(first)));
      thunder::to_matrix(thunder::product(thunder::from_rotation_vector({u * turn[0], u * turn[1], u * turn[2]}), first),
                         &sample[layout_.rotation]);
      for (int i = 0; i < 3; ++i) {
        sample[layout_.velocity + 3 + i] = ud * turn[i], sample[layout_.acceleration + 3 + i] = udd * turn[i];
      }
    }
    session_.stream(sample);
  }

  void update(Ending& ending, bool is_refused) {
    plant_.move(effort_, Vector::Zero(n_), kPeriod);
    time_ += kPeriod;
    if (way == stream && !is_refused) send_on(ending);
    const Vector before = effort_;
    guards_ = session_.update(0, time_, plant_.q.data(), plant_.qd.data(), kPeriod, effort_.data());
    all_guards_ |= guards_;
    ++ending.updates;
    std::string breach = judge_.check_effort(effort_, before, kPeriod);
    if (breach.empty()) breach = judge_.check_position(plant_, effort_, true);
    if (ending.breach.empty() && !breach.empty()) ending.breach = breach + " at " + thunder::format(time_) + " s";
    bool is_slow = true;
    for (int i = 0; i < n_; ++i) {
      const double limit = std::isfinite(data_.velocity_limit[i]) ? data_.velocity_limit[i] : 3.0;
      is_slow = is_slow && std::abs(plant_.qd[i]) <= kRest * limit;
    }
    rested_ = is_slow ? rested_ + kPeriod : 0.0;
    if (is_told_) trace();
  }

  /// A stream goes on until its goal; one that is refused on its way ends there.
  void send_on(Ending& ending) {
    if (time_ > duration_ + 1e-9 || ending.name == "refused") return;
    try {
      send();
    } catch (const thunder::HostError&) {
      ending.name = "refused";
    }
  }

  bool is_over() {
    if ((guards_ & thunder::kStopping) != 0) return session_.has_stopped();
    if (rested_ <= kRestTime) return false;
    if (way == stream) return time_ > duration_;
    return way == step || session_.snapshot().source == thunder::ReferenceSource::hold;
  }

  std::string name() {
    if ((guards_ & thunder::kStopping) != 0) {
      std::string reasons;
      for (std::size_t i = 0; i < thunder::kGuards.size(); ++i) {
        if ((thunder::kFaults & all_guards_ & 1u << i) == 0) continue;
        reasons += std::string(reasons.empty() ? "" : "+") + thunder::kGuards[i].name;
      }
      return session_.has_stopped() ? "stopped by " + reasons : "restless";
    }
    if (rested_ <= kRestTime) return "restless";
    return distance() < kTracked ? "tracked" : "held";
  }

  /// The greatest error of a joint, or of position and direction of any axis; of position only if the law's task is.
  double distance() {
    const std::vector<double> at = sampler_.rest_at(plant_.q);
    const thunder_entry* rotation = thunder::entry_if_any(subject_.law_data().reference, "rotation");
    const bool has_rotation = rotation && (rotation->flags & THUNDER_ENTRY_UNUSED) == 0;
    double largest = 0.0;
    for (int i = 0; i < sampler_.place_size; ++i) {
      largest = std::max(largest, std::abs(at[layout_.position + i] - goal_[layout_.position + i]));
    }
    for (int i = 0; has_rotation && i < 9; ++i) {
      largest = std::max(largest, std::abs(at[layout_.rotation + i] - goal_[layout_.rotation + i]));
    }
    return largest;
  }

  void trace() const {
    std::printf("%.3f guards %x |", time_, guards_);
    for (int i = 0; i < n_; ++i) std::printf(" %.3f %.2f %.2f,", plant_.q[i], plant_.qd[i], effort_[i]);
    std::printf("\n");
  }

  /// [m] The farthest that the end effector comes from the origin, over random poses.
  double reach() {
    double farthest = 0.0;
    for (int k = 0; k < 500; ++k) {
      const std::vector<double> sample = sampler_.rest_at(test::random_pose(data_, draw_));
      const double* p = &sample[layout_.position];
      farthest = std::max(farthest, std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
    }
    return farthest;
  }

  const Place place;
  const Way way;
  const Subject& subject_;
  const thunder_library& data_;
  const int n_;
  const bool is_told_;
  Draw draw_;
  test::Plant plant_;
  Sampler sampler_;
  const thunder::SampleLayout& layout_;
  thunder::ControlSession session_;
  test::Judge judge_;
  Vector effort_;
  std::vector<double> start_, goal_;
  thunder::GuardBits guards_ = 0, all_guards_ = 0;
  double time_ = 0.0, rested_ = 0.0, duration_ = 0.0;  // [s]
};

/// Endings of one robot and law, by place and way.
bool is_wrong(const Ending& ending) { return !ending.breach.empty() || ending.name == "restless"; }

struct Table {
  std::map<std::string, std::map<std::string, long>> endings;
  long updates = 0, wrong = 0;
  Vector beyond;
};

void add(Table& table, long number, const Ending& ending) {
  ++table.endings[std::string(kPlaces[place_of(number)]) + " " + kWays[way_of(number)]][ending.name];
  table.updates += ending.updates;
  table.wrong += is_wrong(ending);
  table.beyond = table.beyond.size() == 0 ? ending.beyond : table.beyond.cwiseMax(ending.beyond).eval();
}

void print(const Subject& subject, const Table& table) {
  std::printf("{\"robot\": \"%s\", \"law\": \"%s\", \"updates\": %ld, \"wrong\": %ld,\n", subject.data().robot,
              subject.law.c_str(), table.updates, table.wrong);
  std::printf(" \"margin\": %s, \"farthest_beyond_limits\": %s,\n \"endings\": {",
              test::json(test::Envelope(subject.heaviest, thunder::limits_of({}, subject.data())).margin).c_str(),
              test::json(table.beyond).c_str());
  const char* comma = "";
  for (const auto& [place, endings] : table.endings) {
    std::printf("%s\n  \"%s\": {", comma, place.c_str());
    comma = "";
    for (const auto& [name, count] : endings) std::printf("%s\"%s\": %ld", comma, name.c_str(), count), comma = ", ";
    std::printf("}");
    comma = ",";
  }
  std::printf("}}");
}

bool try_all(const std::vector<Subject>& subjects, double count, std::uint64_t seed) {
  std::vector<Table> tables(subjects.size());
  const auto make = [&](std::size_t which, long number) { return Run(subjects[which], seed, number, false).run(); };
  test::try_each(subjects.size(), count, make, [&](std::size_t which, long number, const Ending& ending) {
    add(tables[which], number, ending);
    if (is_wrong(ending)) {
      std::fprintf(stderr, "%s %s, seed %llu, number %ld (%s, %s): %s; %s\n", subjects[which].data().robot,
                   subjects[which].law.c_str(), static_cast<unsigned long long>(seed), number, kPlaces[place_of(number)],
                   kWays[way_of(number)], ending.name.c_str(), ending.breach.c_str());
    }
  });
  long wrong = 0;
  std::printf("{\"subjects\": [\n");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    print(subjects[i], tables[i]);
    std::printf(i + 1 < subjects.size() ? ",\n" : "]}\n");
    wrong += tables[i].wrong;
  }
  return wrong == 0;
}

bool replay(const Subject& subject, std::uint64_t seed, long number) {
  const Ending ending = Run(subject, seed, number, true).run();
  std::printf("%s; %s\n", ending.name.c_str(), ending.breach.c_str());
  return !is_wrong(ending);
}

}  // namespace

int main(int count, char** arguments) { return test::run_command(count, arguments, try_all, replay); }
