// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/feedback_margin.hpp"
#include "thunder/host/measurement.hpp"

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/law/gain_port.hpp"
#include "thunder/host/law/runner.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder::python {
namespace {

using Array = py::array_t<double>;

Array matrix_of(const std::vector<double>& values, py::ssize_t rows, py::ssize_t columns) {
  const py::ssize_t row = sizeof(double);
  return Array({rows, columns}, {row, row * rows}, values.data());
}

/// All gains of a law, those that are not given by default.
std::vector<double> gains_of(const PyLibrary& library, const thunder_law& law, const NamedArrays& given) {
  const std::string where = std::string(law.name) + ".gains";
  return changed_gains(law, default_values(law.gains), named_values_from(py::dict(given), law.gains, *library.get(), where));
}

NamedValues state_of(const PyLibrary& library, const thunder_law& law, const NamedArrays& given) {
  return named_values_from(py::dict(given), law.state, *library.get(), std::string(law.name) + ".initial_state");
}

std::unique_ptr<RestingLaw> resting_law(const PyLibrary& library, const std::string& name, const NamedArrays& gains,
                                        const NamedArrays& initial_state, const Options& options) {
  const thunder_law& law = library.get()->law(name);
  return std::make_unique<RestingLaw>(library.get(), name, gains_of(library, law, gains),
                                      state_of(library, law, initial_state), options);
}

py::typing::Tuple<Array, Array, Array, Array, Array, Array> feedback_at(RestingLaw& law, const ArrayLike& q) {
  const Vector pose = joint_vector(q, static_cast<int>(law.n_joints()), "feedback: q");
  const std::optional<Feedback> found = law.feedback({pose.data(), pose.data() + pose.size()});
  if (!found) {
    throw HostError(ErrorKind::law, "a step gives values that are not finite", "feedback: q", "another pose or gains");
  }
  const py::ssize_t n = pose.size(), m = static_cast<py::ssize_t>(found->output.size()) / n;
  return py::make_tuple(matrix_of(found->position, n, n), matrix_of(found->velocity, n, n), matrix_of(found->effort, n, n),
                        matrix_of(found->input, m, 3 * n), matrix_of(found->transition, m, m),
                        matrix_of(found->output, n, m));
}

void set_gain(RestingLaw& law, const std::string& name, const ArrayLike& values) {
  const std::string where = std::string(law.law().name) + ".gains";
  law.set_gains({{name, values_from(values, find_entry(law.law().gains, name, where), law.library(), where)}});
}

py::array_t<double> gain_of(const RestingLaw& law, const std::string& name) {
  const thunder_entry& entry = find_entry(law.law().gains, name, std::string(law.law().name) + ".gains");
  return vector_of(law.gains().data() + entry.offset, entry_size(entry));
}

/// A law and what its steps are given beside states, efforts and the reference.
struct FreeLaw {
  std::shared_ptr<const Library> library;
  std::vector<double> gains, measurements, reference;
  LawRunner runner;
};

std::unique_ptr<FreeLaw> free_law(const PyLibrary& library, const std::string& name, const NamedArrays& gains,
                                  const NamedArrays& initial_state) {
  const thunder_law& law = library.get()->law(name);
  // By new: LawRunner neither moves nor copies.
  return std::unique_ptr<FreeLaw>(new FreeLaw{
      library.get(), gains_of(library, law, gains), default_values(law.measurements), default_values(law.reference),
      LawRunner(library.get(), law, state_of(library, law, initial_state))});
}

py::array_t<double> step_freely(FreeLaw& law, const ArrayLike& q, const ArrayLike& qd, const ArrayLike& applied_effort,
                                const Numbers& reference, double dt) {
  const int n = law.library->n_joints();
  const Vector position = joint_vector(q, n, "step: q"), velocity = joint_vector(qd, n, "step: qd");
  const Vector applied = joint_vector(applied_effort, n, "step: applied_effort");
  const thunder_law& data = law.runner.law();
  const int standard = SampleLayout(data, n).standard;
  if (reference.ndim() != 1 || (reference.size() != standard && reference.size() != data.reference.size)) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(reference.size()) + " values", "step: reference",
                    std::to_string(standard));
  }
  std::copy_n(reference.data(), reference.size(), law.reference.begin());
  if (!law.runner.step({position.data(), velocity.data(), applied.data(), law.measurements.data(), law.reference.data(),
                        law.gains.data(), dt, false})) {
    throw HostError(ErrorKind::law, "a step gives values that are not finite", std::string("step: ") + data.name,
                    "finite measurements, another reference or gains");
  }
  law.runner.commit(false);
  return vector_of(law.runner.effort(), n);
}

void set_free_gain(FreeLaw& law, const std::string& name, const ArrayLike& values) {
  const std::string where = std::string(law.runner.law().name) + ".gains";
  const thunder_signal& gains = law.runner.law().gains;
  const thunder_entry& entry = find_entry(gains, name, where);
  law.gains = changed_gains(law.runner.law(), law.gains, {{name, values_from(values, entry, *law.library, where)}});
}

void bind_free_law(py::module_& module) {
  py::class_<FreeLaw>(module, "FreeLaw",
                      "A law whose steps are given by the caller, sample by sample: nothing is guarded, limited or commanded,\n"
                      "and adaptation is never frozen. Further measurements have their defaults.")
      .def(py::init(&free_law), py::arg("library"), py::kw_only(), py::arg("law"), py::arg("gains") = py::dict(),
           py::arg("initial_state") = py::dict(),
           "What is not given has its default. Raises as `Controller.configure` does.")
      .def("step", &step_freely, py::arg("q"), py::arg("qd"), py::arg("applied_effort"), py::arg("reference"), py::arg("dt"),
           "Step with positions [rad or m], velocities, the effort since the step before [N·m or N], (n,) each, the flat\n"
           "reference or its standard entries, and the time since the step before [s]; the effort that the law asks for.\n\n"
           "Raises DimensionError, and LawError where the step is not finite; the state is then unchanged.")
      .def("set_gain", &set_free_gain, py::arg("name"), py::arg("values"), "Change a gain. Raises as `Controller.set_gain` does.")
      .def_property_readonly("state_vector", [](const FreeLaw& l) { return vector_of(l.runner.state()); },
                             "The whole flat state, after the last step.")
      .def_property_readonly("telemetry_vector", [](const FreeLaw& l) { return vector_of(l.runner.telemetry()); },
                             "The whole flat telemetry of the last step.");
}

Array poses_of(const PyLibrary& library, int count, int first) {
  const auto poses = margin_poses(*library.get(), count, first, {});
  Array result({count, library.get()->n_joints()});
  for (int i = 0; i < count; ++i) std::copy(poses[i].begin(), poses[i].end(), result.mutable_data(i, 0));
  return result;
}

}  // namespace

void bind_feedback_margin(py::module_& module) {
  bind_free_law(module);
  py::class_<FeedbackMargin>(module, "FeedbackMargin", "The velocity feedback of a law at rest, where it is fastest.")
      .def_readonly("share", &FeedbackMargin::share,
                    "[1] Of a speed, what it takes away in a period: an eigenvalue of −M⁻¹ ∂τ/∂q̇ times the period.")
      .def_readonly("joint", &FeedbackMargin::joint, "Index of the joint that does most of it.")
      .def_property_readonly("q", [](const FeedbackMargin& m) { return vector_of(m.q); }, "[rad or m] The pose.");
  py::class_<RestingLaw>(module, "RestingLaw",
                         "A law that holds a pose, its states at their initial values; the posture of a redundant arm (gain\n"
                         "q_home) is the pose.")
      .def(py::init(&resting_law), py::arg("library"), py::kw_only(), py::arg("law"), py::arg("gains") = py::dict(),
           py::arg("initial_state") = py::dict(), py::arg_v("options", Options(), "Options()"),
           "Raises as `Controller.configure` does.")
      .def("gain", &gain_of, py::arg("name"), "Copy a gain, flat. Raises NameNotFoundError.")
      .def("set_gain", &set_gain, py::arg("name"), py::arg("values"), "Change a gain. Raises as `Controller.set_gain` does.")
      .def("feedback", &feedback_at, py::arg("q"),
           "Differentiate the second step at a pose (n,), [rad or m]: ∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂τ⁻, (n, n) each, where τ⁻ is the\n"
           "effort of the step before; then ∂x⁺/∂(q, q̇, τ⁻), ∂x⁺/∂x and ∂τ/∂x of the m states that no estimate is,\n"
           "(m, 3 n), (m, m) and (n, m). Estimates stay as they are. Raises LawError where it is not finite.")
      .def("find_fastest", &RestingLaw::find_fastest,
           "Look at 20 `margin_poses`, and from the fastest of them on, joint by joint, for a faster one.\n\n"
           "A loop bears a share up to `largest_feedback_share`. The arm is rigid,\n"
           "without friction. None if the step is finite at no pose.");
  module.def("total_delay", &total_delay, py::arg("options"),
             "Return T_total [s], the delay with which an effort answers the velocity that it was computed from, to first\n"
             "order: dead time + lag of the drives + 1/(2πf) + Δ/2 + Δ/2, f the cut-off of the velocity's low-pass, Δ the\n"
             "period. The first half period is the age of a difference of positions.");
  module.def("largest_feedback_share", &largest_feedback_share, py::arg("options"),
             "Return the share of a speed that a velocity feedback may take away in a period [1]: 2 sin(π Δ/(4 T_total)),\n"
             "beyond which a loop with that delay is unstable. See `total_delay`.");
  module.def("margin_poses", &poses_of, py::arg("library"), py::arg("count") = 20, py::arg("first") = 0,
             "Poses evenly spread within the joint limits (±π without), shape (count, n) [rad or m]: from number `first` on\n"
             "of a sequence that is always the same. Raises LawError unless count is positive and first is not negative.");
}

}  // namespace thunder::python
