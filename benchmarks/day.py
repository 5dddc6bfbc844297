"""A day of work in simulation: random payloads, friction, noise, delays, faults and restarts, all by the real host.

`python benchmarks/day.py [--hours 24] [--jobs N] [--out results/day]`: runs of a minute of three arms, each started
anew at a random phase, picking up and putting down bodies that its controller does not know. Runs without faults go
together in lanes. One run in a hundred has a random fault. Prints a table and writes every run; status 1 if a healthy
run was stopped, or any run ended with what is neither an end nor a stop.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builds
import closed_loops
import numpy as np
import yaml
from numpy.typing import NDArray
from program import cores

from thunder_controllers.experiments.comparison import csv_text
from thunder_controllers.experiments.engine import run_cases
from thunder_controllers.experiments.experiment import DIVERGED, DONE, FAILED, REFUSED, Case, Outcome
from thunder_controllers.simulation.scenario import RunConfig, merged
from thunder_studies.arms import ROTOR

FloatArray = NDArray[np.float64]

SECONDS = 60.0
"""Of a run."""

BODIES = 3
"""Picked up in a run."""

BLOCK = 96
"""Runs after which `runs.csv` has those that ended: a day is long."""

FAULTY = 0.01
"""Share of the runs that have a fault."""

ROBOTS = builds.PANDA.parent

UR5_HOME = (0.0, -1.2, 1.4, -0.5, 0.8, 0.0)
ADAPTED = {"adaptation": "least_squares", "friction": "adapted"}

ARMS: dict[str, tuple[dict[str, Any], float]] = {
    "panda": (closed_loops.SCENARIO, 2.0),
    "ur5": (
        {
            "law": {
                "name": "slotine_li",
                "options": {"adapted_links": ["wrist_3_link"], **ADAPTED},
                "gains": {"K_d": (10.0, 10.0, 10.0, 2.0, 2.0, 2.0)},  # by the rotors below, which its file lacks
            },
            "reference": {
                "type": "joint_lissajous",
                "centre": (0.0, -1.2, 1.4, -0.5, 0.8, 0.0),
                "amplitude": 0.3,
                "frequency": 0.2,
            },
            "start": {"q": (0.0, -1.2, 1.4, -0.5, 0.8, 0.0)},
        },
        3.0,
    ),
    "planar3r": (
        {
            "law": {"name": "slotine_li", "options": {"adapted_links": ["link3"], **ADAPTED}},
            "reference": {"type": "joint_lissajous", "centre": (0.3, 0.6, -0.4), "amplitude": 0.3, "frequency": 0.2},
            "start": {"q": (0.3, 0.6, -0.4)},
        },
        0.5,
    ),
}
"""What each arm does, and the heaviest body that it picks up [kg]."""

FAULTS: tuple[dict[str, Any], ...] = (
    {"type": "loss", "share": 0.5},
    {"type": "dropout", "probability": 0.2},
    {"type": "repeated_samples", "probability": 0.3},
    {"type": "late_samples", "steps": 5},
    {"type": "effort_noise", "std": 1.0, "share": 0.05},
    {"type": "freeze"},
)


def main() -> int:
    """Run the day."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24.0, help="Of simulated time. [24]")
    parser.add_argument("--jobs", type=int, default=len(cores()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/day"))
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    count = max(1, round(given.hours * 3600.0 / SECONDS / len(ARMS)))
    given.out.mkdir(parents=True, exist_ok=True)
    cases = [case for arm in ARMS for case in _cases(arm, count, rng, given.out.resolve())]
    begun, results = time.perf_counter(), list[tuple[Case, Outcome]]()
    for first in range(0, len(cases), BLOCK):
        outcomes = dict(run_cases(block := cases[first : first + BLOCK], given.jobs))
        results += [(case, outcomes[i]) for i, case in enumerate(block)]
        (given.out / "runs.csv").write_text(csv_text(results), encoding="utf-8")
        print(f"\r{len(results)} of {len(cases)}", end="", file=sys.stderr, flush=True)
    hours = len(cases) * SECONDS / 3600.0
    print(f"\n{hours:.1f} simulated hours in {(time.perf_counter() - begun) / 60.0:.1f} min, {given.jobs} processes")
    print("| arm | runs | ended | error at the end: median, 99 % |\n| --- | ---: | --- | --- |")
    for row in dict.fromkeys(case.row for case in cases):
        print(_line(row, [one for case, one in results if case.row == row]))
    return 0 if all(_is_fine(case, one) for case, one in results) else 1


def _with_rotors(arm: str, folder: Path) -> tuple[Path, FloatArray]:
    """Write the arm's file with rotors, which default gains go by; its path, and its effort limits [N·m]."""
    whole = yaml.safe_load((ROBOTS / f"{arm}.yaml").read_text(encoding="utf-8"))
    robot = {key: value for key, value in whole.items() if not key.startswith("PI_")}  # names of YAML
    efforts = np.array(robot["thunder"]["limits"]["effort"], dtype=float)
    for link, effort in zip(robot["dynamics"].values(), efforts, strict=True):
        link["rotor"] = {"inertia": float(ROTOR * effort)}
    file = folder / f"{arm}.yaml"
    file.write_text(yaml.safe_dump(robot, sort_keys=False), encoding="utf-8")
    return file, efforts


def _cases(arm: str, count: int, rng: np.random.Generator, folder: Path) -> Iterator[Case]:
    (known, heaviest), (file, efforts) = ARMS[arm], _with_rotors(arm, folder)
    base = merged(known, {"robot": str(file), "plant": {"engine": "model", "urdf": str(file)}})
    for _ in range(count):
        yield _case(arm, base, heaviest, efforts, rng)


def _case(arm: str, base: dict[str, Any], heaviest: float, efforts: FloatArray, rng: np.random.Generator) -> Case:
    """A run in which bodies are picked up and put down, one after the other."""
    link = base["law"]["options"]["adapted_links"][0]
    is_faulty = rng.uniform() < FAULTY
    times = np.sort(rng.uniform(0.0, SECONDS, 2 * BODIES)).reshape(BODIES, 2)
    viscous, coulomb = rng.uniform(0.0, 0.005) * efforts, rng.uniform(0.0, 0.0035) * efforts
    plant = {
        "payloads": [_body(rng, link, heaviest, *window) for window in times],
        "friction": {"viscous": tuple(viscous), "coulomb": tuple(coulomb)},
        "noise": {"q_std": 10.0 ** rng.uniform(-6.0, -4.5)},
        "torque_delay": 1e-3 * rng.integers(0, 3),
        "torque_lag": rng.uniform(0.0, 0.002),
        "faults": [_fault(rng)] if is_faulty else [],
    }
    reference = {"phase": rng.uniform(-np.pi, np.pi)}
    config = merged(
        base, {"plant": plant, "reference": reference, "duration": SECONDS, "seed": int(rng.integers(2**31))}
    )
    return Case(f"{arm}, faulty" if is_faulty else arm, RunConfig.model_validate(config), 0.5)


def _body(rng: np.random.Generator, link: str, heaviest: float, comes: float, goes: float) -> dict[str, Any]:
    mass, size = rng.uniform(0.0, heaviest), rng.uniform(0.05, 0.15)
    about = mass * size**2
    body = {"link": link, "mass": mass, "com": tuple(rng.uniform(-0.05, 0.05, 3)), "time": comes, "until": goes}
    return {**body, "inertia": (about, 0.0, 0.0, about, 0.0, about)}


def _fault(rng: np.random.Generator) -> dict[str, Any]:
    start = rng.uniform(0.0, 0.8 * SECONDS)
    return {**FAULTS[rng.integers(len(FAULTS))], "start": start, "end": start + rng.uniform(0.05, 1.0)}


def _is_fine(case: Case, one: Outcome) -> bool:
    return one.ended not in (FAILED, DIVERGED, REFUSED) if case.config.plant.faults else one.ended == DONE


def _line(row: str, outcomes: list[Outcome]) -> str:
    ended = ", ".join(f"{how} {number}" for how, number in Counter(one.ended for one in outcomes).most_common())
    errors = [one.values["error"] for one in outcomes if one.ended == DONE]
    middle, late = np.quantile(np.array(errors, dtype=float), [0.5, 0.99]) if errors else (np.nan, np.nan)
    return f"| {row} | {len(outcomes)} | {ended} | {middle:.2g}, {late:.2g} |"


if __name__ == "__main__":
    sys.exit(main())
