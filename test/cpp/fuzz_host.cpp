// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer: everything that a session is given, by the bytes of an input: measurements, times, references, streams, motions,
// gains, further measurements, transitions. Whatever comes, efforts are finite and within their limits and rates, the
// state and the reference stay finite, a measurement that is not finite is said to be so, and what is refused says why.
// THUNDER_FUZZ_LIBRARIES: paths separated by colons; the first byte chooses one, and its law.
#include <sstream>
#include <vector>

#include "fuzz.hpp"
#include "thunder/host/feedback_margin.hpp"
#include "thunder/host/session.hpp"

// In the place of the host's own, which take most of the time of a session: linked with --allow-multiple-definition.
namespace thunder {

void check_feedback(const std::shared_ptr<const Library>&, const std::string&, const std::vector<double>&, const NamedValues&,
                    const Options&) {}
std::optional<Note> feedback_note(const std::shared_ptr<const Library>&, const std::string&, const NamedValues&,
                                  const NamedValues&, const Options&) {
  return std::nullopt;
}

}  // namespace thunder

namespace {

using test::Bytes;
using test::is_refused;

constexpr double kPeriod = 1e-3;
constexpr int kMostSteps = 400;  ///< Of one input: a motion is rehearsed in some milliseconds, an update takes microseconds.

std::vector<thunder::Configuration> load_all() {
  std::vector<thunder::Configuration> found;
  std::istringstream paths(test::environment("THUNDER_FUZZ_LIBRARIES"));
  for (std::string path; std::getline(paths, path, ':');) {
    const auto library = thunder::Library::load(path);
    for (const std::string& law : library->law_names()) found.push_back(thunder::make_configuration(library, "", law, {}));
  }
  return found;
}

class Attack {
 public:
  Attack(const thunder::Configuration& configuration, Bytes& bytes)
      : bytes_(bytes),
        law_(configuration.law_data()),
        n_(configuration.library->n_joints()),
        session_(configuration, options()),
        q_(size(), 0.1),
        qd_(size(), 0.0),
        effort_(size(), 0.0) {}

  void run() {
    is_refused([&] { session_.activate(q_.data(), qd_.data()); });
    for (int k = 0; k < kMostSteps && !bytes_.is_empty(); ++k) {
      const int what = bytes_.byte() % 48;
      if (what < 24) {
        update(what);
      } else {
        is_continuous_ = is_continuous_ && what < 42;
        is_refused([&] { ask(what); });
      }
      check();
    }
    session_.deactivate(effort_.data());
    for (const double value : effort_) CHECK(std::isfinite(value));
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_); }

  thunder::Options options() {
    thunder::Options options;
    options.clock = [this] { return now_; };
    const int bits = bytes_.byte();
    options.gravity_compensated_by_robot = (bits & 1) != 0;
    options.approaches_jumps = (bits & 2) == 0;
    options.saturation_freezes_adaptation = (bits & 4) == 0;
    options.rehearses_motions = (bits & 8) != 0;
    if ((bits & 16) != 0) options.reference_timeout = 0.005;
    if ((bits & 32) != 0) options.handover_time = 0.0;
    if ((bits & 64) != 0) options.gap_limit = 0.02;
    return options;
  }

  std::vector<double> numbers(int count, double centre, double spread) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = bytes_.number(centre, spread);
    return values;
  }

  /// As many as there should be, seldom others.
  int count(int right) {
    const int choice = bytes_.byte();
    return choice < 240 ? right : choice - 240;
  }

  void update(int what) {
    double dt = kPeriod, told = 0.0;
    t_ += kPeriod;
    now_ += kPeriod;
    told = t_;
    if (what < 12) {  // nothing is wrong
      for (std::size_t i = 0; i < size(); ++i) q_[i] += kPeriod * (qd_[i] = 0.05 * (bytes_.byte() - 128) / 128.0);
    } else if (what < 16) {
      q_ = numbers(n_, 0.1, 0.5);
      qd_ = numbers(n_, 0.0, 1.0);
    } else if (what < 20) {
      told = bytes_.number(t_, 0.01);
      dt = bytes_.number(kPeriod, kPeriod);
    } else {  // time passes without an update
      now_ += 1e-3 * bytes_.byte();
      t_ = told = now_;
    }
    const bool is_finite = thunder::all_finite(q_.data(), n_) && thunder::all_finite(qd_.data(), n_) && std::isfinite(told);
    const std::vector<double> before = effort_;
    const std::int64_t stamp = std::isfinite(told) && std::abs(told) < 1e9 ? static_cast<std::int64_t>(1e9 * told) : 0;
    thunder::GuardBits guards = 0;
    if (what % 4 == 3) {
      const double clock = bytes_.number(now_, 1.0);
      guards = session_.update(stamp, q_.data(), qd_.data(), dt, effort_.data(), bytes_.flag() ? &clock : nullptr);
    } else {
      guards = session_.update(stamp, told, q_.data(), qd_.data(), dt, effort_.data());
    }
    if (what % 4 != 3 && !is_finite) {
      CHECK(guards & (thunder::kMeasurementNonFinite | thunder::kNotActive));
      CHECK(guards & thunder::kBlockingGuards);
    }
    if (!is_finite) q_.assign(size(), 0.1), qd_.assign(size(), 0.0);
    const bool is_valid = dt > 0.0 && dt <= 10.0 * kPeriod;
    for (std::size_t i = 0; is_continuous_ && is_valid && i < size(); ++i) {
      CHECK(std::abs(effort_[i] - before[i]) <= session_.limits().effort_rate[i] * dt * (1 + 1e-9) + 1e-9);
    }
    is_continuous_ = session_.is_active();
    session_.advance_stop();
  }

  /// Sizes, names and values as they come.
  void ask(int what) {
    switch (what) {
      case 24: case 25: case 26: {
        std::vector<double> sample = session_.last().reference;
        for (double& value : sample) value = bytes_.flag() ? value : bytes_.number(value, 0.1);
        sample.resize(static_cast<std::size_t>(count(law_.reference.size)), 0.0);
        if (what == 26) return void(session_.try_stream(sample));
        return session_.stream(sample, what == 24 ? 0 : static_cast<std::int64_t>(1e9 * now_) + bytes_.raw<std::int32_t>());
      }
      case 27: return session_.stream(numbers(count(law_.reference.size), 0.0, 1.0), bytes_.raw<std::int64_t>());
      case 28: return session_.set_further_reference(name(law_.reference), numbers(count(3), 0.0, 10.0));
      case 29: return session_.set_measurement(name(law_.measurements), numbers(count(6), 0.0, 10.0));
      case 30: return session_.set_gains({{name(law_.gains), numbers(count(n_), 10.0, 20.0)}});
      case 31: return session_.set_motion_limits({number(1.0), number(1.0), number(9.0), number(1.0), number(4.0), number(9.0), number(4.0)});
      case 32: {
        const double position[3] = {number(0.2), number(0.0), number(-0.4)};
        const double turn[4] = {number(0.0), number(0.0), number(0.0), number(1.0)};
        return session_.move_to_pose(position, turn);
      }
      case 33: case 34: return void(session_.follow(joints()));
      case 35: return void(session_.follow(poses()));
      case 36: return session_.trace(figure());
      case 37: return void(session_.trace_what_fits(figure()));
      case 38: return session_.stop_motion();
      case 39: return session_.hold_reference();
      case 40: return session_.freeze_adaptation(bytes_.flag());
      case 41: return session_.reset_estimates();
      case 42: return session_.begin_stop();
      case 43: return session_.deactivate(effort_.data());
      case 44: return session_.set_chained(bytes_.flag());
      case 45: return session_.activate(q_.data(), qd_.data(), bytes_.flag() ? effort_.data() : nullptr);
      case 46: {
        const std::vector<double> q = numbers(n_, 0.1, 0.5), qd = numbers(n_, 0.0, 1.0), held = numbers(n_, 0.0, 5.0);
        return session_.activate(q.data(), qd.data(), held.data(), bytes_.number(0.1, 0.1));
      }
      default: session_.measure(0, number(t_), numbers(n_, 0.0, 1.0).data(), numbers(n_, 0.0, 1.0).data());
    }
  }

  double number(double centre) { return bytes_.number(centre, 1.0); }

  std::string name(const thunder_signal& signal) {
    if (signal.n_entries == 0 || bytes_.byte() > 240) return std::string(bytes_.byte() * 10u, 'x');
    return signal.entries[bytes_.below(signal.n_entries)].name;
  }

  std::vector<thunder::TimedJoints> joints() {
    std::vector<thunder::TimedJoints> points(static_cast<std::size_t>(bytes_.below(5)));
    double time = 0.0;
    for (thunder::TimedJoints& point : points) {
      point = {time += std::abs(bytes_.number(0.02, 0.02)), numbers(count(n_), 0.1, 0.2), {}, {}};
      if (bytes_.flag()) point.qd = numbers(count(n_), 0.0, 0.2);
      if (!point.qd.empty() && bytes_.flag()) point.qdd = numbers(count(n_), 0.0, 1.0);
    }
    return points;
  }

  std::vector<thunder::TimedPose> poses() {
    std::vector<thunder::TimedPose> points(static_cast<std::size_t>(bytes_.below(4)));
    double time = 0.0;
    for (thunder::TimedPose& point : points) {
      point.time = time += std::abs(bytes_.number(0.02, 0.02));
      for (double& value : point.position) value = bytes_.number(0.1, 0.5);
      if (bytes_.flag()) point.orientation = {number(0.0), number(0.0), number(0.0), number(1.0)};
      if (bytes_.flag()) point.twist = {number(0.0), number(0.0), number(0.0), 0.0, 0.0, number(0.0)};
      if (bytes_.flag()) point.acceleration = {number(0.0), 0.0, 0.0, 0.0, 0.0, number(0.0)};
    }
    return points;
  }

  thunder::Figure figure() {
    thunder::Figure figure;
    figure.amplitude = numbers(count(n_), 0.05, 0.1);
    if (bytes_.flag()) figure.frequency = numbers(count(n_), 0.5, 0.5);
    if (bytes_.flag()) figure.phase = numbers(count(n_), 0.0, 3.0);
    if (bytes_.flag()) figure.ramp_time = number(1.0);
    return figure;
  }

  void check() {
    for (std::size_t i = 0; i < size(); ++i) {
      CHECK(std::isfinite(effort_[i]) && std::abs(effort_[i]) <= session_.limits().effort[i] * (1 + 1e-12));
    }
    const thunder::Snapshot& last = session_.last();
    CHECK(thunder::all_finite(last.state.data(), static_cast<int>(last.state.size())));
    CHECK(thunder::all_finite(last.reference.data(), static_cast<int>(last.reference.size())));
    const thunder::Snapshot seen = session_.snapshot();
    CHECK(thunder::all_finite(seen.effort.data(), n_));
  }

  Bytes& bytes_;
  double now_ = 0.0, t_ = 0.0;
  const thunder_law& law_;
  const int n_;
  thunder::ControlSession session_;
  std::vector<double> q_, qd_, effort_;
  bool is_continuous_ = false;  ///< Whether an update follows another without a transition in between.
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<thunder::Configuration> configurations = load_all();
  Bytes bytes(data, size);
  Attack(configurations[bytes.byte() % configurations.size()], bytes).run();
  return 0;
}
