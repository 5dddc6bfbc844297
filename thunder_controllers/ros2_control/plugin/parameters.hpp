// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>
#include <string>
#include <thunder_controllers/thunder_adaptive_controller_parameters.hpp>
#include <vector>

#include "thunder/host/session.hpp"

namespace thunder_controllers {

using Parameters = thunder_adaptive_controller::Params;
using Listener = std::shared_ptr<thunder_adaptive_controller::ParamListener>;

/// Load the library and choose what is to run of it.
///
/// Throws HostError that says which parameter is wrong, and what would be valid.
thunder::Configuration configuration_of(const Parameters& parameters);

/// The figure of ~/start, of the kind that the law follows.
thunder::Figure figure_of(const Parameters& parameters, bool is_cartesian);

/// Where ~/save_estimates writes. Throws HostError for a package:// URI that leads nowhere.
std::filesystem::path estimates_path(const Parameters& parameters, const thunder::Configuration& configuration,
                                     const std::string& node);

/// The estimates to start from, by state entry; none where no file is named.
///
/// Throws HostError if the file cannot be read, or belongs to another robot, law or links.
thunder::NamedValues first_estimates(const Parameters& parameters, const thunder::Configuration& configuration);

using ParametersOfNode = rclcpp::node_interfaces::NodeParametersInterface;
using ParameterCheck = rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr;
using PreSetCallback = rclcpp::node_interfaces::PreSetParametersCallbackHandle::SharedPtr;

/// As long as what is returned is held: whole numbers that are set stand for real ones, and parameters without a name are
/// refused. The node outlives it.
PreSetCallback correct_parameters(ParametersOfNode& node);

/// Call `declare`; whole numbers among the values given to the node stand for real ones until it returns. None of the
/// parameters of this controller is an integer.
void declare_reals(const ParametersOfNode& node, const std::function<void()>& declare);

/// Declare the options of the host as parameters, from its list; those that parameters.yaml declares stay as they are. A
/// value out of bounds is refused with the reason, now and, as long as what is returned is held, when it is set.
ParameterCheck declare_options(ParametersOfNode& node);

/// How the host guards its input and output; update_rate in [Hz].
thunder::Options read_options(const ParametersOfNode& node, unsigned int update_rate);

/// Parameters that act at once: the gains of the law as gains.<name>, declared from the library's metadata with
/// description, unit and bounds, and the bounds of motions, path.….
///
/// A change is checked first, and refused with the reason or handed to the host.
class LiveParameters {
 public:
  using Node = ParametersOfNode::SharedPtr;

  /// Declare the gains. Values given to the node replace the defaults. Throws HostError if one is out of its range;
  /// nothing is declared then.
  LiveParameters(Node node, const thunder_law& law);
  ~LiveParameters();
  LiveParameters(const LiveParameters&) = delete;
  LiveParameters& operator=(const LiveParameters&) = delete;

  /// The gains now, by name. Throws HostError if one is neither a double nor an array of such.
  thunder::NamedValues gains() const;

  /// From now on, bounds and changes go to this host.
  void connect(const std::shared_ptr<thunder::ControlSession>& session, const Listener& listener);

 private:
  explicit LiveParameters(Node node);
  void declare(const thunder_entry& entry);

  Node node_;
  std::vector<std::string> declared_;
  ParameterCheck check_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr apply_;
};

}  // namespace thunder_controllers
