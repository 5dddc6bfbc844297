// SPDX-License-Identifier: Apache-2.0
//
// What the plugin publishes of the snapshots of a run: plugin_outputs LIBRARY, the snapshots on the standard input.
//
// A snapshot is a line: stamp [ns], then position, velocity, effort, state, telemetry and reference, each its size before
// its values. A message is a line of YAML, as recorded_ros/rclcpp_lifecycle/lifecycle_node.hpp writes it.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "check.hpp"
#include "outputs.hpp"
#include "thunder/host/law/configuration.hpp"

namespace {

/// The next values of the standard input; `strtod`, because streams do not read NaN.
std::vector<double> read_values() {
  std::size_t size = 0;
  CHECK(std::cin >> size);
  std::vector<double> values(size);
  for (double& value : values) {
    std::string word;
    CHECK(std::cin >> word);
    value = std::strtod(word.c_str(), nullptr);
  }
  return values;
}

}  // namespace

int main(int count, char** arguments) {
  CHECK(count == 2);
  const auto configuration = thunder::make_configuration(thunder::Library::load(arguments[1]), "", "", {});
  rclcpp_lifecycle::LifecycleNode node;
  thunder_controllers::Outputs outputs(node, configuration, "base");
  thunder::Snapshot snapshot;
  snapshot.is_active = true;
  while (std::cin >> snapshot.stamp) {
    for (auto* values : {&snapshot.q, &snapshot.qd, &snapshot.effort, &snapshot.state, &snapshot.telemetry,
                         &snapshot.reference}) {
      *values = read_values();
    }
    outputs.publish(snapshot);
  }
}
