"""`thunder identify`: the record of a motion to base parameters, bodies, friction, and estimates to start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.commands.terminal import (
    print_json,
    print_notes,
    print_table,
    single_joint_library,
    write_figure,
)
from thunder_controllers.host import Configuration, ControlSession, Library, Options, estimated_links, save_estimates
from thunder_controllers.host.inertia_estimate import ESTIMATE, FRICTION, OFFSETS, ROTORS
from thunder_controllers.identification.diagnosis import milliseconds
from thunder_controllers.identification.payload import Difference, named, payload_by_difference
from thunder_controllers.identification.records import read_record
from thunder_controllers.identification.robot_fit import (
    ROTOR_TOLD,
    TERMS,
    RobotFit,
    fit_robot,
    fit_with_gains,
    terms_of_file,
)
from thunder_dynamics.cli import LAW_FORM, complete_law, parse_law, robot_argument
from thunder_dynamics.errors import LawError
from thunder_dynamics.inertia import DYN_NAMES, REG_NAMES
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import named_values, parse_number, reading_options

WIDTH = 60
"""Most characters of a base parameter in the table; the JSON has it whole."""

LARGEST_COUPLING = 1e3
"""Condition of a matrix of couplings: gears couple by ratios about one."""

YAML_SUFFIXES = (".yaml", ".yml")


@click.command()
@robot_argument
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--topic", default="/joint_states", show_default=True, help="Of a bag: sensor_msgs/JointState.")
@click.option("--without", type=click.Path(path_type=Path), help="Record without payload: find what TRACE has more.")
@click.option("--rotors", is_flag=True, help="Fit the inertia of rotors too.")
@click.option("--drive-gains", is_flag=True, help="Fit the relative gains of the drives too.")
@click.option(
    "--coupled",
    metavar="DRIVE=JOINT:RATIO",
    multiple=True,
    help="The drive of one joint turns with another too; repeatable.",
)
@click.option("--law", shell_complete=complete_law, help=f"{LAW_FORM}: fit the links that it adapts only.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File of estimates; needs --law.")
@click.option(
    "--describe",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Copy of the robot file with what was found (.yaml of YAML, .urdf or MuJoCo's .xml of URDF), drives beside.",
)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Figure of the part that was held out.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@reading_options()
def identify(
    robot: str,
    trace: Path,
    topic: str,
    without: Path | None,
    rotors: bool,
    drive_gains: bool,
    coupled: tuple[str, ...],
    law: str | None,
    out: Path | None,
    describe: Path | None,
    plot: Path | None,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Identify ROBOT (YAML, URDF, xacro file or name) from TRACE: a trace of thunder run, a CSV file or a ROS 2 bag.

    Estimates are written only if the fit is sound; the exit status is 2 if it is not. With --without, what the last
    link carries in TRACE and not in that record is found, whatever the robot file says of the links.
    """
    if without is not None and (law, out, describe, plot, drive_gains, coupled) != (*[None] * 4, False, ()):
        valid = "--topic, --rotors or --json beside it"
        raise LawError("a payload is no estimate of a law", where="--without", valid=valid)
    if out is not None and law is None:
        raise LawError("estimates are those of a law", where="--out", valid="--law NAME[:option=value,…] beside it")
    model = load_model(robot, **reading)
    requests = [] if law is None else [parse_law(law)]
    library = single_joint_library(model, requests)
    links = library.link_names if law is None else estimated_links(library, requests[0][0])
    if not links or not set(links) <= {*library.link_names}:
        raise LawError("it estimates no links by their names", where=f"law {requests[0][0]}", valid="an adaptive law")
    places = [library.link_names.index(link) for link in links]
    if without is not None:
        loaded, empty = (read_record(one, library.joint_names, topic, model.circles) for one in (trace, without))
        print_notes((*loaded.notes, *empty.notes))
        _show_payload(payload_by_difference(library, loaded, empty, rotors), library, as_json=as_json)
        return
    fit = fit_with_gains if drive_gains else fit_robot
    record = replace(
        read_record(trace, library.joint_names, topic, model.circles),
        coupling=read_coupling(coupled, library.joint_names),
    )
    print_notes(record.notes)
    found = fit(library, record, places, rotors, terms_of_file(model))
    if as_json:
        print_json(_document(found, library))
    else:
        _show(found, library)
        if found.rotors is not None:
            click.echo(rotor_entries(model, *found.rotors, is_yaml=Path(model.source).suffix in YAML_SUFFIXES))
    if plot is not None:
        from thunder_controllers.report.validation import draw_validation

        write_figure(plot, draw_validation(found, library.joint_names))
    found.check_sound(library.joint_names)
    if cause := found.diagnosis.cause(library.joint_names):
        moved = f"it moves the parameters of bodies by {found.diagnosis.moved:.1%}, less than their deviations"
        print_notes([f"{cause.what}; {moved}. Valid: {cause.valid}"])
    if found.lag.found.any():
        lags = found.lag.listed(library.joint_names, milliseconds)
        print_notes([f"efforts were late, which was taken out: {lags}"])
    if describe is not None:
        from thunder_controllers.description import found_by, write_description

        described = found_by(found, library.link_names, library.joint_names)
        for file in write_description(describe, model, described, reading):
            click.echo(str(file.resolve()), err=as_json)
    if out is not None:
        write_estimates(out, library, requests[0][0], found)
        click.echo(str(out.resolve()), err=as_json)


def read_coupling(given: Sequence[str], joints: Sequence[str]) -> NDArray[np.float64] | None:
    """Read A of drives that turn with A q, (n, n), from words such as joint_6=joint_5:1; None without any.

    Raises:
        LawError: for another form, a joint that is not there, a pair given twice, or an A that has no inverse.
    """
    A, where, told = np.eye(len(joints)), "--coupled", set[tuple[int, int]]()
    for word in given:
        for drive, entry in named_values([word], error=LawError).items():
            joint, _, ratio = entry.rpartition(":")
            for name in (drive, joint):
                if name not in joints:
                    raise LawError(f"no joint '{name}'", where=where, valid=", ".join(joints))
            if (place := (joints.index(drive), joints.index(joint))) in told:
                raise LawError(f"{drive}={joint} twice", where=where, valid="each pair of joints once")
            told.add(place)
            A[place] = parse_number(ratio, where, LawError)
    if np.linalg.cond(A) > LARGEST_COUPLING:
        raise LawError("the joints' drives do not turn independently", where=where, valid="a matrix with an inverse")
    return A if given else None


def _show_payload(found: Difference, library: Library, *, as_json: bool) -> None:
    body = found.body
    if as_json:
        names = {"found": named(body.dyn), "std": named(body.std), "trusted": body.trusted()}
        print_json({"link": library.link_names[-1], "payload": names, "noise": found.noise})
    else:
        rows = [[name, *map(_number, row)] for name, *row in zip(DYN_NAMES, body.dyn, body.std, strict=True)]
        print_table([[f"payload of {library.link_names[-1]}, about its CoM", "found", "deviation"], *rows])
    found.check_sound(library.joint_names)


def write_estimates(path: Path, library: Library, law: str, found: RobotFit) -> None:
    """Write the file of estimates that a law starts from; the host checks and saves it, as it does while it runs.

    Args:
        path: Of the file; it is replaced in one step.
        library: Compiled with the law.
        law: Its name; it adapts the links that were fitted as bodies.
        found: By `fit_robot`.

    Raises:
        LawError: if the law does not take these values: they are out of its bounds, or the file cannot be written.
    """
    configuration = Configuration(library, law=law)
    estimates = {ESTIMATE: found.bodies.ravel()}
    adapted = [entry.name for entry in configuration.law.state]
    if FRICTION in adapted:
        estimates[FRICTION] = np.concatenate([found.joints[:, 0], found.joints[:, 1]])
    if OFFSETS in adapted:
        estimates[OFFSETS] = found.offsets[0]
    if ROTORS in adapted and found.rotors is not None:
        estimates[ROTORS] = found.rotors[0]
    session = ControlSession(configuration, Options(), estimates=estimates)
    save_estimates(path, configuration, session.snapshot())


def _show(found: RobotFit, library: Library) -> None:
    texts = (text if len(text) <= WIDTH else f"{text[: WIDTH - 2]} …" for text in found.base.texts())
    values = zip(texts, found.nominal, found.fit.x, found.std, strict=True)
    base = [[text, *map(_number, numbers)] for text, *numbers in values]
    print_table([["base parameter", "robot file", "found", "deviation"], *base])
    for place, pi, std in zip(found.links, found.bodies, found.bodies_std, strict=True):
        nominal = np.reshape(library.pi, (-1, len(REG_NAMES)))[place]
        body = [[name, *map(_number, row)] for name, *row in zip(REG_NAMES, nominal, pi, std, strict=True)]
        print_table([[f"body of {library.link_names[place]}", "robot file", "found", "deviation"], *body])
    terms = TERMS[: found.joints.shape[1]]
    head = [
        "joint",
        *(f"{term} ± deviation" for term in terms),
        "noise",
        "samples as one",
        "held out",
        "held out, bodies",
        "χ²",
    ]
    residuals = (
        found.noise,
        found.correlation,
        found.residual(found.predicted),
        found.residual(found.predicted_by_bodies),
        found.chi2,
    )
    rows = [head]
    for k, joint in enumerate(library.joint_names):
        pairs = zip(found.joints[k], found.joints_std[k], strict=True)
        rows.append([joint, *(f"{x:.4g} ± {std:.2g}" for x, std in pairs), *(_number(one[k]) for one in residuals)])
    print_table(rows)
    if found.gains.any():
        wrong = (f"{name} {gain:+.1%}" for name, gain in zip(library.joint_names, found.gains, strict=True) if gain)
        click.echo(f"Drive gains over the others', taken out: {', '.join(wrong)}")
    names = library.joint_names
    falling = zip(names, found.stribeck.size, found.stribeck.std, found.stribeck.speed, strict=True)
    told = [f"{name} {size:.3g} ± {std:.2g} at {speed:.2g}" for name, size, std, speed in falling if size]
    if told:
        click.echo(f"Stribeck friction F_s - F_c, at v_s: {', '.join(told)}")
    offsets = ", ".join(_number(offset) for offset in found.offsets[0])
    click.echo(f"In the robot file, as thunder.offset: [{offsets}]")
    click.echo(f"{len(found.base.kept)} base parameters, condition {found.condition:.3g}; SI units")


def rotor_entries(model: RobotModel, rotors: NDArray[np.float64], stds: NDArray[np.float64], *, is_yaml: bool) -> str:
    """Return the rotors that were found as the robot file has them; those that the motion does not tell are unknown."""
    is_told = stds <= ROTOR_TOLD * rotors
    told = [(link, rotor) for link, rotor, sure in zip(model.links, rotors, is_told, strict=True) if sure]
    unknown = ", ".join(joint for joint, sure in zip(model.joint_names, is_told, strict=True) if not sure)
    if is_yaml:
        rows = [f"  {link.name}: {{rotor: {{inertia: {rotor:.4g}}}}}" for link, rotor in told]
        lines = ["In the robot file, beside inertial and friction:", "dynamics:", *rows]
    else:
        rows = [f'  <rotor joint="{link.joint.name}" inertia="{rotor:.4g}"/>' for link, rotor in told]
        lines = ["In the robot file:", "<thunder>", *rows, "</thunder>"]
    return "\n".join(lines if told else []) + (
        f"\nThe motion does not tell the rotors of {unknown}." if unknown else ""
    )


def _number(value: float) -> str:
    return f"{value:.4g}"


def _document(found: RobotFit, library: Library) -> dict[str, Any]:
    """Return what is shown, as JSON has it."""
    rows = zip(found.base.texts(), found.nominal, found.fit.x, found.std, strict=True)
    names = [library.link_names[place] for place in found.links]
    bodies = zip(names, found.bodies, found.bodies_std, strict=True)
    joints = zip(library.joint_names, found.joints, found.joints_std, strict=True)
    return {
        "base": [dict(zip(("parameter", "robot_file", "found", "std"), row, strict=True)) for row in rows],
        "bodies": {name: {"pi": pi, "std": std} for name, pi, std in bodies},
        "joints": {
            name: {term: {"found": x, "std": s} for term, x, s in zip(TERMS, values, std, strict=False)}
            for name, values, std in joints
        },
        "stribeck": {
            name: {"found": size, "std": std, "speed": speed} if size else None
            for name, size, std, speed in zip(
                library.joint_names, found.stribeck.size, found.stribeck.std, found.stribeck.speed, strict=True
            )
        },
        "condition": found.condition,
        "drive_gains": found.gains,
        "noise": found.noise,
        "correlation": found.correlation,
        "doubt": found.doubt,
        "chi2": found.chi2,
        "gains": {"found": found.diagnosis.gains.size, "std": found.diagnosis.gains.std},
        "zeros": {"found": found.diagnosis.zeros.size, "std": found.diagnosis.zeros.std},
        "lag": {"found": found.lag.size, "std": found.lag.std},
        "held_out": found.residual(found.predicted),
        "held_out_bodies": found.residual(found.predicted_by_bodies),
    }
