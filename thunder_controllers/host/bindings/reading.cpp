// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/reading.hpp"

#include "bindings.hpp"

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

}  // namespace thunder::python
