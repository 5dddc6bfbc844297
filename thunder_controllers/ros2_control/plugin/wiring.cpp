// SPDX-License-Identifier: Apache-2.0
#include "wiring.hpp"

#include <chrono>
#include <exception>
#include <rclcpp/logging.hpp>
#include <utility>

namespace thunder_controllers {
namespace {

/// Begins the figure in a new activation, where that is wanted, and tells that a stream has ended.
class Watch {
 public:
  Watch(std::shared_ptr<thunder::ControlSession> session, Listener listener, std::shared_ptr<Faults> faults,
        rclcpp::Logger logger)
      : session_(std::move(session)), listener_(std::move(listener)), faults_(std::move(faults)), logger_(logger) {}

  void see(const thunder::Snapshot& snapshot) {
    if (snapshot.lost_references > lost_streams_) {
      RCLCPP_WARN(logger_, "the stream of references has ended: the arm comes to rest, and is held");
    }
    lost_streams_ = snapshot.lost_references;
    if (!snapshot.is_active || snapshot.activation == begun_) return;
    begun_ = snapshot.activation;
    const Parameters parameters = listener_->get_params();
    if (!parameters.autostart) return;
    try {
      session_->trace(figure_of(parameters, session_->configuration().is_cartesian()));
    } catch (const std::exception& error) {
      faults_->refuse(error);
      RCLCPP_WARN(logger_, "%s", error.what());
    }
  }

 private:
  std::shared_ptr<thunder::ControlSession> session_;
  Listener listener_;
  std::shared_ptr<Faults> faults_;
  rclcpp::Logger logger_;
  std::uint64_t begun_ = 0;         ///< the last activation that was seen
  std::uint64_t lost_streams_ = 0;  ///< how many were seen to end
};

}  // namespace

Wiring::Wiring(const Node& node, const Listener& listener, const thunder::Options& options) {
  const Parameters parameters = listener->get_params();
  const thunder::Configuration configuration = configuration_of(parameters);
  const thunder::NamedValues estimates = first_estimates(parameters, configuration);
  parameters_ = std::make_unique<LiveParameters>(node->get_node_parameters_interface(), configuration.law_data());
  session_ = std::make_shared<thunder::ControlSession>(configuration, options,
                                                       parameters_->gains(), estimates);
  parameters_->connect(session_, listener);
  inputs_ = open_inputs(*node, session_, listener, faults_);
  excitation_ = std::make_shared<thunder::Excitation>(configuration);
  tracking_ = std::make_shared<thunder::TrackingError>(configuration);
  tracking_error_limit_ = parameters.tracking_error_limit;
  period_ = options.nominal_dt;
  const auto outputs = std::make_shared<Outputs>(*node, configuration, parameters.base_frame);
  const std::chrono::duration<double> period(1.0 / parameters.publish_rate);
  const auto watch = std::make_shared<Watch>(session_, listener, faults_, node->get_logger());
  publishing_ = node->create_wall_timer(
      period, [session = session_, excitation = excitation_, tracking = tracking_, outputs, watch] {
        const thunder::Snapshot snapshot = session->snapshot();
        outputs->publish(snapshot);
        excitation->add(snapshot);
        tracking->add(snapshot);
        watch->see(snapshot);
      });
}

DiagnosticsBoard::Source Wiring::diagnostics() const {
  return [session = session_, excitation = excitation_, tracking = tracking_, limit = tracking_error_limit_,
          period = period_, faults = faults_](thunder::Condition& condition) {
    condition.snapshot = session->snapshot();
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
