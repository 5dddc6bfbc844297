// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <rclcpp/parameter.hpp>
#include <rsl/parameter_validators.hpp>  // tl::expected, which releases of ROS 2 keep in different places
#include <string>
#include <vector>

namespace thunder_controllers {

/// A double above zero, or an array of such; infinity is one, NaN is not. Returns the reason against another value.
/// The validators of generate_parameter_library have no strict bound for arrays.
inline tl::expected<void, std::string> positive(const rclcpp::Parameter& parameter) {
  const bool is_array = parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY;
  for (const double value : is_array ? parameter.as_double_array() : std::vector<double>{parameter.as_double()}) {
    if (value > 0.0) continue;
    return tl::make_unexpected(fmt::format("{}: {:g}; valid: above 0", parameter.get_name(), value));
  }
  return {};
}

/// A double that is one: neither bounds<> nor the range of a parameter refuse NaN.
inline tl::expected<void, std::string> number(const rclcpp::Parameter& parameter) {
  if (!std::isnan(parameter.as_double())) return {};
  return tl::make_unexpected(fmt::format("{}: nan; valid: a number", parameter.get_name()));
}

}  // namespace thunder_controllers
