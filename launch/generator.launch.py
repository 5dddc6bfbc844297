"""The generator alone: builds a library and says where it is.

ros2 launch thunder_controllers generator.launch.py robot:=/path/to/my_robot.urdf law:=slotine_li
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch_ros.actions import Node

from thunder_controllers.ros.tools.discovery import discovery_environment

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
    DeclareLaunchArgument("law", default_value="cartesian_backstepping", description="Law to run, NAME[:option=a+b]."),
    DeclareLaunchArgument(
        "adapted_links",
        default_value="",
        description="Links whose inertial parameters are estimated, a+b, or all; empty: the last.",
    ),
    DeclareLaunchArgument("output", default_value="", description="Folder to write to; empty: the cache."),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node."),
    DeclareLaunchArgument(
        "discovery",
        default_value="auto",
        choices=["auto", "localhost", "subnet"],
        description="Who takes part: this machine, or all on its network; auto: what ROS_AUTOMATIC_DISCOVERY_RANGE "
        "says, this machine where that is not set.",
    ),
]


def launch_setup(context):
    """Start the generator; a list that is empty has no type in ROS, so it is left out."""
    given = context.launch_configurations
    texts = {name: given[name] for name in ("robot", "name", "base_link", "ee_link", "output")}
    links = [link for link in given["adapted_links"].split("+") if link]
    generator = Node(
        package="thunder_controllers",
        executable="generator",
        name="thunder_generator",
        namespace=given["namespace"],
        parameters=[{**texts, "laws": [given["law"]], **({"adapted_links": links} if links else {})}],
        output="screen",
        on_exit=Shutdown(),
    )
    discovery = discovery_environment(given["discovery"], context.environment)
    return [*(SetEnvironmentVariable(name, value) for name, value in discovery.items()), generator]


def generate_launch_description():
    """Describe the system to `ros2 launch`."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=launch_setup)])
