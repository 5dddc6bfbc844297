"""A real arm: franka_ros2's hardware, started here, or by someone else where no `robot_ip` is given.

Included by panda_adaptive.launch.py, whose arguments it reads.
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, OpaqueFunction, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = get_package_share_directory("thunder_controllers")
CONFIG = os.path.join(SHARE, "config", "ros2_control", "panda_franka.yaml")


def spawner(controller, ros_arguments, namespace):
    """Describe a run of controller_manager's spawner, which ends once the controller is active."""
    return Node(
        package="controller_manager",
        executable="spawner",
        namespace=namespace,
        # In one word: a `-p` that stands alone is the spawner's own.
        arguments=[controller, "--controller-manager-timeout", "120", f"--controller-ros-args={ros_arguments}"],
        output="screen",
        on_exit=lambda event, _: Shutdown() if event.returncode else None,
    )


def robot(given):
    """Describe the nodes that make up the robot."""
    namespace, arm = given["namespace"], given["arm_id"]
    xacro = f"xacro {os.path.join(SHARE, 'urdf', 'franka_arm.urdf.xacro')} robot_type:={arm} hand:=false"
    description = f"{xacro} robot_ip:={given['robot_ip']}"
    if given["load"]:
        mass, *com = given["load"].split("+")
        description += f" load_mass:={mass} load_com:='{' '.join(com)}'"
    robot_state_publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[{"robot_description": ParameterValue(Command(description), value_type=str)}],
        remappings=[("joint_states", given["joint_states"])],
        output="screen",
        on_exit=Shutdown(),
    )
    controller_manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        namespace=namespace,
        parameters=[CONFIG],
        output="screen",
        on_exit=Shutdown(),
    )
    return [
        robot_state_publisher,
        controller_manager,
        # joint_states is what franka_bringup merges for arm and gripper at a low rate; these come at the full one.
        spawner("joint_state_broadcaster", f"-r joint_states:={given['joint_states']}", namespace),
        spawner("franka_robot_state_broadcaster", f"-p robot_type:={arm}", namespace),
    ]


def launch_setup(context):
    """Start the robot if it has an address; the controller comes as soon as there is its library."""
    given = context.launch_configurations
    source = os.path.join(SHARE, "launch", "controllers", "plugin.launch.py")
    controller = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(source), launch_arguments={"control_config": CONFIG}.items()
    )
    return [*(robot(given) if given["robot_ip"] else []), controller]


def generate_launch_description():
    """Describe the backend to the file that includes it."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
