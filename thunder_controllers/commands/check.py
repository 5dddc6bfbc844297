"""`thunder check`: whether a robot is what it should be: its dynamics, its bodies, and another description of it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import click

from thunder_controllers.analysis.identities import Finding, check_agreement, check_identities
from thunder_controllers.commands.terminal import print_table, single_joint_library
from thunder_controllers.host import Library
from thunder_dynamics.cli import robot_argument
from thunder_dynamics.errors import ImplausibleWarning, InconsistentInertiaWarning
from thunder_dynamics.inertia import DYN_NAMES, least_second_moment, nearest_consistent
from thunder_dynamics.model import Link, RobotModel
from thunder_dynamics.plausibility import Verdict, judge
from thunder_dynamics.readers import load_model, locate
from thunder_dynamics.readers.command_options import reading_options
from thunder_dynamics.readers.source import ReaderOptions
from thunder_dynamics.readers.urdf import UrdfOptions, XacroOptions

OPTIONS_OF = {
    ".yaml": set(ReaderOptions.model_fields),
    ".yml": set(ReaderOptions.model_fields),
    ".urdf": set(UrdfOptions.model_fields),
    ".xacro": set(XacroOptions.model_fields),
}
"""What may be said of a file, by its suffix; a package's own reader is given all."""


@click.command()
@robot_argument
@click.argument("other", type=click.Path(dir_okay=False), required=False)
@click.option("--limit", default=1e-6, show_default=True, help="Relative difference that two descriptions may have.")
@click.option("--seed", default=0, show_default=True, help="Of the random states.")
@reading_options(but=("allow_inconsistent",))
def check(robot: str, other: str | None, limit: float, seed: int, reading: dict[str, Any]) -> None:
    """Check ROBOT, a file or a name, and that OTHER describes the same one; compiles what is new.

    The exit status is 0 only if all holds, 1 if something does not.
    """
    model, library = _load(robot, reading, other)
    bodies_hold = _show_bodies(model)
    plausible = _show_plausibility(model)
    found = check_identities(library, model.gravity, seed)
    _show(f"identity, {model.name}", found)
    if other is not None:
        theirs, their_library = _load(other, reading, robot)
        bodies_hold &= _show_bodies(theirs)
        plausible += _show_plausibility(theirs)
        agreement = check_agreement(library, their_library, limit, seed)
        _show(f"agreement, {model.name} and {theirs.name}", agreement)
        found += agreement
    held = [bodies_hold, *(one.holds for one in plausible), *(one.holds for one in found)]
    failed = held.count(False)
    click.echo(f"{failed} of {len(held)} checks failed" if failed else "All holds.")
    sys.exit(1 if failed else 0)


def options_for(file: str, other: str | None, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a file that is read beside another one: all, but for those that only the other kind of file has."""
    kinds = [OPTIONS_OF.get(locate(one).suffix) for one in (file, other) if one is not None]
    mine, theirs = kinds[0], kinds[-1]
    if mine is None or theirs is None:
        return dict(reading)
    return {name: value for name, value in reading.items() if name in mine or name not in theirs}


def _load(robot: str, reading: dict[str, Any], other: str | None) -> tuple[RobotModel, Library]:
    """Inertias that no body has are shown by the check itself, so they are read as they are."""
    reading = options_for(robot, other, reading)
    with warnings.catch_warnings():
        for shown in (InconsistentInertiaWarning, ImplausibleWarning):
            warnings.simplefilter("ignore", shown)
        model = load_model(robot, allow_inconsistent=True, **reading)
    return model, single_joint_library(model)


def _show(title: str, found: Sequence[Finding]) -> None:
    rows = [[one.what, f"{one.error:.2g}", f"{one.limit:.2g}", "yes" if one.holds else "NO"] for one in found]
    print_table([[title, "error", "limit", "holds"], *rows])


def _show_plausibility(model: RobotModel) -> list[Verdict]:
    """Show which quantities are within what robots have, and why the others are not."""
    verdicts = list(judge(model))
    rows = [
        [f"{one.check.what.rstrip(':')} [{one.check.unit or '1'}]", f"{one.value:.3g}", f"{one.bound:.3g}"]
        + ["yes" if one.holds else "NO"]
        for one in verdicts
    ]
    print_table([[f"plausible, {model.name}", "most", "bound", "holds"], *rows])
    for one in (one for one in verdicts if not one.holds):
        click.echo(f"{one}")
    return verdicts


def _show_bodies(model: RobotModel) -> bool:
    """Show which links can exist, and the nearest bodies of those that cannot; whether all can."""

    def exists(link: Link) -> str:
        if not link.inertia.is_consistent:
            return "NO"
        return "yes" if link.inertia.mass > 0.0 else "no mass"

    rows = [[f"body, {model.name}", "mass [kg]", "least second moment", "exists"]]
    for link in model.links:
        moment = f"{least_second_moment(link.inertia):.2g}"
        rows.append([link.name, f"{link.inertia.mass:.4g}", moment, exists(link)])
    print_table(rows)
    wrong = [link for link in model.links if not link.inertia.is_consistent]
    for link in wrong:
        near = zip(DYN_NAMES, nearest_consistent(link.inertia).dyn, strict=True)
        click.echo(f"nearest body of {link.name}: {', '.join(f'{name}: {value:.9g}' for name, value in near)}")
    return not wrong
