"""`thunder info`: what a robot file says, what a controller keeps of it, and what is compiled of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from thunder_controllers.commands.terminal import print_table
from thunder_controllers.host import Library, Limits, Options
from thunder_dynamics.build import build
from thunder_dynamics.cli import robot_argument
from thunder_dynamics.errors import LawError
from thunder_dynamics.inertia import DYN_NAMES, N_PARAMETERS
from thunder_dynamics.model import Frame, RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import reading_options

if TYPE_CHECKING:
    from thunder_dynamics.expressions import RobotExpressions

Rows = list[list[str]]


@click.command()
@robot_argument
@click.option("--base-parameters", is_flag=True, help="Show which parameters act, and in which combinations.")
@reading_options()
def info(robot: str, base_parameters: bool, reading: dict[str, Any]) -> None:
    """Show what ROBOT is, a YAML, URDF or xacro file or a name: tree, frames, limits, parameters, functions.

    Compiles it if it is new.
    """
    from thunder_dynamics.expressions import RobotExpressions

    model = load_model(robot, **reading)
    library = Library(build(model, python=False) / f"lib{model.name}.so")
    click.echo(f"{library.robot}, hash {library.hash[:16]}, {library.n_joints} joints")
    print_table(_tree(model), left=4)
    print_table(_frames(model))
    _show_limits(library)
    print_table(_parameters(model))
    expressions = RobotExpressions(model)
    print_table(function_rows(expressions), left=3)
    if base_parameters:
        _show_base_parameters(expressions)


def function_rows(robot: RobotExpressions) -> Rows:
    """Functions of a robot: arguments, description, shape, operations of its C code; three columns are text."""
    rows = [["function", "arguments", "what", "shape", "operations"]]
    for name in robot.functions:
        function = robot.function(name)
        shape = f"{function.size1_out(0)}×{function.size2_out(0)}"
        arguments = ", ".join(robot.signature(name)) or "–"
        rows.append([name, arguments, robot.spec(name).description, shape, f"{robot.operations(name):,}"])
    for name in robot.functions_on_request:
        spec = robot.spec(name)
        rows.append([name, ", ".join(spec.arguments) or "–", spec.description, "–", "on request"])
    return rows


def _tree(model: RobotModel) -> Rows:
    rows = [["link", "parent", "joint", "kind", "axis", "origin in parent [m]"]]
    for link in model.links:
        parent = model.links[link.parent].name if link.parent >= 0 else "base"
        joint = link.joint
        numbers = (_numbers(joint.axis), _numbers(joint.placement.translation.tolist()))
        rows.append([link.name, parent, joint.name, joint.kind.name, *numbers])
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
    rows = [["joint", "position", "velocity", "acceleration", "effort", "effort rate"]]
    values = (limits.velocity, limits.acceleration, limits.effort, limits.effort_rate)
    for i, joint in enumerate(library.joint_names):
        position = f"{_number(limits.position_lower[i])} … {_number(limits.position_upper[i])}"
        rows.append([joint, position, *(_number(value[i]) for value in values)])
    print_table(rows)
    click.echo("SI units; – where there is no limit")
    for note in limits.notes:
        click.echo(f"Note: {note}")


def _parameters(model: RobotModel) -> Rows:
    """One row per link, inertia about the CoM; what may be changed at run time is marked."""
    order = model.friction_order
    rows = [["parameters", *DYN_NAMES, *(f"Dl_{k + 1}" for k in range(order)), "coulomb"]]
    symbolic = model.symbolic.get("par_DYN", (False,) * N_PARAMETERS * model.n)
    for i, link in enumerate(model.links):
        marks = symbolic[N_PARAMETERS * i : N_PARAMETERS * (i + 1)]
        dyn = [_number(x) + ("*" if mark else "") for x, mark in zip(link.inertia.dyn, marks, strict=True)]
        rows.append([link.name, *dyn, *map(_number, link.friction), _number(link.coulomb)])
    if any(symbolic):
        rows.append(["* at run time", *[""] * (len(rows[0]) - 1)])
    return rows


def _show_base_parameters(robot: RobotExpressions) -> None:
    base = robot.base_parameters
    print_table([[f"{len(base.kept)} base parameters"], *([text] for text in base.texts())])
    print_table([["without effect"], *([name] for name in base.unobservable)])


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value + 0.0:.4g}" for value in values)  # −0 is 0


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) != float("inf") else "–"
