// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <rclcpp/parameter.hpp>
#include <string>
#include <tl_expected/expected.hpp>
#include <vector>

namespace thunder_controllers {

/// The value of a double, or the values of an array of such.
inline std::vector<double> values_of(const rclcpp::Parameter& parameter) {
  const bool is_array = parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY;
  return is_array ? parameter.as_double_array() : std::vector<double>{parameter.as_double()};
}

/// A double above zero, or an array of such; infinity is one, NaN is not. Returns the reason against another value.
inline tl::expected<void, std::string> positive(const rclcpp::Parameter& parameter) {
  for (const double value : values_of(parameter)) {
    if (value > 0.0) continue;
    return tl::make_unexpected(fmt::format("{}: {:g}; valid: above 0", parameter.get_name(), value));
  }
  return {};
}

/// A double that is a number, or an array of such. Returns the reason against another value.
inline tl::expected<void, std::string> finite(const rclcpp::Parameter& parameter) {
  for (const double value : values_of(parameter)) {
    if (std::isfinite(value)) continue;
    return tl::make_unexpected(fmt::format("{}: {:g}; valid: finite", parameter.get_name(), value));
  }
  return {};
}

}  // namespace thunder_controllers
