"""The generator alone: builds a library and says where it is.

ros2 launch thunder_controllers generator.launch.py robot:=/path/to/my_robot.urdf law:=slotine_li
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

SHARE = get_package_share_directory("thunder_controllers")
ARGUMENTS = [
    DeclareLaunchArgument(
        "robot",
        default_value="",
        description="YAML, URDF or xacro: path or package:// URI; empty: the topic robot_description.",
    ),
    DeclareLaunchArgument(
        "name",
        default_value="",
        description="Name of the robot, a C identifier; empty: the file's or the description's.",
    ),
    DeclareLaunchArgument(
        "base_link", default_value="", description="Link of a URDF that is the base; empty: its root."
    ),
    DeclareLaunchArgument(
        "ee_link", default_value="", description="Link of a URDF that is the end effector; empty: its only leaf."
    ),
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
    DeclareLaunchArgument("output", default_value="", description="Folder to write to; empty: the cache."),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node."),
]


def include(file):
    """Include another launch file of this package."""
    source = PythonLaunchDescriptionSource(os.path.join(SHARE, "launch", f"{file}.launch.py"))
    return IncludeLaunchDescription(source)


def launch_setup(context):
    """Start the generator; a list that is empty has no type in ROS, so it is left out."""
    given = context.launch_configurations
    texts = {name: given[name] for name in ("robot", "name", "base_link", "ee_link", "output")}
    links = [link for link in given["adapted_links"].split("+") if link]
    node = Node(
        package="thunder_controllers",
        executable="generator",
        name="thunder_generator",
        namespace=given["namespace"],
        parameters=[{**texts, "laws": [given["law"]], **({"adapted_links": links} if links else {})}],
        output="screen",
        on_exit=Shutdown(),
    )
    return [node]


def generate_launch_description():
    """Describe the system to `ros2 launch`."""
    return LaunchDescription([*ARGUMENTS, include("discovery"), OpaqueFunction(function=launch_setup)])
