"""The Python node as controller: over topics with the simulation, over a forward controller with ros2_control.

Included by the backends, with the arguments of panda_adaptive.launch.py or robot_adaptive.launch.py. `parameter_files`
are ROS parameter files, separated by colons; `control_config` is that of controller_manager and its controllers.
"""

import os

from launch import LaunchDescription
from launch.actions import OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit
from launch_ros.actions import Node

from thunder_controllers.package_uri import resolve_file


def launch_setup(context):
    """Start the node; configure and activate it, if it shall start by itself."""
    given = context.launch_configurations
    franka = given["backend"] == "franka"
    files = [file for file in given["parameter_files"].split(os.pathsep) if file]
    if given["gains"]:
        files.append(str(resolve_file(given["gains"])))
    parameters = {
        "law": given["law"].partition(":")[0],
        "gravity_compensated_by_robot": franka,
        "robot_interface": "franka" if franka else "generic",
        "autostart": given["reference"] == "auto" and given["autostart"] == "true",
    }
    if given["estimates_file"]:
        parameters["estimates_file"] = str(resolve_file(given["estimates_file"]))
    if given["output"]:
        parameters["library_folders"] = [given["output"]]
    if franka:
        parameters |= {"robot": given["arm_id"], "joints": [f"{given['arm_id']}_joint{k}" for k in range(1, 8)]}
    controller = Node(
        package="thunder_controllers",
        executable="controller",
        name="adaptive_controller",
        namespace=given["namespace"],
        parameters=[*files, parameters],
        remappings=[("joint_states", given["joint_states"])],
        output="screen",
        on_exit=Shutdown(),
    )
    if given["autostart"] == "false":
        return [controller]
    if given["backend"] == "mujoco":
        return [controller, bringup(given, "active")]
    # A real arm takes settings before it moves only, and needs an active effort controller to be moved.
    joints = f"--controller-ros-args=-p joints:=[{','.join(parameters['joints'])}]" if franka else ""
    effort_controller = Node(
        package="controller_manager",
        executable="spawner",
        namespace=given["namespace"],
        arguments=[
            *("effort_controller", "--controller-manager-timeout", "120", "--switch-timeout", "20"),
            *("--param-file", given["control_config"], *([joints] if joints else [])),
        ],
        output="screen",
    )
    steps = [bringup(given, "inactive"), effort_controller, bringup(given, "active")]
    return [controller, steps[0], *(follow(step, then) for step, then in zip(steps, steps[1:], strict=False))]


def bringup(given, goal):
    """Describe a run of `bringup`, which ends once the controller is in a state."""
    return Node(
        package="thunder_controllers",
        executable="bringup",
        name="thunder_bringup",
        namespace=given["namespace"],
        parameters=[
            {"controller": "adaptive_controller", "goal": goal},
            *([{"library_folders": [given["output"]]}] if given["output"] else []),
        ],
        remappings=[("joint_states", given["joint_states"])],
        output="screen",
        on_exit=lambda event, _: Shutdown() if event.returncode else None,
    )


def follow(step, then):
    """Start a process once the one before has ended well; if that has failed, end everything."""
    started = OnProcessExit(target_action=step, on_exit=lambda event, _: then if event.returncode == 0 else Shutdown())
    return RegisterEventHandler(started)


def generate_launch_description():
    """Describe the controller to the file that includes it."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
