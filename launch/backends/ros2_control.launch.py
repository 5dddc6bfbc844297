"""MuJoCo behind ros2_control: hardware in ros2_control_node, in real time, in one process with the controllers.

Included by panda_adaptive.launch.py, whose arguments it reads.
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import ExecuteProcess, IncludeLaunchDescription, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchLogDir
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import ExecutableInPackage

SHARE = get_package_share_directory("thunder_controllers")


def launch_setup(context):
    """Write the model file, then start the robot on it; the controller comes as soon as there is its library."""
    given = context.launch_configurations
    namespace, payload = given["namespace"], float(given["payload"])
    config = os.path.join(SHARE, "config", "ros2_control", "panda_mujoco.yaml")
    model = os.path.join(LaunchLogDir().perform(context), "panda.xml")
    thunder = ExecutableInPackage(package="thunder_controllers", executable="thunder")
    write_model = ExecuteProcess(
        cmd=[
            *(thunder, "mjcf", os.path.join(SHARE, "urdf", "panda.urdf.xacro"), "--out", model),
            *("--q-start", "0 -0.4 0 -2.2 0 1.8 0"),  # as in config/ros/panda.yaml [rad]
            *(["--payload-mass", given["payload"]] if payload > 0.0 else []),
        ],
        output="screen",
    )
    description = Command(["xacro ", os.path.join(SHARE, "urdf", "panda.ros2_control.xacro"), " model:=", model])
    robot_state_publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[{"robot_description": ParameterValue(description, value_type=str)}],
        output="screen",
        on_exit=Shutdown(),
    )
    controller_manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        namespace=namespace,
        parameters=[config],
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
    robot = [robot_state_publisher, controller_manager, joint_state_broadcaster, controller]
    return [
        write_model,
        RegisterEventHandler(
            OnProcessExit(
                target_action=write_model,
                on_exit=lambda event, _: robot if event.returncode == 0 else Shutdown(),
            )
        ),
    ]


def generate_launch_description():
    """Describe the backend to the file that includes it."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
