"""Gazebo, which runs the controller_manager in its own process, in step with its physics.

Included by panda_adaptive.launch.py, whose arguments it reads.
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import ExecuteProcess, IncludeLaunchDescription, OpaqueFunction, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = get_package_share_directory("thunder_controllers")
PLUGINS = "GZ_SIM_SYSTEM_PLUGIN_PATH"


def launch_setup(context):
    """Start Gazebo, put the robot into it, bridge its clock; the controller comes as soon as there is its library."""
    given = context.launch_configurations
    namespace = given["namespace"]
    config = os.path.join(SHARE, "config", "ros2_control", "panda_gazebo.yaml")
    xacro = f"xacro {os.path.join(SHARE, 'urdf', 'panda.gazebo.urdf.xacro')} controllers:={config}"
    description = Command(f"{xacro} namespace:={namespace} payload_mass:={given['payload']}")
    robot_state_publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[{"robot_description": ParameterValue(description, value_type=str), "use_sim_time": True}],
        output="screen",
        on_exit=Shutdown(),
    )
    paths = [os.environ.get(PLUGINS, ""), os.environ.get("LD_LIBRARY_PATH", "")]
    server = Node(
        package="ros_gz_sim",
        executable="gzserver",
        namespace=namespace,
        parameters=[{"world_sdf_file": os.path.join(SHARE, "config", "gazebo", "panda.sdf")}],
        additional_env={PLUGINS: os.pathsep.join(path for path in paths if path)},  # for gz_ros2_control's library
        output="screen",
        on_exit=Shutdown(),
    )
    create = Node(
        package="ros_gz_sim",
        executable="create",
        namespace=namespace,
        parameters=[{"world": "thunder", "topic": "robot_description", "name": "panda"}],
        output="screen",
        on_exit=lambda event, _: Shutdown() if event.returncode else None,
    )
    clock = Node(
        package="ros_gz_bridge",
        executable="parameter_bridge",
        namespace=namespace,
        arguments=["/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"],
        output="screen",
        on_exit=Shutdown(),
    )
    joint_state_broadcaster = Node(
        package="controller_manager",
        executable="spawner",
        namespace=namespace,
        arguments=["joint_state_broadcaster", "--controller-manager-timeout", "120"],
        output="screen",
        on_exit=lambda event, _: Shutdown() if event.returncode else None,
    )
    source = os.path.join(SHARE, "launch", "controllers", "plugin.launch.py")
    controller = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(source), launch_arguments={"control_config": config}.items()
    )
    window = ExecuteProcess(cmd=["gz", "sim", "-g"], output="screen")
    windows = [window] if given["use_gazebo_gui"] == "true" else []
    return [robot_state_publisher, server, create, clock, joint_state_broadcaster, controller, *windows]


def generate_launch_description():
    """Describe the backend to the file that includes it."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
