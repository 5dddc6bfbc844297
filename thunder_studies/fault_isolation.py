"""Faults of motors and joints that the law has to find by itself, and what becomes of the task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Settings
from thunder_controllers.host import Library
from thunder_controllers.resources import share
from thunder_studies.arms import dexterous
from thunder_studies.panda import Keys, bodies, library

FloatArray = NDArray[np.float64]

VISCOUS = (0.8, 0.8, 0.6, 0.6, 0.3, 0.3, 0.2)
COULOMB = (0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.15)
"""Friction of the drives [N·m·s/rad, N·m]."""

ROTOR = 0.1
"""Reflected inertia of every rotor [kg·m²], that of MuJoCo Menagerie's Panda."""

BODY_ERROR, DRIVE_ERROR = 0.02, 0.05
"""How far what moves differs from the file: bodies, rotors and friction, uniform to either side [1]."""

START, DURATION = (1.5, 3.0), 7.0
"""When a fault comes, and how long a run is [s]."""

SPEED = 0.3
"""Largest joint speed of a path over the joint's limit, about."""

KINDS = ("loss", "bias", "block", "freeze")


@cache
def _folder() -> TemporaryDirectory[str]:
    """For robot files; it goes with the process."""
    return TemporaryDirectory(prefix="thunder_robots_")


@cache
def robot_file() -> str:
    """Path to a file of the Panda with drives: friction and rotors."""
    document = yaml.safe_load(share("config/robots/panda.yaml").read_text())
    robot = {key: value for key, value in document.items() if not key.startswith("PI_2")}  # anchors, resolved by now
    robot["Dl_order"] = 1
    for name, viscous in zip(robot["dynamics"], VISCOUS, strict=True):
        robot["dynamics"][name] |= {"friction": {"Dl": [viscous]}, "rotor": {"inertia": ROTOR}}
    robot["thunder"]["coulomb"] = list(COULOMB)
    path = Path(_folder().name) / "panda.yaml"
    path.write_text(yaml.safe_dump(robot))
    return str(path)


def draw_path(rng: draws.Generator, arm: Library) -> Mapping[str, Any]:
    """Draw a path about a dexterous posture, and the start on it, at rest."""
    q = dexterous(rng, arm)
    J = arm.evaluate("J_ee", q)[:3]
    frequency = rng.uniform(0.1, 0.3, 3)
    fastest = SPEED * np.minimum(np.asarray(arm.velocity_limit), 3.0)
    speed = 1.0 / np.max(np.abs(np.linalg.pinv(J)).sum(axis=1) / fastest)
    amplitude = np.minimum(0.15, speed / (2.0 * np.pi * frequency))
    pose = draws.stated(draws.poses(arm, q[None])[0])
    path = {"type": "lissajous", "centre": pose["position"], "ypr": pose["ypr"], "amplitude": tuple(amplitude.tolist())}
    start = {"q": tuple(q.tolist()), "on_reference": False}
    return {"reference": {**path, "frequency": tuple(frequency.tolist())}, "start": start}


def draw_plant(rng: draws.Generator) -> Keys:
    """Draw what moves: bodies, friction and rotors near those of the file."""

    def near(values: Any) -> tuple[float, ...]:
        return tuple((rng.uniform(1.0 - DRIVE_ERROR, 1.0 + DRIVE_ERROR, 7) * values).tolist())

    return {
        "inertia": {name: draws.uncertain(body, BODY_ERROR, rng) for name, body in bodies().items()},
        "friction": {"viscous": near(np.array(VISCOUS)), "coulomb": near(np.array(COULOMB))},
        "rotors": near(np.full(7, ROTOR)),
    }


def draw_fault(rng: draws.Generator, kind: str) -> Keys:
    """Draw a fault of a kind: joint, time and size."""
    joint = int(rng.integers(7))
    limit = float(np.asarray(library().effort_limit)[joint])
    sign = float(rng.choice([-1.0, 1.0]))
    size: Keys = {
        "loss": {"share": float(rng.uniform(0.3, 1.0))},
        "bias": {"effort": sign * limit * float(rng.uniform(0.05, 0.3))},
        "block": {"rate": float(np.exp(rng.uniform(np.log(5.0), np.log(50.0))))},
        "freeze": {},
    }[kind]
    return {"type": kind, "joints": (f"panda_joint{joint + 1}",), "start": round(float(rng.uniform(*START)), 3), **size}
