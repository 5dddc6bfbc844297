// SPDX-License-Identifier: Apache-2.0
//
// What the files of the Python binding share. Not part of the C++ interface.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thunder/host/error.hpp"
#include "thunder/host/library/evaluator.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/safety/guards.hpp"
#include "thunder/host/session.hpp"

namespace thunder::python {

namespace py = pybind11;

struct AnyObject : py::object {
  using py::object::object;
  AnyObject(py::object object) : py::object(std::move(object)) {}
  static bool check_(py::handle object) { return bool(object); }
};

/// An object that signatures describe in other words than those of its type; checked where it is used.
template <class Text, class Base = AnyObject>
struct Described : Base {
  using Base::Base;
};

struct ArrayText {
  static constexpr auto name = py::detail::const_name("numpy.typing.ArrayLike");
};
struct OptionalArrayText {
  static constexpr auto name = ArrayText::name | py::detail::const_name("None");
};
struct NamedArraysText {
  static constexpr auto name =
      py::detail::const_name("collections.abc.Mapping[str, ") + ArrayText::name +
      py::detail::const_name(" | collections.abc.Mapping[str, float]]");
};
struct PathText {
  static constexpr auto name = py::detail::const_name("str | os.PathLike[str]");
};

struct BatchResultText {
  static constexpr auto name =
      py::detail::const_name("numpy.typing.NDArray[typing.Any] | tuple[numpy.typing.NDArray[typing.Any], ...] | None");
};

struct DTypeText {
  static constexpr auto name = py::detail::const_name("numpy.typing.DTypeLike | None");
};

struct NotesText {
  static constexpr auto name = py::detail::const_name("list[thunder_controllers.host.note.Note]");
};

using ArrayLike = Described<ArrayText>;
using BatchResult = Described<BatchResultText>;
using DTypeLike = Described<DTypeText>;
using OptionalArray = Described<OptionalArrayText>;
using NamedArrays = Described<NamedArraysText>;
using Path = Described<PathText>;
using Notes = Described<NotesText>;

/// A contiguous float64 array that is taken as it is.
using Vector = py::array_t<double, py::array::c_style>;
/// The same from anything numeric.
using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
/// The same, column-major.
using Matrix = py::array_t<double, py::array::f_style | py::array::forcecast>;
using Names = py::typing::Tuple<py::str, py::ellipsis>;
using Counts = py::typing::Dict<py::str, py::int_>;
/// A dict of arrays; dict[str, ArrayLike] would take no dict[str, float] from a type checker.
using Values = py::typing::Dict<py::str, py::object>;

/// A read-only copy, one-dimensional.
py::array_t<double> vector_of(const double* values, int count);
py::array_t<double> vector_of(const std::vector<double>& values);

/// The same; None for no values.
std::optional<py::array_t<double>> vector_or_none(const std::vector<double>& values);

/// A copy with the entry's shape: (rows,) for one column, else (rows, cols); `values` are column-major.
py::array_t<double> array_of(const thunder_entry& entry, const double* values);

/// The same, read-only.
py::array_t<double> constant_of(const thunder_entry& entry, const double* values);

/// The shape that array_of gives.
py::typing::Tuple<int, py::ellipsis> shape_of(const thunder_entry& entry);

/// Numbers from Python, column-major, without a copy where they are so. Takes scalars, flat sequences, and arrays of the
/// entry's shape.
///
/// Throws HostError(dimension) for a matrix of another shape, HostError(law) for what is not numeric.
Matrix matrix_from(const py::handle& object, const thunder_entry& entry, std::string_view where);

/// A copy of the same; also from a mapping by names of joints, if the entry has a value for each. Throws as order_of too.
std::vector<double> values_from(const py::handle& object, const thunder_entry& entry, const Library& library,
                                const std::string& where);

/// The same for each item of a mapping, by entry name. Throws as find_entry does.
NamedValues named_values_from(const py::dict& values, const thunder_signal& signal, const Library& library,
                              const std::string& where);

/// Throws HostError(dimension) unless the vector has that many elements.
void check_size(const Vector& vector, int expected, const char* where);

/// Throws HostError unless an update's arrays have a value per joint, and `effort` may be written.
void check_step(const Vector& q, const Vector& qd, const Vector& effort, int n_joints);

/// From anything numeric, checked for one value per joint. Throws HostError(law) for what is not numeric.
Vector joint_vector(const py::handle& object, int n_joints, const char* where);

/// Any numbers, flat. Throws HostError(law) for what is not numeric or has another shape than a vector.
std::vector<double> numbers_from(const py::handle& object, const char* where);

/// The same, and HostError(dimension) unless there are N.
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

/// All of them, flat.
std::vector<double> values_of(const Numbers& numbers);

/// As Python has them: strings with a code.
Notes notes_of(const std::vector<Note>& notes);

/// How often each guard acted, by name.
Counts counts_of(const GuardCounters& counters);

/// Names as a tuple of str.
Names tuple_of(const std::vector<std::string>& names);

/// As `os.fspath` takes it. Throws as that does.
std::filesystem::path path_from(const Path& path);

/// The library as Python sees it: with one evaluator per function that was used.
class PyLibrary {
 public:
  PyLibrary(const std::string& path, const std::string& hash) : library_(Library::load(path, hash)) {}

  const std::shared_ptr<const Library>& get() const { return library_; }
  const thunder_library& data() const { return library_->data(); }
  py::object evaluate(const std::string& name, const py::Args<ArrayLike>& args, const py::KWArgs<ArrayLike>& kwargs);
  py::object batch(const std::string& name, const py::Args<ArrayLike>& args, std::optional<int> threads,
                   const BatchResult& into, bool blocks, const DTypeLike& dtype,
                   const py::KWArgs<ArrayLike>& kwargs) const;
  py::object normal_equations(const std::string& name, const py::Args<ArrayLike>& args, const OptionalArray& weights,
                              const OptionalArray& b, std::optional<int> threads,
                              const py::KWArgs<ArrayLike>& kwargs) const;

 private:
  std::shared_ptr<const Library> library_;
  std::unordered_map<std::string, Evaluator> evaluators_;
};

/// What a library says about something; keeps it loaded.
template <class Data>
struct Metadata {
  std::shared_ptr<const Library> library;
  const Data* data;
};
using PyLaw = Metadata<thunder_law>;

/// What is to run, with the Python `Library` that it came from.
struct PyConfiguration : Configuration {
  std::shared_ptr<PyLibrary> source;
};

/// A snapshot that knows the names of its parts.
struct PySnapshot : Snapshot {
  std::shared_ptr<const Library> library;
  const thunder_law* law;
};

void bind_options(py::module_& module);
void bind_library(py::module_& module);
void bind_controller(py::module_& module);
void bind_fleet(py::module_& module);
void bind_feedback_margin(py::module_& module);
void bind_estimates(py::module_& module);
void bind_motion(py::module_& module);
void bind_session(py::module_& module);
void bind_reports(py::module_& module);
void bind_reading(py::module_& module);
void bind_pose_follower(py::module_& module);
/// The controller's methods that begin and end motions.
void bind_motions_of(py::class_<Controller>& controller);

}  // namespace thunder::python

template <class Text, class Base>
struct pybind11::detail::handle_type_name<thunder::python::Described<Text, Base>> : Text {};
