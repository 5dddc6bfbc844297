// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "thunder/host/controller.hpp"
#include "thunder/host/error.hpp"

namespace thunder::python {
namespace {

/// A snapshot, so that it stays what it was when it was taken.
struct Status {
  Lifecycle lifecycle;
  GuardBits guards;
  GuardCounters counters;
  StepTimes times;
  bool adaptation_frozen;
};

py::tuple guard_names(GuardBits guards) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kGuardNames.size(); ++i) {
    if ((guards >> i) & 1u) names.emplace_back(kGuardNames[i]);
  }
  return tuple_of(names);
}

py::tuple histogram(const Status& status) {
  py::array_t<std::uint64_t> edges(StepTimes::kBins + 1);
  py::array_t<std::uint64_t> counts(StepTimes::kBins, status.times.bins().data());
  for (std::size_t i = 0; i <= StepTimes::kBins; ++i) edges.mutable_at(i) = StepTimes::lower_edge(i);
  return py::make_tuple(edges, counts);
}

/// The numbers of an optional limit given as a Python object: one per joint, none for None.
std::vector<double> limit_from(const py::object& object, const char* name) {
  if (object.is_none()) return {};
  const Vector vector = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(object);
  if (!vector || vector.ndim() != 1 || vector.size() == 0) {
    throw HostError(ErrorKind::law, "is no vector of numbers", std::string("options.") + name,
                    "positive values, one per joint, or None");
  }
  return {vector.data(), vector.data() + vector.size()};
}

auto limit_getter(std::vector<double> Options::*member) {
  return [member](const Options& options) -> py::object {
    if ((options.*member).empty()) return py::none();
    return vector_of(options.*member);
  };
}

void bind_options(py::module_& module) {
  py::class_<Options>(module, "Options", "How a controller guards its input and output.")
      .def(py::init([](bool gravity, double measurement_timeout, double nominal_dt, double max_dt_ratio,
                       double reference_timeout, bool freezes, const py::object& effort, const py::object& rate,
                       const py::object& velocity, double patience, double stop_ratio, const py::object& damping) {
             const Options options{gravity, measurement_timeout, nominal_dt, max_dt_ratio, reference_timeout, freezes,
                                   limit_from(effort, "effort_limit"), limit_from(rate, "effort_rate_limit"),
                                   limit_from(velocity, "velocity_limit"), patience, stop_ratio,
                                   limit_from(damping, "stop_damping")};
             check_options(options);
             return options;
           }),
           py::kw_only(), py::arg("gravity_compensated_by_robot") = Options().gravity_compensated_by_robot,
           py::arg("measurement_timeout") = Options().measurement_timeout, py::arg("nominal_dt") = Options().nominal_dt,
           py::arg("max_dt_ratio") = Options().max_dt_ratio, py::arg("reference_timeout") = Options().reference_timeout,
           py::arg("saturation_freezes_adaptation") = Options().saturation_freezes_adaptation,
           py::arg("effort_limit") = py::none(), py::arg("effort_rate_limit") = py::none(),
           py::arg("velocity_limit") = py::none(), py::arg("velocity_patience") = Options().velocity_patience,
           py::arg("velocity_stop_ratio") = Options().velocity_stop_ratio, py::arg("stop_damping") = py::none())
      .def_readonly("gravity_compensated_by_robot", &Options::gravity_compensated_by_robot,
                    "The robot adds its own gravity torque.")
      .def_readonly("measurement_timeout", &Options::measurement_timeout,
                    "[s] Time stamps further apart than this are stale.")
      .def_readonly("nominal_dt", &Options::nominal_dt,
                    "[s] Period of the loop.")
      .def_readonly("max_dt_ratio", &Options::max_dt_ratio,
                    "[1] Longest valid period, in nominal periods.")
      .def_readonly("reference_timeout", &Options::reference_timeout,
                    "[s] A reference older than this is brought to rest and held.")
      .def_readonly("saturation_freezes_adaptation", &Options::saturation_freezes_adaptation,
                    "Keep the adapted part of the state while the effort is cut.")
      .def_property_readonly("effort_limit", limit_getter(&Options::effort_limit),
                             "[N·m or N] Per joint; None: the library's.")
      .def_property_readonly("effort_rate_limit", limit_getter(&Options::effort_rate_limit),
                             "[N·m/s or N/s] Per joint; None: the library's.")
      .def_property_readonly("velocity_limit", limit_getter(&Options::velocity_limit),
                             "[rad/s or m/s] Per joint; None: the library's.")
      .def_readonly("velocity_patience", &Options::velocity_patience,
                    "[s] A joint far too fast for longer than this latches a stop.")
      .def_readonly("velocity_stop_ratio", &Options::velocity_stop_ratio,
                    "[1] What counts as far too fast, in velocity limits.")
      .def_property_readonly("stop_damping", limit_getter(&Options::stop_damping),
                             "[N·m·s/rad or N·s/m] Per joint, of the safe effort; None: from the library's limits.");
}

void bind_status(py::module_& module) {
  py::class_<Status>(module, "Status", "What a controller was doing when it was asked.")
      .def_property_readonly("lifecycle", [](const Status& s) { return to_string(s.lifecycle); })
      .def_readonly("guards", &Status::guards)
      .def_property_readonly("guard_names", [](const Status& s) { return guard_names(s.guards); })
      .def_property_readonly("counters", [](const Status& s) { return counts_of(s.counters); })
      .def_readonly("adaptation_frozen", &Status::adaptation_frozen)
      .def_property_readonly("updates", [](const Status& s) { return s.times.count(); })
      .def_property_readonly("last_step_ns", [](const Status& s) { return s.times.last_ns(); })
      .def_property_readonly("max_step_ns", [](const Status& s) { return s.times.max_ns(); })
      .def_property_readonly("mean_step_ns", [](const Status& s) { return s.times.mean_ns(); })
      .def_property_readonly("step_histogram", &histogram);
}

/// The updates' hot path: arrays are taken as they are, nothing is converted or allocated.
GuardBits update(Controller& controller, double t, const Vector& q, const Vector& qd, double dt, Vector& effort) {
  const int n = controller.library()->n_joints();
  check_size(q, n, "update: q");
  check_size(qd, n, "update: qd");
  check_size(effort, n, "update: effort");
  if (!effort.writeable()) throw HostError(ErrorKind::law, "is read-only", "update: effort", "a writeable array");
  return controller.update(t, q.data(), qd.data(), dt, effort.mutable_data());
}

void configure(Controller& controller, const py::object& library, const std::string& law, const py::object& gains,
               const py::object& initial_state, const Options& options) {
  const std::shared_ptr<const Library> source = library_from(library);
  const thunder_law& found = source->law(law);
  controller.configure(source, law, named_values_from(py::dict(gains), found.gains, law + ".gains"),
                       named_values_from(py::dict(initial_state), found.state, law + ".initial_state"), options);
}

void activate(Controller& controller, const py::object& q, const py::object& qd, const py::object& held_effort) {
  const int n = controller.library()->n_joints();
  const Vector position = joint_vector(q, n, "activate: q");
  const Vector velocity = qd.is_none() ? Vector() : joint_vector(qd, n, "activate: qd");
  const Vector held = held_effort.is_none() ? Vector() : joint_vector(held_effort, n, "activate: held_effort");
  controller.activate(position.data(), qd.is_none() ? nullptr : velocity.data(),
                      held_effort.is_none() ? nullptr : held.data());
}

/// Bind a flat vector as `<name>_vector` and its entries as `<name>(entry)`.
template <class Class, class Values, class Signal>
void bind_signal(Class& bound, const char* name, const char* vector_name, Values values, Signal signal) {
  bound.def_property_readonly(vector_name, [values](const Controller& c) { return vector_of((c.*values)()); });
  bound.def(
      name,
      [values, signal, name](const Controller& c, const std::string& entry_name) {
        const thunder_law& law = c.law();
        const thunder_entry& entry = find_entry(law.*signal, entry_name, std::string(law.name) + "." + name);
        return array_of(entry, (c.*values)().data() + entry.offset);
      },
      py::arg("name"));
}

void bind_writers(py::class_<Controller>& bound) {
  bound
      .def(
          "set_reference",
          [](Controller& c, const py::array_t<double, py::array::c_style | py::array::forcecast>& values) {
            c.set_reference(values.data(), static_cast<int>(values.size()));
          },
          py::arg("values"))
      .def(
          "set_reference_entry",
          [](Controller& c, const std::string& name, const py::object& values) {
            const std::string where = std::string(c.law().name) + ".reference";
            c.set_reference_entry(name, values_from(values, find_entry(c.law().reference, name, where), where));
          },
          py::arg("name"), py::arg("values"))
      .def("hold_reference", &Controller::hold_reference)
      .def(
          "set_gain",
          [](Controller& c, const std::string& name, const py::object& values) {
            const std::string where = std::string(c.law().name) + ".gains";
            c.set_gain(name, values_from(values, find_entry(c.law().gains, name, where), where));
          },
          py::arg("name"), py::arg("values"))
      .def("freeze_adaptation", &Controller::freeze_adaptation, py::arg("freeze"))
      .def("reset_state", &Controller::reset_state)
      .def("begin_stop", &Controller::begin_stop);
}

}  // namespace

void bind_controller(py::module_& module) {
  bind_options(module);
  bind_status(module);
  module.attr("GUARD_NAMES") = tuple_of({kGuardNames.begin(), kGuardNames.end()});
  py::class_<Controller> bound(module, "Controller", "Runs one law of one library and guards what goes in and out.");
  bound.def(py::init<>())
      .def("configure", &configure, py::arg("library"), py::kw_only(), py::arg("law"), py::arg("gains") = py::dict(),
           py::arg("initial_state") = py::dict(), py::arg("options") = Options())
      .def("activate", &activate, py::arg("q"), py::arg("qd") = py::none(), py::arg("held_effort") = py::none())
      .def("deactivate", &Controller::deactivate)
      .def("update", &update, py::arg("t"), py::arg("q").noconvert(), py::arg("qd").noconvert(), py::arg("dt"),
           py::arg("effort").noconvert())
      .def_property_readonly("effort", [](const Controller& c) { return vector_of(c.effort()); })
      .def_property_readonly("has_stopped", &Controller::has_stopped)
      .def_property_readonly("law", [](const Controller& c) { return c.law().name; })
      .def_property_readonly("options", [](const Controller& c) { return c.options(); })
      .def_property_readonly("lifecycle", [](const Controller& c) { return to_string(c.lifecycle()); })
      .def_property_readonly("last_step_ns", [](const Controller& c) { return c.step_times().last_ns(); })
      .def_property_readonly("status", [](const Controller& c) {
        return Status{c.lifecycle(), c.guards(), c.counters(), c.step_times(), c.is_frozen()};
      });
  bind_signal(bound, "state", "state_vector", &Controller::state, &thunder_law::state);
  bind_signal(bound, "telemetry", "telemetry_vector", &Controller::telemetry, &thunder_law::telemetry);
  bind_signal(bound, "reference", "reference_vector", &Controller::reference, &thunder_law::reference);
  bind_signal(bound, "gain", "gain_vector", &Controller::gains, &thunder_law::gains);
  bind_writers(bound);
  bind_motions_of(bound);
}

}  // namespace thunder::python
