// SPDX-License-Identifier: Apache-2.0
#include "parameters.hpp"

#include <algorithm>
#include <ament_index_cpp/get_package_share_directory.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <regex>
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

using Values = std::vector<rclcpp::Parameter>;

const std::string kGains = "gains.";

/// A path as users write it: plain, with ~, or package://<package>/<path in its share folder>; made absolute.
fs::path resolve_path(const std::string& text) {
  if (text.rfind("package://", 0) == 0) {
    static const std::regex uri("package://([^/]+)/([^/].*)");
    std::smatch parts;
    const bool is_complete = std::regex_match(text, parts, uri);
    const fs::path relative = is_complete ? parts[2].str() : "";
    if (!is_complete || std::find(relative.begin(), relative.end(), "..") != relative.end()) {
      throw HostError(ErrorKind::build, "incomplete or climbing URI", text, "package://<package>/<path>");
    }
    return ament_index_cpp::get_package_share_directory(parts[1]) / relative;
  }
  const char* home = std::getenv("HOME");
  const bool is_of_home = text == "~" || text.rfind("~/", 0) == 0;
  if (home && is_of_home) return fs::path(home) / text.substr(text.size() > 1 ? 2 : 1);
  return fs::absolute(text);
}

/// The generated folder that `colcon build` has installed for a robot of this package.
fs::path installed_folder(const std::string& robot) {
  const fs::path share = ament_index_cpp::get_package_share_directory("thunder_controllers");
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

/// A description with its unit; a scalar with finite bounds gets a range, which tools show as a slider.
rcl_interfaces::msg::ParameterDescriptor describe(const std::string& text, const std::string& unit, double lower,
                                                  double upper) {
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description = unit.empty() ? text : text + " [" + unit + "]";
  if (!std::isfinite(lower) || upper >= thunder::kFinite) return descriptor;
  descriptor.floating_point_range.resize(1);
  descriptor.floating_point_range[0].from_value = lower;
  descriptor.floating_point_range[0].to_value = upper;
  return descriptor;
}

/// The bounds of an array's elements are said in words.
rcl_interfaces::msg::ParameterDescriptor descriptor_of(const thunder_entry& entry) {
  const double upper = thunder::entry_size(entry) == 1 ? entry.upper[0] : thunder::kInfinity;
  const bool is_of_joints = (entry.flags & THUNDER_ENTRY_JOINTS) != 0;
  const std::string text = std::string(entry.description) + (is_of_joints ? " In the order of the library's joints." : "");
  auto descriptor = describe(text, entry.unit, entry.lower[0], upper);
  descriptor.dynamic_typing = true;  // others cannot be taken back; `numbers` checks the type
  if (descriptor.floating_point_range.empty()) descriptor.additional_constraints = bounds_of(entry);
  return descriptor;
}

/// Whole numbers as real ones: command lines and files leave the point out. Anything else as it is.
rclcpp::ParameterValue as_real(const rclcpp::ParameterValue& value) {
  if (value.get_type() == rclcpp::ParameterType::PARAMETER_INTEGER) {
    return rclcpp::ParameterValue(static_cast<double>(value.get<std::int64_t>()));
  }
  if (value.get_type() != rclcpp::ParameterType::PARAMETER_INTEGER_ARRAY) return value;
  const auto& whole = value.get<std::vector<std::int64_t>>();
  return rclcpp::ParameterValue(std::vector<double>(whole.begin(), whole.end()));
}

bool is_real(const ParametersOfNode& node, const std::string& name) {
  rclcpp::Parameter declared;
  if (!node.get_parameter(name, declared)) return false;
  const rclcpp::ParameterType type = declared.get_type();
  return type == rclcpp::ParameterType::PARAMETER_DOUBLE || type == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY;
}

std::vector<double> numbers(const rclcpp::Parameter& parameter) {
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE) return {parameter.as_double()};
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY) return parameter.as_double_array();
  throw HostError(ErrorKind::law, "is of type " + parameter.get_type_name(), "parameter " + parameter.get_name(),
                  "a number, or an array of such");
}

NamedValues gains_among(const Values& parameters) {
  NamedValues gains;
  for (const rclcpp::Parameter& parameter : parameters) {
    const std::string& name = parameter.get_name();
    if (name.rfind(kGains, 0) == 0) gains[name.substr(kGains.size())] = numbers(parameter);
  }
  return gains;
}

void declare_option(ParametersOfNode& node, const thunder::OptionInfo& option) {
  const bool is_number = std::holds_alternative<double thunder::Options::*>(option.member);
  const double upper = is_number ? option.bounds.upper : thunder::kInfinity;
  const std::string text = std::string(option.text) + " Takes effect when the controller is configured.";
  const auto descriptor = describe(text, option.unit, option.bounds.lower, upper);
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

/// A callback that refuses what `check` throws at, with its reason.
template <class Check>
ParameterCheck refuse_by(Check check, ParametersOfNode& node) {
  return node.add_on_set_parameters_callback([check](const Values& parameters) {
    rcl_interfaces::msg::SetParametersResult result;
    result.successful = true;
    try {
      check(parameters);
    } catch (const std::exception& error) {
      result.successful = false;
      result.reason = error.what();
    }
    return result;
  });
}

}  // namespace

thunder::Configuration configuration_of(const Parameters& parameters) {
  return thunder::make_configuration(thunder::Library::load(find_library(parameters).string()), parameters.robot,
                                     parameters.law, parameters.joints);
}

ParameterCheck declare_options(ParametersOfNode& node) {
  const auto check = [](const Values& parameters) {
    thunder::Options options;
    options.nominal_dt = std::numeric_limits<double>::min();  // the period is known when the controller is configured
    for (const rclcpp::Parameter& parameter : parameters) set_option(parameter, options);
    thunder::check_options(options);
  };
  ParameterCheck checking = refuse_by(check, node);
  for (const thunder::OptionInfo& option : thunder::option_list()) {
    if (!node.has_parameter(option.name)) declare_option(node, option);
  }
  return checking;
}

PreSetCallback correct_parameters(ParametersOfNode& node) {
  return node.add_pre_set_parameters_callback([&node](Values& parameters) {
    // rclcpp throws at an empty name, nobody catches that, and anyone may send one; of a list, all or none is set.
    const auto is_nameless = [](const rclcpp::Parameter& parameter) { return parameter.get_name().empty(); };
    if (std::any_of(parameters.begin(), parameters.end(), is_nameless)) return parameters.clear();
    for (rclcpp::Parameter& parameter : parameters) {
      if (!is_real(node, parameter.get_name())) continue;
      parameter = rclcpp::Parameter(parameter.get_name(), as_real(parameter.get_parameter_value()));
    }
  });
}

void declare_reals(const ParametersOfNode& node, const std::function<void()>& declare) {
  // rclcpp has no other way to the values given to a node; those of others, who have integers, come back.
  auto& given = const_cast<std::map<std::string, rclcpp::ParameterValue>&>(node.get_parameter_overrides());
  const std::shared_ptr<void> restore(nullptr, [&given, before = given](void*) { given = before; });
  for (auto& [name, value] : given) value = as_real(value);
  declare();
}

thunder::Options read_options(const ParametersOfNode& node, unsigned int update_rate) {
  thunder::Options options;
  options.nominal_dt = 1.0 / update_rate;
  for (const thunder::OptionInfo& option : thunder::option_list()) set_option(node.get_parameter(option.name), options);
  return options;
}

thunder::Figure figure_of(const Parameters& parameters, bool is_cartesian) {
  const auto figure = [&](const auto& given) -> thunder::Figure {
    return {given.amplitude, given.frequency, given.phase, parameters.ramp_time};
  };
  return is_cartesian ? figure(parameters.lissajous) : figure(parameters.joint_lissajous);
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
  declare_reals(*node_, [&] {
    for (int i = 0; i < law.gains.n_entries; ++i) declare(law.gains.entries[i]);
  });
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
  check_ = refuse_by([session](const Values& parameters) { session->check_gains(gains_among(parameters)); }, *node_);
  apply_ = node_->add_post_set_parameters_callback([session, listener](const Values& parameters) {
    session->set_gains(gains_among(parameters));
    session->set_motion_limits(motion_limits(listener->get_params()));
  });
  session->set_motion_limits(motion_limits(listener->get_params()));
}

}  // namespace thunder_controllers
