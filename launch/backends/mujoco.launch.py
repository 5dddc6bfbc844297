"""MuJoCo and the controller of its arm, in one process, in real time or in lock-step.

Included by panda_adaptive.launch.py and robot_adaptive.launch.py, whose arguments it reads. `urdf` is the robot,
`parameter_files` are ROS parameter files of the nodes, separated by colons.
"""

import os

from launch import LaunchDescription
from launch.actions import OpaqueFunction, Shutdown
from launch_ros.actions import Node

from thunder_controllers.package_uri import resolve_file


def launch_setup(context):
    """Start the simulation, without gravity compensation; its controller comes up as soon as there is a library."""
    given = context.launch_configurations
    files = [file for file in given["parameter_files"].split(os.pathsep) if file]
    files += [str(resolve_file(given["gains"]))] if given["gains"] else []
    payload, starts = float(given["payload"]), given["autostart"] == "true"
    plant = {"urdf": given["urdf"], "ee_link": given["ee_link"], "mode": given["mode"], "gravity_compensation": False}
    plant |= {"payload.attached": True, "payload.mass": payload} if payload > 0.0 else {"payload.attached": False}
    control = {"law": given["law"].partition(":")[0], "gravity_compensated_by_robot": False, "bringup": starts}
    control["autostart"] = starts and given["reference"] == "auto"
    if given["estimates_file"]:
        control["estimates_file"] = str(resolve_file(given["estimates_file"]))
    if given["output"]:
        control["library_folders"] = [given["output"]]
    simulation = Node(
        package="thunder_controllers",
        executable="simulation",  # two nodes: it is given no name
        namespace=given["namespace"],
        parameters=[*files, plant, control],
        output="screen",
        on_exit=Shutdown(),
    )
    return [simulation]


def generate_launch_description():
    """Describe the backend to the file that includes it."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
