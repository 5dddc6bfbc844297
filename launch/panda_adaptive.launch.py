"""An adaptive Panda: generator, simulation, controller and reference.

ros2 launch thunder_controllers panda_adaptive.launch.py payload:=1.0 use_rqt:=true
ros2 launch thunder_controllers panda_adaptive.launch.py backend:=ros2_control
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource

from thunder_controllers.ros.tools.launch_arguments import check_arguments

SHARE = get_package_share_directory("thunder_controllers")
ARGUMENTS = [
    DeclareLaunchArgument(
        "backend",
        default_value="mujoco",
        choices=["mujoco", "ros2_control", "gazebo", "franka"],
        description="What moves: MuJoCo, with the controller in its process; MuJoCo behind ros2_control; Gazebo; a "
        "real arm by franka_ros2.",
    ),
    DeclareLaunchArgument(
        "estimates_file",
        default_value="default",
        description="Estimates to start from; empty: those of the robot file; default: in simulation a last link of "
        "2.5 kg that is not there, so that there is something to learn.",
    ),
    DeclareLaunchArgument(
        "robot_ip",
        default_value="",
        description="Address of a Franka's control unit; empty: its controller_manager runs already. Backend franka "
        "only.",
    ),
    DeclareLaunchArgument(
        "arm_id",
        default_value="fr3",
        description="Kind of the Franka, which its joints are named after: <arm_id>_joint1… Backend franka only.",
    ),
    DeclareLaunchArgument(
        "load",
        default_value="",
        description="Load at the flange that robot and model are told of, MASS+X+Y+Z [kg, m]; empty: none. Backend "
        "franka with robot_ip only.",
    ),
    DeclareLaunchArgument(
        "use_gazebo_gui",
        default_value="false",
        choices=["true", "false"],
        description="Open Gazebo's window. Backend gazebo only.",
    ),
]


def include(file, **arguments):
    """Include another launch file of this package."""
    source = PythonLaunchDescriptionSource(os.path.join(SHARE, "launch", f"{file}.launch.py"))
    return IncludeLaunchDescription(source, launch_arguments=arguments.items())


def launch_setup(context):
    """Start the backend with its controller, the generator whose library that waits for, and what goes beside them."""
    given = context.launch_configurations
    check_arguments(given)
    backend = given["backend"]
    files = [os.path.join(SHARE, "config", "ros", "panda.yaml")]
    learns = backend != "franka" and given["law"] == "cartesian_backstepping:profile=topics"
    default = "package://thunder_controllers/config/estimates/panda_wrong_last_link.yaml" if learns else ""
    estimates = default if given["estimates_file"] == "default" else given["estimates_file"]
    autostart = given["autostart"] if given["autostart"] != "auto" else str(backend != "franka").lower()
    states = "franka/joint_states" if backend == "franka" else "joint_states"
    robot, ee_link = "package://thunder_controllers/config/robots/panda.yaml", ""
    if backend == "franka" and given["arm_id"] != "panda":
        robot, ee_link = "", f"{given['arm_id']}_link8"  # the model is that of robot_description
    urdf = "package://thunder_controllers/urdf/panda.urdf.xacro" if backend == "mujoco" else ""
    return [
        include("generator", robot=robot, name="", base_link="", ee_link=ee_link),
        include(
            f"backends/{backend}",
            parameter_files=os.pathsep.join(files),
            estimates_file=estimates,
            autostart=autostart,
            joint_states=states,
            urdf=urdf,
            ee_link="",
        ),
        include("tools", urdf=urdf, joint_states=states, parameter_files=os.pathsep.join(files), autostart=autostart),
    ]


def generate_launch_description():
    """Describe the system to `ros2 launch`."""
    return LaunchDescription([*ARGUMENTS, include("arguments"), OpaqueFunction(function=launch_setup)])
