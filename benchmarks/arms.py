"""Public arms by `thunder try`: how far each follows with a payload, friction, rotors and noise that nobody told it of.

`python benchmarks/arms.py [ROBOT …] [--list FILE] [--jobs N] [--out results/arms]`: names and files as `thunder try`
takes them, by default those of example-robot-data below; FILE is a YAML mapping of further names to `{file, ee_link}`
and options of the reader, such as `xacro_args` and `packages`, with paths relative to it. Prints a table and writes it
as arms.md; status 1 if an arm did not come within the limits, or could not be tried.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from program import cores

from thunder_controllers.arms.trial import plan_trial
from thunder_controllers.host import Library
from thunder_controllers.scripting import Result, simulate
from thunder_controllers.simulation.preparation import compile_law
from thunder_dynamics.errors import InconsistentInertiaWarning, ThunderError

COLLECTED = ("panda_collision", "ur3", "ur5_joint_limited", "ur10", "xarm7", "kinova", "z1", "so100", "so101", "baxter")
"""Arms of example-robot-data."""

POSITION, JOINTS = 2e-3, 5e-3
"""Largest errors of an arm that passes: of the end effector [m], of all joints together [rad]; root mean square."""

WINDOW = 5.0
"""Time at the end of a run in which that is measured [s]."""

HEAD = ("arm", "joints", "payload [kg]", "observer alone", "with adaptation", "notes", "within")


class Row(NamedTuple):
    """Results of an arm."""

    name: str
    cells: tuple[str, ...]
    fits: bool


def errors(result: Result, library: Library) -> tuple[float, float]:
    """Root mean square of ‖q_d − q‖ [rad], and of the distance of the end effector from where q_d has it [m]."""
    trace = result.trace
    last = trace.t >= trace.t[-1] - WINDOW
    q_d = np.ascontiguousarray(trace.reference[last][:, : trace.q.shape[1]])
    apart = library.batch("T_0_ee", q_d)[:, :3, 3] - trace.position[last]
    of_joints, of_tip = (np.sqrt(np.mean(np.sum(error**2, axis=1))) for error in (trace.error[last], apart))
    return float(of_joints), float(of_tip)


def tried(name: str, robot: str, ee_link: str | None, reading: Mapping[str, Any]) -> Row:
    """Try one arm."""
    warnings.simplefilter("ignore", InconsistentInertiaWarning)
    warnings.simplefilter("ignore", RuntimeWarning)  # an arm that was stopped is a row
    try:
        trial = plan_trial(robot, reading, ee_link)
        fixed, adaptive = (
            simulate(robot, robot_options=reading, ee_link=ee_link, adaptation=adapts) for adapts in (False, True)
        )
    except ThunderError as error:
        return Row(name, ("–", "–", "–", str(error), "–", "no"), False)
    library = compile_law(trial.model, adaptive.config.law)
    found = [errors(result, library) for result in (fixed, adaptive)]
    cells = [f"{1e3 * joints:.2g} mrad, {1e3 * tip:.2g} mm" for joints, tip in found]
    if adaptive.fault:
        cells[1] = adaptive.fault
    of_joints, of_tip = found[1]
    fits = adaptive.fault is None and (of_joints < JOINTS or of_tip < POSITION)
    notes = ", ".join(note.code for note in adaptive.notes) or "–"
    return Row(name, (str(trial.model.n), f"{trial.motion.payload:.2g}", *cells, notes, "yes" if fits else "no"), fits)


def listed(file: Path) -> dict[str, tuple[str, str | None, dict[str, Any]]]:
    """Robots of a list: file, end effector and options of the reader by name."""
    found = {}
    for name, entry in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        options = dict(entry)
        robot, ee_link = str(file.parent / options.pop("file")), options.pop("ee_link", None)
        packages = options.get("packages", {})
        options |= (
            {"packages": {key: str(file.parent / folder) for key, folder in packages.items()}} if packages else {}
        )
        found[name] = (robot, ee_link, options)
    return found


def main() -> int:
    """Try them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", metavar="ROBOT")
    parser.add_argument("--list", type=Path, dest="file")
    parser.add_argument("--jobs", type=int, default=len(cores()))
    parser.add_argument("--out", type=Path, default=Path("results/arms"))
    given = parser.parse_args()
    named = given.robots or ([] if given.file else COLLECTED)
    robots = {Path(robot).stem: (robot, None, {}) for robot in named} | (listed(given.file) if given.file else {})
    with ProcessPoolExecutor(given.jobs) as pool:
        futures = [pool.submit(tried, name, *robot) for name, robot in robots.items()]
        rows = [future.result() for future in futures]
    lines = [
        f"| {' | '.join(cells)} |" for cells in (HEAD, ["---"] * len(HEAD), *((row.name, *row.cells) for row in rows))
    ]
    fit = sum(row.fits for row in rows)
    limits = f"{1e3 * POSITION:g} mm or {1e3 * JOINTS:g} mrad in the last {WINDOW:g} s"
    text = "\n".join([*lines, "", f"{fit} of {len(rows)} within {limits}."]) + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "arms.md").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0 if fit == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
