"""Arguments that panda_adaptive.launch.py and robot_adaptive.launch.py have in common."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable

from thunder_controllers.ros.tools.discovery import discovery_environment

ARGUMENTS = [
    DeclareLaunchArgument("law", default_value="cartesian_backstepping", description="Law to run, NAME[:option=a+b]."),
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
            "lissajous",
            "pose_to_pose",
            "excitation",
            "hold",
            "joint_lissajous",
            "joint_points",
            "joint_excitation",
            "joint_hold",
            "none",
        ],
        description="Motion of the reference node; auto: lissajous or joint_lissajous, as the law wants it; none: no "
        "such node.",
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
        "discovery",
        default_value="auto",
        choices=["auto", "localhost", "subnet"],
        description="Who takes part: this machine, or all on its network; auto: what ROS_AUTOMATIC_DISCOVERY_RANGE "
        "says, this machine where that is not set.",
    ),
    DeclareLaunchArgument(
        "mode",
        default_value="realtime",
        choices=["realtime", "lockstep"],
        description="Simulated time keeps pace with real time, or waits for the commands.",
    ),
    DeclareLaunchArgument(
        "autostart",
        default_value="auto",
        choices=["auto", "true", "false"],
        description="Activate the controller and start the motion; auto: in simulation, not on a real arm. Without it "
        "the plugin is configured only, and the node is not even that.",
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


def set_discovery(context):
    """Set who finds the nodes, before they start."""
    chosen = discovery_environment(context.launch_configurations["discovery"], context.environment)
    return [SetEnvironmentVariable(name, value) for name, value in chosen.items()]


def generate_launch_description():
    """Declare the arguments to the file that includes this one, and act on those that count for all processes."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=set_discovery)])
