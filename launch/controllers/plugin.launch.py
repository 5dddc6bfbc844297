"""The plugin in controller_manager: it is loaded with its library as soon as the generator has one.

Included by the backends that have a controller_manager, with the arguments of panda_adaptive.launch.py.
`control_config` is the parameter file of controller_manager and its controllers.
"""

import os

from launch import LaunchDescription
from launch.actions import OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchLogDir
from launch_ros.actions import Node

from thunder_controllers.package_uri import resolve_file


def launch_setup(context):
    """Wait for the library, tell a Franka its load, then spawn the controller: later files are the stronger ones."""
    given = context.launch_configurations
    namespace = given["namespace"]
    library = os.path.join(LaunchLogDir().perform(context), "library.yaml")
    files = [given["control_config"]]
    if given["gains"]:
        files.append(str(resolve_file(given["gains"])))
    starts = given["reference"] == "auto" and given["autostart"] == "true"
    parameters = {"law": given["law"].partition(":")[0], "autostart": str(starts).lower()}
    if given["estimates_file"]:
        parameters["estimates_file"] = resolve_file(given["estimates_file"])
    if given["backend"] == "franka":
        arm = given["arm_id"]
        parameters |= {"robot": arm, "joints": f"[{','.join(f'{arm}_joint{k}' for k in range(1, 8))}]"}
    wait_for_library = Node(
        package="thunder_controllers",
        executable="wait_for_library",
        name="thunder_wait_for_library",
        namespace=namespace,
        parameters=[
            {"controller": "adaptive_controller", "file": library},
            *([{"library_folders": [given["output"]]}] if given["output"] else []),
        ],
        output="screen",
    )
    spawner = Node(
        package="controller_manager",
        executable="spawner",
        namespace=namespace,
        arguments=[
            *("adaptive_controller", "--controller-manager-timeout", "120", "--switch-timeout", "20"),
            *([] if given["autostart"] == "true" else ["--inactive"]),
            *(word for file in [*files, library] for word in ("--param-file", file)),
            # Each in one word: a `-p` that stands alone is the spawner's own.
            *(f"--controller-ros-args=-p {name}:={value}" for name, value in parameters.items()),
        ],
        output="screen",
        on_exit=lambda event, _: Shutdown() if event.returncode else None,
    )
    steps = [wait_for_library, spawner]
    if given["backend"] == "franka" and given["load"]:
        set_load = Node(
            package="thunder_controllers",
            executable="set_load",
            name="thunder_set_load",
            namespace=namespace,
            parameters=[{"load": [float(number) for number in given["load"].split("+")]}],
            output="screen",
        )
        steps.insert(1, set_load)  # a robot takes its load only while nothing moves it
    return [steps[0], *(follow(step, then) for step, then in zip(steps, steps[1:], strict=False))]


def follow(step, then):
    """Start a process once the one before has ended well; if that has failed, end everything."""
    started = OnProcessExit(target_action=step, on_exit=lambda event, _: then if event.returncode == 0 else Shutdown())
    return RegisterEventHandler(started)


def generate_launch_description():
    """Describe the controller to the file that includes it."""
    return LaunchDescription([OpaqueFunction(function=launch_setup)])
