// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/report/health.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr const char* kActive = "active";
constexpr const char* kGuard = "guard ";
constexpr double kMicroseconds = 1e-3;  // of a nanosecond
constexpr double kMilliseconds = 1e-6;
constexpr double kMillisecondsOfSecond = 1e3;
constexpr double kLeastRate = 0.99;  // of the nominal one, of a loop that keeps its period

/// Guards that act in normal operation, and those that do so while an activation or a stop changes what holds the arm.
constexpr GuardBits kSilent = guards_that([](const GuardInfo& guard) { return guard.report == GuardReport::never; });
constexpr GuardBits kSilentInTransitions =
    guards_that([](const GuardInfo& guard) { return guard.report == GuardReport::between_transitions; });

void add(TextPairs& values, const char* name, double value) { values.emplace_back(name, format(value)); }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

/// The value that a part of the values does not exceed, interpolated between the two nearest.
double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
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

/// Whether a count has grown; one below the last was set back by an activation.
bool has_grown(std::uint64_t count, std::uint64_t before) { return count > (count < before ? 0 : before); }

/// Guards that have acted since the report before.
GuardBits new_guards(const GuardCounters& now, const GuardCounters& before) {
  GuardBits guards = 0;
  for (std::size_t i = 0; i < kGuards.size(); ++i) {
    if (has_grown(now.counts()[i], before.counts()[i])) guards |= 1u << i;
  }
  return guards;
}

/// Whether both are of one activation: another session counts activations and steps from their beginning, too.
bool goes_on(const Snapshot& now, const Snapshot& before) {
  return now.activation == before.activation && now.step_times.count() >= before.step_times.count();
}

/// Jitter is the distance of an interval from the median one.
void add_intervals(const std::vector<double>& intervals, TextPairs& values) {
  const double sum = std::accumulate(intervals.begin(), intervals.end(), 0.0);
  const double median = percentile(intervals, 0.5);
  std::vector<double> late;
  for (const double interval : intervals) late.push_back(std::abs(interval - median));
  add(values, "loop rate [Hz]", sum > 0.0 ? static_cast<double>(intervals.size()) / sum : 0.0);
  add(values, "jitter p99 [ms]", kMillisecondsOfSecond * percentile(late, 0.99));
}

void add_guards(const GuardCounters& counters, TextPairs& values) {
  for (std::size_t i = 0; i < kGuards.size(); ++i) {
    values.emplace_back(std::string(kGuard) + kGuards[i].name, std::to_string(counters.counts()[i]));
  }
}

void add_latencies(const std::vector<double>& latencies, TextPairs& values) {
  if (latencies.empty()) return;
  add(values, "command latency p50 [ms]", kMillisecondsOfSecond * percentile(latencies, 0.5));
  add(values, "command latency p99 [ms]", kMillisecondsOfSecond * percentile(latencies, 0.99));
  add(values, "command latency max [ms]", kMillisecondsOfSecond * percentile(latencies, 1.0));
}

void add_adaptation(const Condition& condition, TextPairs& values) {
  if (condition.snapshot) values.emplace_back("adaptation frozen", condition.snapshot->is_frozen ? "True" : "False");
  if (!condition.excitation) return;
  add(values, "excitation smallest singular value [SI]", condition.excitation->smallest_singular_value);
  values.emplace_back("excitation rank", std::to_string(condition.excitation->rank));
}

void add_change(const BodyChange& change, TextPairs& values) {
  constexpr std::array<const char*, 5> kKinds = {"none", "unknown", "body", "contact", "contact that has passed"};
  values.emplace_back("change", kKinds[static_cast<std::size_t>(change.kind)]);
  add(values, "change age [s]", change.age);
  if (change.kind != BodyChange::Kind::body && change.kind != BodyChange::Kind::unknown) return;
  values.emplace_back("picked up [kg]", format(change.mass) + " ± " + format(change.mass_deviation, 2));
}

/// [Hz] Of the steps since the report before; none if there was no time between them.
std::optional<double> loop_rate(const Snapshot& now, const Snapshot& before) {
  const std::uint64_t steps = now.step_times.count() - before.step_times.count();
  const double elapsed = now.time - before.time;
  if (steps == 0 || !(elapsed > 0.0)) return std::nullopt;
  return static_cast<double>(steps) / elapsed;
}

bool is_too_far(const Condition& condition) {
  return condition.tracking_error && *condition.tracking_error > condition.tracking_error_limit;
}

/// `before`: of the report before; `news`: counters that have grown since then, but those of guards.
void judge(const Condition& condition, const Snapshot& before, const std::vector<std::string>& news,
           HealthReport& report) {
  if (!condition.snapshot || condition.state != kActive) {
    report.level = condition.messages.empty() ? HealthLevel::ok : HealthLevel::warn;
    report.message = condition.messages.empty() ? condition.state : joined(condition.messages);
    return;
  }
  const Snapshot& now = *condition.snapshot;
  const bool has_moved = now.activation != before.activation || now.step_times.count() != before.step_times.count();
  if (!condition.silence.empty() || !has_moved) {
    report.level = HealthLevel::stale;
    report.message = has_moved ? condition.silence : "no update since the last report";
    return;
  }
  std::vector<std::string> shown = condition.messages;
  if (now.is_reference_lost) shown.emplace_back("the stream of references has ended: the place is held");
  if (is_too_far(condition)) {
    shown.push_back("tracking error " + format(*condition.tracking_error) + " above " +
                    format(condition.tracking_error_limit));
  }
  if (condition.period > 0.0 && goes_on(now, before)) {
    const double least = kLeastRate / condition.period;
    const std::optional<double> rate = loop_rate(now, before);
    if (rate && *rate < least) shown.push_back("loop rate " + format(*rate, 3) + " Hz, below " + format(least, 3));
  }
  const bool is_transition = !goes_on(now, before) || (now.guards & kStopping) != 0;
  const GuardBits harmless = kSilent | (is_transition ? kSilentInTransitions : 0u);
  const GuardBits acted = new_guards(now.counters, before.counters) & ~harmless;
  shown.insert(shown.end(), news.begin(), news.end());
  for (std::size_t i = 0; i < kGuards.size(); ++i) {
    if ((acted >> i & 1u) != 0) shown.push_back(std::string(kGuard) + kGuards[i].name);
  }
  report.level = (acted & kBlockingGuards) != 0 ? HealthLevel::error : (shown.empty() ? HealthLevel::ok : HealthLevel::warn);
  report.message = shown.empty() ? kActive : joined(shown);
}

}  // namespace

std::optional<BodyChange> body_change(const thunder_law& law, const Snapshot& snapshot) {
  const auto value = [&](const char* name, int size) -> const double* {
    const thunder_entry* entry = entry_if_any(law.telemetry, name);
    return entry && entry_size(*entry) == size ? snapshot.telemetry.data() + entry->offset : nullptr;
  };
  const double *kind = value(kChangeEntry, 1), *age = value("change_age", 1);
  const double* picked_up = value(kPickedUpEntry, kInertialParameters);
  const double* deviations = value("picked_up_std", kInertialParameters);
  if (!snapshot.is_active || !kind || !age || !picked_up || !deviations) return std::nullopt;
  if (!(*kind >= 1.0 && *kind <= 4.0)) return std::nullopt;
  return BodyChange{static_cast<BodyChange::Kind>(*kind), *age, picked_up[0], deviations[0]};
}

std::vector<std::string> HealthReporter::news(const Counters& counters) {
  std::vector<std::string> names;
  std::map<std::string, std::uint64_t> seen;
  for (const auto& [name, count] : counters) {
    if (has_grown(count, seen_[name])) names.push_back(name);
    seen[name] = count;
  }
  seen_.swap(seen);
  return names;
}

HealthReport HealthReporter::report(const Condition& condition) {
  HealthReport report;
  Counters counters = condition.counters;
  if (condition.snapshot) counters.emplace_back("reference lost", condition.snapshot->lost_references);
  const std::vector<std::string> fresh = news(counters);
  report.values.emplace_back("state", condition.state);
  report.values.emplace_back("reference", condition.snapshot ? source_text(*condition.snapshot) : "none");
  add_times(condition, report.values);
  add_adaptation(condition, report.values);
  if (condition.change) add_change(*condition.change, report.values);
  if (condition.tracking_error) add(report.values, "tracking error max [rad or m]", *condition.tracking_error);
  for (const auto& [name, count] : counters) report.values.emplace_back(name, std::to_string(count));
  if (condition.snapshot) add_guards(condition.snapshot->counters, report.values);
  report.values.insert(report.values.end(), condition.extra.begin(), condition.extra.end());
  judge(condition, before_, fresh, report);
  before_ = condition.snapshot.value_or(Snapshot());
  return report;
}

void HealthReporter::add_times(const Condition& condition, TextPairs& values) const {
  if (!condition.intervals.empty()) add_intervals(condition.intervals, values);
  add_latencies(condition.latencies, values);
  if (!condition.snapshot || condition.snapshot->step_times.count() == 0) return;
  const Snapshot& now = *condition.snapshot;
  const Snapshot before = goes_on(now, before_) ? before_ : Snapshot();
  const std::uint64_t steps = now.step_times.count() - before.step_times.count();
  const std::optional<double> rate = loop_rate(now, before);
  if (rate && condition.intervals.empty()) {
    add(values, "loop rate [Hz]", *rate);
    add(values, "jitter p99 [ms]", kMilliseconds * percentile(now.jitter, before.jitter, 0.99));
  }
  if (steps > 0) add(values, "step time p99 [us]", kMicroseconds * percentile(now.step_times, before.step_times, 0.99));
  add(values, "step time mean [us]", kMicroseconds * now.step_times.mean_ns());
  add(values, "step time max [us]", kMicroseconds * static_cast<double>(now.step_times.max_ns()));
  values.emplace_back("steps", std::to_string(now.step_times.count()));
}

}  // namespace thunder
