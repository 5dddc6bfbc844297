"""`thunder info`: what a robot file says, and what a controller keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.commands.terminal import print_table
from thunder_controllers.host import Library, Limits, Options, total_delay
from thunder_dynamics.build import build
from thunder_dynamics.cli import robot_argument
from thunder_dynamics.errors import DimensionError, LawError, ModelError, listed, option
from thunder_dynamics.inertia import DYN_NAMES, N_PARAMETERS
from thunder_dynamics.model import SINGLE_JOINTS, Frame, RobotModel, Topology
from thunder_dynamics.plausibility import find_implausible
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import parse_number, reading_options
from thunder_dynamics.readers.source import snapped
from thunder_dynamics.spatial import ypr_from_rotation

FloatArray = NDArray[np.float64]
Rows = list[list[str]]

ROUNDED = 12
"""Decimals of what is calculated at a posture: what is beyond them is rounding."""


@click.command()
@robot_argument
@click.option("--base-parameters", is_flag=True, help="Show which parameters act, and in which combinations.")
@click.option("--at", metavar='"Q1 Q2 …"', help="Show the end effector, singular values and limits there.")
@reading_options()
def info(robot: str, base_parameters: bool, at: str | None, reading: dict[str, Any]) -> None:
    """Show what ROBOT is, a file or a name: tree, frames, limits, parameters.

    Compiles it if it is new, unless only a posture is asked for.
    """
    model = load_model(robot, **reading)
    if at is not None:
        _show_posture(model, _positions(model, at))
        return
    folder = build(model)
    library = Library(folder / f"lib{model.name}.so")
    click.echo(f"{model.name}, hash {library.hash[:16]}, {model.n} joints")
    print_table(_tree(model), left=4)
    print_table(_frames(model))
    _show_limits(library)
    print_table(_parameters(model))
    for note in (*find_implausible(model, quick=False), *_rounded_angles(model)):
        click.echo(f"Note: {note}")
    if base_parameters:
        _show_base_parameters(model)


def _rounded_angles(model: RobotModel) -> list[str]:
    """Say what right angles that the file rounds cost, if it does."""
    from thunder_dynamics.expressions import RobotExpressions

    if (exact := snapped(model)) is model:
        return []
    now, then = (sum(RobotExpressions(one).operations(name) for name in "MC") for one in (model, exact))
    return [f"the file rounds right angles: M and C take {now} operations, {then} with {option('snap_angles')}"]


def _tree(model: RobotModel) -> Rows:
    rows = [["link", "parent", "joint", "kind", "axis", "origin in parent [m]"]]
    for link in model.links:
        parent = model.links[link.parent].name if link.parent >= 0 else "base"
        joint = link.joint
        numbers = (_numbers(joint.axis), _numbers(joint.placement.translation.tolist()))
        rows.append([link.name, parent, joint.name, joint.type_name, *numbers])
    return rows


def _frames(model: RobotModel) -> Rows:
    def row(name: str, parent: str, frame: Frame) -> list[str]:
        return [name, parent, _numbers(frame.tr), _numbers(frame.ypr)]

    head = ["frame", "in", "translation [m]", "yaw, pitch, roll [rad]"]
    ee = row("end effector", model.links[model.ee_link].name, model.ee)
    others = [row(one.name, model.links[one.link].name, one.frame) for one in model.end_effectors]
    return [
        head,
        row("base L0", "world", model.base),
        ee,
        *others,
        ["gravity [m/s²]", "world", _numbers(model.gravity), "–"],
    ]


def _show_limits(library: Library) -> None:
    try:
        limits = Limits(library, Options())
    except LawError as error:
        click.echo(f"No controller takes it: {error}")
        return
    position = (limits.position_lower, limits.position_upper)
    others = (limits.velocity, limits.acceleration, limits.effort, limits.effort_rate)
    rows = [["joint", "position", "velocity", "acceleration", "effort", "effort rate"]]
    joints = zip(library.joint_names, library.joint_topology, *position, *others, strict=True)
    for joint, topology, lower, upper, *rest in joints:
        place = "circle" if topology == Topology.CIRCLE else f"{_number(lower)} … {_number(upper)}"
        rows.append([joint, place, *map(_number, rest)])
    print_table(rows)
    click.echo("SI units; – where there is no limit")
    _show_limits_by_state(library, limits)
    click.echo(f"Measurements and drives are late by {1e3 * total_delay(Options()):.3g} ms in all, as a host assumes")
    for note in limits.notes:
        click.echo(f"Note: {note}")


def _show_limits_by_state(library: Library, limits: Limits) -> None:
    """Print where limits depend on position or speed."""
    rows = [["joint", "velocity offset", "deceleration to an end", "corner velocity", "no-load velocity"]]
    names = "velocity_offset", "velocity_deceleration", "effort_corner_velocity", "effort_no_load_velocity"
    columns = np.array([getattr(limits, name) for name in names]).T
    rows += [[joint, *map(_number, row)] for joint, row in zip(library.joint_names, columns, strict=True)]
    if np.isfinite(columns[:, 1:]).any():
        print_table(rows)
        click.echo(
            "Velocity limit at d from an end: √(2 · deceleration · d) − offset at most; effort that drives: whole"
        )
        click.echo("up to the corner velocity, then linearly to zero at the no-load velocity")


def _positions(model: RobotModel, text: str) -> FloatArray:
    if others := model.other_joints:
        raise ModelError(f"--at of the joints {listed(others)}", where=model.name, valid=SINGLE_JOINTS)
    q = np.array([parse_number(word, "--at", DimensionError) for word in text.replace(",", " ").split()])
    if q.shape != (model.n,) or not np.isfinite(q).all():
        names = " ".join(model.joint_names)
        raise DimensionError(f"{len(q)} positions", where="--at", valid=f"{model.n} finite ones: {names}")
    return q


def _show_posture(model: RobotModel, q: FloatArray) -> None:
    """What helps to choose a start: the pose there, how far from singular it is, how far from the limits."""
    from thunder_dynamics.codegen.interpreted import interpreted_robot
    from thunder_dynamics.expressions import RobotExpressions

    arm: Any = interpreted_robot(RobotExpressions(model))
    arm.set_q(q)
    T, J, G = (np.round(value, ROUNDED) for value in (arm.get_T_0_ee(), arm.get_J_ee(), arm.get_G()))
    singular = [np.round(np.linalg.svd(part, compute_uv=False), ROUNDED) for part in (J[:3], J[3:], J)]
    rows = [
        ["end effector", "in the world"],
        ["position [m]", _numbers(T[:3, 3].tolist())],
        ["yaw, pitch, roll [rad]", _numbers(ypr_from_rotation(T[:3, :3]))],
        ["singular values of J, linear part", _numbers(singular[0].tolist())],
        ["angular part", _numbers(singular[1].tolist())],
        ["both", _numbers(singular[2].tolist())],
        ["manipulability, the product of these", _number(float(np.prod(singular[2])))],
    ]
    print_table(rows)
    rows = [["joint", "position", "lower", "upper", "to the nearest limit", "effort to hold it", "effort limit"]]
    for link, here, effort in zip(model.links, q, G, strict=True):
        limits = link.joint.limits
        near = min(here - limits.lower, limits.upper - here)
        rows.append([link.joint.name, *map(_number, (here, limits.lower, limits.upper, near, effort, limits.effort))])
    print_table(rows)
    click.echo("SI units; – where there is no limit; a distance below zero is beyond one")


def _parameters(model: RobotModel) -> Rows:
    """One row per link, inertia about the CoM; what may be changed at run time is marked."""
    order = model.friction_order
    rows = [["parameters", *DYN_NAMES, *(f"Dl_{k + 1}" for k in range(order)), "coulomb", "offset", "rotor"]]
    at_run_time = dict(zip(model.rotor_joints, model.symbolic.get("par_Ia", ()), strict=False))
    symbolic = model.symbolic.get("par_DYN", (False,) * N_PARAMETERS * model.n)
    for i, link in enumerate(model.links):
        marks = symbolic[N_PARAMETERS * i : N_PARAMETERS * (i + 1)]
        dyn = [_number(x) + ("*" if mark else "") for x, mark in zip(link.inertia.dyn, marks, strict=True)]
        rotor = link.joint.rotor_inertia
        known = "unknown" if rotor is None else _number(rotor) + ("*" if at_run_time.get(i) else "")
        drive = map(_number, (*link.friction, link.coulomb, link.effort_offset))
        rows.append([link.name, *dyn, *drive, known])
    if any(symbolic) or any(at_run_time.values()):
        rows.append(["* at run time", *[""] * (len(rows[0]) - 1)])
    return rows


def _show_base_parameters(model: RobotModel) -> None:
    from thunder_dynamics.expressions import RobotExpressions

    base = RobotExpressions(model).base_parameters
    print_table([[f"{len(base.kept)} base parameters"], *([text] for text in base.texts())])
    print_table([["without effect"], *([name] for name in base.unobservable)])


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value + 0.0:.4g}" for value in values)  # −0 is 0


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) != float("inf") else "–"
