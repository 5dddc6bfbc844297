"""Any adaptive robot in simulation, from its URDF.

    ros2 launch thunder_controllers robot_adaptive.launch.py robot:=/path/to/my_robot.urdf ee_link:=tool0
    ros2 launch thunder_controllers robot_adaptive.launch.py --show-args

Arguments and nodes stand in thunder_controllers/ros/bringup/bringups.py, which `thunder ros robot_adaptive` uses too.
"""

from launch import LaunchDescription

from thunder_controllers.ros.bringup.launch_description import describe


def generate_launch_description() -> LaunchDescription:
    """Describe the system to `ros2 launch`."""
    return describe("robot_adaptive")
