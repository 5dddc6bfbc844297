"""`thunder doctor`: looks at everything that is there, and says what is amiss and what mends it."""

from __future__ import annotations

import socket
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from thunder_controllers.analysis.gain_file import read_parameters
from thunder_controllers.commands.check import OPTIONS_OF, options_for
from thunder_controllers.commands.terminal import print_json, print_table, single_joint_library
from thunder_controllers.doctor.check import BACKENDS, Case, Result, State
from thunder_controllers.doctor.graph import GRAPH
from thunder_controllers.doctor.machine import MACHINE
from thunder_controllers.doctor.measurement import LoopTimes, busy_cores, measure_loop, measure_round_trips
from thunder_controllers.doctor.robot import ROBOT
from thunder_controllers.doctor.timing import TIMING
from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Library
from thunder_controllers.load import load_from_words
from thunder_controllers.ros.common.names import CONTROLLER
from thunder_controllers.ros.tools.graph import Graph, is_installed, listen
from thunder_dynamics.cli import LAW_FORM, complete_law, completer, parse_law
from thunder_dynamics.errors import LawError, ThunderError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model, locate, named_robots
from thunder_dynamics.readers.command_options import parse_number, reading_options

CHECKS = (*MACHINE, *TIMING, *ROBOT, *GRAPH)
"""All checks, in the order of the table."""

FRANKA_PORT = 1337
"""Where a Franka's control unit listens."""

WHY_NOT = {
    "loop": "not measured (--seconds 0)",
    "round_trips": "no --address of the arm",
    "library": "no ROBOT and no --library",
    "model": "no ROBOT",
    "description": "no --description that the arm's driver uses",
    "parameters": "no --parameters of the controller, and none heard of (--ros)",
    "graph": "not listened to (--ros)",
}
"""What is said where a part of a case is missing."""

NO_ROS = {"graph": "no ROS: rclpy is not installed"}

BESIDE_A_CONTROLLER = dict.fromkeys(("loop", "round_trips"), "not measured beside a controller: load would disturb it")


@click.command()
@click.argument(
    "robot",
    type=click.Path(dir_okay=False),
    required=False,
    shell_complete=completer(named_robots, files=True),
)
@click.option("--library", "path", type=click.Path(), help="What the controller runs. [compiled from ROBOT]")
@click.option("--law", "laws", multiple=True, shell_complete=complete_law, help=f"Compiled with ROBOT: {LAW_FORM}.")
@click.option("--backend", type=click.Choice(sorted(BACKENDS)), default="ros2_control", show_default=True)
@click.option("--address", metavar="HOST[:PORT]", help=f"Of the arm, connected to 100 times. [port {FRANKA_PORT}]")
@click.option("--description", type=click.Path(dir_okay=False), help="URDF or xacro that the arm's driver uses.")
@click.option("--parameters", type=click.Path(dir_okay=False, path_type=Path), help="ROS file of the controller.")
@click.option("--load", default="", metavar="MASS+X+Y+Z", help="That the robot was told of, as in load:=. [none]")
@click.option("--rate", type=click.FloatRange(1.0), default=1000.0, show_default=True, help="Of the control [Hz].")
@click.option("--seconds", type=click.FloatRange(0.0), default=10.0, show_default=True, help="Of each measurement.")
@click.option("--ros", "listens", is_flag=True, help="Listen to a running controller as well.")
@click.option("--controller", default=CONTROLLER, show_default=True, help="Its name, with its namespace.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@reading_options()
def doctor(
    robot: str | None,
    path: str | None,
    laws: tuple[str, ...],
    backend: str,
    address: str | None,
    description: str | None,
    parameters: Path | None,
    load: str,
    rate: float,
    seconds: float,
    listens: bool,
    controller: str,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Look at machine, network, library and controller before an arm moves, and say what mends what is amiss.

    ROBOT is the robot file, or its name, that the controller's library is made of. The exit status is 1 if a check
    fails; warnings leave it 0. Nothing is measured beside a controller that --ros has seen.
    """
    model = None if robot is None else _read(robot, options_for(robot, description, reading))
    graph = _heard(controller, BACKENDS[backend].joint_states, seconds) if listens else None
    given = None if parameters is None else _parameters(parameters, controller)
    is_running = graph is not None and graph.is_there
    case = Case(
        backend=BACKENDS[backend],
        library=_library(model, path, laws),
        model=model,
        description=None if description is None else _read(description, _of_description(description, robot, reading)),
        parameters=(graph.parameters if graph is not None else None) or given,
        load=load_from_words(load, "--load") if load else Inertia(),
        loop=None if is_running else _loop(seconds, 1.0 / rate),
        round_trips=None if is_running or address is None else _round_trips(address),
        graph=graph,
        period=1.0 / rate,
        missing=WHY_NOT | (NO_ROS if listens else {}) | (BESIDE_A_CONTROLLER if is_running else {}),
    )
    results = [check(case) for check in CHECKS]
    if as_json:
        print_json({"checks": list(map(_document, results)), "failed": _count(results, State.FAIL)})
    else:
        _show(results)
    sys.exit(1 if _count(results, State.FAIL) else 0)


def _read(file: str, reading: Mapping[str, Any]) -> RobotModel:
    """Inertias that no body has are the business of `thunder check`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(file, **{"allow_inconsistent": True, **reading})


def _of_description(file: str, robot: str | None, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the arm's description; arguments of xacro are those of ROBOT, such as its load, if that takes any."""
    is_xacro = robot is not None and "xacro_args" in OPTIONS_OF.get(locate(robot).suffix, ())
    return {
        name: value for name, value in options_for(file, robot, reading).items() if name != "xacro_args" or not is_xacro
    }


def _library(model: RobotModel | None, path: str | None, laws: Sequence[str]) -> Library | None:
    if laws and (model is None or path is not None):
        raise LawError("laws are compiled with ROBOT", where="--law", valid="ROBOT, and no --library")
    if path is not None:
        return Library(path)
    return None if model is None else single_joint_library(model, [parse_law(law) for law in laws])


def _parameters(file: Path, controller: str) -> dict[str, Any]:
    """What a ROS parameter file gives to a controller, whatever its namespace."""
    name, (_, sections) = controller.rpartition("/")[2], read_parameters(file)
    own = [parameters for node, parameters in sections.items() if node.rpartition("/")[2] in (name, "**")]
    if not own:
        raise LawError(f"nothing for {name}", where=str(file), valid=f"/**/{name}: {{ros__parameters: …}}")
    return {key: value for parameters in own for key, value in parameters.items()}


def _loop(seconds: float, period: float) -> LoopTimes | None:
    if seconds < period:
        return None
    with busy_cores(seconds):
        return measure_loop(seconds, period)


def _round_trips(address: str) -> FloatArray:
    host, _, port = address.partition(":")
    try:
        return measure_round_trips(host, int(parse_number(port, "--address", LawError)) if port else FRANKA_PORT)
    except socket.gaierror as error:
        raise ThunderError(f"'{host}': {error.strerror}", where="--address", valid="HOST[:PORT]") from error


def _heard(controller: str, joint_states: str, seconds: float) -> Graph | None:
    return listen(controller, joint_states, max(seconds, 1.0)) if is_installed() else None


def _document(result: Result) -> dict[str, str]:
    check = result.check
    return {
        "name": check.name,
        "looks_at": check.looks_at,
        "state": result.state.value,
        "seen": result.seen,
        "valid": check.valid,
        "mend": check.mend,
    }


def _show(results: Sequence[Result]) -> None:
    rows = [(one.check.name, one.check.looks_at, one.state.value, one.seen) for one in results]
    print_table([("check", "looks at", "state", "seen"), *rows], left=4)
    for one in results:
        if one.state in (State.FAIL, State.WARN):
            click.echo(f"{one.check.name}: valid: {one.check.valid}; mend: {one.check.mend}")
    counts = [f"{_count(results, state)} {state.value}" for state in State]
    click.echo(f"{'Not ready' if _count(results, State.FAIL) else 'Nothing fails'}: {', '.join(counts)}")


def _count(results: Sequence[Result], state: State) -> int:
    return sum(one.state is state for one in results)
