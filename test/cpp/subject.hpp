// SPDX-License-Identifier: Apache-2.0
//
// The arms and laws that are tried, and random poses of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "plant.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/sample.hpp"

namespace test {

/// Random numbers that are the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint64_t bits() { return random_(); }
  double uniform(double lower, double upper) {
    return lower + (upper - lower) * (static_cast<double>(random_() >> 11) * 0x1p-53);
  }
  double power(double lower, double upper) { return std::pow(10.0, uniform(lower, upper)); }
  bool one_in(std::uint64_t count) { return random_() % count == 0; }
  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  Vector vector(int size, double bound) {
    Vector values(size);
    for (double& value : values) value = uniform(-bound, bound);
    return values;
  }

 private:
  std::mt19937_64 random_;
};

/// Whether the description says what rotors its motors have.
inline bool knows_rotors(const thunder_library& data) {
  return std::none_of(data.rotor_inertia, data.rotor_inertia + data.n_joints, [](double value) { return std::isnan(value); });
}

/// The velocity limit of a joint, or what stands for it [rad/s or m/s].
inline double speed_limit(const thunder_library& data, int joint) {
  return std::isfinite(data.velocity_limit[joint]) ? data.velocity_limit[joint] : 3.0;
}

/// A pose inside the limits; within half a turn either way where there are none.
inline Vector random_pose(const thunder_library& data, Draw& draw) {
  Vector q(data.n_joints);
  for (int i = 0; i < data.n_joints; ++i) {
    const double lower = data.position_lower[i], upper = data.position_upper[i];
    q[i] = std::isfinite(lower) ? draw.uniform(lower, upper) : draw.uniform(-M_PI, M_PI);
  }
  return q;
}

/// The greatest gravity torque and inertia about each joint of an arm with its load, over random poses; and the least
/// inertia that a joint's effort alone moves, 1/(M⁻¹)_ii.
struct Heaviest {
  Heaviest(Plant& plant, const thunder_library& data)
      : gravity(Vector::Zero(data.n_joints)), inertia(gravity), lightest(Vector::Constant(data.n_joints, 1e9)) {
    Draw draw(1);
    for (int k = 0; k < 2000; ++k) {
      const Vector q = random_pose(data, draw);
      const Eigen::MatrixXd M = plant.inertia(q);
      gravity = gravity.cwiseMax(plant.gravity(q).cwiseAbs());
      inertia = inertia.cwiseMax(M.diagonal());
      lightest = lightest.cwiseMin(M.inverse().diagonal().cwiseInverse());
    }
  }

  Vector gravity;   ///< [N·m or N]
  Vector inertia;   ///< [kg·m² or kg]
  Vector lightest;  ///< [kg·m² or kg]
};

/// One robot with one law.
struct Subject {
  std::shared_ptr<const thunder::Library> library;
  std::string law;
  double load;  ///< [kg] The heaviest: gravity takes 0.6 of an effort limit at most.
  Heaviest heaviest;

  const thunder_library& data() const { return library->data(); }
  const thunder_law& law_data() const { return library->law(law); }

  /// Of one of its runs: another for every robot, law and number.
  std::uint64_t seed(std::uint64_t seed, long number) const {
    for (const char letter : data().robot + law) seed = seed * 1099511628211u + static_cast<unsigned char>(letter);
    return seed * 1000003u + static_cast<std::uint64_t>(number);
  }
};

/// Makes flat samples of a law's reference.
class Sampler {
 public:
  explicit Sampler(const Subject& subject)
      : layout(subject.law_data(), subject.library->n_joints()),
        place_size(layout.is_cartesian ? 3 : layout.n_joints),
        first_(thunder::default_values(subject.law_data().reference)),
        pose_(subject.library, "T_0_ee", 16) {}

  /// Rest at a joint position.
  std::vector<double> rest_at(const Vector& q) {
    std::vector<double> sample = first_;
    if (!layout.is_cartesian) {
      std::copy(q.begin(), q.end(), sample.begin() + layout.position);
      return sample;
    }
    pose_.evaluate(q.data());
    const double* pose = pose_.result();
    std::copy_n(pose + 12, 3, sample.begin() + layout.position);
    for (int c = 0; c < 3; ++c) std::copy_n(pose + 4 * c, 3, sample.begin() + layout.rotation + 3 * c);
    return sample;
  }

  const thunder::SampleLayout layout;
  const int place_size;  ///< Of a position: joints, or x y z.

 private:
  std::vector<double> first_;
  thunder::PositionFunction pose_;
};

/// The laws of a library, each with its arm.
inline std::vector<Subject> subjects_of(const char* path) {
  const auto library = thunder::Library::load(path);
  const thunder_library& data = library->data();
  Plant plant(library);
  const Vector bare = Heaviest(plant, data).gravity;
  plant.load = 1.0;
  const Vector loaded = Heaviest(plant, data).gravity;
  double load = 2.0;
  for (int i = 0; i < plant.n; ++i) {
    load = std::min(load, (0.6 * data.effort_limit[i] - bare[i]) / (loaded[i] - bare[i] + 1e-9));
  }
  plant.load = std::max(load, 0.0);
  std::vector<Subject> subjects;
  for (int k = 0; k < data.n_laws; ++k) {
    subjects.push_back({library, data.laws[k].name, plant.load, Heaviest(plant, data)});
  }
  return subjects;
}

/// Call work(0), work(1), … on all cores until it says that it was enough.
template <class Work>
void in_parallel(Work work) {
  std::atomic<long> next{0};
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < std::max(1u, std::thread::hardware_concurrency()); ++k) {
    threads.emplace_back([&] {
      while (work(next++)) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// `count` runs of every subject on all cores: make(which, number) at the same time, take(which, number, made) one by one.
template <class Make, class Take>
void try_each(std::size_t subjects, double count, Make make, Take take) {
  std::mutex mutex;
  in_parallel([&](long k) {
    if (static_cast<double>(k) >= count * static_cast<double>(subjects)) return false;
    const std::size_t which = static_cast<std::size_t>(k) % subjects;
    const long number = k / static_cast<long>(subjects);
    const auto made = make(which, number);
    const std::lock_guard<std::mutex> lock(mutex);
    take(which, number, made);
    return true;
  });
}

/// As a JSON list; null for what is infinite.
inline std::string json(const Vector& values) {
  std::string text;
  for (const double value : values) {
    text += (text.empty() ? "" : ", ") + (std::isfinite(value) ? thunder::format(value) : "null");
  }
  return "[" + text + "]";
}

/// main of a program that is called as
///     <program> <amount> <seed> <lib1.so> [<lib2.so> …]             try_all(subjects, amount, seed)
///     <program> replay <seed> <robot> <law> <number> <lib.so>       replay(subject, seed, number)
/// with functions that say whether all was well. Exit status: 0 if so, 1 if not, 2 for other arguments.
template <class TryAll, class Replay>
int run_command(int count, char** arguments, TryAll try_all, Replay replay) {
  if (count < 4) return 2;
  const bool is_replay = count == 7 && std::string(arguments[1]) == "replay";
  std::vector<Subject> subjects;
  for (int i = is_replay ? 6 : 3; i < count; ++i) {
    for (Subject& subject : subjects_of(arguments[i])) subjects.push_back(std::move(subject));
  }
  const std::uint64_t seed = std::strtoull(arguments[2], nullptr, 10);
  if (!is_replay) return try_all(std::move(subjects), std::atof(arguments[1]), seed) ? 0 : 1;
  for (const Subject& subject : subjects) {
    if (subject.data().robot != std::string(arguments[3]) || subject.law != arguments[4]) continue;
    return replay(subject, seed, std::atol(arguments[5])) ? 0 : 1;
  }
  return 2;
}

}  // namespace test
