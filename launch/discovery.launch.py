"""Who finds the nodes of a system: its launch files include this one."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable

from thunder_controllers.ros.tools.discovery import discovery_environment


def set_discovery(context):
    """Set it for all processes that start from now on."""
    chosen = discovery_environment(context.launch_configurations["discovery"], context.environment)
    return [SetEnvironmentVariable(name, value) for name, value in chosen.items()]


def generate_launch_description():
    """Declare the argument to the file that includes this one, and act on it."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "discovery",
                default_value="auto",
                choices=["auto", "localhost", "subnet"],
                description="Who takes part: this machine, or all on its network; auto: what "
                "ROS_AUTOMATIC_DISCOVERY_RANGE says, this machine where that is not set.",
            ),
            OpaqueFunction(function=set_discovery),
        ]
    )
