"""`thunder demo`, `thunder try` and `thunder new`: what one starts with."""

from __future__ import annotations

import math
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
from thunder_dynamics.errors import (
    AmbiguousEndError,
    InconsistentInertiaWarning,
    ModelError,
    ThunderError,
    listed,
)
from thunder_dynamics.joints import Joint, JointKind
from thunder_dynamics.model import GRAVITY, SINGLE_JOINTS, RobotModel
from thunder_dynamics.readers import load_model, locate
from thunder_dynamics.readers.command_options import reading_options
from thunder_dynamics.storage.whole import write_whole

if TYPE_CHECKING:
    from thunder_controllers.arms.trial import Trial

DEMO = "panda_unknown_tool"
"""Scenario of `thunder demo`."""

TEMPLATE = "examples/new_project"
"""A whole project in the share folder, tested as it lies there, that `thunder new` copies under another name."""

TEMPLATE_NAME = "new_project"
NAME = re.compile(r"[a-z][a-z0-9_]*")

FREQUENCIES = (0.1, 0.15, 0.2, 0.25)
"""Of the joints in turn, in a scenario for one's own robot [Hz]: together they repeat after 20 s."""

LARGEST = {JointKind.REVOLUTE: 0.3, JointKind.PRISMATIC: 0.1}
"""Amplitudes of its joints [rad or m]."""


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
@reading_options("locked_joints", "rotor_inertias", "xacro_args", "packages")
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
    folder = out or Path("results") / f"try_{trial.model.name}"
    scenario = _written(folder / "scenario.yaml", f"try_{trial.model.name}", trial)
    packages = tuple(map(str, trial.scenario["robot_options"].get("packages", {}).values()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentInertiaWarning)  # a fact says it
            context.invoke(run, scenario=scenario, out=folder, xacro_folders=packages, verbose=verbose)
    finally:
        if opens and (report := folder / "report.html").is_file():
            click.launch(str(report))


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--robot", help="A scenario for that YAML, URDF or xacro file instead, with an unknown payload.")
@reading_options("ee_link", "locked_joints", "xacro_args", "packages")
def new(folder: Path, robot: str | None, reading: dict[str, Any]) -> None:
    """Begin a project in DIR: a robot, a law, a scenario and their test, for pip and for colcon."""
    if robot is not None:
        try:
            file = begin_scenario(folder, robot, reading)
        except AmbiguousEndError as error:
            click.echo(f"End effector: {error.carrier}, which carries {listed(error.ends)}; --ee-link chooses another")
            file = begin_scenario(folder, robot, {**reading, "ee_link": error.carrier})
        outside = (os.path.abspath(path) for path in reading.get("packages", {}).values())
        allowed = "".join(f" --xacro-folder {path}" for path in dict.fromkeys(outside))
        click.echo(f"Next: thunder run {file}{allowed}")
        return
    if reading:
        raise ProjectError("options of a robot file, but no file", valid="--robot FILE")
    for file in begin_project(folder):
        click.echo(str(file))
    click.echo(f"Next: cd {folder} && pip install --editable '.[test]' && python -m pytest")


def _written(file: Path, name: str, trial: Trial) -> Path:
    """The scenario of a trial, in a file of a folder that is made if need be."""
    runs = [{"name": "fixed", "adaptation": False}, {"name": "adaptive"}]
    document = {
        "name": name,
        "description": "\n".join((*trial.facts, trial.conditions)),
        **trial.scenario,
        "runs": runs,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    write_whole(file, lambda out: out.write(text.encode()))
    return file


def begin_scenario(folder: Path, robot: str, reading: Mapping[str, Any]) -> Path:
    """Write `scenario.yaml`, in which a robot moves with a payload that its controller does not know.

    Its joints move about the middle of their ranges, once without adaptation and once with; the payload, at the end
    effector, weighs a tenth of what moves, 1 kg at most.

    Args:
        folder: New or empty; the scenario is named as its last part.
        robot: The robot's file or name.
        reading: Options of its reader.

    Returns:
        The file.

    Raises:
        ProjectError: if the name is none, or there is something in the folder.
        ThunderError: as the reader raises; also for joints that control laws do not take.
    """
    name, file, model = _check_folder(folder), locate(robot).resolve(), load_model(robot, **reading)
    if others := model.other_joints:
        raise ModelError(f"the joints {listed(others)}", where=str(file), valid=SINGLE_JOINTS)
    options = dict(reading)
    if any(map(math.isnan, model.rotor_inertias)):  # the simulated arm has none where its file says nothing of them
        options["without_rotors"] = True
    if "packages" in options:  # relative to the scenario there, to the working directory here
        options["packages"] = {package: os.path.abspath(path) for package, path in options["packages"].items()}
    scenario = _scenario(model, os.path.relpath(file, folder.resolve()), options)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "scenario.yaml"
    with target.open("w", encoding="utf-8") as out:
        keys = "docs/reference/scenario.md lists the keys."
        out.write(f"# {model.name} carries what its controller does not know. {keys}\n")
        yaml.safe_dump({"name": name, **scenario}, out, sort_keys=False, default_flow_style=None, width=120)
    return target


def _scenario(model: RobotModel, path: str, options: dict[str, Any]) -> dict[str, Any]:
    """What it says but for its name."""
    own = {"ee_link": options.pop("ee_link")} if "ee_link" in options else {}
    xacro = {key: options[key] for key in ("xacro_args", "packages") if key in options}
    mass = sum(link.inertia.mass for link in model.links)
    weight = min(1.0, 0.1 * mass)
    place = {"link": model.link_names[model.ee_link], "com": [round(x, 6) for x in model.ee.tr]}
    rubs = any(link.coulomb or any(link.friction) for link in model.links)
    joints = [link.joint for link in model.links]
    frequencies = [FREQUENCIES[i % len(FREQUENCIES)] for i in range(model.n)]
    centre = [_middle(joint) for joint in joints]
    law: dict[str, Any] = {"name": "slotine_li", **({"options": {"friction": "adapted"}} if rubs else {})}
    return {
        "robot": path,
        **own,
        **({"robot_options": options} if options else {}),
        "plant": {
            "engine": "mujoco" if path.endswith((".urdf", ".xacro")) else "model",
            "urdf": path,
            **xacro,
            **({} if model.gravity == GRAVITY else {"gravity": list(model.gravity)}),
            "payloads": [{**place, "mass": float(f"{weight:.2g}")}],
        },
        "law": law,
        "reference": {
            "type": "joint_lissajous",
            "centre": centre,
            "amplitude": [_amplitude(joint, f) for joint, f in zip(joints, frequencies, strict=True)],
            "frequency": frequencies,
            "phase": 1.5708,  # at rest in the beginning
        },
        "start": {"q": [*centre]},
        "duration": 20,
        "runs": [{"name": "fixed", "adaptation": False}, {"name": "adaptive"}],
    }


def _middle(joint: Joint) -> float:
    limits = joint.limits
    is_bounded = math.isfinite(limits.lower) and math.isfinite(limits.upper)
    return round(0.5 * (limits.lower + limits.upper), 3) if is_bounded else 0.0


def _amplitude(joint: Joint, frequency: float) -> float:
    """A quarter of the joint's range, and a third of its speed, at most."""
    limits = joint.limits
    largest = (LARGEST[joint.kind], 0.25 * (limits.upper - limits.lower), limits.velocity / (6 * math.pi * frequency))
    return float(f"{min(largest):.2g}")


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
        target.write_text(source.read_text(encoding="utf-8").replace(TEMPLATE_NAME, name), encoding="utf-8")
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
