"""MuJoCo behind ros2_control: hardware in ros2_control_node, in real time, in one process with the controllers.

Included by panda_adaptive.launch.py, whose arguments it reads.
"""

from launch.actions import ExecuteProcess
from launch.substitutions import LaunchLogDir, PathJoinSubstitution
from launch_ros.substitutions import ExecutableInPackage

from thunder_controllers.resources import PACKAGE, share
from thunder_controllers.ros.tools.launch_parts import (
    control_node,
    describe,
    in_turn,
    plugin,
    spawner,
    state_publisher,
)

CONFIG = str(share("config/ros2_control/panda_mujoco.yaml"))


def launch_setup(given):
    """Write the model file, then start the robot on it; the controller comes as soon as there is its library."""
    model = PathJoinSubstitution([LaunchLogDir(), "panda.xml"])
    thunder = ExecutableInPackage(package=PACKAGE, executable="thunder")
    write_model = ExecuteProcess(
        cmd=[
            *(thunder, "mjcf", str(share("urdf/panda.urdf.xacro")), "--out", model),
            *("--q-start", "0 -0.4 0 -2.2 0 1.8 0"),  # as in config/ros/panda.yaml [rad]
            *(["--payload-mass", given["payload"]] if float(given["payload"]) > 0.0 else []),
        ],
        output="screen",
    )
    robot = [
        state_publisher(given, [str(share("urdf/panda.ros2_control.xacro")), " model:=", model]),
        control_node(given, CONFIG),
        spawner(given, "joint_state_broadcaster"),
        *plugin(given, CONFIG),
    ]
    return in_turn(write_model, robot)


def generate_launch_description():
    """Describe the backend to the file that includes it."""
    return describe(launch_setup)
