"""Starts, lines, estimates and frames of the law's bad day: the Panda where a lab takes it in the first week."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Settings
from thunder_controllers.host import Library
from thunder_controllers.resources import share
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.storage.door import read_text
from thunder_studies.panda import Keys, believing, library, resting, there_and_back

FloatArray = NDArray[np.float64]

ROBOT = "config/robots/panda.yaml"


def _generator(settings: Settings, row: str) -> draws.Generator:
    """Of a row's own, so that no row depends on the others."""
    return np.random.default_rng([settings.seed, *row.encode()])


def _share(settings: Settings, row: str, rows: Iterable[str]) -> int:
    """Cases of a row, so that those of all rows are as many as are asked for."""
    names = list(rows)
    return len(np.array_split(np.arange(settings.cases), len(names))[names.index(row)])


ANGLES = {"5° to 45°": (5, 45), "45° to 90°": (45, 90), "90° to 150°": (90, 150)}


def draw_starts(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw a constant pose, and a start 0.05 to 0.5 m and 5° to 150° away from it."""
    angle = tuple(np.deg2rad(ANGLES[row]))
    for q_d, q in draws.pairs(_generator(settings, row), library(), _share(settings, row, ANGLES), (0.05, 0.5), angle):
        (T,) = draws.poses(library(), q_d[None])
        yield {**resting(q), "reference": {"type": "hold", **draws.stated(T)}, "duration": 10.0}


SLOWLY = (0.1, 1.0, 10.0)
"""Bounds of lines [m/s, m/s², m/s³]."""


Ways = Iterator[tuple[FloatArray, FloatArray]]
"""Postures to start from, and the pose to go to, (4, 4)."""


def _in_reach(rng: draws.Generator, library: Library, count: int) -> Ways:
    for q, there in draws.pairs(rng, library, count, (0.1, 0.3), (0.0, 1.0)):
        yield q, draws.poses(library, there[None])[0]


ELBOW, FOREARM, WRIST = 3, 4, 5
"""Joints of the Panda: what stretches the arm, and what turns and bends the hand."""


def _stretched(rng: draws.Generator, library: Library, count: int, beyond: float) -> Ways:
    """From a bent elbow outwards, to a pose `beyond` what the arm reaches with that orientation [m].

    The joint of the hand is beside the axis of the flange, so that the wrist may lie on a circle; it is put where that
    comes nearest to the shoulder: in one plane with the arm, the flange farther out.
    """
    stretched = _stretched_elbow(library)
    for q in draws.postures(rng, library, count):
        q[FOREARM], q[ELBOW] = 0.0, stretched
        out, hand = _directions(library, q)
        while out @ hand < 0.2:
            q[WRIST] = draws.postures(rng, library, 1)[0, WRIST]
            out, hand = _directions(library, q)
        (there,) = draws.poses(library, q[None])
        there[:3, 3] += beyond * out
        q[ELBOW] -= rng.uniform(0.4, 0.8)
        yield q, there


def reach(library: Library, q: FloatArray) -> FloatArray:
    """Vector from the Panda's shoulder to its wrist [m], (3,)."""
    return np.asarray(library.evaluate("T_0_5", q)[:3, 3] - library.evaluate("T_0_2", q)[:3, 3])


def _stretched_elbow(library: Library) -> float:
    """Angle of the elbow that takes the wrist farthest, whatever the other joints [rad]."""
    angles = np.linspace(library.position_lower[ELBOW], library.position_upper[ELBOW], 1000)
    postures = np.zeros((len(angles), library.n_joints))
    postures[:, ELBOW] = angles
    return float(angles[np.argmax([np.linalg.norm(reach(library, q)) for q in postures])])


def _directions(library: Library, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """From shoulder to wrist, and from wrist to the axis of the flange; unit vectors."""
    out = reach(library, q)
    return out / np.linalg.norm(out), library.evaluate("T_0_6", q)[:3, 0]


def _through_singularities(rng: draws.Generator, library: Library, count: int) -> Ways:
    """Lines whose middle is the pose of a singular posture."""
    for middle in draws.singular(rng, library, count):
        q = middle
        while q is middle or not draws.within(library, q):
            q = middle + 0.3 * rng.uniform(-1.0, 1.0, len(middle))
        start, centre = draws.poses(library, np.array([q, middle]))
        R = centre[:3, :3]
        there = np.eye(4)
        there[:3, :3] = R @ start[:3, :3].T @ R
        there[:3, 3] = 2.0 * centre[:3, 3] - start[:3, 3]
        yield q, there


def _near_limits(rng: draws.Generator, library: Library, count: int) -> Ways:
    """To the pose of a posture with three joints within 0.03 rad of a limit."""
    for q in draws.postures(rng, library, count):
        there = q.copy()
        for joint in rng.choice(len(q), 3, replace=False):
            side = rng.choice([-1.0, 1.0])
            limit = library.position_upper[joint] if side > 0.0 else library.position_lower[joint]
            there[joint] = limit - side * rng.uniform(0.0, 0.03)
            q[joint] = limit - side * rng.uniform(0.3, 0.5)
        yield q, draws.poses(library, there[None])[0]


WAYS = {
    "in reach": _in_reach,
    "to the edge": lambda rng, library, count: _stretched(rng, library, count, 0.0),
    "5 cm beyond": lambda rng, library, count: _stretched(rng, library, count, 0.05),
    "through singularities": _through_singularities,
    "near limits": _near_limits,
}


def draw_lines(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw slow lines to a pose and back."""
    for q, there in WAYS[row](_generator(settings, row), library(), _share(settings, row, WAYS)):
        yield there_and_back(q, there, SLOWLY, times=1, dwell=1.0)


def draw_estimates(settings: Settings, row: str) -> Iterator[Keys]:
    """First estimates of the demo, or one that is far off."""
    far = believing(inertia=(0.8, 0.0, 0.0, 0.8, 0.0, 0.8)) if row.startswith("inertia") else {}
    yield {"seed": settings.seed, "law": far}


FLANGE = 0.107
"""Of the Panda, along z of link 7 [m]; some tables count it to d₇."""


@cache
def _folder() -> TemporaryDirectory[str]:
    """For robot files; it goes with the process."""
    return TemporaryDirectory(prefix="thunder_robots_")


@cache
def _frame_at_flange() -> str:
    """Path to a file of the same Panda whose frame of link 7 lies at the flange."""
    document = yaml.safe_load(read_text(share(ROBOT), ScenarioError))
    robot = {key: value for key, value in document.items() if not key.startswith("PI_2")}  # anchors, resolved by now
    robot["kinematics"]["DH"][-2] += FLANGE
    robot["Ln_to_EE"]["tr"] = [0.0, 0.0, 0.0]
    robot["dynamics"]["link7"]["inertial"]["CoM_z"] -= FLANGE
    path = Path(_folder().name) / "panda.yaml"
    path.write_text(yaml.safe_dump(robot))
    return str(path)


def draw_frame_at_flange(settings: Settings, _row: str) -> Iterator[Keys]:
    """The frame of link 7 at the flange."""
    yield {"seed": settings.seed, "robot": _frame_at_flange()}


def draw_frames(settings: Settings, row: str) -> Iterator[Keys]:
    """The frame of link 7 at the wrist, as the file has it, or at the flange."""
    yield {"seed": settings.seed, **({"robot": _frame_at_flange()} if row.endswith("flange") else {})}
