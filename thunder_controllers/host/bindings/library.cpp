// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/law/measurement_port.hpp"
#include "thunder/host/library/batch.hpp"
#include "thunder/host/library/normal_equations.hpp"

namespace thunder::python {
namespace {

struct Entry : Metadata<thunder_entry> {
  bool has(int flag) const { return (data->flags & flag) != 0; }
  py::array_t<double> values(const double* source) const { return constant_of(*data, source); }
};

using Entries = py::typing::Tuple<Entry, py::ellipsis>;

struct ReferenceKindText {
  static constexpr auto name = py::detail::const_name("typing.Literal['joint', 'cartesian']");
};
using ReferenceKind = Described<ReferenceKindText>;

using Function = Metadata<thunder_function>;

Entries entries_of(const std::shared_ptr<const Library>& library, const thunder_entry* entries, int count) {
  Entries tuple(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) tuple[static_cast<std::size_t>(i)] = Entry{library, entries + i};
  return tuple;
}

/// Refuse more arguments than there are, and names that are none.
void check_arguments(const thunder_function& function, const py::args& args, const py::kwargs& kwargs) {
  if (args.size() > static_cast<std::size_t>(function.n_in)) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(args.size()) + " arguments", function.name,
                    "at most " + std::to_string(function.n_in));
  }
  for (const auto& item : kwargs) {
    find_named(function.in, function.n_in, py::cast<std::string>(item.first), "input", function.name);
  }
}

/// What of a law's step may be left out; what it measures and follows may not.
const std::vector<std::string_view> kDefaultsOfStep = {"applied_effort", "measurements", "state", "gains"};

/// The value that was given for an input, or null where it keeps its default: a parameter group, or what `optional` names.
py::object given(const thunder_function& function, int index, const py::args& args, const py::kwargs& kwargs,
                 const std::vector<std::string_view>& optional = {}) {
  const char* name = function.in[index].name;
  if (!kwargs.empty() && kwargs.contains(name)) return kwargs[name];
  if (static_cast<std::size_t>(index) < args.size()) return args[static_cast<std::size_t>(index)];
  if (std::string_view(name).substr(0, 4) == "par_" || std::count(optional.begin(), optional.end(), name) > 0) return {};
  throw HostError(ErrorKind::dimension, std::string("the argument ") + name + " is missing", function.name);
}

/// Point each input at the caller's values, which `storage` keeps, or at its default if it is a parameter group.
void set_inputs(Evaluator& evaluator, const py::args& args, const py::kwargs& kwargs,
                std::vector<Matrix>& storage) {
  const thunder_function& function = evaluator.function();
  check_arguments(function, args, kwargs);
  storage.resize(static_cast<std::size_t>(function.n_in));
  for (int i = 0; i < function.n_in; ++i) {
    const thunder_entry& entry = function.in[i];
    const auto index = static_cast<std::size_t>(i);
    const py::object value = given(function, i, args, kwargs);
    if (!value) {
      evaluator.set_default(i);
      continue;
    }
    storage[index] = matrix_from(value, entry, function.name);
    if (storage[index].size() != entry_size(entry)) {
      throw HostError(ErrorKind::dimension, "got " + std::to_string(storage[index].size()) + " values",
                      std::string(function.name) + "." + entry.name, std::to_string(entry_size(entry)));
    }
    evaluator.set_input(i, storage[index].data());
  }
}

py::object call(Evaluator& evaluator, const py::args& args, const py::kwargs& kwargs) {
  std::vector<Matrix> storage;
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

template <class Real>
using NumbersOf = py::array_t<Real, py::array::c_style | py::array::forcecast>;

/// What is the same at all states.
template <class Real>
RowsOf<Real> same_rows(const double* values, std::size_t size, std::vector<py::object>& kept) {
  NumbersOf<Real> array(static_cast<py::ssize_t>(size));
  std::transform(values, values + size, array.mutable_data(), [](double value) { return static_cast<Real>(value); });
  kept.push_back(array);
  return {array.data(), 0};
}

/// An input at `count` states, −1 while no input had rows; `kept` are the arrays that are pointed into.
template <class Real>
RowsOf<Real> rows_of(const py::object& value, const thunder_entry& entry, const thunder_function& function,
                     py::ssize_t& count, std::vector<py::object>& kept) {
  const auto array = NumbersOf<Real>::ensure(value);
  const py::ssize_t size = entry_size(entry);
  if (!array || py::isinstance<py::str>(value) || array.ndim() != 2 || array.shape(1) != size) {
    const Matrix same = matrix_from(value, entry, function.name);
    if (same.size() != size) {
      throw HostError(ErrorKind::dimension, "got " + std::to_string(same.size()) + " values",
                      std::string(function.name) + "." + entry.name,
                      std::to_string(size) + ", or rows of as many for each state");
    }
    return same_rows<Real>(same.data(), static_cast<std::size_t>(size), kept);
  }
  if (count >= 0 && array.shape(0) != count) {
    throw HostError(ErrorKind::dimension, "has " + std::to_string(array.shape(0)) + " rows",
                    std::string(function.name) + "." + entry.name, std::to_string(count) + ", as those before");
  }
  count = array.shape(0);
  kept.push_back(array);
  return {array.data(), static_cast<std::size_t>(size)};
}

/// New arrays for the results at `count` states, column-major; in blocks of `width` states if that is not 0.
template <class Real>
py::tuple new_results(const thunder_function& function, py::ssize_t count, py::ssize_t width) {
  py::tuple results(static_cast<std::size_t>(function.n_out));
  for (int i = 0; i < function.n_out; ++i) {
    const thunder_entry& entry = function.out[i];
    const bool is_vector = entry.cols == 1;
    std::vector<py::ssize_t> shape = {width > 0 ? (count + width - 1) / width : count};
    if (!is_vector) shape.push_back(entry.cols);
    shape.push_back(entry.rows);
    if (width > 0) shape.push_back(width);
    py::array_t<Real> flat(shape);
    results[static_cast<std::size_t>(i)] = is_vector ? py::object(flat) : flat.attr("swapaxes")(1, 2);
  }
  return results;
}

/// The same, or those of a call before that are written again: most of the time goes to pages that are new.
template <class Real>
py::tuple results_for(const thunder_function& function, py::ssize_t count, py::ssize_t width, const py::object& into) {
  const py::tuple results = new_results<Real>(function, count, width);
  if (into.is_none()) return results;
  const py::tuple given = py::isinstance<py::tuple>(into) ? py::tuple(into) : py::make_tuple(into);
  bool fits = given.size() == results.size();
  for (std::size_t i = 0; fits && i < given.size(); ++i) {
    fits = py::isinstance<py::array_t<Real>>(given[i]) && py::cast<py::array>(given[i]).writeable();
    for (const char* what : {"shape", "strides"}) fits = fits && given[i].attr(what).equal(results[i].attr(what));
  }
  if (!fits) {
    throw HostError(ErrorKind::dimension, "has another shape, type or order", std::string(function.name) + ".out",
                    "what an earlier call returned");
  }
  return given;
}

Names names_from(const char* const* names, int count) {
  return tuple_of(std::vector<std::string>(names, names + count));
}

Entries parameter_groups(const PyLibrary& library) {
  Entries groups(static_cast<std::size_t>(library.data().n_parameter_groups));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = Entry{library.get(), &library.data().parameter_groups[i].entry};
  }
  return groups;
}

auto entries_getter(thunder_signal thunder_law::*signal) {
  return [signal](const PyLaw& law) {
    return entries_of(law.library, (law.data->*signal).entries, (law.data->*signal).n_entries);
  };
}

ReferenceKind reference_kind(const PyLaw& law) {
  return py::str(law.data->reference_kind == THUNDER_REFERENCE_JOINT ? "joint" : "cartesian");
}

void bind_entry(py::module_& module) {
  py::class_<Entry>(module, "Entry",
                    "One named, shaped, unit-bearing block of a flat vector.\n\n"
                    "Arrays are read-only and have the entry's shape.")
      .def_property_readonly("name", [](const Entry& e) { return e.data->name; }, "As functions and mappings take it.")
      .def_property_readonly("unit", [](const Entry& e) { return e.data->unit; }, "Of all elements, SI.")
      .def_property_readonly("description", [](const Entry& e) { return e.data->description; }, "What it is.")
      .def_property_readonly("shape", [](const Entry& e) { return shape_of(*e.data); },
                             "(rows,) for one column, else (rows, cols).")
      .def_property_readonly("size", [](const Entry& e) { return entry_size(*e.data); }, "Number of elements.")
      .def_property_readonly("offset", [](const Entry& e) { return e.data->offset; },
                             "Of the first element in the flat vector; elements follow column-major.\n\n"
                             "0 for arguments of a function.")
      .def_property_readonly("flags", [](const Entry& e) { return e.data->flags; }, "Bits THUNDER_ENTRY_… of the ABI.")
      .def_property_readonly("is_adapted", [](const Entry& e) { return e.has(THUNDER_ENTRY_ADAPTED); },
                             "State: an estimate, kept while adaptation is frozen.")
      .def_property_readonly("starts_measured", [](const Entry& e) { return e.has(THUNDER_ENTRY_INITIAL); },
                             "State: starts from what is measured at activation, unless configured.")
      .def_property_readonly("guards_activation", [](const Entry& e) { return e.has(THUNDER_ENTRY_ACTIVATION); },
                             "Telemetry: activation is refused while it lies outside [lower, upper].")
      .def_property_readonly("is_age", [](const Entry& e) { return e.has(THUNDER_ENTRY_AGE); },
                             "Measurement: the age of the one before it, which a host fills in.")
      .def_property_readonly("defaults", [](const Entry& e) { return e.values(e.data->defaults); },
                             "Values where none are given.")
      .def_property_readonly("lower", [](const Entry& e) { return e.values(e.data->lower); }, 
                             "Least valid values; -inf where there is no bound.")
      .def_property_readonly("upper", [](const Entry& e) { return e.values(e.data->upper); }, 
                             "Greatest valid values; inf where there is no bound.")
      .def("__repr__",
           [](const Entry& e) { return "<Entry " + std::string(e.data->name) + " [" + e.data->unit + "]>"; });
}

void bind_metadata(py::module_& module) {
  py::class_<PyLaw>(module, "Law", "What a library says about one of its laws.")
      .def_property_readonly("name", [](const PyLaw& l) { return l.data->name; }, "As `Library.law` takes it.")
      .def_property_readonly("description", [](const PyLaw& l) { return l.data->description; }, "What it does.")
      .def_property_readonly("reference_kind", &reference_kind, "What it follows.")
      .def_property_readonly("measurements", entries_getter(&thunder_law::measurements),
                             "Entries of the flat further measurements.")
      .def_property_readonly("reference", entries_getter(&thunder_law::reference), "Entries of the flat reference.")
      .def(
          "check_feeds",
          [](const PyLaw& l, const std::vector<std::string>& measurements, const std::vector<std::string>& references,
             const std::string& where) {
            check_feeds(*l.data, l.library->n_joints(), {measurements, references}, where);
          },
          py::kw_only(), py::arg("measurements"), py::arg("references"), py::arg("where"),
          "Raises LawError unless all further measurements and references of the law are among these names.\n\n"
          "`where` says what knows how to feed them.")
      .def_property_readonly("state", entries_getter(&thunder_law::state), "Entries of the flat state, estimates included.")
      .def_property_readonly("gains", entries_getter(&thunder_law::gains), "Entries of the flat gains.")
      .def_property_readonly("telemetry", entries_getter(&thunder_law::telemetry), "Entries of what a step tells.");
  py::class_<Function>(module, "Function", "What a library says about one of its functions.")
      .def_property_readonly("name", [](const Function& f) { return f.data->name; }, "As `Library.evaluate` takes it.")
      .def_property_readonly("description", [](const Function& f) { return f.data->description; }, "What it computes.")
      .def_property_readonly(
          "inputs", [](const Function& f) { return entries_of(f.library, f.data->in, f.data->n_in); }, "In order.")
      .def_property_readonly(
          "outputs", [](const Function& f) { return entries_of(f.library, f.data->out, f.data->n_out); }, "In order.");
}

template <class Member>
auto joint_values(Member member) {
  return [member](const PyLibrary& library) { return vector_of(library.data().*member, library.data().n_joints); };
}

void bind_limits(py::class_<PyLibrary, std::shared_ptr<PyLibrary>>& library) {
#define THUNDER_LIMIT(name, field, model, text) library.def_property_readonly(#field, joint_values(&thunder_library::field), text);
  THUNDER_LIMITS(THUNDER_LIMIT)
#undef THUNDER_LIMIT
  library
      .def_property_readonly(
          "pi", [](const PyLibrary& l) { return vector_of(l.data().pi, 10 * l.data().n_joints); },
          "10·n_joints inertial parameters about the frame origins, in the order of `inertia.PARAMETERS`.")
      .def_property_readonly("rotor_inertia", joint_values(&thunder_library::rotor_inertia),
                             "[kg·m² or kg] What the rotor of each joint adds to the diagonal of M, or of M_rigid where it is elastic, which\n"
                             "is Mm then; NaN: unknown.")
      .def_property_readonly(
          "joint_topology", [](const PyLibrary& l) { return py::array_t<int>(l.data().n_joints, l.data().joint_topology); },
          "Per joint, as `joints.Topology`: 0 on a line, 1 on a circle, where whole turns are one place.");
}

}  // namespace

py::object PyLibrary::evaluate(const std::string& name, const py::Args<ArrayLike>& args,
                               const py::KWArgs<ArrayLike>& kwargs) {
  auto found = evaluators_.find(name);
  if (found == evaluators_.end()) found = evaluators_.emplace(name, Evaluator(library_, name)).first;
  return call(found->second, args, kwargs);
}

namespace {

/// Arguments of a function at many states.
template <class Real>
struct Many {
  std::vector<RowsOf<Real>> in;
  py::ssize_t count = -1;
  std::vector<py::object> kept;  ///< The arrays that are pointed into.

  Many(const thunder_function& function, const py::args& args, const py::kwargs& kwargs,
       const std::vector<std::string_view>& optional) {
    check_arguments(function, args, kwargs);
    for (int i = 0; i < function.n_in; ++i) {
      const py::object value = given(function, i, args, kwargs, optional);
      const thunder_entry& entry = function.in[i];
      in.push_back(value ? rows_of<Real>(value, entry, function, count, kept)
                         : same_rows<Real>(entry.defaults, static_cast<std::size_t>(entry_size(entry)), kept));
    }
    if (count < 0) {
      throw HostError(ErrorKind::dimension, "no argument has a row for each state", function.name,
                      "(N, size), or `evaluate`");
    }
  }
};

std::size_t threads_of(std::optional<int> threads, const std::string& where) {
  if (threads && *threads < 1) throw HostError(ErrorKind::dimension, std::to_string(*threads) + " threads", where, "1 or more");
  return threads ? static_cast<std::size_t>(*threads) : std::thread::hardware_concurrency();
}

/// Where the values of <name>_packed are, of <name>_places and the shape of <name>.
Places places_of(const std::shared_ptr<const Library>& library, const std::string& name) {
  const thunder_entry& whole = library->function(name).out[0];
  Evaluator evaluator(library, name + "_places");
  const thunder_entry& out = evaluator.function().out[0];
  const bool fits = evaluator.evaluate() && out.cols == 2 &&
                    out.rows == entry_size(library->function(name + "_packed").out[0]);
  Places places{static_cast<std::size_t>(whole.rows), static_cast<std::size_t>(whole.cols), {}, {}};
  for (int k = 0; fits && k < out.rows; ++k) {
    places.row.push_back(static_cast<std::size_t>(evaluator.result(0)[k]));
    places.col.push_back(static_cast<std::size_t>(evaluator.result(0)[out.rows + k]));
    if (places.row.back() >= places.rows || places.col.back() >= places.cols) places.cols = 0;
  }
  if (!fits || places.cols == 0) {
    throw HostError(ErrorKind::build, name + "_places do not fit " + name + " and " + name + "_packed", library->path());
  }
  return places;
}

template <class Real>
py::object evaluate_at(const thunder_function& function, int lanes, const Many<Real>& many, const py::object& into,
                       std::size_t threads, bool blocks) {
  std::vector<Real*> out;
  const py::tuple results = results_for<Real>(function, many.count, blocks ? std::max(lanes, 1) : 0, into);
  for (const auto& result : results) out.push_back(py::cast<py::array_t<Real>>(result).mutable_data());
  bool succeeded = false;
  {
    py::gil_scoped_release release;
    succeeded = evaluate_batch(function, lanes, many.in, out, static_cast<std::size_t>(many.count), threads,
                               blocks ? BatchLayout::blocks : BatchLayout::rows);
  }
  if (!succeeded) throw HostError(ErrorKind::law, "the function failed", function.name);
  return function.n_out == 1 ? py::object(results[0]) : py::object(results);
}

/// Whether a dtype is float32 and not float64.
bool is_single(const py::object& dtype, int single_lanes, const std::string& where) {
  const py::dtype given = py::dtype::from_args(dtype.is_none() ? py::str("float64") : dtype);
  if (given.equal(py::dtype::of<double>())) return false;
  if (given.equal(py::dtype::of<float>()) && single_lanes > 0) return true;
  throw HostError(ErrorKind::dimension, "there is no " + py::cast<std::string>(py::str(given)), where,
                  single_lanes > 0 ? "float64, float32" : "float64; float32 in a library built with `single`");
}

}  // namespace

py::object PyLibrary::batch(const std::string& name, const py::Args<ArrayLike>& args, std::optional<int> threads,
                            const BatchResult& into, bool blocks, const DTypeLike& dtype,
                            const py::KWArgs<ArrayLike>& kwargs) const {
  const std::vector<std::string> laws = library_->law_names();
  std::optional<StepFunction> step;
  if (std::count(laws.begin(), laws.end(), name) > 0) step.emplace(library_->law(name), library_->n_joints());
  const thunder_function& function = step ? step->get() : library_->function(name);
  const std::vector<std::string_view> optional = step ? kDefaultsOfStep : std::vector<std::string_view>{};
  const std::size_t available = threads_of(threads, name);
  if (is_single(dtype, library_->single_lanes(), name)) {
    return evaluate_at(function, library_->single_lanes(), Many<float>(function, args, kwargs, optional), into, available,
                       blocks);
  }
  return evaluate_at(function, library_->lanes(), Many<double>(function, args, kwargs, optional), into, available, blocks);
}

py::object PyLibrary::normal_equations(const std::string& name, const py::Args<ArrayLike>& args,
                                       const OptionalArray& weights, const OptionalArray& b, std::optional<int> threads,
                                       const py::KWArgs<ArrayLike>& kwargs) const {
  const thunder_function& packed = library_->function(name + "_packed");
  const Places places = places_of(library_, name);
  Many<double> many(packed, args, kwargs, {});
  const auto rows = [&](const py::object& value, const char* what) -> std::optional<Rows> {
    if (value.is_none()) return {};
    const thunder_entry entry{what, "SI", what, static_cast<int>(places.rows), 1, 0, 0, nullptr, nullptr, nullptr};
    return rows_of<double>(value, entry, packed, many.count, many.kept);
  };
  const std::optional<Rows> w = rows(weights, "weights");
  const std::optional<Rows> target = rows(b, "b");
  const std::size_t available = threads_of(threads, name);
  NormalEquations sums;
  bool succeeded = false;
  {
    py::gil_scoped_release release;
    succeeded = sum_normal_equations(packed, library_->lanes(), many.in, places, w ? &*w : nullptr,
                                     target ? &*target : nullptr, static_cast<std::size_t>(many.count), available, sums);
  }
  if (!succeeded) throw HostError(ErrorKind::law, "the function failed", packed.name);
  const auto size = static_cast<py::ssize_t>(places.cols);
  py::array_t<double> matrix({size, size}, sums.matrix.data());
  if (!target) return matrix;
  return py::make_tuple(matrix, py::array_t<double>(size, sums.vector.data()));
}

void bind_library(py::module_& module) {
  bind_entry(module);
  bind_metadata(module);
  py::class_<PyLibrary, std::shared_ptr<PyLibrary>> library(
      module, "Library", "A generated robot library, loaded, checked and constant. Arrays are read-only, SI units.");
  library
      .def(py::init([](const Path& path, const std::string& hash) {
             return std::make_shared<PyLibrary>(path_from(path).string(), hash);
           }),
           py::arg("path"), py::kw_only(), py::arg("hash") = "",
           "Verify a library against SHA256SUMS beside it, load it, and check all its metadata.\n\n"
           "`path` is the file lib<robot>.so or the generated folder that holds it; `hash` is the content hash that it\n"
           "must have, any if empty. What was verified is what runs, whatever becomes of the file.\n\n"
           "Raises BuildError if the file, its folder or SHA256SUMS belong to another user than this one and root, or\n"
           "others may write them; if the file is not the one listed; if it cannot be loaded, has another ABI version\n"
           "or content hash, or contradicts itself.")
      .def_property_readonly("path", [](const PyLibrary& l) { return l.get()->path(); }, "Of the file, without symbolic links.")
      .def_property_readonly("robot", [](const PyLibrary& l) { return l.data().robot; }, "Name of the robot.")
      .def_property_readonly("generator", [](const PyLibrary& l) { return l.data().generator; },
                             "Version of the generator.")
      .def_property_readonly("hash", [](const PyLibrary& l) { return l.data().hash; }, 
                             "Of its contents, lower-case hexadecimal.")
      .def_property_readonly("lanes", [](const PyLibrary& l) { return l.get()->lanes(); },
                             "States that `batch` computes at once in a thread; 0: one, it was built without.")
      .def_property_readonly("single_lanes", [](const PyLibrary& l) { return l.get()->single_lanes(); },
                             "The same in single precision; 0: it was built without `single`.")
      .def_property_readonly("n_joints", [](const PyLibrary& l) { return l.data().n_joints; }, "n of all shapes.")
      .def_property_readonly("joint_names",
                             [](const PyLibrary& l) { return names_from(l.data().joint_names, l.data().n_joints); },
                             "From the base on; all vectors of joints have this order.")
      .def_property_readonly("link_names",
                             [](const PyLibrary& l) { return names_from(l.data().link_names, l.data().n_joints); },
                             "Each is moved by the joint of its place.")
      .def_property_readonly("laws", [](const PyLibrary& l) { return tuple_of(l.get()->law_names()); },
                             "Names that `law` takes.")
      .def_property_readonly("functions", [](const PyLibrary& l) { return tuple_of(l.get()->function_names()); },
                             "Names that `function` and `evaluate` take.")
      .def_property_readonly("parameter_groups", &parameter_groups,
                             "Run-time parameters of the robot, with the robot file's values.")
      .def("law", [](const PyLibrary& l, const std::string& name) { return PyLaw{l.get(), &l.get()->law(name)}; },
           py::arg("name"), "Describe a law. Raises NameNotFoundError, which lists the names there are.")
      .def("function",
           [](const PyLibrary& l, const std::string& name) { return Function{l.get(), &l.get()->function(name)}; },
           py::arg("name"), "Describe a function. Raises NameNotFoundError, which lists the names there are.")
      .def("evaluate", &PyLibrary::evaluate, py::arg("name"), py::pos_only(),
           "Evaluate a function; arguments by position or name, flat column-major or in their shape.\n\n"
           "Arguments named par_… may be left out and are then the robot file's values. Returns an array of the\n"
           "output's shape (`Entry.shape`), or a tuple of them if there are several outputs.\n\n"
           "Raises NameNotFoundError if there is no such function or argument, DimensionError for an argument that is\n"
           "missing or has the wrong size, and LawError for one that is not numeric or where the function fails.")
      .def("batch", &PyLibrary::batch, py::arg("name"), py::pos_only(), py::kw_only(),
           py::arg("threads") = py::none(), py::arg("out") = py::none(), py::arg("blocks") = false,
           py::arg("dtype") = py::none(),
           "Evaluate a function, or the step of a law by its name, at many states, without Python between them.\n\n"
           "Arguments are those of `evaluate`: with a row for each state, (N, size), or the same for all. Returns\n"
           "(N, rows) or (N, rows, cols), or a tuple of them. Those of a step are q, qd, applied_effort, measurements,\n"
           "reference, state, gains and dt, flat, and it returns effort, state and telemetry; applied_effort (0),\n"
           "measurements, state and gains have defaults. A library that was built with `lanes` computes several states\n"
           "at once. `threads` are as many as there are cores if None; the interpreter is free meanwhile, and the\n"
           "arrays must not be written to. `out` is what an earlier call returned: it is written again, and returned.\n"
           "With `blocks` results stay as lanes have them, (ceil(N / lanes), rows, lanes) or (…, rows, cols, lanes): state\n"
           "i is [i // lanes, …, i % lanes], and the last state fills what is left of the last block\n"
           "`dtype='float32'` computes in single precision, `single_lanes` states at once, and returns arrays of it; the library\n"
           "must have been built with `single`.\n\n"
           "Raises as `evaluate` does, and DimensionError for arguments of unequal numbers of rows.")
      .def("normal_equations", &PyLibrary::normal_equations, py::arg("name"), py::pos_only(), py::kw_only(),
           py::arg("weights") = py::none(), py::arg("b") = py::none(), py::arg("threads") = py::none(),
           "Sum Yᵀ W Y over many states, and with `b` Yᵀ W b, of a regressor that is stored at none of them.\n\n"
           "`name` is that of the regressor, Yr, Y or Yb: the library needs the functions <name>_packed and\n"
           "<name>_places too. Arguments are those of `batch`. `weights` is the diagonal of W, (N, rows) or (rows,) for\n"
           "all, 1 if None; `b` is (N, rows) or (rows,). Of each pair of columns only the rows are multiplied that have\n"
           "both. Returns the sum (cols, cols), or that and the sum (cols,).\n\n"
           "Raises as `batch` does.");
  bind_limits(library);
}

}  // namespace thunder::python
