"""What the arguments of a system come to: parameters by node. Its launch file and `thunder ros` start it with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thunder_controllers.load import load_from_words
from thunder_controllers.package_uri import resolve, resolve_file
from thunder_controllers.resources import PACKAGE, share
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.reading import parameters_given
from thunder_controllers.ros.tools.launch_arguments import ROBOTS

WRONG_LAST_LINK = f"package://{PACKAGE}/config/estimates/panda_wrong_last_link.yaml"
PANDA_LAW = "cartesian_backstepping:profile=topics"
"""Law that the wrong estimates are for."""


def starts_by_itself(given: Mapping[str, str]) -> bool:
    """Whether the controller is activated without being asked: in simulation, unless an argument says otherwise."""
    return given["autostart"] == "true" or (given["autostart"] == "auto" and given.get("backend") != "franka")


def generator_parameters(given: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of a generator that its arguments determine."""
    links = [link for link in given["adapted_links"].split("+") if link]
    output = str(resolve(given["output"])) if given["output"] else ""
    robot = {"robot": str(resolve_file(given["robot"])) if given["robot"] else "", "name": given.get("name", "")}
    return {"laws": [given["law"]], "adapted_links": links, "output": output, **robot, **parameters_given(given)}


def parameters_of(name: str, given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Values that the arguments of a system determine, by node; of the generator, which builds for them, too.

    Args:
        name: Key of `ROBOTS`.
        given: Value of each argument.
    """
    backend, starts, law = given.get("backend", "mujoco"), starts_by_itself(given), given["law"].partition(":")[0]
    model, urdf = (file or given["robot"] for file in ROBOTS[name])
    build = {**given, "robot": model}
    control: dict[str, Any] = {"law": law, "autostart": starts and given["reference"] == "auto"}
    estimates = given["estimates_file"]
    if estimates == "default":
        estimates = WRONG_LAST_LINK if backend != "franka" and given["law"] == PANDA_LAW else ""
    control |= {"estimates_file": str(resolve_file(estimates))} if estimates else {}
    folders = {"library_folders": [str(resolve(given["output"]))]} if given["output"] else {}
    nodes = {names.CONTROLLER: control}
    if backend == "mujoco":
        control |= {"gravity_compensated_by_robot": False, "bringup": starts, **folders}
        nodes[names.SIMULATION] = _arm(urdf, given)
    else:
        nodes[names.WAIT_FOR_LIBRARY] = {"controller": names.CONTROLLER, **folders}
    if backend == "franka":
        arm = given["arm_id"]
        control |= {"robot": arm, "joints": f"[{','.join(f'{arm}_joint{k}' for k in range(1, 8))}]"}
        if arm != "panda":  # the model is that of robot_description
            build |= {"robot": "", "ee_link": f"{arm}_link8"}
        if given["load"]:
            nodes[names.SET_LOAD] = {"load": load_from_words(given["load"], "load").dyn.tolist()}
    beside = folders | ({"use_sim_time": True} if backend == "gazebo" else {})
    if given["reference"] not in ("auto", "none"):
        motion = {"type": given["reference"].replace("stream", "auto"), "law": law, "autostart": starts}
        nodes[names.REFERENCE] = motion | beside
    if given["model"] == "true":
        nodes[names.MODEL] = beside
    return {names.GENERATOR: generator_parameters(build), **nodes}


def _arm(urdf: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of the simulated arm, which does not compensate gravity by itself."""
    payload = float(given["payload"])
    reading = {key: value for key, value in parameters_given(given).items() if key != "drives"}
    plant = {"urdf": urdf, "mode": given["mode"], "gravity_compensation": False, **reading}
    return plant | {"payload.attached": payload > 0.0} | ({"payload.mass": payload} if payload > 0.0 else {})


def files_of(name: str, given: Mapping[str, str]) -> list[Path]:
    """ROS parameter files of a system, later ones stronger."""
    own = [share("config/ros/panda.yaml")] if name == "panda_adaptive" else []
    return [*own, *given_files(given)]


def given_files(given: Mapping[str, str]) -> list[Path]:
    """ROS parameter files that a user gives the controller, later ones stronger."""
    return [resolve_file(given[key]) for key in ("drives", "gains") if given[key]]
