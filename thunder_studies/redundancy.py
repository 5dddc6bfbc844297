"""Lines between postures near the limits of joints, and how near joints then come to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import pose_distance
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.panda import Keys, library, there_and_back

FloatArray = NDArray[np.float64]

NEAR, STEP = (0.06, 0.3), 0.4
"""Of a line's ends: distance of one joint to a limit, and how far any joint is from the other end's, at most [rad]."""

SPEED = (0.25, 1.0, 10.0)
"""Bounds of lines [m/s, m/s², m/s³]."""

TIMES = 2
"""That each line is gone there and back."""

CLOSE = 0.05
"""Distance of a joint to its limit that is too small [rad]."""

LOST = 0.01
"""Error of a path that is left [m, rad]."""


def measure_joints(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure how near joints come to their limits, and whether the path is kept."""
    limits = library()
    distance = np.minimum(trace.q - limits.position_lower, limits.position_upper - trace.q).min()
    error = pose_distance(trace)
    values: dict[str, float | None] = {
        "close": float(distance < CLOSE),
        "distance": float(distance),
        "lost": float(error.max() > LOST),
        "mean_error": float(error.mean()),
    }
    return Measured(values)


def ends(rng: draws.Generator) -> FloatArray:
    """Draw two postures near each other and near the same limit of the same joint, (2, n)."""
    limits = library()
    (q,) = draws.postures(rng, limits, 1)
    joint, side = rng.integers(len(q)), rng.choice([-1.0, 1.0])
    other = np.clip(q + rng.uniform(-STEP, STEP, len(q)), limits.position_lower, limits.position_upper)
    both = np.array([q, other])
    limit = (limits.position_upper if side > 0.0 else limits.position_lower)[joint]
    both[:, joint] = limit - side * rng.uniform(*NEAR, 2)
    return both


def draw_lines(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw lines between poses of postures near limits, the same for all rows."""
    rng = np.random.default_rng([settings.seed, *b"lines"])
    for _ in range(settings.cases):
        pair = ends(rng)
        yield there_and_back(pair[0], draws.poses(library(), pair)[1], SPEED, TIMES, dwell=0.0)
