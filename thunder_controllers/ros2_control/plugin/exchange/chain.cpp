// SPDX-License-Identifier: Apache-2.0
#include "exchange/chain.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/rotation.hpp"

namespace thunder_controllers {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kTwistSize = 6;
constexpr std::size_t kPoseSize = 7;
constexpr double kNormTolerance = 2e-3;  // of the square of a quaternion's norm

const std::array<const char*, kPoseSize> kPose = {"position.x",    "position.y",    "position.z",   "orientation.x",
                                                  "orientation.y", "orientation.z", "orientation.w"};
const std::array<const char*, kTwistSize> kTwist = {"linear.x",  "linear.y",  "linear.z",
                                                    "angular.x", "angular.y", "angular.z"};
/// In the order of about_com.
const std::array<const char*, thunder::kInertialParameters> kBody = {
    "mass",       "com.x",      "com.y",      "com.z",      "inertia.xx",
    "inertia.xy", "inertia.xz", "inertia.yy", "inertia.yz", "inertia.zz"};

hardware_interface::InterfaceDescription describe(const std::string& prefix, const std::string& name) {
  hardware_interface::InterfaceInfo info;
  info.name = name;
  info.data_type = "double";
  return {prefix, info};
}

}  // namespace

Chain::Chain(const std::string& controller, const thunder::Configuration& configuration, double keep_alive)
    : is_cartesian_(configuration.is_cartesian()),
      n_places_(is_cartesian_ ? kPoseSize : configuration.joints.size()),
      n_links_(configuration.links.size()),
      estimate_entry_(thunder::entry_if_any(configuration.law_data().state, thunder::kEstimateEntry)),
      error_entry_(thunder::entry_if_any(configuration.law_data().telemetry, "pose_error")),
      keep_alive_(keep_alive) {
  if (is_cartesian_) {
    for (const char* name : kPose) add_reference(controller + "/pose", name);
    for (const char* kind : {"/twist", "/acceleration"}) {
      for (const char* name : kTwist) add_reference(controller + kind, name);
    }
  } else {
    for (const char* kind : {"position", "velocity", "acceleration"}) {
      for (const std::string& joint : configuration.joints) add_reference(controller + "/" + joint, kind);
    }
  }
  for (const std::string& link : configuration.links) {
    for (const char* name : kBody) add_state(controller + "/" + link, name);
  }
  if (!is_cartesian_ || (error_entry_ && thunder::entry_size(*error_entry_) != kTwistSize)) error_entry_ = nullptr;
  if (error_entry_) {
    for (const char* name : kTwist) add_state(controller + "/pose_error", name);
  }
  add_state(controller + "/status", "guards");
  written_.assign(references_.size(), 0.0);
  before_ = written_;
  restart();
  sample_.assign(references_.size() + (is_cartesian_ ? 9 - 4 : 0), 0.0);  // a matrix in place of a quaternion
}

void Chain::add_reference(const std::string& prefix, const std::string& name) {
  references_.push_back(std::make_shared<hardware_interface::CommandInterface>(describe(prefix, name)));
}

void Chain::add_state(const std::string& prefix, const std::string& name) {
  states_.push_back(std::make_shared<hardware_interface::StateInterface>(describe(prefix, name)));
}

void Chain::restart() noexcept {
  for (const auto& reference : references_) static_cast<void>(reference->set_value(kNaN));
  age_ = keep_alive_;
}

const std::vector<double>* Chain::read(double dt) noexcept {
  for (std::size_t i = 0; i < references_.size(); ++i) {
    const auto value = references_[i]->get_optional<double>();
    if (!value || (i < n_places_ && std::isnan(*value))) return nullptr;
    written_[i] = std::isnan(*value) ? 0.0 : *value;
  }
  age_ += dt;
  if (written_ == before_ && age_ < keep_alive_) return nullptr;
  age_ = 0.0;
  before_ = written_;
  if (!is_cartesian_) return &written_;
  std::copy_n(written_.begin(), 3, sample_.begin());
  const thunder::Quaternion orientation = {written_[3], written_[4], written_[5], written_[6]};
  if (!(std::abs(thunder::dot(orientation, orientation) - 1.0) < kNormTolerance)) return nullptr;
  thunder::to_matrix(thunder::normalized(orientation), sample_.data() + 3);
  std::copy(written_.begin() + kPoseSize, written_.end(), sample_.begin() + 12);
  return &sample_;
}

void Chain::show(const thunder::Snapshot& snapshot) noexcept {
  auto state = states_.begin();
  const auto put = [&state](const double* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) static_cast<void>((*state++)->set_value(values[i]));
  };
  for (std::size_t i = 0; i < n_links_; ++i) {
    std::array<double, thunder::kInertialParameters> body{};
    thunder::about_com(snapshot.state.data() + estimate_entry_->offset + i * body.size(), body.data());
    put(body.data(), body.size());
  }
  if (error_entry_) put(snapshot.telemetry.data() + error_entry_->offset, kTwistSize);
  const auto guards = static_cast<double>(snapshot.guards);
  put(&guards, 1);
}

}  // namespace thunder_controllers
