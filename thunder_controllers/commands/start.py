"""`thunder demo`, `thunder try` and `thunder new`: what one starts with."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from thunder_controllers.commands.run import run, verbose_option
from thunder_controllers.resources import share
from thunder_dynamics.errors import InconsistentInertiaWarning, ThunderError
from thunder_dynamics.readers.command_options import reading_options
from thunder_dynamics.storage.door import read_text
from thunder_dynamics.storage.whole import write_text

if TYPE_CHECKING:
    from thunder_controllers.arms.trial import Trial

DEMO = "panda_unknown_tool"
"""Scenario of `thunder demo`."""

FIXED, UNOBSERVED = "fixed", {"law": {"options": {"disturbance": "none"}}}
"""Run of `thunder try` without adaptation and observer, and what makes it that."""

TEMPLATE = "examples/new_project"
"""A whole project in the share folder, tested as it lies there, that `thunder new` copies under another name."""

TEMPLATE_NAME = "new_project"
NAME = re.compile(r"[a-z][a-z0-9_]*")


class ProjectError(ThunderError):
    """A project cannot be begun there."""


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="results/demo", show_default=True)
@verbose_option
@click.pass_context
def demo(context: click.Context, out: Path, verbose: bool) -> None:
    """Simulate a Panda that picks up an unknown tool, without and with adaptation; write a report."""
    context.invoke(run, scenario=Path(DEMO), out=out, verbose=verbose)


@click.command("try")
@click.argument("robot")
@click.option("--ee", "--ee-link", "ee_link", help="Link that is the end effector; the arm is the chain to it.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/try_<robot>]"
)
@click.option("--open", "opens", is_flag=True, help="Open the report in a browser.")
@reading_options(but=("arm", "ee_link"))
@verbose_option
@click.pass_context
def try_(
    context: click.Context,
    robot: str,
    ee_link: str | None,
    out: Path | None,
    opens: bool,
    verbose: bool,
    reading: dict[str, Any],
) -> None:
    """Move the arm of ROBOT with a payload that its controller does not know, without and with adaptation.

    ROBOT is a name of `thunder list robots`, of PyPI's example-robot-data (pip install 'thunder-controllers[arms]') or
    of robot_descriptions, where that is installed; a URDF, xacro or YAML file; or package://PACKAGE/PATH of an
    installed ROS package. Its longest chain of joints is the arm; grippers and all else are held. Posture, motion and
    payload fit the arm's limits; the simulated arm has friction, rotors, delay and noise that the controller does not
    know. What was chosen is printed, with the options that choose otherwise. The scenario lies beside the report.

    Exits with 1 if the arm had to be stopped, with 2 if it cannot move so.
    """
    from thunder_controllers.arms.trial import plan_trial

    trial = plan_trial(robot, reading, ee_link)
    for line in (*trial.facts, trial.conditions):
        click.echo(line)
    name = "try_" + re.sub(r"[^A-Za-z0-9_-]", "_", Path(robot).name.partition(".")[0])[:58]
    folder = out or Path("results") / name
    scenario = _written(folder / "scenario.yaml", name, trial)
    packages = tuple(map(str, trial.scenario["robot_options"].get("packages", {}).values()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentInertiaWarning)  # a fact says it
            context.invoke(run, scenario=scenario, out=folder, xacro_folders=packages, verbose=verbose)
            click.echo(_shares(scenario, trial, packages))
    finally:
        if opens and (report := folder / "report.html").is_file():
            click.launch(str(report))


def _shares(scenario: Path, trial: Trial, packages: tuple[str, ...]) -> str:
    """Say what each thing that the controller does not know leaves of the error without adaptation, by itself."""
    from thunder_controllers.experiments.runner import choose_run
    from thunder_controllers.report.summary import short_errors
    from thunder_controllers.simulation.experiment import run_prepared
    from thunder_controllers.simulation.preparation import prepare
    from thunder_controllers.simulation.scenario import load_scenario

    left = []
    for cause in trial.causes:
        loaded = load_scenario(scenario, {"plant": trial.told(cause)}, packages)
        fixed = choose_run(loaded, FIXED)
        metrics = run_prepared(prepare(loaded, fixed), fixed).metrics
        left.append(f"{cause} {short_errors(metrics) if metrics['fault'] is None else 'stops the arm'}")
    return f"Unknown by itself, without adaptation: {', '.join(left)}."


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def new(folder: Path) -> None:
    """Begin a project in DIR: a robot, a law, a scenario and their test, for pip and for colcon."""
    for file in begin_project(folder):
        click.echo(str(file))
    click.echo(f"Next: cd {folder} && pip install --editable '.[test]' && python -m pytest")


def _written(file: Path, name: str, trial: Trial) -> Path:
    """The scenario of a trial, in a file of a folder that is made if need be; paths are relative to it."""

    def seen(path: str) -> str:
        return os.path.relpath(path, file.parent.resolve())

    plant: Mapping[str, Any] = trial.scenario["plant"]
    document = {
        "name": name,
        "description": "\n".join((*trial.facts, trial.conditions)),
        **trial.scenario,
        "robot": seen(trial.scenario["robot"]),
        "plant": {**plant, "urdf": seen(plant["urdf"])},
        "runs": [
            {"name": FIXED, "adaptation": False, "overrides": UNOBSERVED},
            {"name": "observer_alone", "adaptation": False},
            {"name": "nothing_unknown", "adaptation": False, "overrides": {**UNOBSERVED, "plant": trial.told()}},
            {"name": "adaptive"},
        ],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    write_text(file, text)
    return file


def begin_project(folder: Path) -> list[Path]:
    """Write the starting project, named as the last part of `folder`.

    Returns:
        Its files.

    Raises:
        ProjectError: if the name is no Python name in lower case, or there is something in the folder.
    """
    name = _check_folder(folder)
    written = []
    for source in sorted(path for path in share(TEMPLATE).rglob("*") if path.is_file()):
        target = folder / str(source.relative_to(share(TEMPLATE))).replace(TEMPLATE_NAME, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, read_text(source, ProjectError).replace(TEMPLATE_NAME, name), durable=False)
        written.append(target)
    return written


def _check_folder(folder: Path) -> str:
    """The name that the folder gives; an error if it is none, or something is there."""
    name = folder.absolute().name
    if not NAME.fullmatch(name):
        raise ProjectError(f"'{name}' names no package", where=str(folder), valid="lower-case letters, digits and _")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError("there is something already", where=str(folder), valid="a new folder, or an empty one")
    return name
