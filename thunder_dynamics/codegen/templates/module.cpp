/* Python module of robot $robot, generated: mirrors the class of thunder_$robot.h, arrays in and out by copy. */
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "thunder_$robot.h"

namespace py = pybind11;

namespace {

using Robot = thunder_$robot;
using Input = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Vector = Eigen::Ref<const Eigen::VectorXd>;
using Setter = void (Robot::*)(const Vector&);

/* Results are copied through one function of plain sizes, so that pybind11 is instantiated once and not per shape. */
py::object to_numpy(const double* data, py::ssize_t rows, py::ssize_t cols, bool is_matrix) {
  const py::ssize_t size = sizeof(double);
  if (!is_matrix) return py::array(py::dtype::of<double>(), {rows}, {size}, data);
  return py::array(py::dtype::of<double>(), {rows, cols}, {size, size * rows}, data);
}

Eigen::Map<const Eigen::VectorXd> vector(const Input& value) {
  if (value.ndim() != 1)
    throw std::invalid_argument("array of " + std::to_string(value.ndim()) + " dimensions; valid: one dimension");
  return {value.data(), value.shape(0)};
}

auto writing(Setter method) {
  return [method](Robot& self, const Input& value) { (self.*method)(vector(value)); };
}

/* One column is a vector or a matrix: the number of columns does not tell which. */
template <typename Result>
auto reading(Result (Robot::*method)() const, bool is_matrix = false) {
  return [method, is_matrix](const Robot& self) -> py::object {
    const auto& value = (self.*method)();
    return to_numpy(value.data(), value.rows(), value.cols(), is_matrix);
  };
}

template <typename Result>
auto reading_matrix(Result (Robot::*method)() const) {
  return reading(method, true);
}

}  // namespace

PYBIND11_MODULE(thunder_$robot, module) {
  module.doc() = "Kinematics, dynamics and regressors of robot $robot.";
  py::class_<Robot> robot(module, "thunder_$robot", py::module_local(), "Set the arguments, then get what is needed of them. SI units.");
$constants
  robot.def(py::init<>())
    .def("get_numJoints", &Robot::get_numJoints)
    .def("get_numParDYN", &Robot::get_numParDYN)
    .def("get_numParREG", &Robot::get_numParREG)
    .def("setArguments", [](Robot& self, const Input& q, const Input& dq, const Input& dq_r, const Input& ddq_r) {
      self.setArguments(vector(q), vector(dq), vector(dq_r), vector(ddq_r));
    }, py::arg("q"), py::arg("dq"), py::arg("dq_r"), py::arg("ddq_r"), "Set q, dq, dq_r and ddq_r at once.")
    .def("load_conf", &Robot::load_conf, py::arg("file"), "Read run-time parameters from a file that save_conf wrote, or a controller's estimates.")
    .def("save_conf", &Robot::save_conf, py::arg("file"), "Write all run-time parameters.")
    .def("save_par", &Robot::save_par, py::arg("file"), "save_conf; returns 1.")
    .def("load_par_REG", [](Robot& self, const std::string& file) {
      const auto par_REG = self.load_par_REG(file);
      return to_numpy(par_REG.data(), par_REG.rows(), 1, false);
    }, py::arg("file"), "Read par_REG of all links from a file as save_par_REG writes it, and set the symbolic entries; returns par_REG.")
    .def("save_par_REG", &Robot::save_par_REG, py::arg("file"), "Write par_REG of all links, symbolic and numeric entries alike.")
    .def("save_par_DYN", &Robot::save_par_DYN, py::arg("file"), "Write par_DYN of all links, symbolic and numeric entries alike.")
$methods;
}
