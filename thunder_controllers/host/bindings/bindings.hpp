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

namespace thunder {
class Controller;
}

namespace thunder::python {

namespace py = pybind11;

/// A contiguous float64 array that is taken as it is.
using Vector = py::array_t<double, py::array::c_style>;

/// A read-only copy, one-dimensional.
py::array_t<double> vector_of(const double* values, int count);
py::array_t<double> vector_of(const std::vector<double>& values);

/// A copy with the entry's shape: (rows,) for one column, else (rows, cols); `values` are column-major.
py::array_t<double> array_of(const thunder_entry& entry, const double* values);

/// The shape that array_of gives.
py::tuple shape_of(const thunder_entry& entry);

/// Numbers from Python, flattened column-major. Takes scalars, flat sequences, and arrays of the entry's shape.
///
/// Throws HostError(dimension) for a matrix of another shape, HostError(law) for what is not numeric.
std::vector<double> values_from(const py::handle& object, const thunder_entry& entry, const std::string& where);

/// The same for each item of a mapping, by entry name. Throws as find_entry does.
NamedValues named_values_from(const py::dict& values, const thunder_signal& signal, const std::string& where);

/// Names as a tuple of str.
py::tuple tuple_of(const std::vector<std::string>& names);

/// The library behind a Python `Library`.
std::shared_ptr<const Library> library_from(const py::handle& object);

void bind_library(py::module_& module);
void bind_controller(py::module_& module);
void bind_estimates(py::module_& module);
void bind_motion(py::module_& module);
/// The controller's methods that begin and end motions.
void bind_motions_of(py::class_<Controller>& controller);

}  // namespace thunder::python
