// SPDX-License-Identifier: Apache-2.0
//
// What the plugin's outputs use of rclcpp, for machines without it: publishers that write what they are given to the
// standard output, a line of YAML for each message. The messages are those of ROS.
#pragma once

#include <builtin_interfaces/msg/time.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace rclcpp {

struct KeepLast {
  explicit KeepLast(std::size_t given) : depth(given) {}
  std::size_t depth;
};

class QoS {
 public:
  explicit QoS(KeepLast history) : depth_(history.depth) {}
  QoS& reliable() { return *this; }
  QoS& durability_volatile() { return *this; }
  QoS& transient_local() {
    is_latched_ = true;
    return *this;
  }
  std::size_t depth() const { return depth_; }
  bool is_latched() const { return is_latched_; }

 private:
  std::size_t depth_;
  bool is_latched_ = false;
};

class Time {
 public:
  explicit Time(std::int64_t nanoseconds = 0) : nanoseconds_(nanoseconds) {}
  operator builtin_interfaces::msg::Time() const {
    builtin_interfaces::msg::Time stamp;
    stamp.sec = static_cast<std::int32_t>(nanoseconds_ / 1000000000);
    stamp.nanosec = static_cast<std::uint32_t>(nanoseconds_ % 1000000000);
    return stamp;
  }

 private:
  std::int64_t nanoseconds_;
};

struct Clock {
  using SharedPtr = std::shared_ptr<Clock>;
  Time now() const { return Time(); }
};

template <class Message>
class Publisher {
 public:
  using SharedPtr = std::shared_ptr<Publisher>;
  Publisher(std::string topic, const QoS& qos) : topic_(std::move(topic)), qos_(qos) {}
  void publish(const Message& message) const {
    std::printf("{topic: \"%s\", depth: %zu, latched: %s, message: %s}\n", topic_.c_str(), qos_.depth(),
                qos_.is_latched() ? "true" : "false", to_yaml(message, true).c_str());
  }

 private:
  std::string topic_;
  QoS qos_;
};

template <class Message, class Node>
typename Publisher<Message>::SharedPtr create_publisher(Node&, const std::string& topic, const QoS& qos) {
  return std::make_shared<Publisher<Message>>(topic, qos);
}

}  // namespace rclcpp

namespace rclcpp_lifecycle {

class LifecycleNode {
 public:
  struct State {
    std::string label() const { return "active"; }
  };
  rclcpp::Clock::SharedPtr get_clock() const { return std::make_shared<rclcpp::Clock>(); }
  rclcpp::Time now() const { return rclcpp::Time(); }
  State get_current_state() const { return {}; }
  const char* get_fully_qualified_name() const { return "/adaptive_controller"; }
};

}  // namespace rclcpp_lifecycle
