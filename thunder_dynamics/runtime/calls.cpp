// SPDX-License-Identifier: Apache-2.0
// What a Python robot calculates with: its arguments by name in one buffer, and the functions of any generated library,
// which read them there. Compiled once, for all robots.
#include <dlfcn.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "thunder/thunder_abi.h"

namespace py = pybind11;

namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Of the table's places, that of a name; a look-up of Python's own, whose texts keep their hash.
std::size_t place_of(const py::dict& places, const py::str& name) {
  PyObject* const place = PyDict_GetItemWithError(places.ptr(), name.ptr());
  if (!place) throw py::key_error("no '" + std::string(name) + "'");
  return PyLong_AsSize_t(place);
}

/// Named vectors in one buffer.
class Arguments {
 public:
  explicit Arguments(const py::dict& defaults) {
    for (const auto& [name, value] : defaults) {
      const auto numbers = py::cast<Numbers>(value);
      places_[name] = vectors_.size();
      vectors_.push_back({values_.size(), static_cast<std::size_t>(numbers.size())});
      values_.insert(values_.end(), numbers.data(), numbers.data() + numbers.size());
    }
  }
  Arguments(const Arguments&) = delete;  // functions point into it

  void set(const py::str& name, const py::object& value) {
    const auto [first, size] = vectors_[place_of(places_, name)];
    const Numbers numbers(value);
    if (numbers.ndim() != 1) {
      throw py::value_error("array of " + std::to_string(numbers.ndim()) + " dimensions; valid: one dimension");
    }
    const auto count = static_cast<std::size_t>(numbers.size());
    if (count != size) refuse(name, std::to_string(count) + " values; valid: " + std::to_string(size));
    for (std::size_t i = 0; i < size; ++i) {
      if (!std::isfinite(numbers.data()[i])) {
        refuse(name, "value " + std::to_string(i) + " is not finite; valid: finite numbers");
      }
    }
    std::copy_n(numbers.data(), size, values_.begin() + static_cast<std::ptrdiff_t>(first));
  }

  py::array get(const py::str& name) const {
    const auto [first, size] = vectors_[place_of(places_, name)];
    return py::array_t<double>(static_cast<py::ssize_t>(size), values_.data() + first);
  }

  py::array values() const { return py::array_t<double>(static_cast<py::ssize_t>(values_.size()), values_.data()); }

  void set_values(const Numbers& values) {
    if (values.size() != static_cast<py::ssize_t>(values_.size())) throw py::value_error("values of another robot");
    std::copy_n(values.data(), values.size(), values_.begin());
  }

 protected:
  const double* data(const py::str& name) const { return values_.data() + vectors_[place_of(places_, name)].first; }

 private:
  [[noreturn]] static void refuse(const py::str& name, const std::string& what) {
    throw py::value_error("set_" + std::string(name) + ": " + what);
  }

  std::vector<double> values_;
  std::vector<std::pair<std::size_t, std::size_t>> vectors_;  ///< first element and size, by place
  py::dict places_;
};

/// A generated library, loaded from a file for good.
struct Library {
  explicit Library(const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw std::runtime_error(dlerror());
    const auto get = reinterpret_cast<thunder_library_getter>(dlsym(handle, THUNDER_LIBRARY_SYMBOL));
    if (!get) throw std::runtime_error("no generated library");
    data = get();
    if (!data) throw std::runtime_error("no generated library");
    if (data->abi_version != THUNDER_ABI_VERSION) {
      throw std::runtime_error("of ABI version " + std::to_string(data->abi_version) + ", not " +
                               std::to_string(THUNDER_ABI_VERSION));
    }
  }

  /// What the functions take, and the parameters that none takes, as they are in the robot file; zeros for arguments
  /// that none takes, of the sizes `others`.
  py::dict defaults(const std::map<std::string, std::size_t>& others) const {
    py::dict all;
    for (const auto& [name, size] : others) all[py::str(name)] = py::cast(std::vector<double>(size));
    const auto add = [&all](const thunder_entry& entry) {
      const py::str name(entry.name);
      if (all.contains(name)) return;
      all[name] = py::array_t<double>(static_cast<py::ssize_t>(entry.rows) * entry.cols, entry.defaults);
    };
    for (int i = 0; i < data->n_functions; ++i) {
      std::for_each(data->functions[i].in, data->functions[i].in + data->functions[i].n_in, add);
    }
    for (int i = 0; i < data->n_parameter_groups; ++i) add(data->parameter_groups[i].entry);
    return all;
  }

  const thunder_library* data;
};

/// The functions of a library at the arguments of one robot.
class Calls : public Arguments {
 public:
  Calls(const Library& library, const std::map<std::string, std::size_t>& others)
      : Arguments(library.defaults(others)) {
    int work = 0, integer_work = 0;
    for (int i = 0; i < library.data->n_functions; ++i) {
      const thunder_function& data = library.data->functions[i];
      Function function{&data, {}};
      for (int k = 0; k < data.n_in; ++k) function.arguments.push_back(this->data(data.in[k].name));
      places_[data.name] = functions_.size();
      functions_.push_back(std::move(function));
      work = std::max(work, data.size_w);
      integer_work = std::max(integer_work, data.size_iw);
    }
    work_.resize(static_cast<std::size_t>(work));
    integer_work_.resize(static_cast<std::size_t>(integer_work));
  }

  py::array vector(const py::str& name) {
    Function& function = functions_[place_of(places_, name)];
    const thunder_entry& out = function.data->out[0];
    py::array_t<double> result(static_cast<py::ssize_t>(out.rows) * out.cols);
    evaluate(function, result.mutable_data());
    return result;
  }

  py::array matrix(const py::str& name) {
    Function& function = functions_[place_of(places_, name)];
    const thunder_entry& out = function.data->out[0];
    py::array_t<double, py::array::f_style> result({out.rows, out.cols});
    evaluate(function, result.mutable_data());
    return result;
  }

 private:
  struct Function {
    const thunder_function* data;
    std::vector<const double*> arguments;
  };

  void evaluate(Function& function, double* result) {
    if (function.data->eval(function.arguments.data(), &result, integer_work_.data(), work_.data(), 0) != 0) {
      throw std::runtime_error(std::string(function.data->name) + ": the function failed");
    }
  }

  std::vector<Function> functions_;
  py::dict places_;
  std::vector<double> work_;
  std::vector<long long> integer_work_;
};

}  // namespace

PYBIND11_MODULE(_calls, module) {
  module.doc() = "What a Python robot calculates with.";
  py::class_<Arguments>(module, "Arguments", "Named vectors: `set` copies in, `get` copies out.")
      .def(py::init<const py::dict&>(), py::arg("defaults"))
      .def("set", &Arguments::set, py::arg("name"), py::arg("value"), "Raises ValueError for a wrong size or value.")
      .def("get", &Arguments::get, py::arg("name"), "A copy, shape (size,).")
      .def_property("values", &Arguments::values, &Arguments::set_values, "All vectors, one after the other; copies.");
  py::class_<Library>(module, "Library", "A generated library. It stays loaded.")
      .def(py::init<const std::string&>(), py::arg("path"), "Raises RuntimeError if the file is none, or another ABI's.")
      .def_property_readonly("hash", [](const Library& l) { return l.data->hash; }, "Of its contents.");
  py::class_<Calls, Arguments>(module, "Calls", "The arguments of one robot, and the functions of its library.")
      .def(py::init<const Library&, const std::map<std::string, std::size_t>&>(), py::arg("library"), py::arg("others"),
           "others: sizes of arguments that no function takes.")
      .def("vector", &Calls::vector, py::arg("name"), "What the function is at the arguments, shape (size,).")
      .def("matrix", &Calls::matrix, py::arg("name"), "The same, shape (rows, cols).");
}
