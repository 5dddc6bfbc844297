// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/options.hpp"

#include <cmath>
#include <string>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

std::string place(const char* name) { return std::string("options.") + name; }

std::string valid_text(const OptionInfo& option) {
  const Bounds& bounds = option.bounds;
  std::string text = (bounds.includes_lower ? "at least " : "above ") + format(bounds.lower);
  if (bounds.upper < kFinite) text += ", at most " + format(bounds.upper);
  if (bounds.upper == kFinite) text += ", finite";
  return text + " [" + option.unit + "]";
}

void check_value(const OptionInfo& option, double value) {
  const Bounds& bounds = option.bounds;
  const bool is_above = value > bounds.lower || (bounds.includes_lower && value == bounds.lower);
  if (is_above && value <= bounds.upper) return;
  throw HostError(ErrorKind::law, "is " + format(value), place(option.name), valid_text(option));
}

/// The numbers of an option that has such.
std::vector<double> numbers(const OptionInfo& option, const Options& options) {
  if (const auto* member = std::get_if<double Options::*>(&option.member)) return {options.**member};
  if (const auto* member = std::get_if<std::vector<double> Options::*>(&option.member)) return options.**member;
  return {};
}

}  // namespace

const std::vector<OptionInfo>& option_list() {
#define THUNDER_ROW(type, name, value, bounds, unit, text) {#name, unit, text, bounds, &Options::name},
  static const std::vector<OptionInfo> list = {THUNDER_OPTIONS(THUNDER_ROW)};
#undef THUNDER_ROW
  return list;
}

void check_options(const Options& options) {
  if (!std::isfinite(options.nominal_dt) || options.nominal_dt <= 0.0) {
    throw HostError(ErrorKind::law, "is " + format(options.nominal_dt), place("nominal_dt"), "above 0, finite [s]");
  }
  for (const OptionInfo& option : option_list()) {
    for (const double value : numbers(option, options)) check_value(option, value);
  }
  if (options.measurement_timeout > options.nominal_dt) return;
  throw HostError(ErrorKind::law, "is " + format(options.measurement_timeout), place("measurement_timeout"),
                  "above nominal_dt, " + format(options.nominal_dt) + " [s]");
}

void check_options(const Options& options, int n_joints) {
  check_options(options);
  for (const OptionInfo& option : option_list()) {
    if (!std::holds_alternative<std::vector<double> Options::*>(option.member)) continue;
    const std::size_t size = numbers(option, options).size();
    if (size == 0 || size == static_cast<std::size_t>(n_joints)) continue;
    throw HostError(ErrorKind::dimension, "has " + std::to_string(size) + " values", place(option.name),
                    std::to_string(n_joints) + ", one per joint");
  }
}

}  // namespace thunder
