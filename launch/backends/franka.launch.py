"""A real arm: franka_ros2's hardware, started here, or by someone else where no `robot_ip` is given.

Included by panda_adaptive.launch.py, whose arguments it reads.
"""

from thunder_controllers.load import load_from_words
from thunder_controllers.resources import share
from thunder_controllers.ros.tools.launch_parts import (
    control_node,
    describe,
    plugin,
    ros_argument,
    spawner,
    state_publisher,
)

CONFIG = str(share("config/ros2_control/panda_franka.yaml"))
STATES = "franka/joint_states"
"""joint_states is what franka_bringup merges for arm and gripper at a low rate; these come at the full one."""


def robot(given):
    """Describe the nodes that make up the robot."""
    arm = given["arm_id"]
    words = [f"{share('urdf/franka_arm.urdf.xacro')} robot_type:={arm} hand:=false robot_ip:={given['robot_ip']}"]
    if given["load"]:
        mass, *rest = load_from_words(given["load"], "load").dyn
        com, inertia = (" ".join(map(str, numbers)) for numbers in (rest[:3], rest[3:]))
        words.append(f" load_mass:={mass} load_com:='{com}' load_inertia:='{inertia}'")
    return [
        state_publisher(given, words, remappings=[("joint_states", STATES)]),
        control_node(given, CONFIG),
        spawner(given, "joint_state_broadcaster", ros_argument(f"-r joint_states:={STATES}")),
        spawner(given, "franka_robot_state_broadcaster", ros_argument(f"-p robot_type:={arm}")),
    ]


def generate_launch_description():
    """Start the robot if it has an address; the controller comes as soon as there is its library."""
    return describe(lambda given: [*(robot(given) if given["robot_ip"] else []), *plugin(given, CONFIG)])
