// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/feedback_margin.hpp"

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/law/gain_port.hpp"

namespace thunder::python {
namespace {

using Matrix = py::array_t<double>;

Matrix matrix_of(const std::vector<double>& values, py::ssize_t n) {
  const py::ssize_t row = sizeof(double);
  return Matrix({n, n}, {row, row * n}, values.data());
}

std::unique_ptr<RestingLaw> resting_law(const PyLibrary& library, const std::string& name, const NamedArrays& gains,
                                        const NamedArrays& initial_state, const Options& options) {
  const thunder_law& law = library.get()->law(name);
  return std::make_unique<RestingLaw>(
      library.get(), name,
      changed_gains(law, default_values(law.gains), named_values_from(py::dict(gains), law.gains, name + ".gains")),
      named_values_from(py::dict(initial_state), law.state, name + ".initial_state"), options);
}

py::typing::Tuple<Matrix, Matrix, Matrix> feedback_at(RestingLaw& law, const ArrayLike& q) {
  const Vector pose = joint_vector(q, static_cast<int>(law.n_joints()), "feedback: q");
  const std::optional<Feedback> found = law.feedback({pose.data(), pose.data() + pose.size()});
  if (!found) {
    throw HostError(ErrorKind::law, "a step gives values that are not finite", "feedback: q", "another pose or gains");
  }
  const py::ssize_t n = pose.size();
  return py::make_tuple(matrix_of(found->position, n), matrix_of(found->velocity, n), matrix_of(found->effort, n));
}

void set_gain(RestingLaw& law, const std::string& name, const ArrayLike& values) {
  const std::string where = std::string(law.law().name) + ".gains";
  law.set_gains({{name, values_from(values, find_entry(law.law().gains, name, where), where)}});
}

py::array_t<double> gain_of(const RestingLaw& law, const std::string& name) {
  const thunder_entry& entry = find_entry(law.law().gains, name, std::string(law.law().name) + ".gains");
  return vector_of(law.gains().data() + entry.offset, entry_size(entry));
}

Matrix poses_of(const PyLibrary& library, int count, int first) {
  const auto poses = margin_poses(*library.get(), count, first, {});
  Matrix result({count, library.get()->n_joints()});
  for (int i = 0; i < count; ++i) std::copy(poses[i].begin(), poses[i].end(), result.mutable_data(i, 0));
  return result;
}

}  // namespace

void bind_feedback_margin(py::module_& module) {
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
           "Differentiate the step at a pose (n,), [rad or m]: ∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂τ⁻, (n, n) each; τ⁻ is the effort of the\n"
           "step before. Raises LawError where it is not finite.")
      .def("find_fastest", &RestingLaw::find_fastest,
           "Look at 20 `margin_poses`, and from the fastest of them on, joint by joint, for a faster one.\n\n"
           "With a delay of MARGIN_DELAY periods a loop bears a share up to `LARGEST_FEEDBACK_SHARE`. The arm is rigid,\n"
           "without friction. None if the step is finite at no pose.");
  module.attr("LARGEST_FEEDBACK_SHARE") = kLargestFeedbackShare;
  module.attr("MARGIN_DELAY") = kMarginDelay;
  module.def("margin_poses", &poses_of, py::arg("library"), py::arg("count") = 20, py::arg("first") = 0,
             "Poses evenly spread within the joint limits (±π without), shape (count, n) [rad or m]: from number `first` on\n"
             "of a sequence that is always the same. Raises LawError unless count is positive and first is not negative.");
}

}  // namespace thunder::python
