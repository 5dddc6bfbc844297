"""An adaptive Panda: generator, simulation, controller and reference.

    ros2 launch thunder_controllers panda_adaptive.launch.py payload:=1.0 use_rqt:=true
    ros2 launch thunder_controllers panda_adaptive.launch.py --show-args

Arguments and nodes stand in thunder_controllers/ros/bringup/bringups.py, which `thunder ros panda_adaptive` uses too.
"""

from launch import LaunchDescription

from thunder_controllers.ros.bringup.launch_description import describe


def generate_launch_description() -> LaunchDescription:
    """Describe the system to `ros2 launch`."""
    return describe("panda_adaptive")
