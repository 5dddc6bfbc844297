// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/reading.hpp"

#include <pybind11/stl.h>

#include "bindings.hpp"

namespace thunder::python {
namespace {

py::tuple read_target(const ReferenceReader& reader, const std::string& frame, const PoseNumbers& pose) {
  const TargetPose target = reader.target(frame, pose);
  return py::make_tuple(vector_of(target.position.data(), 3), vector_of(target.orientation.data(), 4));
}

template <class Point>
py::array_t<double> read_sample(const ReferenceReader& reader, const Point& point) {
  return vector_of(reader.sample(point));
}

void bind_points(py::module_& module) {
  py::class_<PosePoint>(module, "PosePoint", "A point as a MultiDOFJointTrajectoryPoint has it, not yet checked.")
      .def(py::init<double, std::vector<PoseNumbers>, std::vector<TwistNumbers>, std::vector<TwistNumbers>>(),
           py::arg("time"), py::arg("transforms"), py::arg("velocities") = std::vector<TwistNumbers>(),
           py::arg("accelerations") = std::vector<TwistNumbers>(),
           "time [s] from start; transforms: x y z [m] and quaternion x y z w; velocities, accelerations: linear,\n"
           "then angular, SI units.");
  py::class_<JointPoint>(module, "JointPoint", "A point as a JointTrajectoryPoint has it, not yet checked.")
      .def(py::init<double, std::vector<double>, std::vector<double>, std::vector<double>>(), py::arg("time"),
           py::arg("positions"), py::arg("velocities") = std::vector<double>(),
           py::arg("accelerations") = std::vector<double>(), "time [s] from start; positions [rad or m], per joint.");
}

}  // namespace

void bind_reading(py::module_& module) {
  bind_points(module);
  py::class_<ReferenceReader>(module, "ReferenceReader",
                              "Checks frames, names, sizes and quaternions of reference messages. Raises LawError.")
      .def(py::init([](const PyConfiguration& configuration, const std::string& base, const std::string& ee) {
             return ReferenceReader(configuration, {base, ee});
           }),
           py::arg("configuration"), py::arg("base_frame"), py::arg("ee_frame"))
      .def("sample", &read_sample<PosePoint>, py::arg("point"), "A streamed point as a flat sample of the law.")
      .def("sample", &read_sample<JointPoint>, py::arg("point"))
      .def("target", &read_target, py::arg("frame"), py::arg("pose"),
           "Position [m], shape (3,), and unit quaternion x y z w, shape (4,), of a target in the base frame.")
      .def("poses", &ReferenceReader::poses, py::arg("frame"), py::arg("names"), py::arg("points"),
           "Poses of the end effector at times; names hold its frame, or nothing.")
      .def("joints", &ReferenceReader::joints, py::arg("names"), py::arg("points"),
           "Joint positions at times, in the library's order; names and values may have any order.");
}

}  // namespace thunder::python
