// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "bindings.hpp"
#include "thunder/host/controller.hpp"
#include "thunder/host/error.hpp"

namespace thunder::python {
namespace {

/// A snapshot, so that it stays what it was when it was taken.
struct Status {
  GuardBits guards;
  GuardCounters counters;
  StepTimes times;
  bool adaptation_frozen;
};

Names guard_names(GuardBits guards) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kGuards.size(); ++i) {
    if ((guards >> i) & 1u) names.emplace_back(kGuards[i].name);
  }
  return tuple_of(names);
}

using Counters64 = py::array_t<std::uint64_t>;

py::typing::Tuple<Counters64, Counters64> histogram(const Status& status) {
  Counters64 edges(StepTimes::kBins + 1);
  Counters64 counts(StepTimes::kBins, status.times.bins().data());
  for (std::size_t i = 0; i <= StepTimes::kBins; ++i) edges.mutable_at(i) = StepTimes::lower_edge(i);
  return py::make_tuple(edges, counts);
}

struct LifecycleText {
  static constexpr auto name = py::detail::const_name("typing.Literal['unconfigured', 'inactive', 'active']");
};
using LifecycleName = Described<LifecycleText>;

/// Limits of the joints of a model, as `thunder_dynamics.joints.Limits` has them.
Limits limits_of_joints(const py::sequence& joints) {
  Limits limits;
  for (const py::handle joint : joints) {
#define THUNDER_LIMIT(name, field, model, text) limits.name.push_back(joint.attr(#model).cast<double>());
    THUNDER_LIMITS(THUNDER_LIMIT)
#undef THUNDER_LIMIT
  }
  return limits;
}

/// A value for each joint of each row.
template <class Value>
py::array_t<double> by_row(const Limits& limits, const Numbers& rows, const char* where, Value value) {
  const auto n = static_cast<py::ssize_t>(limits.velocity.size());
  if (rows.ndim() < 1 || rows.shape(rows.ndim() - 1) != n) {
    throw HostError(ErrorKind::dimension, "no values of the joints", where, "shape (…, " + std::to_string(n) + ")");
  }
  py::array_t<double> result(std::vector<py::ssize_t>(rows.shape(), rows.shape() + rows.ndim()));
  for (py::ssize_t k = 0; k < rows.size(); ++k) {
    result.mutable_data()[k] = value(static_cast<std::size_t>(k % n), rows.data()[k]);
  }
  return result;
}

using Pair = py::typing::Tuple<py::array_t<double>, py::array_t<double>>;

Pair velocity_at(const Limits& limits, const Numbers& q) {
  const auto towards = [&](double direction) {
    return by_row(limits, q, "velocity_at: q", [&](std::size_t joint, double at) {
      return direction * limits.velocity_towards(joint, at, direction);
    });
  };
  return py::make_tuple(towards(-1.0), towards(1.0));
}

void bind_limits(py::module_& module) {
  const auto values = [](std::vector<double> Limits::*member) {
    return [member](const Limits& limits) { return vector_of(limits.*member); };
  };
  py::class_<Limits> bound(module, "Limits", "The limits of an arm, shape (n,) each, as functions of its state.");
  bound
      .def(py::init([](const PyLibrary& library, const Options& options) {
             return limits_of(options, library.data());
           }),
           py::arg("library"), py::arg_v("options", Options(), "Options()"),
           "Those that a controller keeps: the options' or the library's, effort and effort rate finite.\n\n"
           "Raises LawError for a joint without an effort limit: nothing can stand for that.")
      .def(py::init(&limits_of_joints), py::arg("joints"), "Those of joints: `thunder_dynamics.joints.Limits` of each.")
      .def_static("described", [](const PyLibrary& library) { return described_limits(library.data()); },
                  py::arg("library"), "Those of the library's description, infinite where it has none.")
      .def("velocity_at", &velocity_at, py::arg("q"),
           "Lower and upper limit of the velocity [rad/s or m/s] at q [rad or m], shape (…, n), of that shape each.\n\n"
           "At a distance d from the end that a joint moves towards: min(v, max(0, √(2 a d) − o)), with `velocity`,\n"
           "`velocity_deceleration`, `velocity_offset` [libfranka 0.21, joint_velocity_limits.cpp].")
      .def(
          "effort_at",
          [](const Limits& limits, const Numbers& qd) {
            return by_row(limits, qd, "effort_at: qd",
                          [&](std::size_t joint, double speed) { return limits.effort_at(joint, speed); });
          },
          py::arg("qd"),
          "The largest effort that drives each joint [N·m or N] at q̇ [rad/s or m/s], shape (…, n).\n\n"
          "The whole one up to the corner velocity, from there linearly to zero at the no-load velocity. What brakes a\n"
          "joint may be the whole one.")
      .def_property_readonly("notes", [](const Limits& limits) { return notes_of(limits.notes); },
                    "What the robot's description leaves open and what was done about it, a sentence each.");
#define THUNDER_LIMIT(name, field, model, text) bound.def_property_readonly(#name, values(&Limits::name), text);
  THUNDER_LIMITS(THUNDER_LIMIT)
#undef THUNDER_LIMIT
}

void bind_status(py::module_& module) {
  py::class_<Status>(module, "Status", "What a controller was doing when it was asked.")
      .def_readonly("guards", &Status::guards, "Of the last update, bits of `Guard`.")
      .def_property_readonly("guard_names", [](const Status& s) { return guard_names(s.guards); },
                             "Names of these bits.")
      .def_property_readonly("counters", [](const Status& s) { return counts_of(s.counters); },
                             "Updates in which each guard acted, since activation.")
      .def_readonly("adaptation_frozen", &Status::adaptation_frozen, "By request, see `Controller.freeze_adaptation`.")
      .def_property_readonly("updates", [](const Status& s) { return s.times.count(); }, "Number since activation.")
      .def_property_readonly("max_step_ns", [](const Status& s) { return s.times.max_ns(); },
                             "[ns] Of the longest update since activation.")
      .def_property_readonly("mean_step_ns", [](const Status& s) { return s.times.mean_ns(); },
                             "[ns] Mean since activation.")
      .def_property_readonly("step_histogram", &histogram,
                             "Bin edges [ns] and counts of the duration of updates, four bins to the octave.");
}

/// The updates' hot path: arrays are taken as they are, nothing is converted or allocated.
GuardBits update(Controller& controller, double t, const Vector& q, const Vector& qd, double dt, Vector& effort) {
  check_step(q, qd, effort, controller.library()->n_joints());
  return controller.update(t, q.data(), qd.data(), dt, effort.mutable_data());
}

void configure(Controller& controller, const PyLibrary& library, const std::string& law, const NamedArrays& gains,
               const NamedArrays& initial_state, const Options& options) {
  const thunder_law& found = library.get()->law(law);
  controller.configure(library.get(), law, named_values_from(py::dict(gains), found.gains, *library.get(), law + ".gains"),
                       named_values_from(py::dict(initial_state), found.state, *library.get(), law + ".initial_state"), options);
}

void activate(Controller& controller, const ArrayLike& q, const OptionalArray& qd, const OptionalArray& held_effort) {
  const int n = controller.library()->n_joints();
  const Vector position = joint_vector(q, n, "activate: q");
  const Vector velocity = qd.is_none() ? Vector() : joint_vector(qd, n, "activate: qd");
  const Vector held = held_effort.is_none() ? Vector() : joint_vector(held_effort, n, "activate: held_effort");
  controller.activate(position.data(), qd.is_none() ? nullptr : velocity.data(),
                      held_effort.is_none() ? nullptr : held.data());
}

/// What a flat vector of the controller is called, and says.
struct VectorText {
  const char* name;
  const char* text;
};

/// Bind a flat vector, and copies of its entries as `<name>(entry)`.
template <class Values, class Signal>
void bind_signal(py::class_<Controller>& bound, const char* name, const char* text, VectorText vector, Values values,
                 Signal signal) {
  bound.def_property_readonly(vector.name, [values](const Controller& c) { return vector_of((c.*values)()); },
                              vector.text);
  bound.def(
      name,
      [values, signal, name](const Controller& c, const std::string& entry_name) {
        const thunder_law& law = c.law();
        const thunder_entry& entry = find_entry(law.*signal, entry_name, std::string(law.name) + "." + name);
        return array_of(entry, (c.*values)().data() + entry.offset);
      },
      py::arg("name"), text);
}

void bind_signals(py::class_<Controller>& bound) {
  bind_signal(bound, "state", "Copy one entry of the state, in its shape. Raises NameNotFoundError.",
              {"state_vector", "The whole flat state."}, &Controller::state, &thunder_law::state);
  bind_signal(bound, "telemetry",
              "Copy one entry of the telemetry of the last law step, in its shape. Raises NameNotFoundError.",
              {"telemetry_vector", "The whole flat telemetry."}, &Controller::telemetry, &thunder_law::telemetry);
  bind_signal(bound, "reference",
              "Copy one entry of the reference in effect, as the last update or activation used it.\n\n"
              "Raises NameNotFoundError.",
              {"reference_vector", "The whole flat reference in effect."}, &Controller::reference,
              &thunder_law::reference);
  bind_signal(bound, "gain", "Copy one gain as written last, in its shape. Raises NameNotFoundError.",
              {"gain_vector", "All gains, flat."}, &Controller::gains, &thunder_law::gains);
}

void bind_references(py::class_<Controller>& bound) {
  bound
      .def(
          "set_reference",
          [](Controller& c, const Numbers& values) { c.set_reference(values.data(), static_cast<int>(values.size())); },
          py::arg("values"),
          "Write the whole flat reference, or its standard entries alone; the next update uses it.\n\n"
          "Raises DimensionError for a wrong number of values, LawError where one is not finite or out of bounds, or\n"
          "the rotation is none.")
      .def(
          "set_reference_entry",
          [](Controller& c, const std::string& name, const ArrayLike& values) {
            const std::string where = std::string(c.law().name) + ".reference";
            c.set_reference_entry(name, values_from(values, find_entry(c.law().reference, name, where), *c.library(), where));
          },
          py::arg("name"), py::arg("values"),
          "Write one entry; standard ones that were not written since the last hold keep holding.\n\n"
          "Raises as `set_reference` does, and NameNotFoundError.")
      .def("hold_reference", &Controller::hold_reference,
           "Hold the place where the next update finds the robot: q, or the pose of the end effector.");
}

void bind_adaptation(py::class_<Controller>& bound) {
  bound
      .def(
          "set_measurement",
          [](Controller& c, const std::string& name, const ArrayLike& values, std::optional<double> time) {
            c.set_measurement(name, numbers_from(values, name.c_str()), time);
          },
          py::arg("name"), py::arg("values"), py::arg("time") = py::none(),
          "Write one further measurement of the law, flat; it stays until it is written again.\n\n"
          "One that has an age comes with the time at which it was made [s], on the clock of `t` of `update`; activation\n"
          "forgets it. A step is not made with another that is not finite. Raises NameNotFoundError, DimensionError for a\n"
          "wrong number of values, and LawError for an age, for a time that is missing, not finite or of no use, and for\n"
          "values with an age that are not finite.")
      .def(
          "set_gain",
          [](Controller& c, const std::string& name, const ArrayLike& values) {
            const std::string where = std::string(c.law().name) + ".gains";
            c.set_gains({{name, values_from(values, find_entry(c.law().gains, name, where), *c.library(), where)}});
          },
          py::arg("name"), py::arg("values"),
          "Change a gain, also while active. Raises as `configure` does; the gain is then unchanged.")
      .def("freeze_adaptation", &Controller::freeze_adaptation, py::arg("freeze"),
           "Keep the adapted part of the state constant until told otherwise.")
      .def("reset_state", &Controller::reset_state,
           "Back to the initial state, estimates included: at the next step while active, else at once.");
}

void bind_lifecycle(py::class_<Controller>& bound) {
  bound.def(py::init<>(), "Unconfigured.")
      .def("configure", &configure, py::arg("library"), py::kw_only(), py::arg("law"), py::arg("gains") = py::dict(),
           py::arg("initial_state") = py::dict(), py::arg_v("options", Options(), "Options()"),
           "Prepare a law; what is not given has its default, and one value stands for a whole entry.\n\n"
           "Raises LawError while active or for a value that is not finite or out of bounds, NameNotFoundError for a\n"
           "law, gain or state that is not there, DimensionError for a wrong size, and BuildError if the library\n"
           "lacks G(q), or, for a cartesian law, T_0_ee(q) or J_ee(q).")
      .def("configure_as", &Controller::configure_as, py::arg("other"),
           "Prepare the same as another controller was configured for, whose gains were looked at then.\n\n"
           "Raises LawError while active, or if the other is unconfigured.")
      .def("activate", &activate, py::arg("q"), py::arg("qd") = py::none(), py::arg("held_effort") = py::none(),
           "Start from a measured position [rad or m] and velocity (None: at rest), shape (n,).\n\n"
           "The reference is what was written since configure or deactivate, else the place at q. The effort\n"
           "goes from held_effort [N·m or N] to the law's in Options.handover_time; None: from the one commanded\n"
           "last, at first the safe one. Estimates survive from an earlier activation.\n\n"
           "Raises LawError unless inactive, for q not finite or out of its limits, qd or held_effort not finite,\n"
           "held_effort beyond the effort limits, and where a trial step is not finite or its telemetry forbids it.")
      .def("deactivate", &Controller::deactivate,
           "Approach the safe effort, without damping, in the following updates and forget the reference.")
      .def("update", &update, py::arg("t"), py::arg("q").noconvert(), py::arg("qd").noconvert(), py::arg("dt"),
           py::arg("effort").noconvert(),
           "Run one control step and write the effort [N·m or N], always finite and inside the limits, in place.\n\n"
           "t [s] is the time stamp of the measurement, dt [s] the period; q [rad or m], qd [rad/s or m/s] and effort\n"
           "are contiguous float64 of shape (n,). Returns the bits of `Guard` that acted.\n\n"
           "Raises TypeError for another kind of array, DimensionError for another shape.")
      .def("begin_stop", &Controller::begin_stop,
           "Approach the safe effort until the next activation; `has_stopped` says when it is reached.")
      .def_property_readonly("effort", [](const Controller& c) { return vector_of(c.effort()); },
                             "[N·m or N] The last command, shape (n,).")
      .def_property_readonly("doubt", &Controller::doubt,
                             "Why the measurement is lost: the joint and both numbers. Empty where no joint is known to\n"
                             "be why. Raises LawError if not configured.")
      .def_property_readonly("has_stopped", &Controller::has_stopped,
                             "Whether a stop has reached the safe effort and the joints rest: commanding may end.")
      .def_property_readonly("law", [](const Controller& c) { return c.law().name; }, "Name of what runs.")
      .def_property_readonly("options", [](const Controller& c) { return c.options(); }, "As configured.")
      .def_property_readonly("notes", [](const Controller& c) { return notes_of(c.notes()); },
                             "What configure has noticed, a sentence each: those of `Limits`, and where gains, rate\n"
                             "and bounds of the estimates leave no margin, see `RestingLaw`.")
      .def_property_readonly(
          "lifecycle", [](const Controller& c) -> LifecycleName { return py::str(to_string(c.lifecycle())); },
          "See the class.")
      .def_property_readonly("last_step_ns", [](const Controller& c) { return c.step_times().last_ns(); },
                             "[ns] Duration of the last update inside C++.")
      .def_property_readonly(
          "status",
          [](const Controller& c) {
            return Status{c.guards(), c.counters(), c.step_times(), c.is_frozen()};
          },
          "Copied now.");
}

}  // namespace

void bind_controller(py::module_& module) {
  bind_limits(module);
  bind_status(module);
  py::class_<Controller> bound(
      module, "Controller",
      "Runs one law of one library and guards what goes in and out.\n\n"
      "Lifecycle: unconfigured –configure→ inactive –activate→ active –deactivate→ inactive. Where the law is not\n"
      "stepped the command approaches the safe effort at the rate limit: gravity torque G at the last good position,\n"
      "or zero if the robot compensates gravity itself. Methods raise LawError in the wrong lifecycle state.");
  bind_lifecycle(bound);
  bind_signals(bound);
  bind_references(bound);
  bind_adaptation(bound);
  bind_motions_of(bound);
}

}  // namespace thunder::python
