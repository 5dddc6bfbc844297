"""The simulation node: MuJoCo over topics, in real time or in lock-step, with the Python node as its controller.

Included by panda_adaptive.launch.py and robot_adaptive.launch.py, whose arguments it reads. `urdf` is the robot,
`parameter_files` are ROS parameter files of the nodes, separated by colons.
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, OpaqueFunction, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

from thunder_controllers.package_uri import resolve_file

SHARE = get_package_share_directory("thunder_controllers")


def launch_setup(context):
    """Start the simulation, without gravity compensation, and what controls it."""
    given = context.launch_configurations
    files = [file for file in given["parameter_files"].split(os.pathsep) if file]
    if given["mode"] == "lockstep":
        files.append(os.path.join(SHARE, "config", "ros", "lockstep.yaml"))
    gains = [str(resolve_file(given["gains"]))] if given["gains"] else []
    payload = float(given["payload"])
    simulation = Node(
        package="thunder_controllers",
        executable="simulation",
        name="mujoco_simulation",
        namespace=given["namespace"],
        parameters=[
            *files,
            *gains,
            {"urdf": given["urdf"], "ee_link": given["ee_link"], "mode": given["mode"]},
            {"gravity_compensation": False},
            {"payload.attached": True, "payload.mass": payload} if payload > 0.0 else {"payload.attached": False},
        ],
        output="screen",
        on_exit=Shutdown(),
    )
    node = PythonLaunchDescriptionSource(os.path.join(SHARE, "launch", "controllers", "node.launch.py"))
    return [
        simulation,
        IncludeLaunchDescription(node, launch_arguments={"parameter_files": os.pathsep.join(files)}.items()),
    ]


def generate_launch_description():
    """Describe the backend to the file that includes it."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
