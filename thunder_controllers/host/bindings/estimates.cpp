// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/law/estimates_file.hpp"

namespace thunder::python {
namespace {

const double* checked(const Numbers& values, int size, const char* where) {
  if (values.ndim() == 1 && values.size() == size) return values.data();
  throw HostError(ErrorKind::dimension, "has " + std::to_string(values.size()) + " values", where,
                  std::to_string(size));
}

py::array_t<double> about_com_of(const Numbers& pi) {
  py::array_t<double> dyn(kInertialParameters);
  about_com(checked(pi, kInertialParameters, "pi"), dyn.mutable_data());
  return dyn;
}

Names topics_of(const std::vector<std::string>& links) { return tuple_of(estimate_topics(links)); }

Names links_of(const PyLibrary& library, const std::string& law) {
  return tuple_of(estimated_links(library.data(), library.get()->law(law)));
}

using Estimates = py::typing::Dict<py::str, py::array_t<double>>;

Estimates read(const Path& path, const PyConfiguration& configuration) {
  Estimates estimates;
  for (const auto& [name, values] : read_estimates(path_from(path), configuration)) {
    estimates[py::str(name)] = vector_of(values);
  }
  return estimates;
}

void save(const Path& path, const PyConfiguration& configuration, const PySnapshot& snapshot) {
  const std::filesystem::path file = path_from(path);
  const py::gil_scoped_release released;
  save_estimates(file, configuration, snapshot.state);
}

}  // namespace

void bind_estimates(py::module_& module) {
  module.def("about_com", &about_com_of, py::arg("pi"),
             "Convert [m, m·c, I about the frame origin] to [m, c, I about the CoM], shape (10,).\n\n"
             "Below `SMALLEST_MASS` [kg] there is no centre of mass: then c = 0 and I stays about the origin.\n\n"
             "Raises DimensionError unless there are ten values.");
  module.def("estimate_topics", &topics_of, py::arg("links"),
             "Topics of the estimates of links, relative to their controller: `link-3.0` has `estimates/link_3_0`.\n\n"
             "What no ROS name may hold becomes _. Raises LawError if two links would share one.");
  module.def("estimated_links", &links_of, py::arg("library"), py::arg("law"),
             "Names of the links whose parameters the law estimates, in the order of its state.\n\n"
             "None if it estimates none. Raises NameNotFoundError for a law that is not there.");
  module.def("read_estimates", &read, py::arg("path"), py::arg("configuration"),
             "Read a file of estimates; flat values by state entry.\n\n"
             "Raises LawError that names the file, and the line of what cannot be read: for another robot, law or links,\n"
             "unknown or missing keys, and values that are no finite numbers, too few or too many, or out of bounds.");
  module.def("save_estimates", &save, py::arg("path"), py::arg("configuration"), py::arg("snapshot"),
             "Write the estimates of a snapshot, in SI units; the file is replaced in one step.\n\n"
             "Raises LawError if it cannot be written; what was there before is left then.");
  module.attr("SMALLEST_MASS") = kSmallestMass;
}

}  // namespace thunder::python
