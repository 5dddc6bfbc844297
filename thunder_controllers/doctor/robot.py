"""Checks of the library that runs: against this processor, the arm's own description, and what the robot was told."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thunder_controllers.doctor.check import Case, Finding, NotApplicableError, check
from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Configuration, Library, Limits, Options
from thunder_controllers.ros.common.declarations import controller_parameters
from thunder_dynamics.errors import LawError, NameNotFoundError, listed, nearest
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Pose
from thunder_dynamics.model import RobotModel

OPTIONS = ("effort_limit", "velocity_limit")
"""Parameters of the controller that stand for limits of the library."""

OF_EVERY_CONTROLLER = {
    "type",
    "params_file",
    "fallback_controllers",
    "node_options_args",
    "update_rate",
    "is_async",
    "thread_priority",
    "use_sim_time",
}
"""Parameters that controller_manager and the base classes declare."""

ROUNDED = 1e-6
"""Relative: limits are written with so many digits."""

MASS = 5e-3
"""Of a load that is nowhere told [kg]: 0.05 N·m at 1 m. Chosen."""

MOMENT = 5e-3
"""Likewise [kg·m]."""


@check(
    "instructions of the library",
    valid="every function and law runs on this processor",
    mend="generate the library on this machine, or with thunder gen --portable",
)
def processor(case: Case) -> Finding:
    """A library is for the processor that compiled it; another one ends the process where it lacks an instruction."""
    library: Library = case.needed("library")
    command = [sys.executable, "-m", "thunder_controllers.doctor.processor", library.path]
    status = subprocess.run(command, capture_output=True, check=False).returncode
    if status < 0:
        return Finding(False, f"ended by {signal.Signals(-status).name}")
    return Finding(status == 0, f"{len(library.functions)} functions, {len(library.laws)} laws, status {status}")


@check(
    "joints: names and order",
    valid="those of the arm's description",
    mend="the controller's parameter joints: the arm's names; or generate from its description",
)
def joint_names(case: Case) -> Finding:
    """Vectors have the order of the library; ros2_control finds joints by name."""
    description: RobotModel = case.needed("description")
    try:
        ours, theirs = _joints(case), description.joint_names
    except NameNotFoundError as error:
        return Finding(False, f"{error.where}: {error.what}")
    wrong = [f"{mine} where the arm has {its}" for mine, its in zip(ours, theirs, strict=False) if mine != its]
    seen = listed(wrong) or f"{len(ours)} joints, the arm has {len(theirs)}"
    return Finding(tuple(ours) == tuple(theirs), seen)


def _joints(case: Case) -> Sequence[str]:
    """What the controller calls the joints, in the library's order."""
    library: Library = case.needed("library")
    given = (case.parameters or {}).get("joints")
    return Configuration(library, law=library.laws[0], joints=given).joints if given else library.joint_names


@check(
    "names of the controller's parameters, and its law",
    valid="declared by plugin or node, gains of the law, a law of the library",
    mend="the name that is meant: all are in docs/reference/ros-interface.md, gains in docs/reference/laws.md",
)
def parameters(case: Case) -> Finding:
    """A node passes over what it does not declare: under a misspelt name a gain keeps its default."""
    if case.graph is not None and case.graph.parameters:
        raise NotApplicableError("a running controller has only what it declares")
    library: Library = case.needed("library")
    given = dict(_flat(case.needed("parameters")))
    law = given.get("law")
    if law and law not in library.laws:
        return Finding(False, f"no law {law}; {nearest(str(law), library.laws)}")
    gains = {f"gains.{gain.name}" for name in ([law] if law else library.laws) for gain in library.law(name).gains}
    known = gains | {parameter.name for parameter in controller_parameters()} | OF_EVERY_CONTROLLER
    wrong = [name for name in given if name not in known and not name.startswith("qos_overrides.")]
    return Finding(
        not wrong, "; ".join(f"no {name}: {nearest(name, sorted(known))}" for name in wrong) or f"{len(given)}"
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values by the names that ROS has for them: groups joined by dots."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@check(
    "limits that the controller keeps",
    valid="within those of the arm's description",
    mend="generate from the arm's description, or give effort_limit and velocity_limit; positions are the robot file's",
)
def limits(case: Case) -> Finding:
    """Beyond its own limits the arm stops by itself, with a reflex."""
    library: Library = case.needed("library")
    description: RobotModel = case.needed("description")
    if description.n != library.n_joints:
        raise NotApplicableError(f"{library.n_joints} joints, the arm has {description.n}")
    chosen: dict[str, Any] = {name: value for name in OPTIONS if (value := (case.parameters or {}).get(name))}
    sizes = [f"{name} has {len(value)} values" for name, value in chosen.items() if len(value) != library.n_joints]
    if sizes:
        return Finding(False, listed(sizes))
    try:
        kept = Limits(library, Options(**chosen))
    except LawError as error:
        return Finding(False, error.what)
    wrong = _beyond(kept, description)
    return Finding(not wrong, listed(wrong) or f"{library.n_joints} joints")


def _beyond(kept: Limits, description: RobotModel) -> list[str]:
    """Which limits of which joints are wider than the arm's."""
    own = [link.joint.limits for link in description.links]
    kinds: list[tuple[str, int, FloatArray, list[float]]] = [
        ("lower", -1, kept.position_lower, [one.lower for one in own]),
        ("upper", 1, kept.position_upper, [one.upper for one in own]),
        ("velocity", 1, kept.velocity, [one.velocity for one in own]),
        ("effort", 1, kept.effort, [one.effort for one in own]),
    ]
    return [
        f"{joint} {kind} {mine:g} beyond {its:g}"
        for kind, outward, ours, theirs in kinds
        for joint, mine, its in zip(description.joint_names, ours, theirs, strict=True)
        if outward * mine > outward * its + ROUNDED * abs(its)
    ]


@check(
    "gravity_compensated_by_robot of the controller",
    valid="what the backend does: true on a Franka, false in MuJoCo and Gazebo",
    mend="set gravity_compensated_by_robot in the controller's parameters; else the arm sags, or is pushed up",
)
def gravity(case: Case) -> Finding:
    """Gravity is held up once: by the robot, or by the law."""
    told = bool(case.needed("parameters").get("gravity_compensated_by_robot", False))
    if case.backend.adds_gravity is None:
        raise NotApplicableError(f"{str(told).lower()}; whether this hardware adds gravity is not known")
    return Finding(told == case.backend.adds_gravity, str(told).lower())


@check(
    "load that the robot was told of (SetLoad)",
    valid=f"what the model has beyond the arm's description, within {1e3 * MASS:g} g and {1e3 * MOMENT:g} g·m",
    mend="give load:= to the launch file, so that robot and model know the same, or neither",
)
def load(case: Case) -> Finding:
    """What is told twice is held up twice; what the robot alone was told of is learned away."""
    model: RobotModel = case.needed("model")
    description: RobotModel = case.needed("description")
    told = _moments_of_load(description, case.load)
    excess = _moments(model) - _moments(description)
    wrong = np.abs(excess - told)
    seen = f"told {_text(told)}; the model has {_text(excess)} more than the arm"
    return Finding(bool(wrong[0] <= MASS and (wrong[1:] <= MOMENT).all()), seen)


def _text(moments: FloatArray) -> str:
    m, *first = np.round(moments, 4) + 0.0
    return f"{m:g} kg, ({', '.join(f'{x:g}' for x in first)}) kg·m"


def _moments(model: RobotModel) -> FloatArray:
    """Mass and first moment m c about the base in the base frame where every joint is at zero, [kg], [kg·m]."""
    total = np.zeros(4)
    for link, pose in zip(model.links, _poses(model), strict=True):
        total += link.inertia.mass * np.array([1.0, *(pose.rotation @ link.inertia.com + pose.translation)])
    return total


def _moments_of_load(model: RobotModel, load: Inertia) -> FloatArray:
    ee = _poses(model)[model.ee_link] @ model.ee.pose
    return load.mass * np.array([1.0, *(ee.rotation @ load.com + ee.translation)])


def _poses(model: RobotModel) -> list[Pose]:
    """Of the links in the base frame, joints at zero, where each is at its placement."""
    poses: list[Pose] = []
    for link in model.links:
        parent = poses[link.parent] if link.parent >= 0 else Pose()
        poses.append(parent @ link.joint.placement)
    return poses


ROBOT = (processor, parameters, joint_names, limits, gravity, load)
