// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl/filesystem.h>

#include <cmath>

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/law/estimates_file.hpp"
#include "thunder/host/reference/distance.hpp"

namespace thunder::python {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

const double* checked(const Numbers& values, int size, const char* where) {
  if (values.ndim() == 1 && values.size() == size) return values.data();
  throw HostError(ErrorKind::dimension, "has " + std::to_string(values.size()) + " values", where,
                  std::to_string(size));
}

/// Distance of a robot from a reference, with the sizes that its arguments are checked against.
class Distance {
 public:
  Distance(const py::handle& library, const std::string& law)
      : library_(library_from(library)), size_(library_->law(law).reference.size), distance_(library_, law) {}

  double evaluate(const Numbers& q, const Numbers& reference) {
    return distance_.evaluate(checked(q, library_->n_joints(), "q"), checked(reference, size_, "reference"));
  }

 private:
  std::shared_ptr<const Library> library_;
  int size_;
  ReferenceDistance distance_;
};

py::array_t<double> about_com_of(const Numbers& pi) {
  py::array_t<double> dyn(kInertialParameters);
  about_com(checked(pi, kInertialParameters, "pi"), dyn.mutable_data());
  return dyn;
}

py::tuple links_of(const py::handle& library, const std::string& law) {
  const std::shared_ptr<const Library> loaded = library_from(library);
  return tuple_of(estimated_links(loaded->data(), loaded->law(law)));
}

/// Every element as one kind; none if one is of another.
template <class Value, class Read>
std::optional<std::vector<Value>> list_of(const py::sequence& items, Read read) {
  std::vector<Value> values;
  for (const py::handle item : items) {
    const std::optional<Value> value = read(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<std::string> text_from(const py::handle& item) {
  if (!py::isinstance<py::str>(item)) return std::nullopt;
  return py::cast<std::string>(item);
}

/// A number of Python; one too large for a double is infinite.
std::optional<double> number_from(const py::handle& item) {
  const bool is_number = py::isinstance<py::float_>(item) || py::isinstance<py::int_>(item);
  if (!is_number || py::isinstance<py::bool_>(item)) return std::nullopt;
  const double value = PyFloat_AsDouble(item.ptr());
  if (!PyErr_Occurred()) return value;
  PyErr_Clear();
  return INFINITY;
}

DocumentValue document_value(const py::handle& value) {
  if (const auto text = text_from(value)) return *text;
  if (py::isinstance<py::list>(value)) {
    const auto items = py::reinterpret_borrow<py::sequence>(value);
    if (const auto texts = list_of<std::string>(items, text_from)) return *texts;
    if (const auto numbers = list_of<double>(items, number_from)) return *numbers;
  }
  return OtherValue{py::repr(value)};
}

py::dict read_document(const py::dict& document, const PyConfiguration& configuration, const std::string& where) {
  Document read;
  for (const auto& [key, value] : document) read[py::str(key)] = document_value(value);
  py::dict estimates;
  for (const auto& [name, values] : read_estimates(read, configuration, where)) {
    estimates[py::str(name)] = vector_of(values);
  }
  return estimates;
}

void save(const std::filesystem::path& path, const PyConfiguration& configuration, const PySnapshot& snapshot) {
  save_estimates(path, configuration, snapshot.state);
}

}  // namespace

void bind_estimates(py::module_& module) {
  module.def("about_com", &about_com_of, py::arg("pi"),
             "Convert [m, m·c, I about the origin] to [m, c, I about the CoM]; c = 0 below SMALLEST_MASS.");
  module.def("estimated_links", &links_of, py::arg("library"), py::arg("law"),
             "Names of the links whose parameters the law estimates, in the order of its state.");
  module.def("read_estimates", &read_document, py::arg("document"), py::arg("configuration"), py::arg("where"),
             "Check what a file of estimates holds, as a YAML library has read it; flat values by state entry.\n\n"
             "`where` names the file in errors. Raises LawError for another robot, law or links, unknown or missing\n"
             "keys, and values that are no numbers, too few or too many, not finite or out of bounds.");
  module.def("save_estimates", &save, py::arg("path"), py::arg("configuration"), py::arg("snapshot"),
             py::call_guard<py::gil_scoped_release>(),
             "Write the estimates of a snapshot, all of them or, if that raises LawError, none.");
  module.attr("SMALLEST_MASS") = kSmallestMass;
  py::class_<Distance>(module, "ReferenceDistance", "How far a robot is from a reference of a law [rad or m].")
      .def(py::init<const py::handle&, const std::string&>(), py::arg("library"), py::arg("law"))
      .def("evaluate", &Distance::evaluate, py::arg("q"), py::arg("reference"));
}

}  // namespace thunder::python
