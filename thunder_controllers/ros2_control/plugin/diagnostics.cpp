// SPDX-License-Identifier: Apache-2.0
#include "diagnostics.hpp"

#include <algorithm>

#include "qos.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {
namespace {

using diagnostic_msgs::msg::DiagnosticStatus;
using thunder::StepTimes;

constexpr const char* kActive = "active";
constexpr const char* kGuard = "guard ";
constexpr double kMicroseconds = 1e-3;  // of a nanosecond
constexpr double kMilliseconds = 1e-6;

/// Guards that may act in normal operation.
constexpr thunder::GuardBits kNoFault =
    thunder::kAdaptationFrozen | thunder::kEffortRateLimited | thunder::kStopping | thunder::kNotActive;

void add(DiagnosticStatus& status, const std::string& key, const std::string& value) {
  diagnostic_msgs::msg::KeyValue pair;
  pair.key = key;
  pair.value = value;
  status.values.push_back(pair);
}

void add(DiagnosticStatus& status, const std::string& key, double value) { add(status, key, thunder::format(value)); }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

/// The value [ns] that a part of the durations recorded since `before` does not exceed, at most 25 % too high.
double percentile(const StepTimes& now, const StepTimes& before, double part) {
  const std::uint64_t count = now.count() - before.count();
  std::uint64_t below = 0;
  for (std::size_t bin = 0; bin < StepTimes::kBins; ++bin) {
    below += now.bins()[bin] - before.bins()[bin];
    if (static_cast<double>(below) >= part * static_cast<double>(count)) {
      return static_cast<double>(StepTimes::lower_edge(bin + 1));
    }
  }
  return static_cast<double>(now.max_ns());
}

std::map<std::string, std::uint64_t> counters_of(const Health& health) {
  std::map<std::string, std::uint64_t> counters = {{"references refused", health.refused_references}};
  if (!health.snapshot) return counters;
  const LoopStatistics& loop = health.snapshot->loop;
  counters["reference lost"] = loop.lost_references;
  counters["states not readable"] = loop.unreadable_states;
  counters["commands not taken"] = loop.refused_commands;
  for (std::size_t i = 0; i < thunder::kGuardNames.size(); ++i) {
    counters[std::string(kGuard) + thunder::kGuardNames[i]] = health.snapshot->counters.counts()[i];
  }
  return counters;
}

/// Whether one of the names is that of a guard of the set.
bool names_guard(const std::string& name, thunder::GuardBits guards) {
  for (std::size_t i = 0; i < thunder::kGuardNames.size(); ++i) {
    if ((guards >> i & 1u) != 0 && name == std::string(kGuard) + thunder::kGuardNames[i]) return true;
  }
  return false;
}

std::string source_text(const Snapshot& snapshot) {
  const bool is_lost = (snapshot.guards & thunder::kReferenceStale) != 0;
  return is_lost ? "stopping after a lost stream" : thunder::to_string(snapshot.source);
}

}  // namespace

std::vector<std::string> Reporter::news(const Counters& counters) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counters) {
    const auto found = seen_.find(name);
    const std::uint64_t before = found == seen_.end() ? 0 : found->second;
    // A count below the last one was set back by an activation.
    if (count > (count < before ? 0 : before)) names.push_back(name);
  }
  seen_ = counters;
  return names;
}

DiagnosticStatus Reporter::report(const Health& health) {
  Status status;
  const Counters counters = counters_of(health);
  const std::vector<std::string> fresh = news(counters);
  add(status, "state", health.state);
  add(status, "reference", health.snapshot ? source_text(*health.snapshot) : "none");
  has_moved_ = false;
  if (health.snapshot) {
    add_times(*health.snapshot, status);
    remember(*health.snapshot);
    add(status, "adaptation frozen", health.is_frozen ? "True" : "False");
  }
  if (health.excitation) {
    add(status, "excitation smallest singular value [SI]", health.excitation->smallest_singular_value);
    add(status, "excitation rank", std::to_string(health.excitation->rank));
  }
  for (const auto& [name, count] : counters) add(status, name, std::to_string(count));
  add(status, "last refused reference", health.last_refusal);
  judge(health, fresh, status);
  return status;
}

void Reporter::judge(const Health& health, const std::vector<std::string>& fresh, Status& status) const {
  if (health.state != kActive) {
    status.level = health.message.empty() ? Status::OK : Status::WARN;
    status.message = health.message.empty() ? health.state : health.message;
    return;
  }
  if (!has_moved_) {
    status.level = Status::STALE;
    status.message = "no update since the last report: the controller manager does not run";
    return;
  }
  std::vector<std::string> shown;
  bool is_blocked = false;
  for (const std::string& name : fresh) {
    if (names_guard(name, kNoFault)) continue;
    shown.push_back(name);
    is_blocked = is_blocked || names_guard(name, thunder::kBlockingGuards);
  }
  status.level = is_blocked ? Status::ERROR : (shown.empty() ? Status::OK : Status::WARN);
  status.message = shown.empty() ? kActive : joined(shown);
}

void Reporter::add_times(const Snapshot& snapshot, Status& status) const {
  const bool is_anew = snapshot.step_times.count() < before_.step_times.count();
  const Snapshot before = is_anew ? Snapshot() : before_;
  const std::uint64_t steps = snapshot.step_times.count() - before.step_times.count();
  const double elapsed = snapshot.loop.elapsed - before.loop.elapsed;
  if (steps > 0 && elapsed > 0.0) {
    add(status, "loop rate [Hz]", static_cast<double>(steps) / elapsed);
    add(status, "jitter p99 [ms]", kMilliseconds * percentile(snapshot.loop.jitter, before.loop.jitter, 0.99));
    add(status, "step time p99 [us]", kMicroseconds * percentile(snapshot.step_times, before.step_times, 0.99));
  }
  if (snapshot.step_times.count() == 0) return;
  add(status, "step time mean [us]", kMicroseconds * snapshot.step_times.mean_ns());
  add(status, "step time max [us]", kMicroseconds * static_cast<double>(snapshot.step_times.max_ns()));
  add(status, "steps", std::to_string(snapshot.step_times.count()));
}

void Reporter::remember(const Snapshot& snapshot) {
  has_moved_ = snapshot.step_times.count() != before_.step_times.count();
  before_ = snapshot;
}

DiagnosticsPublisher::DiagnosticsPublisher(rclcpp_lifecycle::LifecycleNode& node)
    : name_(std::string(node.get_fully_qualified_name()).substr(1)),
      clock_(node.get_clock()),
      publisher_(rclcpp::create_publisher<diagnostic_msgs::msg::DiagnosticArray>(node, "/diagnostics", kMonitor)) {}

void DiagnosticsPublisher::publish(const Health& health) {
  diagnostic_msgs::msg::DiagnosticArray array;
  array.header.stamp = clock_->now();
  array.status.push_back(reporter_.report(health));
  array.status.back().name = name_;
  publisher_->publish(array);
}

}  // namespace thunder_controllers
