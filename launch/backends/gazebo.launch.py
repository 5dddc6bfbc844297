"""Gazebo, which runs the controller_manager in its own process, in step with its physics.

Included by panda_adaptive.launch.py, whose arguments it reads.
"""

import os

from launch.actions import ExecuteProcess

from thunder_controllers.resources import share
from thunder_controllers.ros.tools.launch_parts import (
    describe,
    end_if_failed,
    node,
    plugin,
    spawner,
    state_publisher,
)

CONFIG = str(share("config/ros2_control/panda_gazebo.yaml"))
PLUGINS = "GZ_SIM_SYSTEM_PLUGIN_PATH"


def launch_setup(given):
    """Start Gazebo, put the robot into it, bridge its clock; the controller comes as soon as there is its library."""
    namespace, payload = given["namespace"], given["payload"]
    xacro = f"{share('urdf/panda.gazebo.urdf.xacro')} controllers:={CONFIG}"
    paths = [os.environ.get(PLUGINS, ""), os.environ.get("LD_LIBRARY_PATH", "")]
    world = {"world_sdf_file": str(share("config/gazebo/panda.sdf"))}
    libraries = {PLUGINS: os.pathsep.join(path for path in paths if path)}  # for gz_ros2_control's library
    arm = {"world": "thunder", "topic": "robot_description", "name": "panda"}
    clock = ["/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"]
    window = ExecuteProcess(cmd=["gz", "sim", "-g"], output="screen")
    return [
        state_publisher(given, [f"{xacro} namespace:={namespace} payload_mass:={payload}"], {"use_sim_time": True}),
        node(given, "ros_gz_sim", "gzserver", world, additional_env=libraries),
        node(given, "ros_gz_sim", "create", arm, on_exit=end_if_failed),
        node(given, "ros_gz_bridge", "parameter_bridge", arguments=clock),
        spawner(given, "joint_state_broadcaster"),
        *plugin(given, CONFIG),
        *([window] if given["use_gazebo_gui"] == "true" else []),
    ]


def generate_launch_description():
    """Describe the backend to the file that includes it."""
    return describe(launch_setup)
