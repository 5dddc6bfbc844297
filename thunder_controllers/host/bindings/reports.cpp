// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "thunder/host/report/excitation.hpp"
#include "thunder/host/report/tracking_error.hpp"
#include "thunder/host/report/health.hpp"

namespace thunder::python {
namespace {

/// Items in their order, which std::map would lose.
template <class Value>
std::vector<std::pair<std::string, Value>> pairs_of(const py::dict& items) {
  std::vector<std::pair<std::string, Value>> pairs;
  for (const auto& [name, value] : items) pairs.emplace_back(py::cast<std::string>(name), py::cast<Value>(value));
  return pairs;
}

using Texts = py::typing::Dict<py::str, py::str>;

HealthReport report(HealthReporter& reporter, const std::string& state, const std::optional<PySnapshot>& snapshot,
                    const std::optional<ExcitationReport>& excitation, const std::vector<std::string>& messages,
                    const std::string& silence, const Counts& counters, const Texts& extra,
                    const Numbers& latencies, const Numbers& intervals, const std::optional<double>& tracking_error,
                    double tracking_error_limit, double period) {
  Condition condition;
  condition.period = period;
  condition.state = state;
  if (snapshot) {
    condition.snapshot = *snapshot;
    condition.change = body_change(*snapshot->law, *snapshot);
  }
  condition.excitation = excitation;
  condition.messages = messages;
  condition.silence = silence;
  condition.counters = pairs_of<std::uint64_t>(counters);
  condition.extra = pairs_of<std::string>(extra);
  condition.latencies = values_of(latencies);
  condition.intervals = values_of(intervals);
  condition.tracking_error = tracking_error;
  condition.tracking_error_limit = tracking_error_limit;
  return reporter.report(condition);
}

Texts values_by_name(const HealthReport& report) {
  Texts values;
  for (const auto& [name, text] : report.values) values[py::str(name)] = text;
  return values;
}

}  // namespace

void bind_reports(py::module_& module) {
  module.def("fault_text", &fault_text, py::arg("guards"), "Say what a fault means, for people; None if there is none.");
  py::class_<ExcitationReport>(module, "ExcitationReport", "How well a motion excites the estimated parameters.")
      .def_readonly("smallest_singular_value", &ExcitationReport::smallest_singular_value, "Of W, SI units.")
      .def_readonly("rank", &ExcitationReport::rank, "Numerical rank of W.");
  py::class_<Excitation>(module, "Excitation",
                         "The information that the last seconds of motion hold of the estimated parameters.\n\n"
                         "W = ∫ YᵀY dt with exponential forgetting, Y the Slotine–Li regressor's columns of the\n"
                         "adapted links.")
      .def(py::init([](const PyConfiguration& c) { return std::make_unique<Excitation>(c); }), py::arg("configuration"),
           "Without information.")
      .def("add", [](Excitation& e, const PySnapshot& s) { e.add(s); }, py::arg("snapshot"),
           "Use a step; a new activation begins anew.\n\n"
           "One that is not of a lasting activation, not finite or no later than the last is passed over.")
      .def("report", &Excitation::report, "None if the law adapts no link, or the library has no function Yr.");
  py::class_<TrackingError>(module, "TrackingError",
                            "The largest distance from the reference among the steps that are shown.\n\n"
                            "The farthest joint [rad or m], or way [m] or angle [rad] of the pose.")
      .def(py::init([](const PyConfiguration& c) { return std::make_unique<TrackingError>(c); }),
           py::arg("configuration"), "Nothing is shown yet.")
      .def("add", [](TrackingError& e, const PySnapshot& s) { e.add(s); }, py::arg("snapshot"),
           "Use a step; one that is not of the law is passed over.")
      .def("take", &TrackingError::take, "Since the last call; None if no step was added.");
  py::class_<HealthReport>(module, "HealthReport", "What is reported of a controller.")
      .def_property_readonly("level", [](const HealthReport& r) { return static_cast<int>(r.level); },
                             "0 ok, 1 warn, 2 error, 3 stale, as in diagnostic_msgs/DiagnosticStatus.")
      .def_readonly("message", &HealthReport::message, "One line: what is wrong, or how it is.")
      .def_property_readonly("values", &values_by_name, "Text by name, in order; names have their units in brackets.");
  py::class_<HealthReporter>(module, "HealthReporter",
                             "Makes reports; remembers counters, so that a fault is news in the report after it only.")
      .def(py::init<>(), "Nothing is remembered yet.")
      .def("report", &report, py::arg("state"), py::kw_only(), py::arg("snapshot") = py::none(),
           py::arg("excitation") = py::none(), py::arg("messages") = std::vector<std::string>(),
           py::arg("silence") = "", py::arg("counters") = py::dict(), py::arg("extra") = py::dict(),
           py::arg("latencies") = py::tuple(), py::arg("intervals") = py::tuple(),
           py::arg("tracking_error") = py::none(),
           py::arg("tracking_error_limit") = std::numeric_limits<double>::infinity(), py::arg("period") = 0.0,
           "Report on the time since the last call.\n\n"
           "state: of the lifecycle; snapshot: None while unconfigured; messages: what a reader must know; silence:\n"
           "why the measurements are too old, empty if they are not; counters: the shell's own faults, each increase\n"
           "of which is news once; extra: further texts; latencies [s] from measurement to command; intervals [s]\n"
           "between measurements, empty: those of the steps; tracking_error [rad or m]: see `TrackingError`, None: not\n"
           "known; above tracking_error_limit it is a warning; period [s] that the steps should keep, zero: they wait for others.\n"
           "More than a hundredth of them missing is a warning.");
}

}  // namespace thunder::python
