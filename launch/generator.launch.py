"""The generator alone: builds the library of a robot and says where it is.

    ros2 launch thunder_controllers generator.launch.py robot:=/path/to/my_robot.urdf law:=slotine_li

Arguments and nodes stand in thunder_controllers/ros/bringup/bringups.py, which `thunder ros generator` uses too.
"""

from launch import LaunchDescription

from thunder_controllers.ros.bringup.launch_description import describe


def generate_launch_description() -> LaunchDescription:
    """Describe the system to `ros2 launch`."""
    return describe("generator")
