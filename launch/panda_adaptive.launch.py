"""An adaptive Panda: generator, simulation, controller and reference.

ros2 launch thunder_controllers panda_adaptive.launch.py payload:=1.0 use_rqt:=true
ros2 launch thunder_controllers panda_adaptive.launch.py backend:=mujoco mode:=lockstep
"""

from thunder_controllers.ros.common import names
from thunder_controllers.ros.tools.launch_arguments import ROBOTS, check_arguments, choose_backend
from thunder_controllers.ros.tools.launch_parts import PANDA, backend, beside, describe, generator, simulation
from thunder_controllers.ros.tools.system import parameters_of


def launch_setup(given):
    """Start the backend with its controller, the generator whose library that waits for, and what goes beside them."""
    given["backend"] = choose_backend(given)  # the backend's file reads it there
    check_arguments(given)
    is_mujoco = given["backend"] == "mujoco"
    states = "franka/joint_states" if given["backend"] == "franka" else "joint_states"
    return [
        generator(given, parameters_of(PANDA, given)[names.GENERATOR]),
        simulation(PANDA, given) if is_mujoco else backend(given),
        *beside(PANDA, given, urdf=ROBOTS[PANDA][1] if is_mujoco else "", joint_states=states),
    ]


def generate_launch_description():
    """Describe the system to `ros2 launch`."""
    return describe(launch_setup, PANDA)
