// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <std_srvs/srv/set_bool.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <trajectory_msgs/msg/joint_trajectory.hpp>
#include <trajectory_msgs/msg/multi_dof_joint_trajectory.hpp>

#include "messages.hpp"
#include "thunder/host/law/estimates_file.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/reference/reading.hpp"

namespace thunder_controllers {
namespace {

using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::WrenchStamped;
using rclcpp_lifecycle::LifecycleNode;
using std_srvs::srv::SetBool;
using std_srvs::srv::Trigger;
using trajectory_msgs::msg::JointTrajectory;
using trajectory_msgs::msg::JointTrajectoryPoint;
using trajectory_msgs::msg::MultiDOFJointTrajectory;
using trajectory_msgs::msg::MultiDOFJointTrajectoryPoint;
using SessionPtr = std::shared_ptr<thunder::ControlSession>;
using Handles = std::vector<std::shared_ptr<void>>;

/// References: in order, ten deep, so that a hiccup of some milliseconds loses nothing.
const rclcpp::QoS kStream = rclcpp::QoS(rclcpp::KeepLast(10)).reliable().durability_volatile();
/// Targets and trajectories: only the newest counts.
const rclcpp::QoS kRequest = rclcpp::QoS(rclcpp::KeepLast(1)).reliable().durability_volatile();

/// What a sensor tells at its own rate, lost samples and all.
const rclcpp::QoS kSensor = rclcpp::QoS(rclcpp::KeepLast(1)).best_effort().durability_volatile();

constexpr int kWarnPeriod = 1000;  // [ms]

/// The time of a streamed point: the stamp that it is due at [ns]; zero: at once.
template <class Point>
std::int64_t stamp(const Point& point) {
  return rclcpp::Duration(point.time_from_start).nanoseconds();
}

// --- references ------------------------------------------------------------------------------------------------------

/// Subscribes, and counts what is refused.
class Subscriber {
 public:
  Subscriber(LifecycleNode& node, const std::shared_ptr<Faults>& faults) : node_(node), faults_(faults) {}

  template <class Message, class Use>
  void subscribe(const char* topic, const rclcpp::QoS& qos, Use use) {
    const auto callback = [use, faults = faults_, logger = node_.get_logger(),
                           clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME)](const Message& message) {
      try {
        use(message);
      } catch (const std::exception& error) {
        faults->refuse(error);
        RCLCPP_WARN_THROTTLE(logger, *clock, kWarnPeriod, "%s", error.what());
      }
    };
    handles.push_back(node_.create_subscription<Message>(topic, qos, callback));
  }

  rclcpp::Logger logger() const { return node_.get_logger(); }

  Handles handles;

 private:
  LifecycleNode& node_;
  std::shared_ptr<Faults> faults_;
};

void follow_joints(Subscriber& node, const SessionPtr& session, const thunder::ReferenceReader& reader) {
  node.subscribe<JointTrajectoryPoint>("~/joint_reference", kStream, [=](const JointTrajectoryPoint& message) {
    session->stream(reader.sample(joint_point(message)), stamp(message));
  });
  node.subscribe<JointTrajectory>("~/joint_trajectory", kRequest, [=](const JointTrajectory& message) {
    session->follow(reader.joints(message.joint_names, each(message.points, joint_point)));
  });
}

void follow_poses(Subscriber& node, const SessionPtr& session, const thunder::ReferenceReader& reader,
                  const std::shared_ptr<const PoseReader>& poses) {
  node.subscribe<MultiDOFJointTrajectoryPoint>("~/reference", kStream, [=](const MultiDOFJointTrajectoryPoint& message) {
    session->stream(reader.sample(pose_point(message)), stamp(message));
  });
  node.subscribe<PoseStamped>("~/target_pose", kRequest, [=, logger = node.logger()](const PoseStamped& message) {
    const thunder::PoseTarget target = poses->target(message);
    const thunder::PoseWay way = session->move_to_pose(target.position.data(), target.orientation.data());
    if (!way.is_straight || way.pace > 1.0) RCLCPP_INFO(logger, "the arm moves %s", to_string(way).c_str());
  });
  node.subscribe<MultiDOFJointTrajectory>("~/trajectory", kRequest, [=](const MultiDOFJointTrajectory& message) {
    session->follow(poses->poses(message));
  });
}

thunder::TwistNumbers wrench(const WrenchStamped& message) { return pair(message.wrench.force, message.wrench.torque); }

void follow_wrenches(Subscriber& node, const SessionPtr& session, const thunder::ReferenceReader& reader) {
  const thunder_law& law = session->configuration().law_data();
  if (thunder::entry_if_any(law.reference, "wrench")) {
    node.subscribe<WrenchStamped>("~/reference_wrench", kRequest, [=](const WrenchStamped& message) {
      const auto wanted = reader.wrench(message.header.frame_id, wrench(message), "reference_wrench");
      session->set_further_reference("wrench", wanted);
    });
  }
  if (thunder::entry_if_any(law.measurements, "wrench")) {
    node.subscribe<WrenchStamped>("~/measured_wrench", kRequest, [=](const WrenchStamped& message) {
      session->set_measurement("wrench", reader.wrench(message.header.frame_id, wrench(message), "measured_wrench"));
    });
  }
}

void follow_positions(Subscriber& node, const SessionPtr& session, const thunder::ReferenceReader& reader) {
  if (!thunder::entry_if_any(session->configuration().law_data().measurements, "ee_position")) return;
  node.subscribe<PoseStamped>("~/measured_pose", kSensor, [=](const PoseStamped& message) {
    const thunder::PoseNumbers given = pose(message.pose.position, message.pose.orientation);
    const auto position = reader.position(message.header.frame_id, given, "measured_pose");
    session->set_measurement("ee_position", position, rclcpp::Time(message.header.stamp).nanoseconds());
  });
}

// --- services --------------------------------------------------------------------------------------------------------

/// A service that does something, and answers with the text that this returns, or with the reason why it failed.
template <class Service, class Action>
std::shared_ptr<void> offer(LifecycleNode& node, const char* name, Action action) {
  const auto callback = [action](const std::shared_ptr<typename Service::Request> request,
                                 std::shared_ptr<typename Service::Response> response) {
    try {
      response->message = action(*request);
      response->success = true;
    } catch (const std::exception& error) {
      response->message = error.what();
      response->success = false;
    }
  };
  return node.create_service<Service>(name, callback);
}

Handles offer_services(LifecycleNode& node, const SessionPtr& session, const Listener& listener) {
  const std::string name = node.get_fully_qualified_name();
  return {
      offer<SetBool>(node, "~/freeze_adaptation", [session](const SetBool::Request& request) {
        session->freeze_adaptation(request.data);
        return request.data ? "estimates are kept" : "estimates adapt";
      }),
      offer<Trigger>(node, "~/reset_estimates", [session](const Trigger::Request&) {
        session->reset_estimates();
        return "estimates are the first ones again";
      }),
      offer<Trigger>(node, "~/save_estimates", [session, listener, name](const Trigger::Request&) {
        const auto path = estimates_path(listener->get_params(), session->configuration(), name);
        thunder::save_estimates(path, session->configuration(), session->snapshot().state);
        return path.string();
      }),
      offer<Trigger>(node, "~/start", [session, listener](const Trigger::Request&) {
        session->trace(figure_of(listener->get_params(), session->configuration().is_cartesian()));
        return "started";
      }),
      offer<Trigger>(node, "~/stop", [session](const Trigger::Request&) {
        session->stop_motion();
        return "coming to rest";
      }),
  };
}

}  // namespace

Handles open_inputs(LifecycleNode& node, const SessionPtr& session, const Listener& listener,
                    const std::shared_ptr<Faults>& faults, const std::shared_ptr<const PoseReader>& poses) {
  const Parameters parameters = listener->get_params();
  const thunder::Configuration& configuration = session->configuration();
  const thunder::ReferenceReader reader(configuration, {parameters.base_frame, parameters.ee_frame});
  Subscriber subscriber(node, faults);
  if (configuration.is_cartesian()) {
    follow_poses(subscriber, session, reader, poses);
  } else {
    follow_joints(subscriber, session, reader);
  }
  follow_wrenches(subscriber, session, reader);
  follow_positions(subscriber, session, reader);
  Handles handles = offer_services(node, session, listener);
  handles.insert(handles.end(), subscriber.handles.begin(), subscriber.handles.end());
  return handles;
}

}  // namespace thunder_controllers
