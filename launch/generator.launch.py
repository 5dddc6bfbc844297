"""The generator alone: builds a library and says where it is.

ros2 launch thunder_controllers generator.launch.py robot:=/path/to/my_robot.urdf law:=slotine_li
"""

from thunder_controllers.ros.tools.launch_parts import describe, generator
from thunder_controllers.ros.tools.system import generator_parameters


def generate_launch_description():
    """Describe the node to `ros2 launch`."""
    return describe(lambda given: [generator(given, generator_parameters(given))], "generator")
