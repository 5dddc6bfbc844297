// SPDX-License-Identifier: Apache-2.0
#include "parameters.hpp"

#include <algorithm>
#include <ament_index_cpp/get_package_share_directory.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates_file.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {
namespace {

namespace fs = std::filesystem;
using thunder::ErrorKind;
using thunder::HostError;
using thunder::NamedValues;

const std::string kScheme = "package://";
const std::string kGains = "gains.";

fs::path share_folder(const std::string& package, const std::string& uri) {
  try {
    return ament_index_cpp::get_package_share_directory(package);
  } catch (const std::exception&) {
    throw HostError(ErrorKind::build, "there is no package '" + package + "'", uri,
                    "a package in the ament index (AMENT_PREFIX_PATH)");
  }
}

/// A path as users write it: plain, with ~, or package://<package>/<path in its share folder>; made absolute.
fs::path resolve_path(const std::string& text) {
  if (text.compare(0, kScheme.size(), kScheme) == 0) {
    const std::size_t slash = text.find('/', kScheme.size());
    const std::string package = text.substr(kScheme.size(), slash - kScheme.size());
    const fs::path relative = slash == std::string::npos ? "" : text.substr(slash + 1);
    const bool climbs = relative.is_absolute() || std::find(relative.begin(), relative.end(), "..") != relative.end();
    if (package.empty() || relative.empty() || climbs) {
      throw HostError(ErrorKind::build, "incomplete or climbing URI", text, "package://<package>/<path>");
    }
    return share_folder(package, text) / relative;
  }
  const char* home = std::getenv("HOME");
  const bool is_of_home = text == "~" || text.compare(0, 2, "~/") == 0;
  if (home && is_of_home) return fs::path(home) / text.substr(text.size() > 1 ? 2 : 1);
  return fs::absolute(text);
}

/// The generated folder that `colcon build` has installed for a robot of this package.
fs::path installed_folder(const std::string& robot) {
  const fs::path share = share_folder("thunder_controllers", "parameter robot");
  const fs::path path = share / "robots" / (robot + "_generatedFiles");
  if (fs::is_directory(path)) return path;
  throw HostError(ErrorKind::build, "there is no " + path.string(), "parameter robot",
                  "a robot of THUNDER_ROBOTS when the package was built, or the parameter library");
}

fs::path find_library(const Parameters& parameters) {
  if (parameters.library.empty() && parameters.robot.empty()) {
    throw HostError(ErrorKind::build, "neither library nor robot is given", "parameter library",
                    "a generated library or its folder, or a robot that is installed with this package");
  }
  return parameters.library.empty() ? installed_folder(parameters.robot) : resolve_path(parameters.library);
}

thunder::MotionLimits motion_limits(const Parameters& parameters) {
  const std::vector<double>& linear = parameters.path.linear_limits;
  const std::vector<double>& angular = parameters.path.angular_limits;
  return {linear[0], linear[1], linear[2], angular[0], angular[1], angular[2], parameters.path.joint_acceleration};
}

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
rcl_interfaces::msg::ParameterDescriptor descriptor_of(const thunder_entry& entry) {
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description = std::string(entry.description) + " [" + entry.unit + "]";
  descriptor.dynamic_typing = true;  // others cannot be taken back; `numbers` checks the type
  if (thunder::entry_size(entry) == 1 && std::isfinite(entry.lower[0]) && std::isfinite(entry.upper[0])) {
    descriptor.floating_point_range.resize(1);
    descriptor.floating_point_range[0].from_value = entry.lower[0];
    descriptor.floating_point_range[0].to_value = entry.upper[0];
  } else {
    descriptor.additional_constraints = bounds_of(entry);
  }
  return descriptor;
}

std::vector<double> numbers(const rclcpp::Parameter& parameter) {
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE) return {parameter.as_double()};
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY) return parameter.as_double_array();
  throw HostError(ErrorKind::law, "is of type " + parameter.get_type_name(), "parameter " + parameter.get_name(),
                  "double or double_array: write 1.0, not 1");
}

NamedValues gains_among(const std::vector<rclcpp::Parameter>& parameters) {
  NamedValues gains;
  for (const rclcpp::Parameter& parameter : parameters) {
    const std::string& name = parameter.get_name();
    if (name.compare(0, kGains.size(), kGains) == 0) gains[name.substr(kGains.size())] = numbers(parameter);
  }
  return gains;
}

void declare_option(rclcpp::node_interfaces::NodeParametersInterface& node, const thunder::OptionInfo& option) {
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description = std::string(option.text) + " Takes effect when the controller is configured.";
  if (*option.unit) descriptor.description += std::string(" [") + option.unit + "]";
  const auto declare = [&](auto member) {
    node.declare_parameter(option.name, rclcpp::ParameterValue(thunder::Options().*member), descriptor);
  };
  std::visit(declare, option.member);
}

/// Take a parameter that is an option; its type is the declared one.
void set_option(const rclcpp::Parameter& parameter, thunder::Options& options) {
  for (const thunder::OptionInfo& option : thunder::option_list()) {
    if (parameter.get_name() != option.name) continue;
    const auto set = [&](auto member) {
      using Value = std::decay_t<decltype(options.*member)>;
      options.*member = parameter.get_value<Value>();
    };
    std::visit(set, option.member);
  }
}

}  // namespace

thunder::Configuration configuration_of(const Parameters& parameters) {
  return thunder::make_configuration(thunder::Library::load(find_library(parameters).string()), parameters.robot,
                                     parameters.law, parameters.joints);
}

OptionParameters::OptionParameters(Node node) : node_(std::move(node)) {
  check_ = node_->add_on_set_parameters_callback([](const std::vector<rclcpp::Parameter>& parameters) {
    rcl_interfaces::msg::SetParametersResult result;
    result.successful = true;
    try {
      thunder::Options options;
      options.nominal_dt = std::numeric_limits<double>::min();  // the period is known when the controller is configured
      for (const rclcpp::Parameter& parameter : parameters) set_option(parameter, options);
      thunder::check_options(options);
    } catch (const HostError& error) {
      result.successful = false;
      result.reason = error.what();
    }
    return result;
  });
  for (const thunder::OptionInfo& option : thunder::option_list()) {
    if (!node_->has_parameter(option.name)) declare_option(*node_, option);
  }
}

thunder::Options OptionParameters::read(unsigned int update_rate) const {
  thunder::Options options;
  options.nominal_dt = 1.0 / update_rate;
  for (const thunder::OptionInfo& option : thunder::option_list()) set_option(node_->get_parameter(option.name), options);
  return options;
}

thunder::Figure figure_of(const Parameters& parameters, bool is_cartesian) {
  if (is_cartesian) {
    return {parameters.lissajous.amplitude, parameters.lissajous.frequency, parameters.lissajous.phase,
            parameters.ramp_time};
  }
  return {parameters.joint_lissajous.amplitude, parameters.joint_lissajous.frequency, parameters.joint_lissajous.phase,
          parameters.ramp_time};
}

fs::path estimates_path(const Parameters& parameters, const thunder::Configuration& configuration,
                        const std::string& node) {
  if (!parameters.saved_estimates_file.empty()) return resolve_path(parameters.saved_estimates_file);
  const fs::path path = configuration.estimates_path(node);
  fs::create_directories(path.parent_path());
  return path;
}

NamedValues first_estimates(const Parameters& parameters, const thunder::Configuration& configuration) {
  if (parameters.estimates_file.empty()) return {};
  return thunder::read_estimates(resolve_path(parameters.estimates_file), configuration);
}

LiveParameters::LiveParameters(Node node) : node_(std::move(node)) {}

LiveParameters::LiveParameters(Node node, const thunder_law& law) : LiveParameters(std::move(node)) {
  for (int i = 0; i < law.gains.n_entries; ++i) declare(law.gains.entries[i]);
}

LiveParameters::~LiveParameters() {
  check_.reset();
  apply_.reset();
  for (const std::string& name : declared_) {
    try {
      node_->undeclare_parameter(name);
    } catch (const std::exception&) {
      continue;  // somebody else has undeclared it: as wanted
    }
  }
}

void LiveParameters::declare(const thunder_entry& entry) {
  const std::string name = kGains + entry.name;
  try {
    node_->declare_parameter(name, default_of(entry), descriptor_of(entry));
  } catch (const std::exception& error) {
    throw HostError(ErrorKind::law, error.what(), "parameter " + name, bounds_of(entry));
  }
  declared_.push_back(name);
}

NamedValues LiveParameters::gains() const { return gains_among(node_->get_parameters(declared_)); }

void LiveParameters::connect(const std::shared_ptr<thunder::ControlSession>& session, const Listener& listener) {
  check_ = node_->add_on_set_parameters_callback([session](const std::vector<rclcpp::Parameter>& parameters) {
    rcl_interfaces::msg::SetParametersResult result;
    result.successful = true;
    try {
      session->check_gains(gains_among(parameters));
    } catch (const std::exception& error) {
      result.successful = false;
      result.reason = error.what();
    }
    return result;
  });
  apply_ = node_->add_post_set_parameters_callback(
      [session, listener](const std::vector<rclcpp::Parameter>& parameters) {
        session->set_gains(gains_among(parameters));
        session->set_motion_limits(motion_limits(listener->get_params()));
      });
  session->set_motion_limits(motion_limits(listener->get_params()));
}

}  // namespace thunder_controllers
