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
#include "thunder/host/motion/figure.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/rigid.hpp"
#include "thunder/host/motion/time_laws.hpp"

namespace thunder::python {
namespace {

std::optional<std::array<double, 6>> twist_from(const OptionalArray& object, const char* where) {
  if (object.is_none()) return std::nullopt;
  return array_from<6>(object, where);
}

std::vector<double> optional_numbers(const OptionalArray& object, const char* where) {
  return object.is_none() ? std::vector<double>() : numbers_from(object, where);
}

std::optional<py::array_t<double>> array_or_none(const std::optional<std::array<double, 6>>& values) {
  if (!values) return std::nullopt;
  return vector_of(values->data(), 6);
}

Rigid rigid(const ArrayLike& translation, const ArrayLike& rotation) {
  return {array_from<3>(translation, "translation"), normalized(array_from<4>(rotation, "rotation"))};
}

MotionLimits make_limits(double linear_velocity, double linear_acceleration, double linear_jerk,
                         double angular_velocity, double angular_acceleration, double angular_jerk,
                         double joint_acceleration) {
  const MotionLimits limits{linear_velocity,      linear_acceleration, linear_jerk,       angular_velocity,
                            angular_acceleration, angular_jerk,        joint_acceleration};
  check_limits(limits);
  return limits;
}

void bind_motion_limits(py::module_& module) {
  const MotionLimits defaults;
  py::class_<MotionLimits>(module, "MotionLimits",
                           "Bounds of the motions that a controller makes itself; immutable, positive and finite.")
      .def(py::init(&make_limits), py::kw_only(), py::arg("linear_velocity") = defaults.linear_velocity,
           py::arg("linear_acceleration") = defaults.linear_acceleration,
           py::arg("linear_jerk") = defaults.linear_jerk, py::arg("angular_velocity") = defaults.angular_velocity,
           py::arg("angular_acceleration") = defaults.angular_acceleration,
           py::arg("angular_jerk") = defaults.angular_jerk,
           py::arg("joint_acceleration") = defaults.joint_acceleration,
           "Check and keep the bounds. Raises LawError for one that is not positive and finite.")
      .def_readonly("linear_velocity", &MotionLimits::linear_velocity,
                    "[m/s] Of the end effector on the way to a pose.")
      .def_readonly("linear_acceleration", &MotionLimits::linear_acceleration,
                    "[m/s²] Also while it comes to rest.")
      .def_readonly("linear_jerk", &MotionLimits::linear_jerk, "[m/s³]")
      .def_readonly("angular_velocity", &MotionLimits::angular_velocity,
                    "[rad/s] Of the end effector on the way to a pose.")
      .def_readonly("angular_acceleration", &MotionLimits::angular_acceleration,
                    "[rad/s²] Also while it comes to rest.")
      .def_readonly("angular_jerk", &MotionLimits::angular_jerk, "[rad/s³]")
      .def_readonly("joint_acceleration", &MotionLimits::joint_acceleration,
                    "[rad/s² or m/s²] While joints come to rest.");
}

void bind_points(py::module_& module) {
  py::class_<TimedPose>(module, "TimedPose", "A pose of the end effector in the world frame, and when it is passed.")
      .def(py::init([](double time, const ArrayLike& position, const ArrayLike& orientation, const OptionalArray& twist,
                       const OptionalArray& acceleration) {
             return TimedPose{time, array_from<3>(position, "TimedPose.position"),
                              array_from<4>(orientation, "TimedPose.orientation"),
                              twist_from(twist, "TimedPose.twist"),
                              twist_from(acceleration, "TimedPose.acceleration")};
           }),
           py::arg("time"), py::arg("position"), py::arg("orientation"), py::arg("twist") = py::none(),
           py::arg("acceleration") = py::none(),
           "Keep the numbers; `follow` checks what they say.\n\n"
           "Raises LawError where they are not numeric, DimensionError for another number of values.")
      .def_readonly("time", &TimedPose::time, "[s] From the start of the motion.")
      .def_property_readonly("position", [](const TimedPose& p) { return vector_of(p.position.data(), 3); },
                             "[m] Shape (3,).")
      .def_property_readonly("orientation", [](const TimedPose& p) { return vector_of(p.orientation.data(), 4); },
                             "Quaternion x, y, z, w, shape (4,).")
      .def_property_readonly("twist", [](const TimedPose& p) { return array_or_none(p.twist); },
                             "[m/s, rad/s] Linear part first, shape (6,); None: as the motion needs it.")
      .def_property_readonly("acceleration", [](const TimedPose& p) { return array_or_none(p.acceleration); },
                             "[m/s², rad/s²] Derivative of the twist, shape (6,); None: as the motion needs it.")
      .def("placed", [](const TimedPose& p, const ArrayLike& at, const ArrayLike& by) { return placed(rigid(at, by), p); },
           py::arg("translation"), py::arg("rotation"),
           "This point, given in a frame that stands still at translation [m], turned by the quaternion x, y, z, w, in\n"
           "the frame that these are in.")
      .def("end_effector_of",
           [](const TimedPose& p, const ArrayLike& at, const ArrayLike& by, const std::string& where) {
             return end_effector_of(rigid(at, by), p, where);
           },
           py::arg("translation"), py::arg("rotation"), py::arg("where"),
           "The end effector of this point of a tool, which is at translation [m], turned by rotation, in its frame.\n\n"
           "Twist and acceleration are those of the tool's origin. Raises LawError for the latter without the former.");
  py::class_<TimedJoints>(module, "TimedJoints", "Positions of all joints, and when they are passed.")
      .def(py::init([](double time, const ArrayLike& q, const OptionalArray& qd, const OptionalArray& qdd) {
             return TimedJoints{time, numbers_from(q, "TimedJoints.q"), optional_numbers(qd, "TimedJoints.qd"),
                                optional_numbers(qdd, "TimedJoints.qdd")};
           }),
           py::arg("time"), py::arg("q"), py::arg("qd") = py::none(), py::arg("qdd") = py::none(),
           "Keep the numbers; `follow` checks what they say. Raises LawError where they are no flat numbers.")
      .def_readonly("time", &TimedJoints::time, "[s] From the start of the motion.")
      .def_property_readonly("q", [](const TimedJoints& p) { return vector_of(p.q); }, "[rad or m] Shape (n,).")
      .def_property_readonly("qd", [](const TimedJoints& p) { return vector_or_none(p.qd); },
                             "[rad/s or m/s] Shape (n,); None: as the motion needs it.")
      .def_property_readonly("qdd", [](const TimedJoints& p) { return vector_or_none(p.qdd); },
                             "[rad/s² or m/s²] Shape (n,); None: as the motion needs it.");
}

void bind_figure(py::module_& module) {
  const Figure defaults;
  py::class_<Figure>(module, "Figure",
                     "A motion without end about the place where the reference rests: sinusoids of each coordinate.\n\n"
                     "x_k(σ) = x_k(0) + Σ A_i (sin(2π f_i σ + φ_i) − sin φ_i), i = k, k + n, …, of the n coordinates:\n"
                     "the position of a pose, whose orientation stays, or all joints. The clock σ(t) starts from rest.")
      .def(py::init([](const ArrayLike& amplitude, const ArrayLike& frequency, const ArrayLike& phase, double ramp_time) {
             return Figure{numbers_from(amplitude, "Figure.amplitude"), numbers_from(frequency, "Figure.frequency"),
                           numbers_from(phase, "Figure.phase"), ramp_time};
           }),
           py::arg("amplitude"), py::arg("frequency"), py::arg("phase") = defaults.phase,
           py::arg("ramp_time") = defaults.ramp_time,
           "Keep the numbers; `trace` checks what they say. Raises LawError where they are no flat numbers.\n\n"
           "Fewer values than coordinates are used again in turn; a multiple of them are further sinusoids. Without\n"
           "frequencies they are 0.1, 0.2, 0.15, 0.25 Hz in turn.")
      .def_property_readonly("amplitude", [](const Figure& f) { return vector_of(f.amplitude); }, "[m or rad] A.")
      .def_property_readonly("frequency", [](const Figure& f) { return vector_of(f.frequency); }, "[Hz] f.")
      .def_property_readonly("phase", [](const Figure& f) { return vector_of(f.phase); }, "[rad] φ.")
      .def_readonly("ramp_time", &Figure::ramp_time, "[s] Until the clock runs at the rate of time.");
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

/// Zero before the start and after the end.
py::array_t<double> jerk_of_time_law(const TimeLaw& law, const Numbers& times) {
  const auto t = times.unchecked<1>();
  py::array_t<double> values(t.shape(0));
  auto value = values.mutable_unchecked<1>();
  for (py::ssize_t i = 0; i < t.shape(0); ++i) {
    value(i) = t(i) >= 0.0 && t(i) < law.duration() ? law.jerk(t(i)) : 0.0;
  }
  return values;
}

void bind_shapes(py::module_& module) {
  py::class_<TimeLaw>(module, "TimeLaw", "The fastest way of a scalar from 0 to 1 within bounds, at rest at both ends.")
      .def(py::init(&make_time_law), py::arg("velocity"), py::arg("acceleration"), py::arg("jerk"),
           "Bounds in 1/s, 1/s², 1/s³. Raises LawError unless they are positive and finite.")
      .def_property_readonly("duration", &TimeLaw::duration, "[s] Of the whole way.")
      .def("sample", &sample_time_law, py::arg("times"),
           "Rows of value [1], first [1/s] and second derivative [1/s²] at times [s] of shape (k,): shape (k, 3).\n\n"
           "At rest before the start and after the end.")
      .def("jerk", &jerk_of_time_law, py::arg("times"),
           "Third derivative [1/s³] at times [s] of shape (k,), which jumps between its phases: shape (k,).");
  py::class_<StopShape>(module, "StopShape", "Brings a velocity v₀ and an acceleration a₀ smoothly to zero.\n\n"
                         "v(u) = (1 − 3u² + 2u³) v₀ + T u(1 − u)² a₀, u = t/T.")
      .def(py::init([](double duration) { return StopShape{duration}; }), py::arg("duration"), "T [s], positive.")
      .def("at", [](const StopShape& shape, double time, double velocity, double acceleration) {
             const ScalarSample now = shape.at(time, velocity, acceleration);
             return std::make_tuple(now.value, now.velocity, now.acceleration);
           },
           py::arg("time"), py::arg("velocity"), py::arg("acceleration"),
           "Way so far, velocity and acceleration at a time [s], from v₀ and a₀; exactly at rest from T on.");
}

struct PointsText {
  static constexpr auto name =
      py::detail::make_caster<std::vector<TimedPose>>::name | py::detail::make_caster<std::vector<TimedJoints>>::name;
};
using Points = Described<PointsText, py::sequence>;

/// Points of one kind. Throws HostError(law) for a mixture or anything else.
template <class Point>
std::vector<Point> points_from(const Points& points) {
  std::vector<Point> result;
  for (const py::handle point : points) {
    if (!py::isinstance<Point>(point)) {
      throw HostError(ErrorKind::law, "a point of another kind", "follow: points", "all TimedPose or all TimedJoints");
    }
    result.push_back(py::cast<Point>(point));
  }
  return result;
}

void follow(Controller& controller, const Points& points) {
  if (points.size() == 0) throw HostError(ErrorKind::law, "no points", "follow", "at least one");
  if (py::isinstance<TimedPose>(points[0])) {
    controller.follow(points_from<TimedPose>(points));
  } else {
    controller.follow(points_from<TimedJoints>(points));
  }
}

struct SourceText {
  static constexpr auto name = py::detail::const_name("typing.Literal['hold', 'stream', 'motion', 'stopping']");
};

Described<SourceText> source_of(const Controller& controller) {
  return py::str(to_string(controller.reference_source()));
}

}  // namespace

void bind_motion(py::module_& module) {
  bind_motion_limits(module);
  bind_shapes(module);
  bind_points(module);
  bind_figure(module);
  py::class_<PoseWay>(module, "PoseWay", "On which way a motion to a pose goes, as `move_to_pose` returns it.")
      .def_readonly("is_straight", &PoseWay::is_straight, "On a straight line; else all joints move at once.")
      .def_readonly("pace", &PoseWay::pace, "Times the time that the motion limits ask for: 1, or what the joints need.")
      .def("__str__", [](const PoseWay& way) { return to_string(way); });
}

void bind_motions_of(py::class_<Controller>& controller) {
  controller
      .def("set_motion_limits", &Controller::set_motion_limits, py::arg("limits"),
           "Bound the motions that begin from now on; `configure` brings the defaults back.")
      .def(
          "move_to_pose",
          [](Controller& c, const ArrayLike& position, const ArrayLike& orientation) {
            return c.move_to_pose(array_from<3>(position, "move_to_pose: position").data(),
                                  array_from<4>(orientation, "move_to_pose: orientation").data());
          },
          py::arg("position"), py::arg("orientation"),
          "Move the reference to rest at a position [m], shape (3,), and quaternion x, y, z, w.\n\n"
          "It goes on a straight line and turns about one axis, within the limits; a moving reference first comes to\n"
          "rest. Like `follow` and `stop_motion` it begins with the next update at the sample in effect, continuous\n"
          "in position, velocity and acceleration; the last request wins.\n\n"
          "It takes the time that the joints need. Where the straight way leaves limits or reach, or takes more than four\n"
          "times its time, all joints move at once, unless `moves_straight`; if that leaves them, too, it is refused.\n"
          "Returns which way it is.\n\n"
          "Raises LawError unless active, for a joint law, and for no such pose; what was followed before goes on.")
      .def("follow", &follow, py::arg("points"),
           "Move the reference through timed points, acceleration continuous, to rest at the last one.\n\n"
           "Quintic pieces; what is not given of velocities and accelerations is that of the clamped cubic spline. A\n"
           "point at time zero must lie within 0.01 (m, rad, quaternion elements) of the sample in effect, and is\n"
           "left out.\n\n"
           "Raises LawError unless active, for points of the other kind of law, times that do not increase or have no\n"
           "positive one, values out of bounds, rates given to a part of the points, a velocity at the end, or a turn\n"
           "above 2 rad; DimensionError for another number of joints.")
      .def("trace", &Controller::trace, py::arg("figure"),
           "Bring the reference to rest, then along a figure about that place, until something else is asked for.\n\n"
           "Raises LawError unless active, for values that are not finite, negative frequencies, a ramp time that is\n"
           "not positive, and where the joints cannot follow; DimensionError for a wrong number of values.")
      .def("stop_motion", &Controller::stop_motion,
           "Bring the reference smoothly to rest, from timed points or a figure on their way, and hold that place. Raises\n"
           "LawError unless active.")
      .def_property_readonly("reference_source", &source_of,
                             "What the reference of the last update followed.\n\n"
                             "Stopping until it rests after `stop_motion`, and until the next request after a lost\n"
                             "stream.");
}

}  // namespace thunder::python
