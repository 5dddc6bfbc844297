// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/fleet.hpp"

#include <algorithm>
#include <utility>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

const std::vector<Controller*>& at_least_one(const std::vector<Controller*>& controllers) {
  if (controllers.empty()) throw HostError(ErrorKind::law, "no controller", "Fleet", "one or more");
  return controllers;
}

}  // namespace

Fleet::Fleet(std::vector<Controller*> controllers)
    : controllers_(std::move(controllers)),
      library_(at_least_one(controllers_).front()->library()),
      law_(&controllers_.front()->law()),
      lanes_(library_, *law_),
      begun_(lanes_.width()),
      items_(lanes_.width()) {
  check();
}

void Fleet::check() const {
  for (const Controller* controller : controllers_) {
    if (controller->library() == library_ && &controller->law() == law_) continue;
    throw HostError(ErrorKind::law, std::string("a controller has law ") + controller->law().name, "Fleet",
                    std::string("law ") + law_->name + " of the same library for all");
  }
}

void Fleet::update(double t, Rows q, Rows qd, double dt, RowsOut<double> effort, RowsOut<GuardBits> guards) {
  check();
  for (std::size_t first = 0; first < controllers_.size(); first += lanes_.width()) {
    const std::size_t count = std::min(lanes_.width(), controllers_.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      Controller& controller = *controllers_[first + i];
      begun_[i] = controller.begin_update(t, q.data + (first + i) * q.stride, qd.data + (first + i) * qd.stride, dt);
      items_[i] = {&controller.runner(), begun_[i].steps ? &begun_[i].inputs : nullptr, false};
    }
    lanes_.step(items_.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      guards.data[(first + i) * guards.stride] = controllers_[first + i]->end_update(
          begun_[i], items_[i].stepped, effort.data + (first + i) * effort.stride);
    }
  }
}

}  // namespace thunder
