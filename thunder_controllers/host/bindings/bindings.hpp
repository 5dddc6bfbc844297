// SPDX-License-Identifier: Apache-2.0
//
// What the files of the Python binding share. Not part of the C++ interface.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/session.hpp"

namespace thunder::python {

namespace py = pybind11;

/// A contiguous float64 array that is taken as it is.
using Vector = py::array_t<double, py::array::c_style>;

/// A read-only copy, one-dimensional.
py::array_t<double> vector_of(const double* values, int count);
py::array_t<double> vector_of(const std::vector<double>& values);

/// A copy with the entry's shape: (rows,) for one column, else (rows, cols); `values` are column-major.
py::array_t<double> array_of(const thunder_entry& entry, const double* values);

/// The same, read-only.
py::array_t<double> constant_of(const thunder_entry& entry, const double* values);

/// The shape that array_of gives.
py::tuple shape_of(const thunder_entry& entry);

/// Numbers from Python, flattened column-major. Takes scalars, flat sequences, and arrays of the entry's shape.
///
/// Throws HostError(dimension) for a matrix of another shape, HostError(law) for what is not numeric.
std::vector<double> values_from(const py::handle& object, const thunder_entry& entry, const std::string& where);

/// The same for each item of a mapping, by entry name. Throws as find_entry does.
NamedValues named_values_from(const py::dict& values, const thunder_signal& signal, const std::string& where);

/// Throws HostError(dimension) unless the vector has that many elements.
void check_size(const Vector& vector, int expected, const char* where);

/// From anything numeric, checked for one value per joint. Throws HostError(law) for what is not numeric.
Vector joint_vector(const py::object& object, int n_joints, const char* where);

/// How often each guard acted, by name.
py::dict counts_of(const GuardCounters& counters);

/// Names as a tuple of str.
py::tuple tuple_of(const std::vector<std::string>& names);

/// What is to run, with the Python `Library` that it came from.
struct PyConfiguration : Configuration {
  py::object source;
};

/// A snapshot that knows the names of its parts.
struct PySnapshot : Snapshot {
  std::shared_ptr<const Library> library;
  const thunder_law* law;
};

/// The library behind a Python `Library`.
std::shared_ptr<const Library> library_from(const py::handle& object);

void bind_library(py::module_& module);
void bind_controller(py::module_& module);
void bind_estimates(py::module_& module);
void bind_motion(py::module_& module);
void bind_session(py::module_& module);
void bind_reports(py::module_& module);
void bind_reading(py::module_& module);
/// The controller's methods that begin and end motions.
void bind_motions_of(py::class_<Controller>& controller);

}  // namespace thunder::python
