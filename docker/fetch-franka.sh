#!/usr/bin/env bash
# Puts the sources of what drives a Franka into src/, each at a tag, without the packages of franka_ros2 that are not for
# driving an arm: their dependencies (MoveIt, Gazebo, cameras) would come along.
#
#   fetch-franka.sh LIBFRANKA FRANKA_DESCRIPTION FRANKA_ROS2
set -euo pipefail

fetch() {
    git clone --quiet --depth 1 --recurse-submodules --shallow-submodules --branch "$2" \
        "https://github.com/frankarobotics/$1.git" "src/$1"
}

fetch libfranka "$1"
fetch franka_description "$2"
fetch franka_ros2 "$3"

needed="franka_hardware franka_msgs franka_robot_state_broadcaster franka_semantic_components"
for folder in src/franka_ros2/*/; do
    name=$(basename "$folder")
    [[ " $needed " == *" $name "* ]] || rm -rf "$folder"
done
