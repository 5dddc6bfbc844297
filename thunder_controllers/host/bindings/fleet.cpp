// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/fleet.hpp"

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/plant/rigid_arms.hpp"

namespace thunder::python {
namespace {

/// The stride between rows [values]. Throws HostError(dimension) unless there is a contiguous row of `size` for each.
template <class Value>
std::size_t stride_of(const py::array_t<Value>& array, std::size_t count, int size, const char* where) {
  const auto each = static_cast<py::ssize_t>(sizeof(Value));
  const bool fits = array.ndim() == 2 && static_cast<std::size_t>(array.shape(0)) == count && array.shape(1) == size &&
                    (size < 2 || array.strides(1) == each);
  if (!fits) {
    throw HostError(ErrorKind::dimension, "another shape, or rows that are not contiguous", where,
                    "(" + std::to_string(count) + ", " + std::to_string(size) + ")");
  }
  return static_cast<std::size_t>(array.strides(0) / each);
}

template <class Value>
RowsOut<Value> rows_out(py::array_t<Value>& array, std::size_t count, int size, const char* where) {
  const std::size_t stride = stride_of(array, count, size, where);
  return {array.mutable_data(), stride};
}

Rows rows_in(const py::array_t<double>& array, std::size_t count, int size, const char* where) {
  return {array.data(), stride_of(array, count, size, where)};
}

/// The controllers with the Python objects that own them.
struct PyFleet {
  explicit PyFleet(const std::vector<Controller*>& controllers) : fleet(controllers) {
    for (Controller* controller : controllers) owners.push_back(py::cast(controller));
  }

  std::vector<py::object> owners;
  Fleet fleet;
};

void update_fleet(PyFleet& self, double t, const py::array_t<double>& reference, const py::array_t<double>& q,
                  const py::array_t<double>& qd, double dt, py::array_t<double> effort,
                  py::array_t<GuardBits> guards, py::array_t<double> state, py::array_t<double> telemetry) {
  Fleet& fleet = self.fleet;
  const auto& controllers = fleet.controllers();
  const std::size_t count = controllers.size();
  const int n = controllers.front()->library()->n_joints();
  const auto size = static_cast<int>(reference.ndim() == 2 ? reference.shape(1) : 0);
  const Rows wanted = rows_in(reference, count, size, "reference");
  const Rows position = rows_in(q, count, n, "q");
  const Rows velocity = rows_in(qd, count, n, "qd");
  const RowsOut<double> commanded = rows_out(effort, count, n, "effort");
  const RowsOut<GuardBits> acted = rows_out(guards, count, 1, "guards");
  const RowsOut<double> states = rows_out(state, count, fleet.law().state.size, "state");
  const RowsOut<double> told = rows_out(telemetry, count, fleet.law().telemetry.size, "telemetry");
  const py::gil_scoped_release release;
  for (std::size_t i = 0; i < count; ++i) controllers[i]->set_reference(wanted.data + i * wanted.stride, size);
  fleet.update(t, position, velocity, dt, commanded, acted);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy(controllers[i]->state().begin(), controllers[i]->state().end(), states.data + i * states.stride);
    std::copy(controllers[i]->telemetry().begin(), controllers[i]->telemetry().end(), told.data + i * told.stride);
  }
}

void bind_controllers(py::module_& module) {
  py::class_<PyFleet>(module, "Fleet",
                      "Active controllers of one law of one library, updated together, each as by itself.\n\n"
                      "Where the library was built with `lanes`, the law's steps are computed several at once.")
      .def(py::init<const std::vector<Controller*>&>(), py::arg("controllers"),
           "Raises LawError unless there is one, and all have the same law of the same `Library`.")
      .def("update", &update_fleet, py::arg("t"), py::arg("reference").noconvert(), py::arg("q").noconvert(),
           py::arg("qd").noconvert(), py::arg("dt"), py::arg("effort").noconvert(), py::arg("guards").noconvert(),
           py::arg("state").noconvert(), py::arg("telemetry").noconvert(),
           "`Controller.set_reference` and `update` of each: a row for each controller in every array.\n\n"
           "Writes effort (N, n), the bits of `Guard` (N, 1) uint32, state and telemetry (N, …), flat. Rows are\n"
           "contiguous. Raises DimensionError for another shape, and as those do.");
}

using Array = py::array_t<double>;

/// The arms with the arrays that say what they are.
struct PyRigidArms {
  PyRigidArms(const PyLibrary& library, Array bodies, Array rotors, Array offsets, Array coulomb,
              std::vector<Array> viscous, double smoothing, double longest)
      : kept(std::move(viscous)), arms(library.get(), properties(library, bodies, rotors, offsets, coulomb), smoothing, longest) {
    kept.insert(kept.end(), {bodies, rotors, offsets, coulomb});
  }

  ArmProperties properties(const PyLibrary& library, const Array& bodies, const Array& rotors, const Array& offsets,
                           const Array& coulomb) const {
    const int n = library.data().n_joints;
    const auto count = static_cast<std::size_t>(bodies.ndim() > 0 ? bodies.shape(0) : 0);
    ArmProperties found{count, rows_in(bodies, count, 10 * n, "bodies"), rows_in(rotors, count, n, "rotors"),
                        rows_in(offsets, count, n, "offsets"), rows_in(coulomb, count, n, "coulomb"), {}};
    for (const Array& one : kept) found.viscous.push_back(rows_in(one, count, n, "viscous"));
    return found;
  }

  Rows in(const Array& array, const char* where) const {
    return rows_in(array, arms.count(), static_cast<int>(arms.n_joints()), where);
  }
  RowsOut<double> out(Array& array, const char* where) const {
    return rows_out(array, arms.count(), static_cast<int>(arms.n_joints()), where);
  }

  std::vector<Array> kept;
  RigidArms arms;
};

void advance(PyRigidArms& self, Array q, Array qd, const Array& effort, double step, std::size_t steps) {
  const RowsOut<double> positions = self.out(q, "q"), velocities = self.out(qd, "qd");
  const Rows efforts = self.in(effort, "effort");
  const py::gil_scoped_release release;
  self.arms.advance(positions, velocities, efforts, step, steps);
}

Array accelerate(PyRigidArms& self, const Array& q, const Array& qd, const Array& effort) {
  Array qdd({self.arms.count(), self.arms.n_joints()});
  self.arms.accelerate(self.in(q, "q"), self.in(qd, "qd"), self.in(effort, "effort"), self.out(qdd, "qdd"));
  return qdd;
}

Array count_parts(PyRigidArms& self, const Array& q, double step) {
  Array parts(static_cast<py::ssize_t>(self.arms.count()));
  self.arms.count_parts(self.in(q, "q"), step, {parts.mutable_data(), 1});
  return parts;
}

}  // namespace

void bind_fleet(py::module_& module) {
  bind_controllers(module);
  py::class_<PyRigidArms>(
      module, "RigidArms",
      "Arms of one robot that move by M q̈ + C q̇ + G = τ − o − τ_f, τ_f = Dl_1 q̇ + Dl_2 |q̇| q̇ + … + Fc tanh(q̇/v_s).\n\n"
      "Integrated by Runge–Kutta of order four, as many at once as the library has lanes. A step has as many parts as\n"
      "are stable at rest, where friction damps joints at M⁻¹D, D = Dl_1 + Fc/v_s: a joint that sticks would oscillate\n"
      "otherwise. An arm whose M is singular moves to what is not finite. Arrays have a contiguous row for each arm;\n"
      "those of the properties are read whenever the arms move.")
      .def(py::init<const PyLibrary&, Array, Array, Array, Array, std::vector<Array>, double, double>(),
           py::arg("library"), py::kw_only(), py::arg("bodies").noconvert(), py::arg("rotors").noconvert(),
           py::arg("offsets").noconvert(), py::arg("coulomb").noconvert(), py::arg("viscous"), py::arg("smoothing"),
           py::arg("longest"),
           "`bodies` are par_DYN (N, 10·n), `rotors` par_Ia (N, n), `viscous` Dl_1, Dl_2, … (N, n) each, `smoothing` v_s;\n"
           "`longest` is the longest part of a step, in times 1/λ of a damped joint's λ.\n\n"
           "Raises NameNotFoundError unless the library has forward_dynamics and M_inv, and DimensionError.")
      .def("advance", &advance, py::arg("q").noconvert(), py::arg("qd").noconvert(), py::arg("effort").noconvert(),
           py::arg("step"), py::arg("steps"),
           "Move (q, qd) by so many steps [s] under constant efforts, (N, n) each. Raises DimensionError.")
      .def("accelerate", &accelerate, py::arg("q").noconvert(), py::arg("qd").noconvert(),
           py::arg("effort").noconvert(), "q̈ under efforts, (N, n). Raises DimensionError.")
      .def("count_parts", &count_parts, py::arg("q").noconvert(), py::arg("step"),
           "In how many parts each arm would make a step [s] from there, (N,). Raises DimensionError.");
}

}  // namespace thunder::python
