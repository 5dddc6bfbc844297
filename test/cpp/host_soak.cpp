// SPDX-License-Identifier: Apache-2.0
//
// Real time at 1 kHz: one thread updates controllers while another writes references and gains and asks for motions.
// Usage: host_soak <seconds> <lib1.so> [<lib2.so> …]; every law of each library is run. JSON to stdout.
//
// The measured motion is a small closed path about the middle of the joint ranges, the references are near it. A step
// that takes more processor time than a period misses its deadline because of the host; any other late period was woken
// late or interrupted, or the controllers together were too much. On a virtual machine processor time includes what the
// hypervisor takes.
// Exit status: 0, or 1 if an effort was not finite or beyond its limit, or the host allocated or missed a deadline.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include "thunder/host/error.hpp"
#include "thunder/host/controller.hpp"
#include "thunder/host/motion/rotation.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
static thread_local long g_calls = 0;
#else
#define COUNTS_ALLOCATIONS 1
#include "allocations.hpp"
#endif

namespace {

constexpr std::int64_t kPeriod = 1000000;  // [ns]
constexpr std::int64_t kSecond = 1000000000;
constexpr int kPriority = 80;

using Times = std::vector<std::uint32_t>;  // [ns], one per step

std::int64_t now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

void sleep_until(std::int64_t ns) {
  const timespec time{ns / kSecond, ns % kSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

std::uint32_t clipped(std::int64_t ns) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns, 0, UINT32_MAX));
}

/// One controller, its motion and what was measured of it.
struct Subject {
  Subject(std::shared_ptr<const thunder::Library> source, const thunder_law& law, std::size_t steps)
      : library(std::move(source)), wall(steps), cpu(steps) {
    for (auto* values : {&q, &qd, &effort}) values->assign(static_cast<std::size_t>(library->n_joints()), 0.0);
    thunder::Options options;
    options.accepts_unstable_gains = true;  // looking at each change would take the time of the updates
    controller.configure(library, law.name, {}, {}, options);
    move(0.0);
    controller.activate(q.data(), qd.data());
  }

  /// q(t) about the middle of the range, a hundredth of it wide.
  void move(double t) {
    const thunder_library& data = library->data();
    for (std::size_t i = 0; i < q.size(); ++i) {
      const double middle = 0.5 * (data.position_lower[i] + data.position_upper[i]);
      const double width = 0.01 * (data.position_upper[i] - data.position_lower[i]);
      const double rate = 1.0 + 0.1 * static_cast<double>(i);
      q[i] = middle + width * std::sin(rate * t);
      qd[i] = width * rate * std::cos(rate * t);
    }
  }

  bool is_sound() const {
    for (std::size_t i = 0; i < effort.size(); ++i) {
      if (!(std::abs(effort[i]) <= library->data().effort_limit[i])) return false;
    }
    return true;
  }

  std::shared_ptr<const thunder::Library> library;
  thunder::Controller controller;
  std::vector<double> q, qd, effort;
  Times wall, cpu;
  long allocations = 0;
  long unsound = 0;
  std::array<long, 4> sources{};  ///< steps by ReferenceSource
};

using Subjects = std::vector<std::unique_ptr<Subject>>;

// --- the configuring thread ------------------------------------------------------------------------------------------

/// Random but permitted references, motions, gains and requests, as fast as a busy user interface. Streams, motions,
/// stops and holds take turns, so that each is in effect for a while.
class Writer {
 public:
  explicit Writer(const Subjects& subjects) : subjects_(subjects) {
    for (const auto& subject : subjects) references_.push_back(subject->controller.reference());
  }

  void run(const std::atomic<bool>& done) {
    while (!done) {
      phase_ = static_cast<int>(rounds / 50 % 4);
      for (std::size_t i = 0; i < subjects_.size(); ++i) write(subjects_[i]->controller, references_[i]);
      ++rounds;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  long rounds = 0;

 private:
  double draw(double lower, double upper) { return std::uniform_real_distribution<>(lower, upper)(random_); }

  void write(thunder::Controller& controller, const std::vector<double>& at) {
    if (phase_ == 0) write_reference(controller, at);
    if (phase_ == 1 && rounds % 20 == 0) try_motion(controller, at);
    if (phase_ == 2 && rounds % 50 == 0) controller.stop_motion();
    if (phase_ == 3 && rounds % 50 == 0) controller.hold_reference();
    write_gain(controller);
    if (random_() % 100 == 0) controller.reset_state();
    controller.freeze_adaptation(random_() % 4 == 0);
  }

  /// To a pose or through timed points near the start; the next request finds the motion under way. Some are refused, as
  /// too fast from there.
  void try_motion(thunder::Controller& controller, const std::vector<double>& at) {
    try {
      begin_motion(controller, at);
    } catch (const thunder::HostError& error) {
      if (error.kind() != thunder::ErrorKind::law) throw;
    }
  }

  void begin_motion(thunder::Controller& controller, const std::vector<double>& at) {
    thunder::MotionLimits limits;
    limits.linear_velocity = draw(0.05, 0.25);
    controller.set_motion_limits(limits);
    if (controller.law().reference_kind == THUNDER_REFERENCE_JOINT) {
      const auto n = static_cast<std::size_t>(controller.library()->n_joints());
      std::vector<thunder::TimedJoints> points{{draw(0.1, 0.5), {at.begin(), at.begin() + n}}, {1.0, {}}};
      points[1].q = points[0].q;
      for (double& q : points[0].q) q += draw(-0.005, 0.005);
      controller.follow(points);
      return;
    }
    const thunder::Quaternion turned = thunder::product(
        thunder::from_rotation_vector({draw(-0.01, 0.01), draw(-0.01, 0.01), 0.0}), thunder::from_matrix(&at[3]));
    const thunder::Vector3 near{at[0] + draw(-0.01, 0.01), at[1] + draw(-0.01, 0.01), at[2]};
    if (random_() % 2 == 0) {
      controller.move_to_pose(near.data(), turned.data());
    } else {
      controller.follow(std::vector<thunder::TimedPose>{{draw(0.1, 0.5), near, turned}, {1.0, near, turned}});
    }
  }

  /// The reference of the start, shifted; rotations keep their values.
  void write_reference(thunder::Controller& controller, const std::vector<double>& at) {
    std::vector<double> values = at;
    const thunder_signal& signal = controller.law().reference;
    for (int e = 0; e < signal.n_entries; ++e) {
      const thunder_entry& entry = signal.entries[e];
      if (std::strcmp(entry.name, "rotation") == 0) continue;
      for (int k = 0; k < entry.rows * entry.cols; ++k) values[entry.offset + k] += draw(-0.005, 0.005);
    }
    controller.set_reference(values.data(), static_cast<int>(values.size()));
  }

  /// One gain between half and twice its default, within its bounds.
  void write_gain(thunder::Controller& controller) {
    const thunder_signal& signal = controller.law().gains;
    const thunder_entry& entry = signal.entries[random_() % static_cast<std::size_t>(signal.n_entries)];
    std::vector<double> values(static_cast<std::size_t>(entry.rows * entry.cols));
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = std::clamp(entry.defaults[k] * draw(0.5, 2.0), entry.lower[k], entry.upper[k]);
    }
    controller.set_gains({{entry.name, values}});
  }

  const Subjects& subjects_;
  std::vector<std::vector<double>> references_;
  std::mt19937_64 random_{1};
  int phase_ = 0;
};

// --- the updating thread ---------------------------------------------------------------------------------------------

struct Run {
  explicit Run(std::size_t steps) : late(steps) {}
  Times late;
  long missed_by_host = 0;
  long missed_by_scheduler = 0;
  rusage before{}, after{};
};

/// Step one controller; returns the processor time that it took.
std::int64_t step(Subject& subject, std::size_t k) {
  const double t = 1e-9 * static_cast<double>(kPeriod) * static_cast<double>(k + 1);
  subject.move(t);
  const std::int64_t cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
  const long calls = g_calls;
  subject.controller.update(t, subject.q.data(), subject.qd.data(), 1e-9 * kPeriod, subject.effort.data());
  subject.allocations += g_calls - calls;
  subject.wall[k] = clipped(now(CLOCK_MONOTONIC) - wall);
  subject.cpu[k] = clipped(now(CLOCK_THREAD_CPUTIME_ID) - cpu);
  subject.unsound += !subject.is_sound();
  ++subject.sources[static_cast<std::size_t>(subject.controller.reference_source())];
  return subject.cpu[k];
}

/// Every step is done; one that is late is followed by the next at once until the schedule is met again.
void update(Subjects& subjects, Run& run) {
  getrusage(RUSAGE_THREAD, &run.before);
  const std::int64_t start = now(CLOCK_MONOTONIC) + 10 * kPeriod;
  for (std::size_t k = 0; k < run.late.size(); ++k) {
    const std::int64_t due = start + static_cast<std::int64_t>(k) * kPeriod;
    sleep_until(due);
    run.late[k] = clipped(now(CLOCK_MONOTONIC) - due);
    std::int64_t longest = 0;
    for (auto& subject : subjects) longest = std::max(longest, step(*subject, k));
    if (longest > kPeriod) {
      ++run.missed_by_host;
    } else if (now(CLOCK_MONOTONIC) - due > kPeriod) {
      ++run.missed_by_scheduler;
    }
  }
  getrusage(RUSAGE_THREAD, &run.after);
}

// --- report ----------------------------------------------------------------------------------------------------------

std::string outcome(int error, const std::string& done) { return error == 0 ? done : std::strerror(error); }

std::string lock_memory() { return outcome(mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno, "locked"); }

std::string request_real_time() {
  sched_param parameters{};
  parameters.sched_priority = kPriority;
  const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
  return outcome(error, "SCHED_FIFO " + std::to_string(kPriority));
}

void print_times(const char* name, Times times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) { return times[static_cast<std::size_t>(share * (times.size() - 1))]; };
  std::printf("\"%s\": {\"p50\": %u, \"p99\": %u, \"p99.9\": %u, \"max\": %u}", name, at(0.5), at(0.99), at(0.999),
              times.back());
}

void print_subject(const Subject& subject) {
  const thunder_law& law = subject.controller.law();
  std::printf("    {\"robot\": \"%s\", \"law\": \"%s\", \"states\": %d, ", subject.library->data().robot, law.name,
              law.state.size);
  if (COUNTS_ALLOCATIONS) {
    std::printf("\"allocations\": %ld, ", subject.allocations);
  } else {
    std::printf("\"allocations\": null, ");
  }
  std::printf("\"efforts_beyond_limits\": %ld,\n     ", subject.unsound);
  print_times("step_ns", subject.wall);
  std::printf(",\n     ");
  print_times("step_cpu_ns", subject.cpu);
  std::printf(",\n     \"steps_by_reference\": {");
  for (int i = 0; i < 4; ++i) {
    std::printf("%s\"%s\": %ld", i == 0 ? "" : ", ", to_string(static_cast<thunder::ReferenceSource>(i)),
                subject.sources[static_cast<std::size_t>(i)]);
  }
  std::printf("},\n     \"guards\": {");
  for (std::size_t i = 0; i < thunder::kGuards.size(); ++i) {
    std::printf("%s\"%s\": %llu", i == 0 ? "" : ", ", thunder::kGuards[i].name,
                static_cast<unsigned long long>(subject.controller.counters().counts()[static_cast<std::size_t>(i)]));
  }
  std::printf("}}");
}

void print(const Subjects& subjects, const Run& run, long writes) {
  std::printf("  \"period_ns\": %lld,\n  \"steps\": %zu,\n  \"writes\": %ld,\n", static_cast<long long>(kPeriod),
              run.late.size(), writes);
  std::printf("  \"deadlines_missed\": {\"host\": %ld, \"scheduler\": %ld},\n  ", run.missed_by_host,
              run.missed_by_scheduler);
  print_times("woken_late_ns", run.late);
  std::printf(",\n  \"minor_faults\": %ld,\n  \"major_faults\": %ld,\n  \"involuntary_switches\": %ld,\n",
              run.after.ru_minflt - run.before.ru_minflt, run.after.ru_majflt - run.before.ru_majflt,
              run.after.ru_nivcsw - run.before.ru_nivcsw);
  std::printf("  \"controllers\": [\n");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    print_subject(*subjects[i]);
    std::printf(i + 1 < subjects.size() ? ",\n" : "]\n");
  }
}

bool is_clean(const Subjects& subjects, const Run& run) {
  return run.missed_by_host == 0 && std::all_of(subjects.begin(), subjects.end(), [](const auto& subject) {
           return subject->allocations == 0 && subject->unsound == 0;
         });
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 2 ? std::atof(arguments[1]) : 0.0;
  if (!(seconds > 0.0)) {
    std::fprintf(stderr, "usage: host_soak <seconds> <lib1.so> [<lib2.so> ...]\n");
    return 2;
  }
  const auto steps = static_cast<std::size_t>(std::ceil(seconds * kSecond / kPeriod));
  Subjects subjects;
  for (int i = 2; i < count; ++i) {
    const auto library = thunder::Library::load(arguments[i]);
    for (int k = 0; k < library->data().n_laws; ++k) {
      subjects.push_back(std::make_unique<Subject>(library, library->data().laws[k], steps));
    }
  }
  Run run(steps);
  Writer writer(subjects);
  std::atomic<bool> done{false};
  const std::string memory = lock_memory();
  std::thread thread([&] { writer.run(done); });
  const std::string scheduler = request_real_time();
  update(subjects, run);
  done = true;
  thread.join();
  std::printf("{\n  \"memory\": \"%s\",\n  \"scheduler\": \"%s\",\n", memory.c_str(), scheduler.c_str());
  print(subjects, run, writer.rounds);
  std::printf("}\n");
  return is_clean(subjects, run) ? 0 : 1;
}
