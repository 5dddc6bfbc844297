// SPDX-License-Identifier: Apache-2.0
#include "gain_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "thunder/host/error.hpp"

namespace thunder_controllers {
namespace {

using Descriptor = rcl_interfaces::msg::ParameterDescriptor;

constexpr const char* kPrefix = "gains.";

/// One number is a double, everything else an array.
rclcpp::ParameterValue default_of(const thunder_entry& entry) {
  const int size = thunder::entry_size(entry);
  if (size == 1) return rclcpp::ParameterValue(entry.defaults[0]);
  return rclcpp::ParameterValue(std::vector<double>(entry.defaults, entry.defaults + size));
}

std::string bounds_of(const thunder_entry& entry) {
  const int size = thunder::entry_size(entry);
  const double lower = *std::min_element(entry.lower, entry.lower + size);
  const double upper = *std::max_element(entry.upper, entry.upper + size);
  const std::string count = size == 1 ? "" : std::to_string(size) + " values, ";
  return count + "from " + thunder::format(lower) + " to " + thunder::format(upper);
}

/// Scalars get a range, which tools show as a slider; the bounds of an array's elements are said in words.
Descriptor descriptor_of(const thunder_entry& entry) {
  const int size = thunder::entry_size(entry);
  const double lower = entry.lower[0];
  const double upper = entry.upper[0];
  Descriptor descriptor;
  descriptor.description = std::string(entry.description) + " [" + entry.unit + "]";
  descriptor.dynamic_typing = true;  // others cannot be taken back; `numbers` checks the type
  if (size == 1 && std::isfinite(lower) && std::isfinite(upper)) {
    descriptor.floating_point_range.resize(1);
    descriptor.floating_point_range[0].from_value = lower;
    descriptor.floating_point_range[0].to_value = upper;
  } else {
    descriptor.additional_constraints = bounds_of(entry);
  }
  return descriptor;
}

std::vector<double> numbers(const rclcpp::Parameter& parameter) {
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE) return {parameter.as_double()};
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY) return parameter.as_double_array();
  throw thunder::HostError(thunder::ErrorKind::law, "is of type " + parameter.get_type_name(),
                           "parameter " + parameter.get_name(), "double or double_array: write 1.0, not 1");
}

/// An array must be given whole: one number would stand for every element, which is right for nobody's gains file.
void check_sizes(const thunder_law& law, const thunder::NamedValues& gains) {
  for (const auto& [name, values] : gains) {
    const thunder_entry& entry = thunder::find_entry(law.gains, name, std::string(law.name) + ".gains");
    const auto size = static_cast<std::size_t>(thunder::entry_size(entry));
    if (values.size() == size) continue;
    throw thunder::HostError(thunder::ErrorKind::dimension, "got " + std::to_string(values.size()) + " values",
                             kPrefix + name, std::to_string(size));
  }
}

}  // namespace

GainParameters::GainParameters(Node node, const thunder_law& law) : node_(std::move(node)), law_(&law) {
  try {
    for (int i = 0; i < law.gains.n_entries; ++i) declare(law.gains.entries[i]);
    check_sizes(law, values());
  } catch (...) {
    undeclare();
    throw;
  }
}

GainParameters::~GainParameters() { undeclare(); }

void GainParameters::undeclare() noexcept {
  check_.reset();
  apply_.reset();
  for (const std::string& name : declared_) {
    try {
      node_->undeclare_parameter(name);
    } catch (const std::exception&) {
      continue;  // somebody else has undeclared it: as wanted
    }
  }
  declared_.clear();
}

void GainParameters::declare(const thunder_entry& entry) {
  const std::string name = std::string(kPrefix) + entry.name;
  try {
    node_->declare_parameter(name, default_of(entry), descriptor_of(entry));
  } catch (const std::exception& error) {
    throw thunder::HostError(thunder::ErrorKind::law, error.what(), "parameter " + name, bounds_of(entry));
  }
  declared_.push_back(name);
}

thunder::NamedValues GainParameters::gains_among(const std::vector<rclcpp::Parameter>& parameters) const {
  thunder::NamedValues gains;
  const std::string prefix = kPrefix;
  for (const rclcpp::Parameter& parameter : parameters) {
    const std::string& name = parameter.get_name();
    const bool is_gain = std::find(declared_.begin(), declared_.end(), name) != declared_.end();
    if (is_gain) gains[name.substr(prefix.size())] = numbers(parameter);
  }
  return gains;
}

thunder::NamedValues GainParameters::values() const { return gains_among(node_->get_parameters(declared_)); }

void GainParameters::connect(std::shared_ptr<ControlCore> core) {
  const auto check = [this, core](const std::vector<rclcpp::Parameter>& parameters) {
    rcl_interfaces::msg::SetParametersResult result;
    result.successful = true;
    try {
      const thunder::NamedValues gains = gains_among(parameters);
      check_sizes(*law_, gains);
      core->check_gains(gains);
    } catch (const std::exception& error) {
      result.successful = false;
      result.reason = error.what();
    }
    return result;
  };
  check_ = node_->add_on_set_parameters_callback(check);
  apply_ = node_->add_post_set_parameters_callback(
      [this, core](const std::vector<rclcpp::Parameter>& parameters) { core->set_gains(gains_among(parameters)); });
}

}  // namespace thunder_controllers
