// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/pose_follower.hpp"

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/motion/sample.hpp"

namespace thunder::python {
namespace {

using Array = py::array_t<double>;

/// With the sizes that its arguments are checked against.
struct Follower : PoseFollower {
  Follower(const PyLaw& law, const Limits& limits)
      : PoseFollower(law.library, *law.data, limits), layout(*law.data, law.library->n_joints()) {
    if (limits.velocity.size() == static_cast<std::size_t>(layout.n_joints)) return;
    throw HostError(ErrorKind::dimension, "got limits of " + std::to_string(limits.velocity.size()) + " joints",
                    "PoseFollower", std::to_string(layout.n_joints));
  }

  SampleLayout layout;
};

py::typing::Tuple<Array, Array> follow_samples(Follower& follower, const ArrayLike& start, const Numbers& samples) {
  const SampleLayout& layout = follower.layout;
  const Vector first = joint_vector(start, layout.n_joints, "follow: q");
  if (samples.ndim() != 2 || (samples.shape(1) != layout.standard && samples.shape(1) != layout.size)) {
    throw HostError(ErrorKind::dimension, "no rows of samples", "follow: samples",
                    "shape (k, " + std::to_string(layout.standard) + ")");
  }
  std::vector<double> q(first.data(), first.data() + first.size());
  const py::ssize_t count = samples.shape(0), rows = static_cast<py::ssize_t>(follower.rows());
  Array left({count, rows}), velocities({count, first.size()});
  for (py::ssize_t k = 0; k < count; ++k) {
    const double* sample = samples.data(k, 0);
    follower.approach(q.data(), sample);
    std::copy_n(follower.left().begin(), rows, left.mutable_data(k, 0));
    PoseFollower::Twist twist;
    std::copy_n(sample + layout.velocity, twist.size(), twist.begin());
    const std::vector<double>& velocity = follower.velocity(q.data(), twist);
    std::copy(velocity.begin(), velocity.end(), velocities.mutable_data(k, 0));
  }
  return py::make_tuple(left, velocities);
}

}  // namespace

void bind_pose_follower(py::module_& module) {
  py::class_<Follower> bound(module, "PoseFollower",
                             "Takes joints to the poses of a cartesian law's reference, within their limits.\n\n"
                             "By damped least squares, Δq = Jᵀ(JJᵀ + λ²)⁻¹ x (Buss & Kim, Selectively damped least\n"
                             "squares, 2005, section 1), as motions are rehearsed. A law resolves redundancy in\n"
                             "another way.");
  bound.attr("REACHED") = PoseFollower::kReached;
  bound.attr("SLACK") = PoseFollower::kSlack;
  bound
      .def(py::init<const PyLaw&, const Limits&>(), py::arg("law").none(false), py::arg("limits").none(false),
           "Raises NameNotFoundError for a joint law, BuildError for a library without T_0_ee or J_ee.")
      .def_property_readonly("rows", &PoseFollower::rows,
                             "Of the task: 6, or 3 where the law leaves the orientation free.")
      .def("follow", &follow_samples, py::arg("q"), py::arg("samples"),
           "From q [rad or m], shape (n,), to the poses of samples, shape (k, 24), one after the other.\n\n"
           "Returns what is left of the way to each, [m, rad] in the world frame, shape (k, rows), and the smallest\n"
           "joint velocities that make its twist there [rad/s or m/s], shape (k, n). Raises DimensionError.");
}

}  // namespace thunder::python
