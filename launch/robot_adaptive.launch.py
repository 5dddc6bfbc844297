"""Any adaptive robot in simulation, from its URDF.

ros2 launch thunder_controllers robot_adaptive.launch.py robot:=/path/to/my_robot.urdf ee_link:=tool0
"""

from thunder_controllers.ros.common import names
from thunder_controllers.ros.tools.launch_arguments import check_arguments
from thunder_controllers.ros.tools.launch_parts import beside, describe, generator, simulation
from thunder_controllers.ros.tools.system import parameters_of

NAME = "robot_adaptive"


def launch_setup(given):
    """Start simulation and controller, the generator whose library they wait for, and what goes beside them."""
    check_arguments(given)
    return [
        generator(given, parameters_of(NAME, given)[names.GENERATOR]),
        simulation(NAME, given),
        *beside(NAME, given, urdf=given["robot"]),
    ]


def generate_launch_description():
    """Describe the system to `ros2 launch`."""
    return describe(launch_setup, NAME)
