// SPDX-License-Identifier: Apache-2.0
#include <pybind11/native_enum.h>

#include <cctype>
#include <optional>
#include <tuple>

#include "bindings.hpp"
#include "thunder/host/error.hpp"
#include "thunder/host/options.hpp"

namespace thunder::python {
namespace {

/// What Python gives and gets for a value of an option: itself, or an array or None for one per joint.
template <typename Value>
struct InPython {
  using type = Value;
  static Value take(const Value& value, const char*) { return value; }
  static Value give(const Value& value) { return value; }
};
template <>
struct InPython<std::vector<double>> {
  using type = OptionalArray;
  static std::vector<double> take(const OptionalArray& object, const char* name) {
    if (object.is_none()) return {};
    const Numbers vector = Numbers::ensure(object);
    if (!vector || vector.ndim() != 1 || vector.size() == 0) {
      throw HostError(ErrorKind::law, "is no vector of numbers", std::string("options.") + name,
                      "positive values, one per joint, or None");
    }
    return values_of(vector);
  }
  static auto give(const std::vector<double>& values) { return vector_or_none(values); }
};

/// Make options of a value for each row of the list; the first argument stands before its commas.
template <typename... Values>
auto options_maker(std::tuple<std::tuple<>, Values Options::*...> members) {
  return [members](double nominal_dt, const typename InPython<Values>::type&... values) {
    Options options;
    options.nominal_dt = nominal_dt;
    std::size_t row = 0;
    std::apply([&](std::tuple<>, auto... member) {
      ((options.*member = InPython<Values>::take(values, option_list()[row++].name)), ...);
    }, members);
    check_options(options);
    return options;
  };
}

template <typename Value>
void bind_option(py::class_<Options>& options, const char* name, Value Options::*member, const std::string& text) {
  options.def_property_readonly(name, [member](const Options& o) { return InPython<Value>::give(o.*member); },
                                text.c_str());
}

struct DefaultText {
  static constexpr auto name = py::detail::const_name("bool | float | tuple[float, ...]");
};

void bind_option_info(py::module_& module) {
  py::class_<OptionInfo>(module, "OptionInfo", "An option of `Options` as data.")
      .def_readonly("name", &OptionInfo::name)
      .def_readonly("unit", &OptionInfo::unit, "SI unit; 1 for pure numbers, empty for switches.")
      .def_readonly("text", &OptionInfo::text, "What it says, in sentences.")
      .def_property_readonly("default", [](const OptionInfo& option) -> Described<DefaultText> {
        const auto get = [](auto member) -> py::object { return py::cast(Options().*member); };
        const py::object value = std::visit(get, option.member);
        return py::isinstance<py::list>(value) ? py::object(py::tuple(value)) : value;
      }, "An empty tuple stands for the library's, of an option with a value per joint.")
      .def_property_readonly("lower", [](const OptionInfo& option) { return option.bounds.lower; }, "Smallest value.")
      .def_property_readonly("includes_lower", [](const OptionInfo& option) { return option.bounds.includes_lower; },
                             "Whether `lower` itself is valid.")
      .def_property_readonly("upper", [](const OptionInfo& option) { return option.bounds.upper; },
                             "Largest value; infinite: infinity is valid, too.");
  module.def("option_list", []() -> py::typing::Tuple<OptionInfo, py::ellipsis> {
    return py::tuple(py::cast(option_list()));
  }, "The options that `Options` takes beside nominal_dt, in order.");
}

void bind_guards(py::module_& module) {
  py::native_enum<Guard> guard(module, "Guard", "enum.IntFlag", "What acted in one update, as bits.");
  for (std::size_t i = 0; i < kGuards.size(); ++i) {
    std::string name = kGuards[i].name;
    for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    guard.value(name.c_str(), static_cast<Guard>(1u << i), kGuards[i].text);
  }
  guard.finalize();
  module.attr("FAULTS") = py::cast(static_cast<Guard>(kFaults));
  module.attr("BLOCKING_GUARDS") = py::cast(static_cast<Guard>(kBlockingGuards));
}

}  // namespace

void bind_options(py::module_& module) {
  bind_guards(module);
  bind_option_info(module);
  py::class_<Options> options(module, "Options", "How a controller guards its input and output; immutable.\n\n"
                              "The defaults suit a 1 kHz effort interface. Limits that are None are the library's.");
#define THUNDER_POINTER(type, name, value, bounds, unit, text) , &Options::name
#define THUNDER_ARGUMENT(type, name, value, bounds, unit, text) , py::arg(#name) = InPython<type>::give(Options().name)
  options.def(py::init(options_maker(std::make_tuple(std::tuple<>() THUNDER_OPTIONS(THUNDER_POINTER)))), py::kw_only(),
              py::arg("nominal_dt") = Options().nominal_dt THUNDER_OPTIONS(THUNDER_ARGUMENT),
              "Check and keep the options; the properties say what they mean. Raises LawError for a value out of bounds.");
#undef THUNDER_POINTER
#undef THUNDER_ARGUMENT
  options.def_readonly("nominal_dt", &Options::nominal_dt,
                       "[s] Period of the loop, for activation, and for ramps where no valid period is at hand; positive.");
  for (const OptionInfo& option : option_list()) {
    const std::string unit = *option.unit ? std::string("[") + option.unit + "] " : "";
    std::visit([&](auto member) { bind_option(options, option.name, member, unit + option.text); }, option.member);
  }
}

}  // namespace thunder::python
