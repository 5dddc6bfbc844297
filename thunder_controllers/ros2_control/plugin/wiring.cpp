// SPDX-License-Identifier: Apache-2.0
#include "wiring.hpp"

#include <chrono>

namespace thunder_controllers {

Wiring::Wiring(const Node& node, const Listener& listener, unsigned int update_rate) {
  const Parameters parameters = listener->get_params();
  const thunder::Configuration configuration = configuration_of(parameters);
  const thunder::NamedValues estimates = first_estimates(parameters, configuration);
  parameters_ = std::make_unique<LiveParameters>(node->get_node_parameters_interface(), configuration.law_data());
  session_ = std::make_shared<thunder::ControlSession>(configuration, options_of(parameters, update_rate),
                                                       parameters_->gains(), estimates);
  parameters_->connect(session_, listener);
  inputs_ = open_inputs(*node, session_, listener, faults_);
  excitation_ = std::make_shared<thunder::Excitation>(configuration);
  const auto outputs = std::make_shared<Outputs>(*node, configuration, parameters.base_frame);
  const std::chrono::duration<double> period(1.0 / parameters.publish_rate);
  publishing_ = node->create_wall_timer(period, [session = session_, excitation = excitation_, outputs] {
    const thunder::Snapshot snapshot = session->snapshot();
    outputs->publish(snapshot);
    excitation->add(snapshot);
  });
}

DiagnosticsBoard::Source Wiring::diagnostics() const {
  return [session = session_, excitation = excitation_, faults = faults_](thunder::Condition& condition) {
    condition.snapshot = session->snapshot();
    condition.excitation = excitation->report();
    condition.counters = {{"references refused", faults->refused_references},
                          {"states not readable", faults->unreadable_states},
                          {"commands not taken", faults->refused_commands}};
    condition.extra = {{"last refused reference", faults->last_refusal}};
  };
}

}  // namespace thunder_controllers
