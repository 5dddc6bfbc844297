"""Arguments that panda_adaptive.launch.py and robot_adaptive.launch.py have in common."""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

SHARE = get_package_share_directory("thunder_controllers")
ARGUMENTS = [
    DeclareLaunchArgument(
        "law",
        default_value="cartesian_backstepping:profile=topics",
        description="Law to run, NAME[:option=a+b].",
    ),
    DeclareLaunchArgument(
        "adapted_links",
        default_value="",
        description="Links whose inertial parameters are estimated, a+b, or all; empty: the last.",
    ),
    DeclareLaunchArgument(
        "output",
        default_value="",
        description="Folder to write the library to, and to look for it in; empty: the cache.",
    ),
    DeclareLaunchArgument(
        "reference",
        default_value="auto",
        choices=[
            "auto",
            "none",
            "stream",
            "lissajous",
            "pose_to_pose",
            "excitation",
            "hold",
            "joint_lissajous",
            "joint_points",
            "joint_excitation",
            "joint_hold",
        ],
        description="auto: the controller's own figure, computed in its loop; none: whatever others ask for; stream: "
        "the reference node streams such a figure; the others: it streams that motion.",
    ),
    DeclareLaunchArgument(
        "payload",
        default_value="0",
        description="Mass at the end effector that the controller does not know of, simulation only [kg].",
    ),
    DeclareLaunchArgument(
        "gains",
        default_value="",
        description="ROS parameter file for the controller: its gains, above those of the defaults.",
    ),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes."),
    DeclareLaunchArgument(
        "mode",
        default_value="realtime",
        choices=["realtime", "lockstep"],
        description="Simulated time keeps pace with real time, or runs as fast as it can, backend mujoco only.",
    ),
    DeclareLaunchArgument(
        "autostart",
        default_value="auto",
        choices=["auto", "true", "false"],
        description="Activate the controller and start the reference; auto: in simulation, not on a real arm. Without "
        "it the plugin is configured only, and the controller of the backend mujoco is not even that.",
    ),
    DeclareLaunchArgument(
        "model", default_value="false", choices=["true", "false"], description="Publish M, C and G of the library too."
    ),
    DeclareLaunchArgument(
        "use_rqt",
        default_value="false",
        choices=["true", "false"],
        description="Open rqt with plots of estimates and error and the parameter editor.",
    ),
    DeclareLaunchArgument(
        "use_rviz", default_value="false", choices=["true", "false"], description="Show the robot in rviz2."
    ),
    DeclareLaunchArgument(
        "record",
        default_value="false",
        choices=["true", "false"],
        description="Record all topics into a bag in the working folder.",
    ),
]


def include(file):
    """Include another launch file of this package."""
    source = PythonLaunchDescriptionSource(os.path.join(SHARE, "launch", f"{file}.launch.py"))
    return IncludeLaunchDescription(source)


def generate_launch_description():
    """Declare the arguments to the file that includes this one."""
    return LaunchDescription([*ARGUMENTS, include("discovery")])
