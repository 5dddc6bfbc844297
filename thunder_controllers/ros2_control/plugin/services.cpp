// SPDX-License-Identifier: Apache-2.0
#include "services.hpp"

#include <std_srvs/srv/set_bool.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <utility>

#include "estimates_file.hpp"

namespace thunder_controllers {
namespace {

using std_srvs::srv::SetBool;
using std_srvs::srv::Trigger;

/// Do it, and answer with the text that it returns, or with the reason why it failed.
template <class Response, class Action>
void answer(Response& response, Action action) {
  try {
    response.message = action();
    response.success = true;
  } catch (const std::exception& error) {
    response.message = error.what();
    response.success = false;
  }
}

}  // namespace

template <class Action>
void Services::offer_trigger(rclcpp_lifecycle::LifecycleNode& node, const char* name, Action action) {
  const auto callback = [action](const std::shared_ptr<Trigger::Request>, std::shared_ptr<Trigger::Response> response) {
    answer(*response, action);
  };
  services_.push_back(node.create_service<Trigger>(name, callback));
}

Services::Services(rclcpp_lifecycle::LifecycleNode& node, std::shared_ptr<ControlCore> core, const Read& read) {
  const auto freeze = [core](const std::shared_ptr<SetBool::Request> request,
                             std::shared_ptr<SetBool::Response> response) {
    answer(*response, [&] {
      core->freeze_adaptation(request->data);
      return request->data ? "estimates are kept" : "estimates adapt";
    });
  };
  services_.push_back(node.create_service<SetBool>("~/freeze_adaptation", freeze));
  offer_trigger(node, "~/reset_estimates", [core] {
    core->reset_estimates();
    return "estimates are the first ones again";
  });
  offer_trigger(node, "~/save_estimates", [core, read] {
    const auto path = estimates_path(read(), core->configuration());
    save_estimates(path, core->configuration(), core->snapshot().state);
    return path.string();
  });
  offer_trigger(node, "~/stop", [core, read] {
    core->stop(motion_limits(read()));
    return "coming to rest";
  });
}

}  // namespace thunder_controllers
