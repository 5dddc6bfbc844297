// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/session.hpp"

#include <pybind11/stl/filesystem.h>

#include <limits>
#include <memory>
#include <optional>

#include "bindings.hpp"
#include "thunder/host/error.hpp"

namespace thunder::python {
namespace {

PyConfiguration configuration_from(const std::shared_ptr<PyLibrary>& library, const std::string& robot,
                                   const std::string& law, const std::vector<std::string>& joints) {
  return {make_configuration(library->get(), robot, law, joints), library};
}

void bind_configuration(py::module_& module) {
  py::class_<PyConfiguration>(module, "Configuration", "What of a library is to run, chosen and checked.")
      .def(py::init(&configuration_from), py::arg("library").none(false), py::kw_only(), py::arg("robot") = "",
           py::arg("law") = "", py::arg("joints") = std::vector<std::string>(),
           "Empty texts and names mean any robot, the only law, the library's joints.\n\n"
           "Joints are the library's in any order, or as many others, matched by what tells each apart from the rest\n"
           "(fr3_joint2 is panda_joint2), else by place.\n\n"
           "Raises BuildError for another robot, NameNotFoundError for a law that is not there or not the only one,\n"
           "and for joints that are missing, unknown or given twice.")
      .def_property_readonly("library", [](const PyConfiguration& c) { return c.source; },
                             "That it was chosen from.")
      .def_property_readonly("robot", &Configuration::robot, "Name of the robot.")
      .def_property_readonly("law", [](const PyConfiguration& c) { return PyLaw{c.library, &c.law_data()}; },
                             "What is to run.")
      .def_property_readonly("joints", [](const PyConfiguration& c) { return tuple_of(c.joints); },
                             "Names that measurements and commands have, in the library's order.")
      .def_property_readonly("links", [](const PyConfiguration& c) { return tuple_of(c.links); },
                             "Whose parameters the law estimates.")
      .def_property_readonly("carrying_link", [](const PyConfiguration& c) { return c.carrying_link; },
                             "That carries what the law tells of bodies picked up; empty if it tells of none.")
      .def_property_readonly("is_cartesian", &Configuration::is_cartesian, "Whether the law follows poses.")
      .def("estimates_path", &Configuration::estimates_path, py::arg("node"),
           "The file that a node, by its full name, saves estimates to where no other is named: below ROS_HOME, or\n"
           "~/.ros.");
}

auto entry_getter(std::vector<double> Snapshot::*values, thunder_signal thunder_law::*signal, const char* name) {
  return [=](const PySnapshot& s, const std::string& entry_name) {
    const thunder_entry& entry = find_entry(s.law->*signal, entry_name, std::string(s.law->name) + "." + name);
    return constant_of(entry, (s.*values).data() + entry.offset);
  };
}

auto vector_getter(std::vector<double> Snapshot::*values) {
  return [=](const PySnapshot& s) { return vector_of(s.*values); };
}

void bind_snapshot(py::module_& module) {
  py::class_<PySnapshot>(module, "Snapshot", "Copies of what one update used and computed; arrays are read-only.")
      .def_readonly("activation", &PySnapshot::activation, "Number of its activation; 0: before the first.")
      .def_readonly("is_active", &PySnapshot::is_active,
                    "Whether that activation lasts; else state and effort are those of rest.")
      .def_readonly("stamp", &PySnapshot::stamp, "[ns] Of the measurement, as messages are stamped.")
      .def_readonly("time", &PySnapshot::time, "[s] The same, as updates count it.")
      .def_property_readonly("q", vector_getter(&Snapshot::q),
                             "[rad or m] Shape (n,), NaN before the first measurement.")
      .def_property_readonly("qd", vector_getter(&Snapshot::qd), "[rad/s or m/s] Shape (n,), as q.")
      .def_property_readonly("effort", vector_getter(&Snapshot::effort), "[N·m or N] The command, shape (n,).")
      .def("state", entry_getter(&Snapshot::state, &thunder_law::state, "state"), py::arg("name"),
           "One entry of the state, in its shape. Raises NameNotFoundError.")
      .def("telemetry", entry_getter(&Snapshot::telemetry, &thunder_law::telemetry, "telemetry"), py::arg("name"),
           "One entry of the telemetry, in its shape. Raises NameNotFoundError.")
      .def_property_readonly("state_vector", vector_getter(&Snapshot::state), "The whole flat state.")
      .def_property_readonly("telemetry_vector", vector_getter(&Snapshot::telemetry), "The whole flat telemetry.")
      .def_property_readonly("reference_vector", vector_getter(&Snapshot::reference),
                             "The whole flat reference that the law followed.")
      .def_property_readonly("reference_source", [](const PySnapshot& s) { return source_text(s); },
                             "hold, stream, motion, stopping or stopping after a lost stream.")
      .def_readonly("request", &PySnapshot::request, "Number of the request that the reference follows; see `follow`.")
      .def_readonly("lost_references", &PySnapshot::lost_references,
                    "How often a stream fell silent since the session began.")
      .def_readonly("is_frozen", &PySnapshot::is_frozen, "Whether the estimates are kept by request.")
      .def_readonly("guards", &PySnapshot::guards, "Of the update, bits of `Guard`.")
      .def_property_readonly("counters", [](const PySnapshot& s) { return counts_of(s.counters); },
                             "Updates in which each guard acted, since activation.")
      .def_property_readonly("updates", [](const PySnapshot& s) { return s.step_times.count(); },
                             "Number since activation.");
}

NamedValues gains_from(const Configuration& configuration, const Values& gains) {
  return named_values_from(gains, configuration.law_data().gains, *configuration.library, configuration.law + ".gains");
}

std::unique_ptr<ControlSession> session_from(const PyConfiguration& configuration, const Options& options,
                                             const Values& gains, const Values& estimates) {
  return std::make_unique<ControlSession>(
      configuration, options, gains_from(configuration, gains),
      named_values_from(estimates, configuration.law_data().state, *configuration.library, configuration.law + ".initial_state"));
}

int joints_of(const ControlSession& session) { return session.configuration().library->n_joints(); }

/// The updates' hot path: arrays are taken as they are, nothing is converted or allocated.
GuardBits update(ControlSession& session, std::int64_t stamp, double t, const Vector& q, const Vector& qd, double dt,
                 Vector& effort) {
  check_step(q, qd, effort, joints_of(session));
  return session.update(stamp, t, q.data(), qd.data(), dt, effort.mutable_data());
}

GuardBits update_periodically(ControlSession& session, std::int64_t stamp, const Vector& q, const Vector& qd, double dt,
                              Vector& effort, std::optional<double> clock) {
  check_step(q, qd, effort, joints_of(session));
  return session.update(stamp, q.data(), qd.data(), dt, effort.mutable_data(), clock ? &*clock : nullptr);
}

void measure(ControlSession& session, std::int64_t stamp, double t, const Vector& q, const Vector& qd) {
  check_size(q, joints_of(session), "measure: q");
  check_size(qd, joints_of(session), "measure: qd");
  session.measure(stamp, t, q.data(), qd.data());
}

void activate(ControlSession& session, const ArrayLike& q, const OptionalArray& qd, const OptionalArray& held_effort,
              double max_error) {
  const int n = joints_of(session);
  const Vector position = joint_vector(q, n, "activate: q");
  const Vector velocity = qd.is_none() ? Vector() : joint_vector(qd, n, "activate: qd");
  const Vector held = held_effort.is_none() ? Vector() : joint_vector(held_effort, n, "activate: held_effort");
  session.activate(position.data(), qd.is_none() ? nullptr : velocity.data(),
                   held_effort.is_none() ? nullptr : held.data(), max_error);
}

py::array_t<double> deactivate(ControlSession& session) {
  std::vector<double> effort(static_cast<std::size_t>(joints_of(session)));
  session.deactivate(effort.data());
  return vector_of(effort);
}

PySnapshot snapshot_of(ControlSession& session) {
  return {session.snapshot(), session.configuration().library, &session.configuration().law_data()};
}

NamedValues gains_from(const ControlSession& session, const Values& gains) {
  return gains_from(session.configuration(), gains);
}

void bind_updates(py::class_<ControlSession>& bound) {
  bound
      .def("update", &update, py::arg("stamp"), py::arg("t"), py::arg("q").noconvert(), py::arg("qd").noconvert(),
           py::arg("dt"), py::arg("effort").noconvert(),
           "One control step; see `Controller.update`. Writes effort in place, returns bits of `Guard`.\n\n"
           "stamp [ns] is the time stamp t [s] as messages have it. Raises TypeError for what is no contiguous\n"
           "float64 array, DimensionError for another shape than (n,).")
      .def("update_periodically", &update_periodically, py::arg("stamp"), py::arg("q").noconvert(),
           py::arg("qd").noconvert(), py::arg("dt"), py::arg("effort").noconvert(), py::arg("clock") = py::none(),
           "The same for what is read every period, as the ros2_control plugin does: t is the sum of periods.\n\n"
           "It stands still, so that the measurement is stale, once nothing new has been read for measurement_timeout:\n"
           "where `clock`, of the hardware, in any unit, stands still; without one, where q and qd repeat bit for bit\n"
           "and say that the arm moves. The time counts then by the speed of the fastest joint, in velocity limits.")
      .def("measure", &measure, py::arg("stamp"), py::arg("t"), py::arg("q").noconvert(), py::arg("qd").noconvert(),
           "Show a measurement in snapshots while nothing is commanded; arguments as those of `update`.")
      .def("activate", &activate, py::arg("q"), py::arg("qd") = py::none(), py::arg("held_effort") = py::none(),
           py::arg("max_error") = std::numeric_limits<double>::infinity(),
           "Start at q [rad or m] and qd [rad/s or m/s], shape (n,), from held_effort [N·m or N].\n\n"
           "qd None: at rest. The effort is what is commanded now, and is cut to the limits; None or not finite: the\n"
           "safe one. "
           "A stream that is still fresh is followed; otherwise the place is held. Of one that is more than\n"
           "max_error away (the farthest joint [rad or m], or way [m] or angle [rad] of the pose) the next sample\n"
           "is approached from the place. Raises LawError for such a stream where Options.approaches_jumps is\n"
           "false, or if measurement or law speak against it.")
      .def("begin_stop", &ControlSession::begin_stop,
           "Brake the arm to rest; streams and motions are not followed any more. Nothing happens while inactive.")
      .def("advance_stop", &ControlSession::advance_stop,
           "Go on with a stop after an update. True once, where commanding has just ended.")
      .def("deactivate", &deactivate,
           "End commanding at once; returns the safe effort at the last good position [N·m or N], shape (n,).")
      .def_property_readonly("is_active", &ControlSession::is_active,
                             "Whether the law runs, or a stop of it.")
      .def_property_readonly("is_commanding", &ControlSession::is_commanding,
                             "Whether updates are due: from activation to the end of the last ramp.")
      .def_property_readonly("is_stopping", &ControlSession::is_stopping,
                             "Whether a stop has begun and commanding has not ended.")
      .def_property_readonly("has_stopped", &ControlSession::has_stopped,
                             "Whether a stop, or a fault, has brought the arm to rest.")
      .def_property_readonly("fault",
                             [](const ControlSession& it) {
                               return it.has_fault() ? std::optional<std::string>(it.fault()) : std::nullopt;
                             },
                             "The fault found since activation, for people: the arm is stopped. None if there is none.")
      .def_property_readonly("limits", &ControlSession::limits, "Those that are kept.")
      .def_property_readonly("notes", [](const ControlSession& s) { return notes_of(s.notes()); }, "See `Controller.notes`.");
}

void bind_references(py::class_<ControlSession>& bound) {
  bound
      .def(
          "stream",
          [](ControlSession& s, const Numbers& sample, std::int64_t stamp) { s.stream(values_of(sample), stamp); },
          py::arg("sample"), py::arg("stamp") = 0,
          "Follow a flat sample from the next update on, or from activation on; passed over while stopping.\n\n"
          "It is due at its stamp [ns], on the clock of the updates' stamps; 0, and while nothing is commanded: when it\n"
          "is taken. Between samples, and past the newest one for some periods of the stream, it is carried on by its\n"
          "velocity and acceleration; what jumps is approached. A sample replaces the one before, whatever their stamps.\n"
          "Raises as `Controller.set_reference` does, and LawError for a negative stamp, or one that is further than\n"
          "reference_timeout from the last update's; what was followed before goes on.")
      .def(
          "set_further_reference",
          [](ControlSession& s, const std::string& name, const Numbers& values) {
            s.set_further_reference(name, values_of(values));
          },
          py::arg("name"), py::arg("values"),
          "Write an entry of the reference beside the standard ones; what is followed otherwise goes on.\n\n"
          "Raises as `Controller.set_reference_entry` does, and LawError for a standard entry.")
      .def(
          "set_measurement",
          [](ControlSession& s, const std::string& name, const Numbers& values, std::int64_t stamp) {
            s.set_measurement(name, values_of(values), stamp);
          },
          py::arg("name"), py::arg("values"), py::arg("stamp") = 0,
          "See `Controller.set_measurement`.\n\n"
          "One that has an age was made at `stamp` [ns], on the clock of the stamps of updates, and is passed over while\n"
          "nothing is commanded. Raises LawError for one without a stamp, a negative one, or one more than\n"
          "measurement_timeout ahead.")
      .def_property_readonly("is_streamed", &ControlSession::is_streamed,
                             "Whether a stream is followed; while inactive, whether one would be now.")
      .def("hold_reference", &ControlSession::hold_reference, "Hold the place where the next update finds the robot.")
      .def(
          "move_to_pose",
          [](ControlSession& s, const ArrayLike& position, const ArrayLike& orientation) {
            const auto place = array_from<3>(position, "move_to_pose: position");
            const auto turn = array_from<4>(orientation, "move_to_pose: orientation");
            const py::gil_scoped_release released;  // the thread that updates must not wait for a rehearsal
            return s.move_to_pose(place.data(), turn.data());
          },
          py::arg("position"), py::arg("orientation"),
          "To rest at a position [m] and quaternion x y z w; see `Controller.move_to_pose`.\n\n"
          "Raises LawError unless active, and while a reference is streamed.")
      .def("follow", py::overload_cast<const std::vector<TimedPose>&>(&ControlSession::follow), py::arg("points"),
           py::call_guard<py::gil_scoped_release>(), "Through timed poses; see `Controller.follow`. Returns the number of the request, as `Snapshot.request` has it.\n\n"
           "Raises LawError unless active, and while a reference is streamed.")
      .def("follow", py::overload_cast<const std::vector<TimedJoints>&>(&ControlSession::follow), py::arg("points"),
           py::call_guard<py::gil_scoped_release>(), "Through timed positions of joints, likewise.")
      .def("trace", &ControlSession::trace, py::arg("figure"), py::call_guard<py::gil_scoped_release>(),
           "Along a figure; see `Controller.trace`. Raises LawError unless active, and while one is streamed.")
      .def("trace_what_fits", &ControlSession::trace_what_fits, py::arg("figure"),
           py::call_guard<py::gil_scoped_release>(),
           "Along the largest half, quarter, … sixteenth of a figure that the joints can follow, or the whole; its share.\n\n"
           "Raises LawError as `trace` does of the whole figure.")
      .def("stop_motion", &ControlSession::stop_motion,
           "Come to rest whatever is followed, and hold that place. Raises LawError unless active.")
      .def("set_motion_limits", &ControlSession::set_motion_limits, py::arg("limits"),
           "Bound the motions that begin from now on.");
}

}  // namespace

void bind_session(py::module_& module) {
  bind_configuration(module);
  bind_snapshot(module);
  py::class_<ControlSession> bound(module, "ControlSession",
                                   "A configured controller, and what every shell around it decides alike.");
  bound
      .def(py::init(&session_from), py::arg("configuration"), py::arg("options"), py::kw_only(),
           py::arg("gains") = py::dict(), py::arg("estimates") = py::dict(),
           "Gains and estimates that are not given have their defaults.\n\n"
           "Raises as `Controller.configure` does, and DimensionError for a gain that is not given whole.")
      .def_property_readonly("options", [](const ControlSession& s) { return s.options(); }, "As given.")
      .def("check_gains", [](const ControlSession& s, const Values& gains) { s.check_gains(gains_from(s, gains)); },
           py::arg("gains"),
           "Raises as the constructor does if one of them is refused, or not given whole; changes none.")
      .def("set_gains", [](ControlSession& s, const Values& gains) { s.set_gains(gains_from(s, gains)); },
           py::arg("gains"),
           "Change gains, all of them from the same update on, or none. Raises as `check_gains` does.")
      .def("freeze_adaptation", &ControlSession::freeze_adaptation, py::arg("freeze"),
           "Keep the estimates until told otherwise.")
      .def("reset_estimates", &ControlSession::reset_estimates,
           "Back to the first estimates: at the next step while active, else at once.")
      .def("snapshot", &snapshot_of, "Copy the last step; while nothing is commanded, state and effort are of rest.");
  bind_updates(bound);
  bind_references(bound);
}

}  // namespace thunder::python
