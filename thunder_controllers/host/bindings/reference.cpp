// SPDX-License-Identifier: Apache-2.0
//
// What makes references of messages, and joints of poses.
#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/reference/pose_follower.hpp"
#include "thunder/host/reference/reading.hpp"

namespace thunder::python {
namespace {

using Pose = py::typing::Tuple<py::array_t<double>, py::array_t<double>>;

Pose read_target(const ReferenceReader& reader, const std::string& frame, const PoseNumbers& pose) {
  const PoseTarget target = reader.target(frame, pose);
  return py::make_tuple(vector_of(target.position.data(), 3), vector_of(target.orientation.data(), 4));
}

template <class Point>
py::array_t<double> read_sample(const ReferenceReader& reader, const Point& point) {
  return vector_of(reader.sample(point));
}

void bind_read_points(py::module_& module) {
  py::class_<PosePoint>(module, "PosePoint",
                        "A point as a trajectory_msgs/MultiDOFJointTrajectoryPoint has it, not yet checked.")
      .def(py::init<double, std::vector<PoseNumbers>, std::vector<TwistNumbers>, std::vector<TwistNumbers>>(),
           py::arg("time"), py::arg("transforms"), py::arg("velocities") = std::vector<TwistNumbers>(),
           py::arg("accelerations") = std::vector<TwistNumbers>(),
           "time [s] from start; transforms: x y z [m] and quaternion x y z w; velocities [m/s, rad/s] and\n"
           "accelerations [m/s², rad/s²]: linear, then angular. All in the base frame.");
}

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

py::typing::Tuple<Array, Array, Array> follow_samples(Follower& follower, const ArrayLike& start, const Numbers& samples) {
  const SampleLayout& layout = follower.layout;
  const Vector first = joint_vector(start, layout.n_joints, "follow: q");
  if (samples.ndim() != 2 || (samples.shape(1) != layout.standard && samples.shape(1) != layout.size)) {
    throw HostError(ErrorKind::dimension, "no rows of samples", "follow: samples",
                    "shape (k, " + std::to_string(layout.standard) + ")");
  }
  std::vector<double> q(first.data(), first.data() + first.size());
  const py::ssize_t count = samples.shape(0), rows = static_cast<py::ssize_t>(follower.rows());
  Array left({count, rows}), velocities({count, first.size()}), positions({count, first.size()});
  for (py::ssize_t k = 0; k < count; ++k) {
    const double* sample = samples.data(k, 0);
    follower.approach(q.data(), sample);
    std::copy(q.begin(), q.end(), positions.mutable_data(k, 0));
    std::copy_n(follower.left().begin(), rows, left.mutable_data(k, 0));
    PoseFollower::Twist twist;
    std::copy_n(sample + layout.velocity, twist.size(), twist.begin());
    const std::vector<double>& velocity = follower.velocity(q.data(), twist);
    std::copy(velocity.begin(), velocity.end(), velocities.mutable_data(k, 0));
  }
  return py::make_tuple(left, velocities, positions);
}

}  // namespace

void bind_reading(py::module_& module) {
  bind_read_points(module);
  py::class_<ReferenceReader>(module, "ReferenceReader",
                              "Checks frames, names, sizes and quaternions of reference messages.\n\n"
                              "All methods raise LawError, which names the topic and field.")
      .def(py::init([](const PyConfiguration& configuration, const std::string& base, const std::string& ee) {
             return ReferenceReader(configuration, {base, ee});
           }),
           py::arg("configuration"), py::arg("base_frame"), py::arg("ee_frame"),
           "Names of the frames that poses are given in, and of.\n\n"
           "Raises LawError if the law asks for something that no message says.")
      .def("sample", &read_sample<PosePoint>, py::arg("point"),
           "A streamed point as a flat sample of a cartesian law, SI units.\n\n"
           "One transform, at most one velocity and one acceleration, zero where there is none. A quaternion's norm\n"
           "may differ from one by 1e-3; it is then normalised.")
      .def("sample", &read_sample<TimedJoints>, py::arg("point"),
           "A streamed point as a flat sample of a joint law, SI units.\n\n"
           "Positions in the order of the joints; velocities and accelerations or none, which stands for zeros.")
      .def("target", &read_target, py::arg("frame"), py::arg("pose"),
           "Position [m], shape (3,), and unit quaternion x y z w, shape (4,); `frame` must be the base's.")
      .def("poses", &ReferenceReader::poses, py::arg("frame"), py::arg("names"), py::arg("points"),
           "Poses of the end effector at times; `frame` must be the base's, `names` hold its own, or nothing.")
      .def("joints", &ReferenceReader::joints, py::arg("names"), py::arg("points"),
           "Joint positions at times, in the library's order; names and values may have any order.")
      .def(
          "position",
          [](const ReferenceReader& r, const std::string& frame, const PoseNumbers& pose, const std::string& topic) {
            return vector_of(r.position(frame, pose, topic));
          },
          py::arg("frame"), py::arg("pose"), py::arg("topic"),
          "The position [m] of a measured pose of the end effector, shape (3,); `frame` must be the base's. The orientation\n"
          "is not used, and nothing is asked of it.")
      .def(
          "wrench",
          [](const ReferenceReader& r, const std::string& frame, const TwistNumbers& wrench, const std::string& topic) {
            return vector_of(r.wrench(frame, wrench, topic));
          },
          py::arg("frame"), py::arg("wrench"), py::arg("topic"),
          "A wrench [N, N·m], linear part first, shape (6,); `frame` must be the base's.");
}

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
           "Returns what is left of the way to each, [m, rad] in the world frame, shape (k, rows), the smallest joint\n"
           "velocities that make its twist there [rad/s or m/s], and the positions [rad or m], shape (k, n) each.\n"
           "Raises DimensionError.");
}

}  // namespace thunder::python
