// SPDX-License-Identifier: Apache-2.0
#include "wiring.hpp"

#include <chrono>
#include <exception>
#include <rclcpp/logging.hpp>

#include "exchange/pose_reader.hpp"
#include "exchange/trajectory_action.hpp"
#include "thunder/host/report/excitation.hpp"
#include "thunder/host/report/tracking_error.hpp"

namespace thunder_controllers {
namespace {

/// Begins the figure in a new activation, where that is wanted, and tells that a stream has ended.
struct Watch {
  void see(const thunder::Snapshot& snapshot) {
    if (snapshot.lost_references > lost_streams) {
      RCLCPP_WARN(logger, "the stream of references has ended: the arm comes to rest, and is held");
    }
    lost_streams = snapshot.lost_references;
    if (!snapshot.is_active || snapshot.activation == begun) return;
    begun = snapshot.activation;
    const Parameters parameters = listener->get_params();
    if (!parameters.autostart) return;
    try {
      const double share = session->trace_what_fits(figure_of(parameters, session->configuration().is_cartesian()));
      if (share < 1.0) RCLCPP_WARN(logger, "the joints cannot follow the whole figure: %g of it is traced", share);
    } catch (const std::exception& error) {
      faults->refuse(error);
      RCLCPP_WARN(logger, "%s", error.what());
    }
  }

  std::shared_ptr<thunder::ControlSession> session;
  Listener listener;
  std::shared_ptr<Faults> faults;
  rclcpp::Logger logger;
  std::uint64_t begun = 0;         ///< the last activation that was seen
  std::uint64_t lost_streams = 0;  ///< how many were seen to end
};

}  // namespace

Wiring::Wiring(const Node& node, const Listener& listener, unsigned int update_rate) {
  const Parameters parameters = listener->get_params();
  const thunder::Configuration configuration = configuration_of(parameters);
  const thunder::Options options = read_options(*node->get_node_parameters_interface(), update_rate);
  const thunder::NamedValues estimates = first_estimates(parameters, configuration);
  parameters_ = std::make_unique<LiveParameters>(node->get_node_parameters_interface(), configuration.law_data());
  session_ = std::make_shared<thunder::ControlSession>(configuration, options, parameters_->gains(), estimates);
  parameters_->connect(session_, listener);
  std::shared_ptr<const PoseReader> poses;
  if (configuration.is_cartesian()) poses = std::make_shared<PoseReader>(*node, configuration, parameters);
  inputs_ = open_inputs(*node, session_, listener, faults_, poses);
  const auto action = std::make_shared<TrajectoryAction>(session_, listener, faults_, poses);
  inputs_.push_back(TrajectoryAction::offer(*node, action));
  // Of timers of the node, which exclude each other:
  const auto excitation = std::make_shared<thunder::Excitation>(configuration);
  const auto tracking = std::make_shared<thunder::TrackingError>(configuration);
  const auto outputs = std::make_shared<Outputs>(*node, configuration, parameters.base_frame);
  const auto watch = std::make_shared<Watch>(Watch{session_, listener, faults_, node->get_logger()});
  const std::chrono::duration<double> period(1.0 / parameters.publish_rate);
  publishing_ = node->create_wall_timer(period, [session = session_, excitation, tracking, outputs, watch, action] {
    const thunder::Snapshot snapshot = session->snapshot();
    outputs->publish(snapshot);
    excitation->add(snapshot);
    tracking->add(snapshot);
    action->advance(snapshot);
    watch->see(snapshot);
  });
  diagnostics_ = [session = session_, excitation, tracking, limit = parameters.tracking_error_limit,
                  period = options.nominal_dt, faults = faults_](thunder::Condition& condition) {
    condition.snapshot = session->snapshot();
    condition.change = thunder::body_change(session->configuration().law_data(), *condition.snapshot);
    condition.excitation = excitation->report();
    condition.tracking_error = tracking->take();
    condition.tracking_error_limit = limit;
    condition.period = period;
    condition.counters = {{"references refused", faults->refused_references},
                          {"states not readable", faults->unreadable_states},
                          {"commands not taken", faults->refused_commands}};
    condition.extra = {{"last refused reference", faults->last_refusal}};
  };
}

}  // namespace thunder_controllers
