// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "estimates_file.hpp"

namespace thunder_controllers {

Session::Session(const Node& node, const Configuration& configuration)
    : gains_(std::make_unique<GainParameters>(node->get_node_parameters_interface(), configuration.law_data())),
      outputs_(*node, configuration),
      excitation_(configuration) {}

std::shared_ptr<Session> Session::open(const Node& node, const Listener& listener, unsigned int update_rate) {
  const Parameters parameters = listener->get_params();
  const Configuration configuration = make_configuration(parameters, update_rate);
  thunder::NamedValues estimates;
  if (!parameters.estimates_file.empty()) {
    estimates = load_estimates(resolve_path(parameters.estimates_file), configuration);
  }
  const std::shared_ptr<Session> session(new Session(node, configuration));
  session->core_ = std::make_shared<ControlCore>(configuration, session->gains_->values(), estimates,
                                                 motion_limits(parameters));
  session->self_ = session;
  session->connect(node, listener);
  return session;
}

namespace {

constexpr const char* kPathPrefix = "path.";

/// Give the host the bounds of motions whenever one of their parameters has changed.
auto on_change(std::shared_ptr<ControlCore> core, Session::Listener listener) {
  return [core = std::move(core), listener = std::move(listener)](const std::vector<rclcpp::Parameter>& changed) {
    const bool is_bound = std::any_of(changed.begin(), changed.end(), [](const rclcpp::Parameter& parameter) {
      return parameter.get_name().rfind(kPathPrefix, 0) == 0;
    });
    if (is_bound) core->set_motion_limits(motion_limits(listener->get_params()));
  };
}

}  // namespace

void Session::connect(const Node& node, const Listener& listener) {
  gains_->connect(core_);
  bounds_ = node->add_post_set_parameters_callback(on_change(core_, listener));
  inputs_ = std::make_unique<Inputs>(*node, core_, [listener] { return motion_limits(listener->get_params()); });
  services_ = std::make_unique<Services>(*node, core_, [listener] { return listener->get_params(); });
  const std::chrono::duration<double> period(1.0 / listener->get_params().publish_rate);
  publishing_ = node->create_wall_timer(period, [self = self_] {
    if (const auto session = self.lock()) session->publish();
  });
}

void Session::close() {
  publishing_->cancel();
  services_.reset();
  inputs_.reset();
  bounds_.reset();
  gains_.reset();
}

void Session::publish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_active = core_->is_active();
  const Snapshot snapshot = core_->snapshot();
  // Right after activation the last step is still one of the activation before, or none.
  const bool has_step = is_active && snapshot.step_times.count() > 0;
  outputs_.publish(snapshot, has_step);
  if (has_step) excitation_.add(snapshot);
}

void Session::describe(Health& health) {
  const std::lock_guard<std::mutex> lock(mutex_);
  health.snapshot = core_->snapshot();
  health.is_frozen = core_->is_frozen();
  health.excitation = excitation_.report();
  health.refused_references = inputs_->refusals().count();
  health.last_refusal = inputs_->refusals().last();
}

DiagnosticsBoard::DiagnosticsBoard(const Session::Node& node) : node_(node), publisher_(*node) {}

void DiagnosticsBoard::set_session(std::shared_ptr<Session> session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  session_.swap(session);
}

void DiagnosticsBoard::set_message(const std::string& message) {
  const std::lock_guard<realtime_tools::prio_inherit_mutex> lock(message_mutex_);
  message_ = message;
}

std::string DiagnosticsBoard::message() {
  const std::lock_guard<realtime_tools::prio_inherit_mutex> lock(message_mutex_);
  return message_;
}

void DiagnosticsBoard::publish() {
  const auto node = node_.lock();
  if (!node) return;
  Health health;
  health.state = node->get_current_state().label();
  health.message = message();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (session_) session_->describe(health);
  publisher_.publish(health);
}

}  // namespace thunder_controllers
