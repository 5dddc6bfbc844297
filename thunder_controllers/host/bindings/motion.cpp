// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include "bindings.hpp"
#include "thunder/host/controller.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/time_laws.hpp"

namespace thunder::python {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Any numbers, flat. Throws HostError(law) for what is not numeric or has another shape than a vector.
std::vector<double> numbers_from(const py::handle& object, const char* where) {
  const Numbers array = Numbers::ensure(object);
  if (!array || array.ndim() != 1) {
    throw HostError(ErrorKind::law, "is no vector of numbers", where, "a flat sequence of numbers");
  }
  return {array.data(), array.data() + array.size()};
}

template <std::size_t N>
std::array<double, N> array_from(const py::handle& object, const char* where) {
  const std::vector<double> values = numbers_from(object, where);
  if (values.size() != N) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(values.size()) + " values", where,
                    std::to_string(N));
  }
  std::array<double, N> result;
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

std::optional<std::array<double, 6>> twist_from(const py::object& object, const char* where) {
  if (object.is_none()) return std::nullopt;
  return array_from<6>(object, where);
}

std::vector<double> optional_numbers(const py::object& object, const char* where) {
  return object.is_none() ? std::vector<double>() : numbers_from(object, where);
}

template <std::size_t N>
py::object array_or_none(const std::optional<std::array<double, N>>& values) {
  if (!values) return py::none();
  return vector_of(values->data(), static_cast<int>(N));
}

py::object vector_or_none(const std::vector<double>& values) {
  if (values.empty()) return py::none();
  return vector_of(values);
}

MotionLimits make_limits(double linear_velocity, double linear_acceleration, double linear_jerk,
                         double angular_velocity, double angular_acceleration, double angular_jerk,
                         double joint_acceleration) {
  const MotionLimits limits{linear_velocity,      linear_acceleration, linear_jerk,       angular_velocity,
                            angular_acceleration, angular_jerk,        joint_acceleration};
  check_limits(limits);
  return limits;
}

void bind_limits(py::module_& module) {
  const MotionLimits defaults;
  py::class_<MotionLimits>(module, "MotionLimits", "Bounds of the motions that a controller makes itself, SI units.")
      .def(py::init(&make_limits), py::kw_only(), py::arg("linear_velocity") = defaults.linear_velocity,
           py::arg("linear_acceleration") = defaults.linear_acceleration,
           py::arg("linear_jerk") = defaults.linear_jerk, py::arg("angular_velocity") = defaults.angular_velocity,
           py::arg("angular_acceleration") = defaults.angular_acceleration,
           py::arg("angular_jerk") = defaults.angular_jerk,
           py::arg("joint_acceleration") = defaults.joint_acceleration)
      .def_readonly("linear_velocity", &MotionLimits::linear_velocity)
      .def_readonly("linear_acceleration", &MotionLimits::linear_acceleration)
      .def_readonly("linear_jerk", &MotionLimits::linear_jerk)
      .def_readonly("angular_velocity", &MotionLimits::angular_velocity)
      .def_readonly("angular_acceleration", &MotionLimits::angular_acceleration)
      .def_readonly("angular_jerk", &MotionLimits::angular_jerk)
      .def_readonly("joint_acceleration", &MotionLimits::joint_acceleration);
}

void bind_points(py::module_& module) {
  py::class_<TimedPose>(module, "TimedPose", "A pose of the end effector, and when it is passed.")
      .def(py::init([](double time, const py::object& position, const py::object& orientation, const py::object& twist,
                       const py::object& acceleration) {
             return TimedPose{time, array_from<3>(position, "TimedPose.position"),
                              array_from<4>(orientation, "TimedPose.orientation"),
                              twist_from(twist, "TimedPose.twist"),
                              twist_from(acceleration, "TimedPose.acceleration")};
           }),
           py::arg("time"), py::arg("position"), py::arg("orientation"), py::arg("twist") = py::none(),
           py::arg("acceleration") = py::none())
      .def_readonly("time", &TimedPose::time)
      .def_property_readonly("position", [](const TimedPose& p) { return vector_of(p.position.data(), 3); })
      .def_property_readonly("orientation", [](const TimedPose& p) { return vector_of(p.orientation.data(), 4); })
      .def_property_readonly("twist", [](const TimedPose& p) { return array_or_none(p.twist); })
      .def_property_readonly("acceleration", [](const TimedPose& p) { return array_or_none(p.acceleration); });
  py::class_<TimedJoints>(module, "TimedJoints", "Positions of all joints, and when they are passed.")
      .def(py::init([](double time, const py::object& q, const py::object& qd, const py::object& qdd) {
             return TimedJoints{time, numbers_from(q, "TimedJoints.q"), optional_numbers(qd, "TimedJoints.qd"),
                                optional_numbers(qdd, "TimedJoints.qdd")};
           }),
           py::arg("time"), py::arg("q"), py::arg("qd") = py::none(), py::arg("qdd") = py::none())
      .def_readonly("time", &TimedJoints::time)
      .def_property_readonly("q", [](const TimedJoints& p) { return vector_of(p.q); })
      .def_property_readonly("qd", [](const TimedJoints& p) { return vector_or_none(p.qd); })
      .def_property_readonly("qdd", [](const TimedJoints& p) { return vector_or_none(p.qdd); });
}

TimeLaw make_time_law(double velocity, double acceleration, double jerk) {
  for (const double bound : {velocity, acceleration, jerk}) {
    if (std::isfinite(bound) && bound > 0.0) continue;
    throw HostError(ErrorKind::law, "a bound is " + format(bound), "TimeLaw", "positive and finite");
  }
  return TimeLaw(velocity, acceleration, jerk);
}

/// Rows of value and two derivatives; at rest before the start and after the end.
py::array_t<double> sample_time_law(const TimeLaw& law, const Numbers& times) {
  const auto t = times.unchecked<1>();
  py::array_t<double> rows({t.shape(0), py::ssize_t{3}});
  auto row = rows.mutable_unchecked<2>();
  for (py::ssize_t i = 0; i < t.shape(0); ++i) {
    const ScalarSample now = law.at(std::clamp(t(i), 0.0, law.duration()));
    row(i, 0) = now.value, row(i, 1) = now.velocity, row(i, 2) = now.acceleration;
  }
  return rows;
}

void bind_shapes(py::module_& module) {
  py::class_<TimeLaw>(module, "TimeLaw", "The fastest way of a scalar from 0 to 1 within bounds, at rest at both ends.")
      .def(py::init(&make_time_law), py::arg("velocity"), py::arg("acceleration"), py::arg("jerk"))
      .def_property_readonly("duration", &TimeLaw::duration)
      .def("sample", &sample_time_law, py::arg("times"));
  py::class_<StopShape>(module, "StopShape", "Brings a velocity and an acceleration smoothly to zero.")
      .def(py::init([](double duration) { return StopShape{duration}; }), py::arg("duration"))
      .def("at", [](const StopShape& shape, double time, double velocity, double acceleration) {
             const ScalarSample now = shape.at(time, velocity, acceleration);
             return std::make_tuple(now.value, now.velocity, now.acceleration);
           },
           py::arg("time"), py::arg("velocity"), py::arg("acceleration"));
}

/// Points of one kind. Throws HostError(law) for a mixture or anything else.
template <class Point>
std::vector<Point> points_from(const py::sequence& points) {
  std::vector<Point> result;
  for (const py::handle point : points) {
    if (!py::isinstance<Point>(point)) {
      throw HostError(ErrorKind::law, "a point of another kind", "follow: points", "all TimedPose or all TimedJoints");
    }
    result.push_back(py::cast<Point>(point));
  }
  return result;
}

void follow(Controller& controller, const py::sequence& points) {
  if (points.size() == 0) throw HostError(ErrorKind::law, "no points", "follow", "at least one");
  if (py::isinstance<TimedPose>(points[0])) {
    controller.follow(points_from<TimedPose>(points));
  } else {
    controller.follow(points_from<TimedJoints>(points));
  }
}

}  // namespace

void bind_motion(py::module_& module) {
  bind_limits(module);
  bind_shapes(module);
  bind_points(module);
}

void bind_motions_of(py::class_<Controller>& controller) {
  controller
      .def("set_motion_limits", &Controller::set_motion_limits, py::arg("limits"))
      .def(
          "move_to_pose",
          [](Controller& c, const py::object& position, const py::object& orientation) {
            c.move_to_pose(array_from<3>(position, "move_to_pose: position").data(),
                           array_from<4>(orientation, "move_to_pose: orientation").data());
          },
          py::arg("position"), py::arg("orientation"))
      .def("follow", &follow, py::arg("points"))
      .def("stop_motion", &Controller::stop_motion)
      .def_property_readonly("reference_source", [](const Controller& c) { return to_string(c.reference_source()); });
}

}  // namespace thunder::python
