// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <unordered_map>

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/library/evaluator.hpp"

namespace thunder::python {
namespace {

/// One entry of the metadata; keeps its library loaded.
struct Entry {
  std::shared_ptr<const Library> library;
  const thunder_entry* data;

  bool has(int flag) const { return (data->flags & flag) != 0; }
  py::array_t<double> values(const double* source) const { return constant_of(*data, source); }
};

struct Law {
  std::shared_ptr<const Library> library;
  const thunder_law* data;
};

struct Function {
  std::shared_ptr<const Library> library;
  const thunder_function* data;
};

py::tuple entries_of(const std::shared_ptr<const Library>& library, const thunder_entry* entries, int count) {
  py::tuple tuple(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) tuple[static_cast<std::size_t>(i)] = Entry{library, entries + i};
  return tuple;
}

py::tuple entries_of(const std::shared_ptr<const Library>& library, const thunder_signal& signal) {
  return entries_of(library, signal.entries, signal.n_entries);
}

/// The library as Python sees it: with one evaluator per function that was used.
class PyLibrary {
 public:
  explicit PyLibrary(const std::string& path) : library_(Library::load(path)) {}

  const std::shared_ptr<const Library>& get() const { return library_; }
  const thunder_library& data() const { return library_->data(); }

  py::object evaluate(const std::string& name, const py::args& args, const py::kwargs& kwargs) {
    auto found = evaluators_.find(name);
    if (found == evaluators_.end()) found = evaluators_.emplace(name, Evaluator(library_, name)).first;
    return call(found->second, args, kwargs);
  }

 private:
  static py::object call(Evaluator& evaluator, const py::args& args, const py::kwargs& kwargs);

  std::shared_ptr<const Library> library_;
  std::unordered_map<std::string, Evaluator> evaluators_;
};

/// Point each input at the caller's values, which `storage` keeps, or at its default if it is a parameter group.
void set_inputs(Evaluator& evaluator, const py::args& args, const py::kwargs& kwargs,
                std::vector<std::vector<double>>& storage) {
  const thunder_function& function = evaluator.function();
  if (args.size() > static_cast<std::size_t>(function.n_in)) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(args.size()) + " arguments", function.name,
                    "at most " + std::to_string(function.n_in));
  }
  for (const auto& item : kwargs) evaluator.input(py::cast<std::string>(item.first));
  storage.resize(static_cast<std::size_t>(function.n_in));
  for (int i = 0; i < function.n_in; ++i) {
    const thunder_entry& entry = function.in[i];
    const auto index = static_cast<std::size_t>(i);
    const bool by_name = kwargs.contains(entry.name);
    if (index >= args.size() && !by_name) {
      if (std::string(entry.name).rfind("par_", 0) != 0) {
        throw HostError(ErrorKind::dimension, std::string("the argument ") + entry.name + " is missing", function.name);
      }
      evaluator.set_default(i);
      continue;
    }
    const py::object value = by_name ? py::object(kwargs[entry.name]) : py::object(args[index]);
    storage[index] = values_from(value, entry, function.name);
    if (storage[index].size() != static_cast<std::size_t>(entry_size(entry))) {
      throw HostError(ErrorKind::dimension, "got " + std::to_string(storage[index].size()) + " values",
                      std::string(function.name) + "." + entry.name, std::to_string(entry_size(entry)));
    }
    evaluator.set_input(i, storage[index].data());
  }
}

py::object PyLibrary::call(Evaluator& evaluator, const py::args& args, const py::kwargs& kwargs) {
  std::vector<std::vector<double>> storage;
  set_inputs(evaluator, args, kwargs, storage);
  const thunder_function& function = evaluator.function();
  if (!evaluator.evaluate()) throw HostError(ErrorKind::law, "the function failed", function.name);
  if (function.n_out == 1) return array_of(function.out[0], evaluator.result(0));
  py::tuple results(static_cast<std::size_t>(function.n_out));
  for (int i = 0; i < function.n_out; ++i) {
    results[static_cast<std::size_t>(i)] = array_of(function.out[i], evaluator.result(i));
  }
  return results;
}

py::tuple names_of(const char* const* names, int count) {
  return tuple_of(std::vector<std::string>(names, names + count));
}

py::tuple parameter_groups(const PyLibrary& library) {
  py::tuple groups(static_cast<std::size_t>(library.data().n_parameter_groups));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = Entry{library.get(), &library.data().parameter_groups[i].entry};
  }
  return groups;
}

void bind_entry(py::module_& module) {
  py::class_<Entry>(module, "Entry", "One named, shaped, unit-bearing block of a flat vector.")
      .def_property_readonly("name", [](const Entry& e) { return e.data->name; })
      .def_property_readonly("unit", [](const Entry& e) { return e.data->unit; })
      .def_property_readonly("description", [](const Entry& e) { return e.data->description; })
      .def_property_readonly("shape", [](const Entry& e) { return shape_of(*e.data); })
      .def_property_readonly("size", [](const Entry& e) { return entry_size(*e.data); })
      .def_property_readonly("offset", [](const Entry& e) { return e.data->offset; })
      .def_property_readonly("flags", [](const Entry& e) { return e.data->flags; })
      .def_property_readonly("is_adapted", [](const Entry& e) { return e.has(THUNDER_ENTRY_ADAPTED); })
      .def_property_readonly("guards_activation", [](const Entry& e) { return e.has(THUNDER_ENTRY_ACTIVATION); })
      .def_property_readonly("defaults", [](const Entry& e) { return e.values(e.data->defaults); })
      .def_property_readonly("lower", [](const Entry& e) { return e.values(e.data->lower); })
      .def_property_readonly("upper", [](const Entry& e) { return e.values(e.data->upper); })
      .def("__repr__",
           [](const Entry& e) { return "<Entry " + std::string(e.data->name) + " [" + e.data->unit + "]>"; });
}

void bind_metadata(py::module_& module) {
  py::class_<Law>(module, "Law", "What a library says about one of its laws.")
      .def_property_readonly("name", [](const Law& l) { return l.data->name; })
      .def_property_readonly("description", [](const Law& l) { return l.data->description; })
      .def_property_readonly(
          "reference_kind",
          [](const Law& l) { return l.data->reference_kind == THUNDER_REFERENCE_JOINT ? "joint" : "cartesian"; })
      .def_property_readonly("reference", [](const Law& l) { return entries_of(l.library, l.data->reference); })
      .def_property_readonly("state", [](const Law& l) { return entries_of(l.library, l.data->state); })
      .def_property_readonly("gains", [](const Law& l) { return entries_of(l.library, l.data->gains); })
      .def_property_readonly("telemetry", [](const Law& l) { return entries_of(l.library, l.data->telemetry); });
  py::class_<Function>(module, "Function", "What a library says about one of its functions.")
      .def_property_readonly("name", [](const Function& f) { return f.data->name; })
      .def_property_readonly("description", [](const Function& f) { return f.data->description; })
      .def_property_readonly("inputs",
                             [](const Function& f) { return entries_of(f.library, f.data->in, f.data->n_in); })
      .def_property_readonly("outputs",
                             [](const Function& f) { return entries_of(f.library, f.data->out, f.data->n_out); });
}

template <class Member>
auto joint_values(Member member) {
  return [member](const PyLibrary& library) { return vector_of(library.data().*member, library.data().n_joints); };
}

}  // namespace

std::shared_ptr<const Library> library_from(const py::handle& object) {
  return py::cast<const PyLibrary&>(object).get();
}

void bind_library(py::module_& module) {
  bind_entry(module);
  bind_metadata(module);
  py::class_<PyLibrary>(module, "Library", "A generated robot library, loaded, checked and constant.")
      .def(py::init([](const py::object& path) {
             return std::make_unique<PyLibrary>(py::cast<std::string>(py::module_::import("os").attr("fspath")(path)));
           }),
           py::arg("path"), "Load a library and check all its metadata.")
      .def_property_readonly("path", [](const PyLibrary& l) { return l.get()->path(); })
      .def_property_readonly("robot", [](const PyLibrary& l) { return l.data().robot; })
      .def_property_readonly("generator", [](const PyLibrary& l) { return l.data().generator; })
      .def_property_readonly("hash", [](const PyLibrary& l) { return l.data().hash; })
      .def_property_readonly("n_joints", [](const PyLibrary& l) { return l.data().n_joints; })
      .def_property_readonly("joint_names",
                             [](const PyLibrary& l) { return names_of(l.data().joint_names, l.data().n_joints); })
      .def_property_readonly("link_names",
                             [](const PyLibrary& l) { return names_of(l.data().link_names, l.data().n_joints); })
      .def_property_readonly("laws", [](const PyLibrary& l) { return tuple_of(l.get()->law_names()); })
      .def_property_readonly("functions", [](const PyLibrary& l) { return tuple_of(l.get()->function_names()); })
      .def_property_readonly("parameter_groups", &parameter_groups)
      .def_property_readonly("position_lower", joint_values(&thunder_library::position_lower))
      .def_property_readonly("position_upper", joint_values(&thunder_library::position_upper))
      .def_property_readonly("velocity_limit", joint_values(&thunder_library::velocity_limit))
      .def_property_readonly("effort_limit", joint_values(&thunder_library::effort_limit))
      .def_property_readonly("effort_rate_limit", joint_values(&thunder_library::effort_rate_limit))
      .def_property_readonly("pi", [](const PyLibrary& l) { return vector_of(l.data().pi, 10 * l.data().n_joints); })
      .def("law", [](const PyLibrary& l, const std::string& name) { return Law{l.get(), &l.get()->law(name)}; },
           py::arg("name"))
      .def("function",
           [](const PyLibrary& l, const std::string& name) { return Function{l.get(), &l.get()->function(name)}; },
           py::arg("name"))
      .def("evaluate", &PyLibrary::evaluate, py::arg("name"), py::pos_only());
}

}  // namespace thunder::python
