"""Any adaptive robot in simulation, from its URDF.

ros2 launch thunder_controllers robot_adaptive.launch.py robot:=/path/to/my_robot.urdf ee_link:=tool0
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource

from thunder_controllers.ros.tools.launch_arguments import check_arguments

SHARE = get_package_share_directory("thunder_controllers")
ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="", description="URDF or xacro: path or package:// URI."),
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
        "estimates_file", default_value="", description="Estimates to start from; empty: those of the robot file."
    ),
]


def include(file, **arguments):
    """Include another launch file of this package."""
    source = PythonLaunchDescriptionSource(os.path.join(SHARE, "launch", f"{file}.launch.py"))
    return IncludeLaunchDescription(source, launch_arguments=arguments.items())


def launch_setup(context):
    """Start simulation and controller, the generator whose library they wait for, and what goes beside them."""
    given = context.launch_configurations
    check_arguments(given)
    autostart = "false" if given["autostart"] == "false" else "true"
    return [
        include("generator"),
        include(
            "backends/mujoco",
            backend="mujoco",
            urdf=given["robot"],
            parameter_files="",
            autostart=autostart,
        ),
        include("tools", urdf=given["robot"], joint_states="joint_states", parameter_files="", autostart=autostart),
    ]


def generate_launch_description():
    """Describe the system to `ros2 launch`."""
    return LaunchDescription([*ARGUMENTS, include("arguments"), OpaqueFunction(function=launch_setup)])
