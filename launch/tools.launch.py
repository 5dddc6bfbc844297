"""What goes beside a controller where it is asked for: a stream of references, the model's matrices, rqt, rviz2, a bag.

Included by panda_adaptive.launch.py and robot_adaptive.launch.py, whose arguments it reads. `urdf` is the description
to publish for rviz2; empty: somebody publishes one already. `joint_states` is the topic of the states,
`parameter_files` are ROS parameter files of the nodes, separated by colons.
"""

import os
import sys

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import ExecuteProcess, OpaqueFunction, Shutdown
from launch.substitutions import Command
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from thunder_controllers.package_uri import resolve_file


def launch_setup(context):
    """Start what is asked for; windows may be closed while the system goes on."""
    given = context.launch_configurations
    config = os.path.join(get_package_share_directory("thunder_controllers"), "config")
    library = {"library_folders": [given["output"]]} if given["output"] else {}
    common = {"use_sim_time": given.get("backend") == "gazebo"} | library
    tools = []
    if given["reference"] not in ("auto", "none"):
        motion = {"type": given["reference"].replace("stream", "auto"), "law": given["law"].partition(":")[0]}
        files = [file for file in given["parameter_files"].split(os.pathsep) if file]
        reference = Node(
            package="thunder_controllers",
            executable="reference",
            name="thunder_reference",
            namespace=given["namespace"],
            parameters=[*files, {**motion, "autostart": given["autostart"] == "true"}, common],
            remappings=[("joint_states", given["joint_states"])],
            output="screen",
        )
        tools.append(reference)
    if given["model"] == "true":
        model = Node(
            package="thunder_controllers",
            executable="model",
            name="thunder_model",
            namespace=given["namespace"],
            parameters=[common],
            remappings=[("joint_states", given["joint_states"])],
            output="screen",
            on_exit=Shutdown(),
        )
        tools.append(model)
    if given["use_rqt"] == "true":
        words = ["-m", "thunder_controllers.ros.tools.rqt", "--namespace", given["namespace"]]
        tools.append(ExecuteProcess(cmd=[sys.executable, *words], name="rqt", output="screen"))
    if given["use_rviz"] == "true":
        if given["urdf"]:
            description = Command(["xacro ", str(resolve_file(given["urdf"]))])
            robot_state_publisher = Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                namespace=given["namespace"],
                parameters=[{"robot_description": ParameterValue(description, value_type=str)}],
                output="screen",
            )
            tools.append(robot_state_publisher)
        rviz = ["rviz2", "-d", os.path.join(config, "rviz", "thunder.rviz")]
        tools.append(ExecuteProcess(cmd=rviz, output="screen"))
    if given["record"] == "true":
        tools.append(ExecuteProcess(cmd=["ros2", "bag", "record", "--all"], output="screen"))
    return tools


def generate_launch_description():
    """Describe the tools to the file that includes this one."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
