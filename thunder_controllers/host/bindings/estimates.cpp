// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"
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

}  // namespace

void bind_estimates(py::module_& module) {
  module.def("about_com", &about_com_of, py::arg("pi"),
             "Convert [m, m·c, I about the origin] to [m, c, I about the CoM]; c = 0 below SMALLEST_MASS.");
  module.def("estimated_links", &links_of, py::arg("library"), py::arg("law"),
             "Names of the links whose parameters the law estimates, in the order of its state.");
  module.attr("SMALLEST_MASS") = kSmallestMass;
  py::class_<Distance>(module, "ReferenceDistance", "How far a robot is from a reference of a law [rad or m].")
      .def(py::init<const py::handle&, const std::string&>(), py::arg("library"), py::arg("law"))
      .def("evaluate", &Distance::evaluate, py::arg("q"), py::arg("reference"));
}

}  // namespace thunder::python
