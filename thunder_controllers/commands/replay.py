"""`thunder replay`: a law and its adaptation over the record of a motion, beside least squares over the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from thunder_controllers.commands.terminal import (
    gains_option,
    given_gains,
    print_json,
    print_notes,
    print_table,
    single_joint_library,
    write_figure,
)
from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Configuration, Library, read_estimates
from thunder_controllers.host.inertia_estimate import ESTIMATE, FRICTION, OFFSETS, ROTORS
from thunder_controllers.identification.motion import UnsoundError
from thunder_controllers.identification.records import read_record
from thunder_controllers.identification.robot_fit import TERMS, RobotFit, fit_robot, terms_of_file
from thunder_controllers.simulation.replay import QUARTER, Replay, replay_law
from thunder_dynamics.cli import complete_law, parse_law, robot_argument
from thunder_dynamics.errors import LawError
from thunder_dynamics.inertia import REG_NAMES
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import reading_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OF_JOINTS = {FRICTION: ("viscous", "coulomb"), OFFSETS: ("offset",), ROTORS: ("rotor",)}
"""Entries of the state that are estimates of joints, and which of `robot_fit.TERMS` each holds, one after the other."""


@click.command()
@robot_argument
@click.argument("law", shell_complete=complete_law)
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--topic", default="/joint_states", show_default=True, help="Of a bag: sensor_msgs/JointState.")
@gains_option
@click.option("--estimates", type=click.Path(dir_okay=False, path_type=Path), help="File of estimates to start from.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Arrays of every step (.npz).")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Figure of the last adapted link's body.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@reading_options()
def replay(
    robot: str,
    law: str,
    record: Path,
    topic: str,
    given: tuple[str, ...],
    estimates: Path | None,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Replay LAW, NAME[:option=value,…], on ROBOT over RECORD: a trace of thunder run, a CSV file or a ROS 2 bag.

    Nothing is commanded. Shows what the law asks for, what its estimates leave of the measured efforts, and how the
    estimates at the end differ from least squares over the record.
    """
    model, request = load_model(robot, **reading), parse_law(law)
    library, name = single_joint_library(model, [request]), request[0]
    motion = read_record(record, library.joint_names, topic, model.circles)
    print_notes(motion.notes)
    friction = terms_of_file(model)
    first = {} if estimates is None else read_estimates(estimates, Configuration(library, law=name))
    done = replay_law(library, name, motion, given_gains(given), first, friction)
    places = [library.link_names.index(link) for link in done.links]
    fit = fit_robot(library, motion, places, ROTORS in done.estimates, friction)
    if as_json:
        print_json(_document(done, fit, library))
    else:
        _show(done, fit, library)
    if plot is not None:
        write_figure(plot, _draw(done, fit, name))
    if out is not None:
        done.save(out)
        click.echo(str(out.resolve()), err=as_json)


def _draw(done: Replay, fit: RobotFit, law: str) -> Figure:
    """Draw the body of the last adapted link over time, beside least squares."""
    from thunder_controllers.report.figures import parameters  # only here: a table needs no matplotlib

    if not done.links:
        raise LawError("it estimates no links by their names", where=f"law {law}", valid="an adaptive law for --plot")
    curves = {law: (done.t, done.estimates[ESTIMATE][:, -len(REG_NAMES) :])}
    ends = done.t[[0, -1]], np.tile(fit.bodies[-1], (2, 1))
    return parameters(f"{done.links[-1]} over the record", curves, ends, known="least squares")


def _show(done: Replay, fit: RobotFit, library: Library) -> None:
    claimed = done.claimed
    for k, link in enumerate(done.links):
        columns = {"robot file": np.reshape(library.pi, (-1, len(REG_NAMES)))[library.link_names.index(link)]}
        columns["at the end"] = done.bodies[k]
        if claimed is not None:
            columns["claimed deviation"] = claimed[k]
        columns |= {"least squares": fit.bodies[k], "deviation": fit.bodies_std[k]}
        if claimed is not None:
            columns["deviations apart"] = _apart(done, fit, claimed)[k]
        rows = zip(REG_NAMES, *columns.values(), strict=True)
        print_table([[f"body of {link}", *columns], *([x, *map(_number, values)] for x, *values in rows)])
    for columns in filter(None, (_estimates_of_joints(done, fit), _by_joint(done, fit))):
        rows = zip(library.joint_names, *columns.values(), strict=True)
        print_table([["joint", *columns], *([x, *map(_number, values)] for x, *values in rows)])
    head = ["telemetry", "first quarter", "last quarter", "at the end"]
    told = [[x, *map(_number, values)] for x, values in _telemetry(done).items()]
    if told:
        print_table([head, *told])
    click.echo(
        f"{len(done.t)} samples, {done.t[-1]:.4g} s; root mean squares, SI units. Of the efforts, where joints move, a"
        " quarter of the record leaves that much to the estimates in use, all of it to those at the end; least squares"
        " are fitted to three quarters and predict the last, held out."
    )
    try:
        fit.check_sound(library.joint_names)
    except UnsoundError as error:
        click.echo(f"note: least squares are no measure here: {error}")


def _apart(done: Replay, fit: RobotFit, claimed: FloatArray) -> FloatArray:
    """Return how far bodies at the end are from least squares, over the deviation of the difference (links, 10)."""
    return np.abs(done.bodies - fit.bodies) / np.hypot(claimed, fit.bodies_std)


def _by_joint(done: Replay, fit: RobotFit) -> dict[str, Any]:
    """Columns of the table of joints, (n,) each [N·m or N]."""
    first, last = done.quarters
    return {
        "first quarter": first,
        "last quarter": last,
        "all by the last": done.left_by_last,
        "least squares": fit.noise,
        "held out": fit.residual(fit.predicted),
        "applied": _rms(done.applied),
        "asked less applied": _rms(done.asked - done.applied),
    }


def _estimates_of_joints(done: Replay, fit: RobotFit) -> dict[str, Any]:
    """Columns of estimates of joints at the end, beside least squares, (n,) each [SI]."""
    columns: dict[str, Any] = {}
    for name, terms in OF_JOINTS.items():
        values = done.estimates[name][-1].reshape(len(terms), -1) if name in done.estimates else ()
        for term, row in zip(terms, values, strict=False):
            place = TERMS.index(term)
            columns[term] = row
            columns[f"{term}, least squares"] = fit.joints[:, place]
            columns[f"{term}, deviation"] = fit.joints_std[:, place]
    return columns


def _telemetry(done: Replay) -> dict[str, tuple[float, ...]]:
    """Root mean squares over all elements, of the first and the last quarter and of the last step."""
    part = round(QUARTER * len(done.t))
    parts = {name: (rows[:part], rows[-part:], rows[-1]) for name, rows in done.telemetry.items()}
    return {name: tuple(float(_rms(rows, None)) for rows in three) for name, three in parts.items()}


def _rms(rows: Any, axis: int | None = 0) -> Any:
    return np.sqrt((rows**2).mean(axis=axis))


def _number(value: float) -> str:
    return f"{value:.4g}"


def _document(done: Replay, fit: RobotFit, library: Library) -> dict[str, Any]:
    """Return what is shown, as JSON has it."""
    claimed = done.claimed
    bodies = {
        link: {
            "at_the_end": done.bodies[k],
            "claimed_std": None if claimed is None else claimed[k],
            "least_squares": fit.bodies[k],
            "std": fit.bodies_std[k],
            "deviations_apart": None if claimed is None else _apart(done, fit, claimed)[k],
        }
        for k, link in enumerate(done.links)
    }
    columns = _by_joint(done, fit) | _estimates_of_joints(done, fit)
    joints = {name.replace(", ", "_").replace(" ", "_"): values for name, values in columns.items()}
    return {
        "bodies": bodies,
        "joints": {"names": library.joint_names, **joints},
        "telemetry": {name: values[-1] for name, values in done.telemetry.items()},
        "condition": fit.condition,
    }
