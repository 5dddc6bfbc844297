"""What `thunder gains` does: how far a law's gains are from instability, and gains that are far enough."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np

from thunder_controllers.analysis.gain_file import write_gains
from thunder_controllers.analysis.margin import STABLE, WANTED_MARGIN, Margins, find_margins
from thunder_controllers.analysis.sampled_loop import Timing
from thunder_controllers.commands.terminal import gains_option, given_gains, print_json, print_table
from thunder_controllers.host import Library, Options, RestingLaw, margin_poses
from thunder_controllers.host.measured import read_measurement
from thunder_dynamics.build import build
from thunder_dynamics.cli import LAW_FORM, complete_law, parse_law, robot_argument
from thunder_dynamics.errors import LawError
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import reading_options


@click.command()
@robot_argument
@click.option("--law", required=True, shell_complete=complete_law, help=f"{LAW_FORM}.")
@click.option("--delay", type=float, help="From measurement to effect [s]. [the host's dead_time]")
@click.option("--lag", type=float, default=0.0, help="Time constant of the drives [s]. [none]")
@click.option("--rate", type=float, default=1000.0, show_default=True, help="Of the control [Hz].")
@click.option(
    "--velocity-filter", type=float, help="Cut-off of the velocity's filter [Hz]. [the host's velocity_cutoff]"
)
@gains_option
@click.option(
    "--gain", "scaled", multiple=True, default=["K_d"], show_default=True, help="Which is scaled, or several."
)
@click.option("--poses", type=int, default=20, show_default=True, help="How many, within the joint limits.")
@click.option("--seed", type=click.IntRange(0), help="Other poses than those that the host looks at.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the suggested gains, as --gains takes them.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON instead of tables; a number that is infinite is null."
)
@reading_options()
def gains(
    robot: str,
    law: str,
    delay: float | None,
    lag: float,
    rate: float,
    velocity_filter: float | None,
    given: tuple[str, ...],
    scaled: tuple[str, ...],
    poses: int,
    seed: int | None,
    out: Path | None,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Show how far the gains of a law are from instability on ROBOT, a file or a name.

    Delay and filter are those of the file of --drives, if it has them, unless others are given. The exit status is 1 if
    the gains are unstable at one of the poses.
    """
    model, request = load_model(robot, **reading), parse_law(law)
    host = Options(**(read_measurement(reading["drives"]) if "drives" in reading else {}))
    cutoff = host.velocity_cutoff if velocity_filter is None else velocity_filter
    timing = Timing(rate, delay=host.dead_time if delay is None else delay, lag=lag, velocity_filter=cutoff)
    values = given_gains(given)
    library = Library(build(model, [request]) / f"lib{model.name}.so")
    names = tuple(dict.fromkeys(scaled))
    looked_at = margin_poses(library, poses, 0 if seed is None else poses * (1 + seed))
    if seed is None:
        options = Options(nominal_dt=1.0 / rate, measurement_timeout=2.0 / rate)
        fastest = RestingLaw(library, law=request[0], gains=values, options=options).find_fastest()
        looked_at = np.vstack([looked_at, *([] if fastest is None else [fastest.q])])
    margins = find_margins(library, request[0], values, looked_at, timing, names)
    if as_json:
        print_json(_document(margins))
    else:
        _show(margins)
    if out is not None:
        write_gains(out, values | _suggestion(margins, out), _comment(model.name, law, timing, margins))
    sys.exit(0 if margins.is_stable else 1)


def _suggestion(margins: Margins, out: Path) -> dict[str, list[float]]:
    if margins.suggested is None:
        what = f"lowering {' and '.join(margins.gains)} leaves no margin of {WANTED_MARGIN:g}"
        raise LawError(what, where=str(out), valid="other gains, a shorter delay or a higher rate")
    return {name: [float(f"{value:.4g}") for value in values] for name, values in margins.suggested.items()}


def _comment(robot: str, law: str, timing: Timing, margins: Margins) -> str:
    lag = f", lag {timing.lag:g} s" if timing.lag else ""
    filtered = f", velocity filter {timing.velocity_filter:g} Hz" if np.isfinite(timing.velocity_filter) else ""
    return (
        f"Suggested by thunder gains for {robot} under {law}, at least a factor {WANTED_MARGIN:g} from instability at\n"
        f"{len(margins.poses)} poses: {timing.rate:g} Hz, delay {timing.delay:g} s{lag}{filtered}."
    )


def _show(margins: Margins) -> None:
    rows = [["pose", "spectral radius", "damping", "margin"]]
    for q, radius, damping, margin in _poses(margins):
        rows.append([" ".join(f"{x:.2f}" for x in q), f"{radius:.6f}", f"{damping:.3f}", _factor(margin)])
    print_table(rows)
    for name, values in margins.gains.items():
        wanted = ["none"] * values.size if margins.suggested is None else [f"{x:.4g}" for x in margins.suggested[name]]
        elements = zip(values, margins.element_margins[name], wanted, strict=True)
        rows = [[str(k), f"{x:.4g}", _factor(margin), new] for k, (x, margin, new) in enumerate(elements, start=1)]
        print_table([[name, "value", "margin alone", "suggested"], *rows])
    unstable, what = np.count_nonzero(margins.spectral_radii > STABLE), " and ".join(margins.gains)
    state = f"Unstable at {unstable} of {len(margins.poses)} poses" if unstable else "Stable"
    click.echo(f"{state}; the least margin of {what} is {_factor(margins.margin)}.")
    if margins.suggested is None:
        click.echo(f"Lowering {what} leaves no margin of {WANTED_MARGIN:g}: lower other gains too.")


def _poses(margins: Margins) -> Iterable[tuple[Any, ...]]:
    return zip(margins.poses, margins.spectral_radii, margins.damping, margins.pose_margins, strict=True)


def _factor(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "beyond its bounds"


def _document(margins: Margins) -> dict[str, Any]:
    """What is shown, as JSON has it."""
    names = ("q", "spectral_radius", "damping", "margin")
    return {
        "stable": bool(margins.is_stable),
        "margin": margins.margin,
        "element_margins": margins.element_margins,
        "gains": margins.gains,
        "suggested": margins.suggested,
        "poses": [dict(zip(names, row, strict=True)) for row in _poses(margins)],
    }
