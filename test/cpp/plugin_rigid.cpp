// SPDX-License-Identifier: Apache-2.0
//
// What the plugin makes of a point of a tool in a frame. The standard input holds frame, tool and point, each position and
// quaternion, then the point's twist and acceleration; the output the end effector's pose, twist and acceleration.
#include <cstdio>
#include <iostream>

#include "check.hpp"
#include "exchange/rigid.hpp"

namespace {

template <class Values>
void read(Values& values) {
  for (double& value : values) CHECK(std::cin >> value);
}

template <class Values>
void write(const Values& values) {
  for (const double value : values) std::printf("%.17g ", value);
}

}  // namespace

int main() {
  thunder_controllers::Rigid frame;
  thunder_controllers::Rigid tool;
  thunder::TimedPose point;
  for (auto* place : {&frame, &tool}) {
    read(place->translation);
    read(place->rotation);
  }
  read(point.position);
  read(point.orientation);
  read(point.twist.emplace());
  read(point.acceleration.emplace());
  const thunder::TimedPose found =
      thunder_controllers::end_effector_of(tool, thunder_controllers::placed(frame, point));
  write(found.position);
  write(found.orientation);
  write(*found.twist);
  write(*found.acceleration);
}
