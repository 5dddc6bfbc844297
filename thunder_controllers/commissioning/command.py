"""`thunder commission`: a small motion of an arm to its delays, rotors, friction and offsets, and gains that follow."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import yaml

from thunder_controllers.commands.terminal import (
    changed,
    of_robot,
    print_json,
    print_table,
    set_option,
    xacro_folder_option,
)
from thunder_controllers.commissioning.estimate import Findings, Quantity
from thunder_controllers.commissioning.file import (
    DRIVE,
    host_options,
    interval,
    suggested_gains,
    told_model,
    write_commissioned,
)
from thunder_controllers.commissioning.plan import Budget
from thunder_controllers.commissioning.simulation import Commissioned, commission_scenario
from thunder_controllers.host import total_delay
from thunder_controllers.resources import SCENARIOS, shipped
from thunder_controllers.simulation.scenario import check_keys, load_scenario
from thunder_dynamics.cli import LAW_FORM, complete_law, completer, parse_law
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model, locate, named_robots
from thunder_dynamics.readers.command_options import reading_options
from thunder_dynamics.readers.yaml_text import parse_yaml
from thunder_dynamics.storage.door import read_text
from thunder_dynamics.storage.whole import write_text

SHOWN = (*DRIVE, "delay", "velocity_lag", "position_noise", "velocity_noise")
"""Quantities in the order of the table."""


UNITS = {
    "rotor": "kg·m² or kg",
    "viscous": "N·m·s/rad or N·s/m",
    "coulomb": "N·m or N",
    "offset": "N·m or N",
    "gain": "1",
    "delay": "s",
    "velocity_lag": "s",
    "position_noise": "rad or m",
    "velocity_noise": "rad/s or m/s",
}
"""Units of the quantities, for revolute or prismatic joints."""


def _names() -> Mapping[str, Path]:
    return {**named_robots(), **shipped(SCENARIOS)}


@click.command()
@click.argument("scenario", shell_complete=completer(_names, files=True))
@click.option(
    "--reach", type=click.FloatRange(0.0, min_open=True), help="Of each joint, from its start. [0.1 rad or m]"
)
@click.option(
    "--effort-share", type=click.FloatRange(0.0, 0.2, min_open=True), help="Of the limits, beside friction. [0.02]"
)
@click.option("--law", shell_complete=complete_law, help=f"{LAW_FORM}: whose K_d is suggested. [the scenario's]")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write what was found, for --drives.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@set_option
@xacro_folder_option
@reading_options(but=("xacro_folders",))
def commission(
    scenario: str,
    reach: float | None,
    effort_share: float | None,
    law: str | None,
    out: Path | None,
    as_json: bool,
    settings: tuple[str, ...],
    xacro_folders: tuple[str, ...],
    reading: Mapping[str, Any],
) -> None:
    """Find delays, noise, rotors, friction and offsets of the arm in SCENARIO by a small motion at its start.

    A robot file in its place is simulated as it is, with what --set says otherwise. A number is shown with its interval
    of 95 %, or as unknown. Exits with 2 if the arm cannot make the motion.
    """
    given = {"reach": reach, "effort_share": effort_share}
    budget = check_keys(Budget, {key: value for key, value in given.items() if value is not None}, "commission")
    changes = changed(of_robot(reading), {}, settings)
    xacro_folders = (*xacro_folders, *reading.get("packages", {}).values())
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_scenario(_scenario_file(scenario, Path(folder), reading), changes, xacro_folders)
        original = loaded.runs[0]
        model = loaded.load_model(original.config.robot, original.config)
        done = commission_scenario(loaded, model, budget)
    rate, found = original.config.rate, done.findings
    named = (original.config.law.name, original.config.law.options) if law is None else parse_law(law)
    gains, margin = suggested_gains(told_model(model, found), named[0], named[1], found, rate)
    if as_json:
        print_json(_document(done, model, gains, margin))
    else:
        _show(done, model, gains, margin, named[0], rate)
    if out is not None:
        comment = (
            f"Found by thunder commission of {model.name}: --drives takes it, --gains and ROS parameters too.\n"
            f"K_d is for {named[0]} at {rate:g} Hz, a factor {margin:.3g} from instability."
        )
        write_commissioned(out, found, model.joint_names, 1.0 / rate, gains, comment)
        click.echo(str(out.resolve()), err=as_json)


def _scenario_file(given: str, folder: Path, reading: Mapping[str, Any]) -> Path:
    """The file of a scenario, or one made of a robot: itself as the plant, at rest in the middle of its ranges."""
    file = locate(given, _names, "scenario or robot")
    if file.suffix in (".yaml", ".yml") and "runs" in parse_yaml(read_text(file, RobotFileError), str(file)).data:
        return file
    model = load_model(file, **reading)
    low, high = model.limits("lower"), model.limits("upper")
    q = np.where(np.isfinite(high - low), 0.5 * (low + high), 0.0).tolist()
    document = {
        "name": model.name,
        "robot": str(file.resolve()),
        "plant": {"engine": "model", "urdf": str(file.resolve())},
        "law": {"name": "slotine_li"},
        "reference": {"type": "joint_lissajous", "centre": q, "amplitude": 0.0, "frequency": 1.0},
        "start": {"q": q},
        "duration": 1.0,
        "runs": [{"name": "commission"}],
    }
    made = folder / "scenario.yaml"
    write_text(made, yaml.safe_dump(document))
    return made


def _cell(quantity: Quantity, joint: int) -> str:
    if np.isnan(quantity.known()[joint]):
        return "unknown"
    return "about " * bool(quantity.is_rough[joint]) + interval(quantity.value[joint], quantity.std[joint])


def _show(
    done: Commissioned, model: RobotModel, gains: Mapping[str, Any], margin: float, law: str, rate: float
) -> None:
    found = done.findings
    rows = [["joint", *SHOWN], ["", *(UNITS[name] for name in SHOWN)]]
    for k, joint in enumerate(model.joint_names):
        rows.append([joint, *(_cell(getattr(found, name), k) for name in SHOWN)])
    print_table(rows)
    options = host_options(found, 1.0 / rate)
    source = "differences of positions" if found.by_differences else "rates of their own"
    cutoff = f"through {options.velocity_cutoff:.4g} Hz" if np.isfinite(options.velocity_cutoff) else "without a filter"
    click.echo(f"Velocities are {source} {cutoff}; the total delay is {1e3 * total_delay(options):.3g} ms.")
    played = sum(len(stage.reference) for stage, _ in done.stages) / rate
    click.echo(f"{len(done.stages)} stages, {played:.3g} s of motion.")
    values = ", ".join(f"{x:.4g}" for x in gains["K_d"])
    click.echo(f"K_d of {law}: [{values}], a factor {margin:.3g} from instability.")


def _document(done: Commissioned, model: RobotModel, gains: Mapping[str, Any], margin: float) -> dict[str, Any]:
    """Return the table as JSON has it; a quantity that is unknown is null."""
    found: Findings = done.findings
    joints = {
        joint: {
            name: None
            if np.isnan(quantity.known()[k])
            else {"found": quantity.value[k], "std": quantity.std[k], "rough": bool(quantity.is_rough[k])}
            for name in SHOWN
            for quantity in [getattr(found, name)]
        }
        for k, joint in enumerate(model.joint_names)
    }
    filters = {"velocity_cutoff": found.velocity_cutoff, "velocity_by_differences": found.by_differences}
    return {"joints": joints, **filters, "stages": len(done.stages), "gains": dict(gains), "margin": margin}
