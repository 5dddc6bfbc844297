// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"

#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <exception>

#include "thunder/host/error.hpp"

namespace thunder::python {
namespace {

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::build:
      return "BuildError";
    case ErrorKind::name_not_found:
      return "NameNotFoundError";
    case ErrorKind::dimension:
      return "DimensionError";
    case ErrorKind::law:
      break;
  }
  return "LawError";
}

/// Bytes of a file that are no UTF-8 are shown as such, and do not hide the error.
py::object text_of(const std::string& text) {
  const auto size = static_cast<py::ssize_t>(text.size());
  return py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(text.data(), size, "backslashreplace"));
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const HostError& error) {
    const bool is_refused = dynamic_cast<const RefusedMotionError*>(&error) != nullptr;
    const char* name = is_refused ? "RefusedMotionError" : class_name(error.kind());
    const py::object type = py::module_::import("thunder_dynamics.errors").attr(name);
    const py::object valid = error.valid().empty() ? py::object(py::none()) : text_of(error.valid());
    const py::object value = type(text_of(error.wrong()), py::arg("where") = text_of(error.where()), py::arg("valid") = valid);
    if (const auto* refused = dynamic_cast<const RefusedMotionError*>(&error)) {
      const Refusal& refusal = refused->refusal();
      value.attr("limit") = to_string(refusal.limit);
      value.attr("time") = refusal.time;
      value.attr("joint") = refusal.joint;
      value.attr("slower") = refusal.slower;
    }
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

py::array_t<double> read_only(py::array_t<double> array) {
  array.attr("flags").attr("writeable") = false;
  return array;
}

}  // namespace

py::array_t<double> vector_of(const double* values, int count) { return read_only(py::array_t<double>(count, values)); }

py::array_t<double> vector_of(const std::vector<double>& values) {
  return vector_of(values.data(), static_cast<int>(values.size()));
}

std::optional<py::array_t<double>> vector_or_none(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return vector_of(values);
}

py::array_t<double> array_of(const thunder_entry& entry, const double* values) {
  if (entry.cols == 1) return py::array_t<double>(entry.rows, values);
  py::array_t<double, py::array::f_style> matrix({entry.rows, entry.cols});
  std::copy_n(values, entry_size(entry), matrix.mutable_data());
  return matrix;
}

py::array_t<double> constant_of(const thunder_entry& entry, const double* values) {
  return read_only(array_of(entry, values));
}

py::typing::Tuple<int, py::ellipsis> shape_of(const thunder_entry& entry) {
  if (entry.cols == 1) return py::make_tuple(entry.rows);
  return py::make_tuple(entry.rows, entry.cols);
}

Matrix matrix_from(const py::handle& object, const thunder_entry& entry, std::string_view where) {
  Matrix array = Matrix::ensure(object);  // clears the Python error itself
  const auto here = [&] { return std::string(where) + "." + entry.name; };
  if (!array || py::isinstance<py::str>(object)) {
    throw HostError(ErrorKind::law, "is not numeric", here(), "a number or an array of numbers");
  }
  const bool fits =
      array.ndim() < 2 || (array.ndim() == 2 && array.shape(0) == entry.rows && array.shape(1) == entry.cols);
  if (!fits) {
    const std::string shape = py::str(py::object(array.attr("shape")));
    throw HostError(ErrorKind::dimension, "has the shape " + shape, here(),
                    std::string(py::str(shape_of(entry))) + ", or flat and column-major");
  }
  return array;
}

std::vector<double> values_from(const py::handle& object, const thunder_entry& entry, const Library& library,
                                const std::string& where) {
  if (py::isinstance<py::dict>(object) && (entry.flags & THUNDER_ENTRY_JOINTS) != 0) {
    const auto given = py::reinterpret_borrow<py::dict>(object);
    std::vector<std::string> names;
    for (const auto& item : given) names.emplace_back(py::str(item.first));
    const char* const* const joints = library.data().joint_names;
    order_of(names, {joints, joints + library.n_joints()}, where + "." + entry.name);
    py::list values;
    for (int i = 0; i < library.n_joints(); ++i) values.append(given[joints[i]]);
    return values_from(values, entry, library, where);
  }
  const Matrix array = matrix_from(object, entry, where);
  return {array.data(), array.data() + array.size()};
}

NamedValues named_values_from(const py::dict& values, const thunder_signal& signal, const Library& library,
                              const std::string& where) {
  NamedValues named;
  for (const auto& [key, value] : values) {
    const auto name = py::cast<std::string>(key);
    named[name] = values_from(value, find_entry(signal, name, where), library, where);
  }
  return named;
}

void check_size(const Vector& vector, int expected, const char* where) {
  if (vector.ndim() == 1 && vector.size() == expected) return;
  const std::string shape = py::str(py::object(vector.attr("shape")));
  throw HostError(ErrorKind::dimension, "has the shape " + shape, where, "(" + std::to_string(expected) + ",)");
}

void check_step(const Vector& q, const Vector& qd, const Vector& effort, int n_joints) {
  check_size(q, n_joints, "update: q");
  check_size(qd, n_joints, "update: qd");
  check_size(effort, n_joints, "update: effort");
  if (!effort.writeable()) throw HostError(ErrorKind::law, "is read-only", "update: effort", "a writeable array");
}

Vector joint_vector(const py::handle& object, int n_joints, const char* where) {
  const Numbers numbers = Numbers::ensure(object);
  if (!numbers) throw HostError(ErrorKind::law, "is not numeric", where, std::to_string(n_joints) + " numbers");
  const Vector vector = numbers;
  check_size(vector, n_joints, where);
  return vector;
}

std::vector<double> values_of(const Numbers& numbers) { return {numbers.data(), numbers.data() + numbers.size()}; }

Notes notes_of(const std::vector<Note>& notes) {
  const py::object note = py::module_::import("thunder_controllers.host.note").attr("Note");
  py::list list;
  for (const Note& one : notes) list.append(note(one.code, one.text));
  return Notes(py::object(std::move(list)));
}

Counts counts_of(const GuardCounters& counters) {
  Counts counts;
  for (std::size_t i = 0; i < kGuards.size(); ++i) counts[kGuards[i].name] = counters.counts()[i];
  return counts;
}

std::vector<double> numbers_from(const py::handle& object, const char* where) {
  const Numbers array = Numbers::ensure(object);
  if (!array || array.ndim() != 1) {
    throw HostError(ErrorKind::law, "is no vector of numbers", where, "a flat sequence of numbers");
  }
  return values_of(array);
}

Names tuple_of(const std::vector<std::string>& names) {
  Names tuple(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) tuple[i] = py::str(names[i]);
  return tuple;
}

std::filesystem::path path_from(const Path& path) {
  return py::cast<std::filesystem::path>(py::module_::import("os").attr("fspath")(path));
}

}  // namespace thunder::python

PYBIND11_MODULE(_host, module) {
  module.doc() = "Runs one law of a compiled robot library and guards what goes in and out.";
  pybind11::register_exception_translator(thunder::python::translate);
  thunder::python::bind_options(module);
  thunder::python::bind_library(module);
  thunder::python::bind_motion(module);
  thunder::python::bind_controller(module);
  thunder::python::bind_fleet(module);
  thunder::python::bind_feedback_margin(module);
  thunder::python::bind_session(module);
  thunder::python::bind_reports(module);
  thunder::python::bind_reading(module);
  thunder::python::bind_pose_follower(module);
  thunder::python::bind_estimates(module);
}
